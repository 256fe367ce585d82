import type { RequestBudget } from '#runtime/budget/request-budget.ts';
import type { Evaluate } from '#runtime/sql-exec/expressions/evaluate.ts';
import { BestEntries } from '#runtime/sql-exec/operators/sorting/best-entries.ts';
import {
  compareWork,
  entryBytes,
  entryOrder,
  type SortEntry,
} from '#runtime/sql-exec/operators/sorting/sort-entry.ts';
import type { TableRead } from '#runtime/sql-exec/ports.ts';
import { comparatorOf } from '#runtime/sql-values/ordering/comparator.ts';
import { nodeColumns } from '#runtime/sql-plan/node-columns.ts';
import type { SqlType } from '#runtime/sql-values/sql-type.ts';
import { jsonbType, textType } from '#runtime/sql-values/types/basic-types.ts';
import type { WantedColumn } from '#runtime/sql-exec/ports.ts';
import type { StoredValues } from './stored-values.ts';

/** Most rows of which the keys are kept. Where more are wanted, all are made. */
const BEST_KEYS_MAX = 1_000;

/**
 * Whether the first rows of an order are told by keys in place: the value of `__tree_order` may have to be looked up.
 *
 * @param limit number of rows
 */
export function areBestKeys(keys: readonly WantedColumn[], limit: number): boolean {
  const isTreeOrder = (key: WantedColumn): boolean =>
    key.kind === 'column' && nodeColumns[key.column]?.name === '__tree_order';
  return keys.length > 0 && limit >= 1 && limit <= BEST_KEYS_MAX && !keys.some(isTreeOrder);
}

/** Keys that were kept, with their memory. */
interface KeptKeys extends SortEntry {
  readonly bytes: number;
}

/**
 * Tells which rows cannot be among the first of an order, so that they are not made: of many rows only few are. Of rows with
 * equal keys the earlier one comes first.
 */
export class BestKeys {
  readonly #reads: readonly Evaluate<StoredValues>[];
  readonly #order: (a: SortEntry, b: SortEntry) => number;
  readonly #best: BestEntries<KeptKeys>;
  readonly #budget: RequestBudget;
  #kept = 0;

  /**
   * @param reads the keys of the order
   * @param count rows that are wanted, from 1 to {@link BEST_KEYS_MAX}
   * @param budget counts the comparisons, and the keys that are kept until {@link close}
   */
  constructor(
    order: TableRead['order'],
    reads: readonly Evaluate<StoredValues>[],
    count: number,
    budget: RequestBudget,
  ) {
    this.#reads = reads;
    this.#budget = budget;
    this.#order = entryOrder(
      order.map(({ isDescending, nullsFirst, wanted }) => ({
        // The keys are read before, each once.
        read: () => null,
        compare: comparatorOf(typeOf(wanted)),
        isDescending,
        nullsFirst,
      })),
    );
    this.#best = new BestEntries(count, (a, b) => {
      budget.spend(Math.min(a.work, b.work));
      return this.#order(a, b) > 0;
    });
  }

  /**
   * Whether a row may be among the first of those that were offered.
   *
   * @throws {ServiceError} `REQUEST_TOO_EXPENSIVE`
   */
  offer(values: StoredValues): boolean {
    const keys = this.#reads.map((read) => read(values));
    const work = compareWork(keys);
    this.#budget.spend(work);
    const { worst } = this.#best;
    const entry = { keys, work, bytes: 0 };
    if (worst !== undefined && this.#order(entry, worst) >= 0) return false;
    const bytes = entryBytes(keys);
    this.#budget.keep(bytes);
    this.#budget.free(worst?.bytes ?? 0);
    this.#kept += bytes - (worst?.bytes ?? 0);
    this.#best.add({ ...entry, bytes });
    return true;
  }

  /** Frees the keys. May be called more than once; nothing may be offered then. */
  close(): void {
    this.#budget.free(this.#kept);
    this.#kept = 0;
  }
}

function typeOf(wanted: WantedColumn): SqlType {
  if (wanted.kind === 'column') return wanted.type;
  return wanted.isText ? textType : jsonbType;
}
