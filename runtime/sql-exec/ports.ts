import type { BoundExpression, NodesPlan, SchemaPlan } from '#runtime/sql-plan/bound/bound-statement.ts';
import type { ScalarFunction } from '#runtime/sql-values/scalar-function.ts';
import type { SqlType } from '#runtime/sql-values/sql-type.ts';
import type { SqlValue } from '#runtime/sql-values/sql-value.ts';
import type { Operator } from './operator.ts';

/** A value that a table gives with each row: a column, or a property of the column `properties`. */
export type WantedColumn =
  | { readonly kind: 'column'; readonly column: number; readonly type: SqlType }
  | {
      /** `properties -> 'key'` (jsonb), or `properties ->> 'key'` (text): decoded without the other properties. */
      readonly kind: 'property';
      readonly key: string;
      readonly isText: boolean;
      /** Of a text: whether it is only cast to numbers, so that a number of JSON may be given in its place. Absent: no. */
      readonly isNumber?: boolean;
    };

/** What is read of a table. */
export interface TableRead {
  readonly table: NodesPlan | SchemaPlan;
  /** The slots of each row, in this order. Only these are decoded. */
  readonly wanted: readonly WantedColumn[];
  /** Conditions that all hold for every row: they name columns of this relation only, and no subqueries. */
  readonly conditions: readonly BoundExpression[];
  /** The order that the caller would like; a source in this order says so. */
  readonly order: readonly {
    readonly wanted: WantedColumn;
    readonly isDescending: boolean;
    readonly nullsFirst: boolean;
  }[];
  /** After so many rows the caller stops; undefined: not known. */
  readonly limit: number | undefined;
  /**
   * Whether the rows are only taken into aggregates. Then they are read like those that a condition leaves out: without their
   * checksums being verified. Absent: they may be answered.
   */
  readonly isSummed?: boolean;
}

/** How a table will be read. */
export interface TableAccess {
  /** Name of the access path and its facts, for EXPLAIN: `PathIndexScan: path=/x`. */
  readonly description: string;
  /** The same with `?` in place of every value of the statement, for logs: `PathIndexScan: path=?`. */
  readonly shape: string;
  /** About how many rows it gives. */
  readonly rows: number;
  /** About how long it takes, in nanoseconds. */
  readonly cost: number;
  /** Of the conditions, those that the source tells all rows of; the others were given to its filter. All hold. For EXPLAIN. */
  readonly indexed: readonly BoundExpression[];
  /** Whether the rows come in the order that was asked for. */
  readonly isOrdered: boolean;
  /** Position of the column in whose ascending order the rows come, whatever was asked for; absent: of none. */
  readonly sortedBy?: number | undefined;
  open(): Operator;
  /**
   * How the rows of this access can be found by values that become known while the statement runs; absent: they cannot.
   *
   * @returns undefined: nothing finds rows by this key; yields where the work may pause
   */
  readonly lookUp?: (key: LookupKey) => Generator<undefined, TableLookup | undefined>;
}

/** What rows are looked up by. */
export interface LookupKey {
  /** Over the columns of the table. */
  readonly expression: BoundExpression;
  /** Equality of the expression and a key, in this order. */
  readonly equals: ScalarFunction;
}

/** A way to find the rows of a table by keys. It has the conditions of the table it belongs to. */
export interface TableLookup {
  /** As {@link TableAccess.description} and {@link TableAccess.shape}, with `<key>` in place of the keys. */
  readonly description: string;
  readonly shape: string;
  /** Conditions that the look-up itself answers, beside the key. */
  readonly indexed: readonly BoundExpression[];
  /** Most keys that are looked up at a time. */
  readonly keysMax: number;
  /** About how long a key takes, in nanoseconds. */
  readonly keyCost: number;
  /** About how many rows a key has. */
  readonly keyRows: number;
  /**
   * Whether the work that look-ups have taken may decide that the rest is read otherwise. It tells how many rows an index has,
   * so only for a caller who may see them all.
   */
  readonly isMeasured: boolean;
  /**
   * The rows that equal one of some keys, each once.
   *
   * @param keys distinct, none NULL, at most `keysMax`
   * @param costMax nanoseconds that reading all rows takes instead
   * @returns undefined: these keys cannot be looked up, or it would take longer, which is told where {@link isMeasured} is true;
   *   yields where the work may pause
   */
  open(keys: readonly SqlValue[], costMax: number): Generator<undefined, Operator | undefined>;
}

/** The tables that a statement may read, as its caller may see them. */
export interface Tables {
  /**
   * Chooses how a table is read. All conditions are kept by it: nothing has to be checked again.
   *
   * @returns yields where the work may pause
   */
  choose(read: TableRead): Generator<undefined, TableAccess>;
}
