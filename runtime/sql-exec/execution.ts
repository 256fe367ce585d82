import type { RequestBudget } from '#runtime/budget/request-budget.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { ComputedValues } from './computed-values.ts';

/** Estimated nanoseconds of work after which a step may pause. */
const SLICE_WORK = 1_000_000;

/**
 * Most work of the functions of one row, in estimated nanoseconds, beyond a slice: a row is computed without a pause, and
 * everything else in the process waits for it.
 */
export const ROW_WORK_MAX = 50_000_000;

/** One run of a statement: its budget, and when it has to pause. Every operator of the statement has the same one. */
export class Execution {
  readonly budget: RequestBudget;
  /** What is the same for every row. It is cleared when a statement ends. */
  readonly computed: ComputedValues;
  #pausedAt = 0;

  constructor(budget: RequestBudget) {
    this.budget = budget;
    this.computed = new ComputedValues(budget);
    this.#pausedAt = budget.work;
  }

  /**
   * Counts work.
   *
   * @throws {ServiceError} `REQUEST_TOO_EXPENSIVE`
   */
  spend(nanoseconds: number): void {
    this.budget.spend(nanoseconds);
  }

  /**
   * Counts the work of a call before it is done, where that depends on the arguments. Nothing pauses within a row, so what
   * has been spent since the last pause is bounded too.
   *
   * @throws {ServiceError} `REQUEST_TOO_EXPENSIVE`: of the statement, or of this row
   */
  spendOnCall(nanoseconds: number): void {
    this.budget.spend(nanoseconds);
    if (this.budget.work - this.#pausedAt <= ROW_WORK_MAX + SLICE_WORK) return;
    const milliseconds = ROW_WORK_MAX / 1_000_000;
    throw new ServiceError(
      'REQUEST_TOO_EXPENSIVE',
      `The functions of one row take more than the ${milliseconds} ms of work that they may take; call them for shorter values, or for fewer in one row.`,
    );
  }

  /** Whether an operator should yield now: enough was done since the last pause. */
  get isDue(): boolean {
    return this.budget.work - this.#pausedAt >= SLICE_WORK;
  }

  /** To be called before each yield. */
  pausing(): void {
    this.#pausedAt = this.budget.work;
  }
}
