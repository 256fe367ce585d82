import type { Execution } from '../execution.ts';
import type { Operator, Row } from '../operator.ts';
import { ROW_WORK } from './row-memory.ts';

/**
 * An operator that makes at most one row of each row, and keeps nothing. After a pause it hands on what it has, so that a
 * limit above it stops a slow expression early.
 */
export abstract class RowwiseOperator implements Operator {
  readonly #execution: Execution;
  readonly #input: Operator;
  #batch: readonly Row[] = [];
  #position = 0;

  constructor(execution: Execution, input: Operator) {
    this.#execution = execution;
    this.#input = input;
  }

  *next(): Generator<undefined, readonly Row[] | undefined> {
    for (;;) {
      if (this.#position >= this.#batch.length) {
        const batch = yield* this.#input.next();
        if (batch === undefined) return undefined;
        this.#batch = batch;
        this.#position = 0;
      }
      const made: Row[] = [];
      while (this.#position < this.#batch.length) {
        this.#execution.spend(ROW_WORK);
        const row = this.make(this.#batch[this.#position]!);
        this.#position += 1;
        if (row !== undefined) made.push(row);
        if (!this.#execution.isDue) continue;
        this.#execution.pausing();
        yield undefined;
        if (made.length > 0) break;
      }
      if (made.length > 0) return made;
    }
  }

  close(): void {
    this.#batch = [];
    this.#input.close();
  }

  /** The row that comes out for a row; undefined: none. */
  protected abstract make(row: Row): Row | undefined;
}
