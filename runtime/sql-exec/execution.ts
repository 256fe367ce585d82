import type { RequestBudget } from '#runtime/budget/request-budget.ts';

/** Estimated nanoseconds of work after which a step may pause. */
const SLICE_WORK = 1_000_000;

/** One run of a statement: its budget, and when it has to pause. Every operator of the statement has the same one. */
export class Execution {
  readonly budget: RequestBudget;
  #pausedAt = 0;

  constructor(budget: RequestBudget) {
    this.budget = budget;
  }

  /**
   * Counts work.
   *
   * @throws {ServiceError} `REQUEST_TOO_EXPENSIVE`
   */
  spend(nanoseconds: number): void {
    this.budget.spend(nanoseconds);
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
