import type { Execution } from '../execution.ts';
import type { Operator, Row } from '../operator.ts';
import { BATCH_ROWS, type Batches, GeneratedOperator } from './generated-operator.ts';
import { BYTE_WORK, ROW_WORK, rowBytes } from './row-memory.ts';
import { sortEntries } from './sorting/sort-entries.ts';
import { compareWork, entryBytes, entryOrder, type SortedRow, sortKeysOf } from './sorting/sort-entry.ts';
import type { SortKey } from './sort-key.ts';

/** All rows of its input, in the order of keys. Rows with equal keys keep the order that they came in. */
export class SortOperator extends GeneratedOperator {
  readonly #input: Operator;
  readonly #keys: readonly SortKey[];

  constructor(execution: Execution, input: Operator, keys: readonly SortKey[]) {
    super(execution, [input]);
    this.#input = input;
    this.#keys = keys;
  }

  protected *batches(): Batches {
    const { execution } = this;
    const entries: SortedRow[] = [];
    for (let rows = yield* this.#input.next(); rows !== undefined; rows = yield* this.#input.next()) {
      for (const row of rows) {
        entries.push(this.#entryOf(row));
        if (execution.isDue) yield this.pause();
      }
    }
    this.#input.close();
    yield* inBatches(yield* sortEntries(execution, entries, entryOrder(this.#keys)));
  }

  #entryOf(row: Row): SortedRow {
    const keys = sortKeysOf(this.#keys, row);
    const bytes = rowBytes(row) + entryBytes(keys);
    this.execution.spend(ROW_WORK + bytes * BYTE_WORK);
    this.keep(bytes);
    return { row, keys, work: compareWork(keys) };
  }
}

/** Sorted rows, in batches. */
export function* inBatches(entries: readonly SortedRow[]): Batches {
  for (let start = 0; start < entries.length; start += BATCH_ROWS) {
    yield entries.slice(start, start + BATCH_ROWS).map(({ row }) => row);
  }
}
