import { isLargeJson } from '#runtime/base/text/sliced-json.ts';
import { KEY_LENGTH_MAX, rowKeyOf } from '#runtime/sql-values/ordering/hash-key.ts';
import type { SqlType } from '#runtime/sql-values/sql-type.ts';
import { Jsonb, type SqlValue } from '#runtime/sql-values/sql-value.ts';
import type { Execution } from '../../execution.ts';
import { keyWork } from '../../expressions/key-work.ts';
import type { RowExpression } from '../row-expression.ts';
import { keyBytes, NEW_KEY_WORK } from '../row-memory.ts';
import { HashJoinOperator, type JoinKeys } from './hash-join-operator.ts';
import type { JoinShape } from './join-operator.ts';

/** The values of the kept side by which rows of the other side are looked up. */
export interface KeptKeys {
  /** Over rows of the kept side. */
  readonly key: RowExpression;
  /** The type as which both sides have keys of a hash table. */
  readonly type: SqlType;
  /** More distinct keys than these are not looked up. */
  readonly most: number;
  /** Is told the distinct values when the kept side was read, before the other side is; undefined: they are too many. */
  readonly take: (values: readonly SqlValue[] | undefined) => void;
}

/**
 * A hash join whose other side may find its rows by the keys of the kept one. That side gives at least the rows that have a
 * partner, so its own rows without one must not be wanted.
 */
export class LookupJoinOperator extends HashJoinOperator {
  readonly #keys: KeptKeys;
  #bytes = 0;

  constructor(execution: Execution, shape: JoinShape, joined: JoinKeys, keys: KeptKeys) {
    super(execution, shape, joined);
    this.#keys = keys;
  }

  protected override *keep(): Generator<undefined, void> {
    yield* super.keep();
    this.#keys.take(yield* this.#distinct());
  }

  override close(): void {
    this.execution.budget.free(this.#bytes);
    this.#bytes = 0;
    super.close();
  }

  *#distinct(): Generator<undefined, readonly SqlValue[] | undefined> {
    const { key, most, type } = this.#keys;
    const keyOf = rowKeyOf([type]);
    const values = new Map<string, SqlValue>();
    for (const row of this.kept.rows) {
      const value = key(row);
      if (value !== null) {
        if (isLong(value)) return undefined;
        this.execution.spendOnCall(NEW_KEY_WORK + keyWork(value));
        this.#add(values, keyOf([value]), value);
        if (values.size > most) return undefined;
      }
      if (!this.execution.isDue) continue;
      this.execution.pausing();
      yield undefined;
    }
    return [...values.values()];
  }

  #add(values: Map<string, SqlValue>, key: string, value: SqlValue): void {
    if (values.has(key)) return;
    const bytes = keyBytes(key);
    this.execution.budget.keep(bytes);
    this.#bytes += bytes;
    values.set(key, value);
  }
}

/** Whether a key has more UTF-16 units, or about as many of JSON, than are looked up: so long ones are found by a scan. */
function isLong(value: SqlValue): boolean {
  if (typeof value === 'string') return value.length > KEY_LENGTH_MAX;
  return value instanceof Jsonb && isLargeJson(value.value, KEY_LENGTH_MAX);
}
