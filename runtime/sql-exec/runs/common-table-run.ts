import type { Execution } from '../execution.ts';
import type { Operator, Row } from '../operator.ts';
import { ROW_WORK, rowBytes } from '../operators/row-memory.ts';

/** What makes the rows of a common table: batches, or undefined where the work may pause. */
export interface RowSource {
  batches(): Generator<readonly Row[] | undefined, void>;
  close(): void;
}

/**
 * The rows of a common table. They are made once, as far as they are read, and kept until the statement ends: several places
 * may read them.
 */
export class CommonTableRun {
  readonly #execution: Execution;
  readonly #source: RowSource;
  readonly #rows: Row[] = [];
  #batches: Generator<readonly Row[] | undefined, void> | undefined;
  #isComplete = false;
  #bytes = 0;

  constructor(execution: Execution, source: RowSource) {
    this.#execution = execution;
    this.#source = source;
  }

  /** The rows that were made so far. */
  get rows(): readonly Row[] {
    return this.#rows;
  }

  /** Makes more rows. @returns whether there are more; otherwise the table is complete */
  *more(): Generator<undefined, boolean> {
    if (this.#isComplete) return false;
    this.#batches ??= this.#source.batches();
    for (;;) {
      const step = this.#batches.next();
      if (step.done === true) {
        this.#isComplete = true;
        this.#source.close();
        return false;
      }
      if (step.value !== undefined) {
        this.#keep(step.value);
        return true;
      }
      yield undefined;
    }
  }

  close(): void {
    this.#isComplete = true;
    this.#batches = undefined;
    this.#rows.length = 0;
    this.#execution.budget.free(this.#bytes);
    this.#bytes = 0;
    this.#source.close();
  }

  #keep(batch: readonly Row[]): void {
    for (const row of batch) {
      const bytes = rowBytes(row);
      this.#execution.spend(ROW_WORK);
      this.#execution.budget.keep(bytes);
      this.#bytes += bytes;
      this.#rows.push(row);
    }
  }
}

/** The rows of a query. */
export class QuerySource implements RowSource {
  readonly #open: () => Operator;
  #operator: Operator | undefined;

  constructor(open: () => Operator) {
    this.#open = open;
  }

  *batches(): Generator<readonly Row[] | undefined, void> {
    const operator = this.#open();
    this.#operator = operator;
    for (;;) {
      const batch = yield* operator.next();
      if (batch === undefined) return;
      yield batch;
    }
  }

  close(): void {
    this.#operator?.close();
    this.#operator = undefined;
  }
}
