import type { SqlValue } from '#runtime/sql-values/sql-value.ts';

/** A compiled expression: its value for one row. */
export type Evaluate<R> = (row: R) => SqlValue;
