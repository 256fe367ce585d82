import type { SqlValue } from '#runtime/sql-values/sql-value.ts';
import type { RowExpression } from './row-expression.ts';

/** A key of an order, compiled for the rows of one operator. */
export interface SortKey {
  readonly read: RowExpression;
  /** Compares two values that are not NULL, in ascending order. */
  readonly compare: (left: SqlValue, right: SqlValue) => number;
  readonly isDescending: boolean;
  readonly nullsFirst: boolean;
}
