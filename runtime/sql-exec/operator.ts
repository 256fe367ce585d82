import type { SqlValue } from '#runtime/sql-values/sql-value.ts';

/** A row: one value for each slot. Rows are never changed once they have left an operator. */
export type Row = readonly SqlValue[];

/**
 * A step of a plan that makes rows, in batches.
 *
 * `next` returns the next rows, at least one, and undefined at the end; it must not be called again then. A batch has at most
 * some thousand rows. `next` yields where the work may pause: at least after each millisecond of work. Between two steps the
 * store may change, so no range of it is open at a yield.
 *
 * `close` frees what was kept; it may be called at any time, more than once.
 */
export interface Operator {
  next(): Generator<undefined, readonly Row[] | undefined>;
  close(): void;
}
