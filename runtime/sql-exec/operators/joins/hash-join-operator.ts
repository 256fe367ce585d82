import { rowKeyOf } from '#runtime/sql-values/ordering/hash-key.ts';
import type { SqlType } from '#runtime/sql-values/sql-type.ts';
import type { SqlValue } from '#runtime/sql-values/sql-value.ts';
import type { Execution } from '../../execution.ts';
import { keyWork } from '../../expressions/key-work.ts';
import type { Row } from '../../operator.ts';
import { JoinOperator, type JoinShape } from './join-operator.ts';
import type { RowExpression } from '../row-expression.ts';
import { keyBytes } from '../row-memory.ts';

/** What must be equal of both sides. */
export interface JoinKeys {
  readonly left: readonly RowExpression[];
  readonly right: readonly RowExpression[];
  /** The types as which both sides of each have keys, see `commonKeyType`. */
  readonly types: readonly SqlType[];
}

/** Estimated bytes of a list of positions. */
const LIST_BYTES = 40;

/** Estimated nanoseconds of looking a key up, or of adding it. */
const LOOKUP_WORK = 300;

const none: readonly number[] = [];

/** A join on equality, that looks partners up in a hash table of the side that is kept. NULL equals nothing. */
export class HashJoinOperator extends JoinOperator {
  readonly #keptKeys: readonly RowExpression[];
  readonly #readKeys: readonly RowExpression[];
  readonly #key: (values: readonly SqlValue[]) => string;
  readonly #positions = new Map<string, number[]>();

  constructor(execution: Execution, shape: JoinShape, keys: JoinKeys) {
    super(execution, shape);
    this.#keptKeys = shape.keepsLeft ? keys.left : keys.right;
    this.#readKeys = shape.keepsLeft ? keys.right : keys.left;
    this.#key = rowKeyOf(keys.types);
  }

  protected *keep(): Generator<undefined, void> {
    const keepsAll = this.shape.keepsLeft ? this.shape.preservesLeft : this.shape.preservesRight;
    yield* this.kept.read((row, position) => {
      const key = this.#keyOf(row, this.#keptKeys);
      if (key === undefined) return keepsAll ? 0 : undefined;
      const positions = this.#positions.get(key);
      if (positions === undefined) this.#positions.set(key, [position]);
      else positions.push(position);
      return LIST_BYTES + keyBytes(key);
    });
  }

  protected candidates(row: Row): readonly number[] {
    const key = this.#keyOf(row, this.#readKeys);
    return key === undefined ? none : (this.#positions.get(key) ?? none);
  }

  override close(): void {
    this.#positions.clear();
    super.close();
  }

  /** @returns undefined: a value is NULL, so the row has no partner */
  #keyOf(row: Row, expressions: readonly RowExpression[]): string | undefined {
    const values: SqlValue[] = [];
    this.execution.spend(LOOKUP_WORK);
    for (const expression of expressions) {
      const value = expression(row);
      if (value === null) return undefined;
      this.execution.spendOnCall(keyWork(value));
      values.push(value);
    }
    return this.#key(values);
  }
}
