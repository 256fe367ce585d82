import type { Execution } from '../execution.ts';
import type { Operator, Row } from '../operator.ts';
import { type Batches, GeneratedOperator } from './generated-operator.ts';
import { BYTE_WORK, keyBytes, NEW_KEY_WORK, ROW_WORK } from './row-memory.ts';

/** The first row of each key, in the order of the input. */
export class DistinctOperator extends GeneratedOperator {
  readonly #input: Operator;
  readonly #key: (row: Row) => string;

  /** @param key equal exactly for rows of which only the first is wanted, see `rowKey` */
  constructor(execution: Execution, input: Operator, key: (row: Row) => string) {
    super(execution, [input]);
    this.#input = input;
    this.#key = key;
  }

  protected *batches(): Batches {
    const { execution } = this;
    const seen = new Set<string>();
    for (let rows = yield* this.#input.next(); rows !== undefined; rows = yield* this.#input.next()) {
      const batch: Row[] = [];
      for (const row of rows) {
        const key = this.#key(row);
        const bytes = keyBytes(key);
        execution.spend(ROW_WORK + bytes * BYTE_WORK);
        if (!seen.has(key)) {
          execution.spend(NEW_KEY_WORK);
          this.keep(bytes);
          seen.add(key);
          batch.push(row);
        }
        if (execution.isDue) yield this.pause();
      }
      if (batch.length > 0) yield batch;
    }
  }
}
