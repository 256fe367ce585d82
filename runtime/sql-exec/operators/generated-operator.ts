import type { Execution } from '../execution.ts';
import type { Operator, Row } from '../operator.ts';

/** Most rows of a batch that an operator of this folder makes. */
export const BATCH_ROWS = 1_000;

/** What a generated operator yields: a batch of rows, or undefined where the work may pause. */
export type Batches = Generator<readonly Row[] | undefined, void>;

/**
 * An operator written as one generator of batches. It counts what the operator keeps, and frees that, and closes the inputs,
 * at the end or when it is closed before.
 */
export abstract class GeneratedOperator implements Operator {
  protected readonly execution: Execution;
  readonly #inputs: readonly Operator[];
  #batches: Batches | undefined;
  #isClosed = false;
  #kept = 0;

  constructor(execution: Execution, inputs: readonly Operator[]) {
    this.execution = execution;
    this.#inputs = inputs;
  }

  /** The rows, in batches of at least one and at most {@link BATCH_ROWS}. It is called once. */
  protected abstract batches(): Batches;

  *next(): Generator<undefined, readonly Row[] | undefined> {
    if (this.#isClosed) return undefined;
    this.#batches ??= this.batches();
    for (;;) {
      const step = this.#batches.next();
      if (step.done === true) {
        this.close();
        return undefined;
      }
      if (step.value !== undefined) return step.value;
      yield undefined;
      if (this.#isClosed) return undefined;
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#batches = undefined;
    this.execution.budget.free(this.#kept);
    this.#kept = 0;
    for (const input of this.#inputs) input.close();
  }

  /**
   * Counts memory that the operator keeps, until {@link close} at the latest.
   *
   * @param bytes below 0: freed
   * @throws {ServiceError} `REQUEST_TOO_EXPENSIVE`
   */
  protected keep(bytes: number): void {
    if (bytes > 0) this.execution.budget.keep(bytes);
    else this.execution.budget.free(-bytes);
    this.#kept += bytes;
  }

  /** To be yielded where {@link Execution.isDue} says so. */
  protected pause(): undefined {
    this.execution.pausing();
    return undefined;
  }
}
