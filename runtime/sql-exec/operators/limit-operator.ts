import type { Execution } from '../execution.ts';
import type { Operator, Row } from '../operator.ts';
import { ROW_WORK } from './row-memory.ts';

/** Some of the rows: those behind `offset`, at most `limit`. It closes its input as soon as it has them. */
export class LimitOperator implements Operator {
  readonly #execution: Execution;
  readonly #input: Operator;
  #offset: number;
  #limit: number;

  /** @param limit undefined: all rows behind the offset */
  constructor(execution: Execution, input: Operator, limit: number | undefined, offset: number) {
    this.#execution = execution;
    this.#input = input;
    this.#limit = limit ?? Number.POSITIVE_INFINITY;
    this.#offset = offset;
  }

  *next(): Generator<undefined, readonly Row[] | undefined> {
    while (this.#limit > 0) {
      const batch = yield* this.#input.next();
      if (batch === undefined) return undefined;
      this.#execution.spend(ROW_WORK);
      const skipped = Math.min(this.#offset, batch.length);
      this.#offset -= skipped;
      const wanted = batch.slice(skipped, skipped + this.#limit);
      this.#limit -= wanted.length;
      if (wanted.length === 0) continue;
      if (this.#limit === 0) this.#input.close();
      return wanted;
    }
    this.#input.close();
    return undefined;
  }

  close(): void {
    this.#limit = 0;
    this.#input.close();
  }
}
