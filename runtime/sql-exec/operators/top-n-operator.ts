import { assert } from '#runtime/base/assert.ts';
import type { Execution } from '../execution.ts';
import type { Operator, Row } from '../operator.ts';
import { type Batches, GeneratedOperator } from './generated-operator.ts';
import { BYTE_WORK, ROW_WORK, rowBytes } from './row-memory.ts';
import { inBatches } from './sort-operator.ts';
import { BestEntries } from './sorting/best-entries.ts';
import { sortEntries } from './sorting/sort-entries.ts';
import {
  compareWork,
  entryBytes,
  entryOrder,
  type SortEntry,
  type SortedRow,
  sortKeysOf,
} from './sorting/sort-entry.ts';
import type { SortKey } from './sort-key.ts';

/** A row among the best ones. */
interface TopRow extends SortedRow {
  /** Position in the input: of rows with equal keys the earlier one is better. */
  readonly position: number;
  /** Bytes counted for it. */
  readonly bytes: number;
}

/**
 * The first rows of its input in the order of keys: exactly those that a stable sort begins with. It keeps no more rows than
 * that, in a heap whose root is the worst of them, so a `count` beyond the rows of the input costs no more than a sort.
 */
export class TopNOperator extends GeneratedOperator {
  readonly #input: Operator;
  readonly #keys: readonly SortKey[];
  readonly #count: number;
  readonly #order: (a: SortEntry, b: SortEntry) => number;
  readonly #best: BestEntries<TopRow>;

  /** @param count number of rows, 0 or more */
  constructor(execution: Execution, input: Operator, keys: readonly SortKey[], count: number) {
    super(execution, [input]);
    assert(count >= 0, 'a number of rows is not negative');
    this.#input = input;
    this.#keys = keys;
    this.#count = count;
    this.#order = entryOrder(keys);
    this.#best = new BestEntries(count, (a, b) => this.#isWorse(a, b));
  }

  protected *batches(): Batches {
    const { execution } = this;
    if (this.#count === 0) return;
    let position = 0;
    for (let rows = yield* this.#input.next(); rows !== undefined; rows = yield* this.#input.next()) {
      for (const row of rows) {
        this.#offer(row, position++);
        if (execution.isDue) yield this.pause();
      }
    }
    this.#input.close();
    const order = (a: SortEntry, b: SortEntry): number => this.#compare(a as TopRow, b as TopRow);
    yield* inBatches(yield* sortEntries(execution, this.#best.entries, order));
  }

  #offer(row: Row, position: number): void {
    const { execution } = this;
    const keys = sortKeysOf(this.#keys, row);
    const candidate = { keys, work: compareWork(keys) };
    execution.spend(ROW_WORK + candidate.work);
    const { worst } = this.#best;
    if (worst !== undefined && this.#order(candidate, worst) >= 0) return;
    const bytes = rowBytes(row) + entryBytes(keys);
    execution.spend(bytes * BYTE_WORK);
    this.keep(bytes - (worst?.bytes ?? 0));
    this.#best.add({ ...candidate, row, position, bytes });
  }

  /** The order of the sort, counted: rows of the heap may have longer keys than the one that is being placed. */
  #compare(a: TopRow, b: TopRow): number {
    return this.#order(a, b) || a.position - b.position;
  }

  #isWorse(a: TopRow, b: TopRow): boolean {
    this.execution.spend(Math.min(a.work, b.work));
    return this.#compare(a, b) > 0;
  }
}
