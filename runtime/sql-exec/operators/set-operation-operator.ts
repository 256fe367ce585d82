import { countedRowKey } from '../expressions/key-work.ts';
import type { SqlType } from '#runtime/sql-values/sql-type.ts';
import type { Execution } from '../execution.ts';
import type { Operator, Row } from '../operator.ts';
import { type Batches, GeneratedOperator } from './generated-operator.ts';
import { BYTE_WORK, keyBytes, NEW_KEY_WORK, ROW_WORK } from './row-memory.ts';

/** Bytes of a number of equal rows in a hash table, besides its key. */
const COUNT_BYTES = 16;

/**
 * `UNION`, `INTERSECT` or `EXCEPT` of two inputs. NULLs are equal. A row that m rows on the left and n on the right are equal to
 * comes m + n times from UNION ALL, the lesser of m and n times from INTERSECT ALL, and m - n times from EXCEPT ALL; without ALL
 * once at most. Rows are in the order of the left input, behind them, of a union, those of the right one.
 *
 * @see PostgreSQL, Combining Queries
 */
export class SetOperationOperator extends GeneratedOperator {
  readonly #kind: 'union' | 'intersect' | 'except';
  readonly #isAll: boolean;
  readonly #left: Operator;
  readonly #right: Operator;
  readonly #key: (row: Row) => string;

  /** @param types of the columns; a row of either input has exactly these */
  constructor(
    execution: Execution,
    kind: 'union' | 'intersect' | 'except',
    isAll: boolean,
    left: Operator,
    right: Operator,
    types: readonly SqlType[],
  ) {
    super(execution, [left, right]);
    this.#kind = kind;
    this.#isAll = isAll;
    this.#left = left;
    this.#right = right;
    this.#key = countedRowKey(types, execution);
  }

  protected *batches(): Batches {
    if (this.#kind === 'union') {
      const isWanted = this.#isAll ? undefined : this.#firstOf();
      yield* this.#filtered(this.#left, isWanted);
      this.#left.close();
      yield* this.#filtered(this.#right, isWanted);
      return;
    }
    const counts = yield* this.#countRight();
    yield* this.#filtered(
      this.#left,
      this.#kind === 'intersect' ? this.#within(counts) : this.#without(counts),
    );
  }

  /** How many rows on the right are equal to each. */
  *#countRight(): Generator<undefined, Map<string, number>> {
    const { execution } = this;
    const counts = new Map<string, number>();
    for (let rows = yield* this.#right.next(); rows !== undefined; rows = yield* this.#right.next()) {
      for (const row of rows) {
        const key = this.#keyOf(row);
        const before = counts.get(key);
        if (before === undefined) {
          execution.spend(NEW_KEY_WORK);
          this.keep(keyBytes(key) + COUNT_BYTES);
        }
        counts.set(key, (before ?? 0) + 1);
        if (execution.isDue) yield this.pause();
      }
    }
    this.#right.close();
    return counts;
  }

  /** The rows of an input that are wanted; without a test: all. */
  *#filtered(input: Operator, isWanted: ((key: string) => boolean) | undefined): Batches {
    const { execution } = this;
    for (let rows = yield* input.next(); rows !== undefined; rows = yield* input.next()) {
      if (isWanted === undefined) {
        yield rows;
        continue;
      }
      const batch: Row[] = [];
      for (const row of rows) {
        if (isWanted(this.#keyOf(row))) batch.push(row);
        if (execution.isDue) yield this.pause();
      }
      if (batch.length > 0) yield batch;
    }
  }

  #firstOf(): (key: string) => boolean {
    const seen = new Set<string>();
    return (key) => {
      if (seen.has(key)) return false;
      this.execution.spend(NEW_KEY_WORK);
      this.keep(keyBytes(key));
      seen.add(key);
      return true;
    };
  }

  #within(counts: Map<string, number>): (key: string) => boolean {
    return (key) => {
      const left = counts.get(key);
      if (left === undefined) return false;
      // Rows that are used up, with ALL one by one, match no others.
      if (this.#isAll && left > 1) counts.set(key, left - 1);
      else counts.delete(key);
      return true;
    };
  }

  #without(counts: Map<string, number>): (key: string) => boolean {
    if (!this.#isAll) {
      const isFirst = this.#firstOf();
      return (key) => !counts.has(key) && isFirst(key);
    }
    return (key) => {
      const left = counts.get(key);
      if (left === undefined) return true;
      if (left > 1) counts.set(key, left - 1);
      else counts.delete(key);
      return false;
    };
  }

  #keyOf(row: Row): string {
    const key = this.#key(row);
    this.execution.spend(ROW_WORK + keyBytes(key) * BYTE_WORK);
    return key;
  }
}
