import type { SqlValue } from '#runtime/sql-values/sql-value.ts';
import type { Row } from '../operator.ts';

/** An expression that is compiled for the rows of one operator. It counts the work of its calls itself. */
export type RowExpression = (row: Row) => SqlValue;
