import type { BoundExpression, NodesPlan, SchemaPlan } from '#runtime/sql-plan/bound/bound-statement.ts';
import type { SqlType } from '#runtime/sql-values/sql-type.ts';
import type { Operator } from './operator.ts';

/** A value that a table gives with each row: a column, or a property of the column `properties`. */
export type WantedColumn =
  | { readonly kind: 'column'; readonly column: number; readonly type: SqlType }
  | {
      /** `properties -> 'key'` (jsonb), or `properties ->> 'key'` (text): decoded without the other properties. */
      readonly kind: 'property';
      readonly key: string;
      readonly isText: boolean;
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
  open(): Operator;
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
