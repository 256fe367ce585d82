import { ServiceError } from '#runtime/errors/service-error.ts';
import type { BoundChange, BoundReturning } from '#runtime/sql-plan/bound/bound-change.ts';
import type { Row } from '#runtime/sql-exec/operator.ts';
import { isPath } from '../../tables/find-paths.ts';
import { isNodeId } from '#runtime/content/content-node.ts';
import type { BoundPoint } from '#runtime/sql-plan/bound/bound-change.ts';
import type { NodePlace } from '../../../read-messages.ts';
import { reworded } from '../../statement-number.ts';
import { affectedRows, type ChangeContext, type StatementResult } from '../change-context.ts';
import type { TurnQueries } from '../turn-queries.ts';

/** What a statement of data is run with. */
export interface DataChange extends ChangeContext {
  readonly queries: TurnQueries;
  /** Whether the statement may change many nodes here; otherwise that is the work of a job. */
  readonly isTransaction: boolean;
}

/** Characters of a text whose statements take so long to be bound that the work pauses behind it. */
const LONG_TEXT = 8_192;

/** Whether binding a statement of a text may take some milliseconds. A command that never pauses costs much less. */
export function isLongText(source: string): boolean {
  return source.length > LONG_TEXT;
}

/** The place that a point statement names; undefined for one that no node can have. */
export function placeOf({ by, value }: BoundPoint): NodePlace | undefined {
  if (value === null) return undefined;
  if (by === 'id') return isNodeId(value) ? { id: value } : undefined;
  return isPath(value) ? { path: value } : undefined;
}

/** The rows of RETURNING, in the order of the nodes. A node that its writer may not read gives none. */
export function* returnedRows(
  queries: TurnQueries,
  returning: BoundReturning,
  ids: readonly string[],
): Generator<undefined, readonly Row[]> {
  const distinct = [...new Set(ids)];
  const byId = new Map<unknown, Row>();
  for (const [id, ...values] of yield* queries.rowsOf(distinct, (some) => returning.statementFor(some)))
    byId.set(id, values);
  return distinct.map((id) => byId.get(id)).filter((row) => row !== undefined);
}

/** The answer of a statement: the rows of its RETURNING, or how many rows it has written. */
export function answerOf(
  { kind, returning }: BoundChange,
  rows: readonly Row[],
  ids: readonly string[],
  message: string,
): StatementResult {
  if (returning === undefined) return affectedRows(ids.length, message);
  const returned = { ids, areBefore: kind === 'delete' };
  const columns = returning.output.map(({ expression, name }) => ({ name, type: expression.type }));
  return { columns, rows, message, returned };
}

/** The same error, saying at its end which of several rows it is about. @param number of the row, from 1 */
export function ofRow(error: unknown, number: number): unknown {
  return error instanceof ServiceError ? reworded(error, `${error.message} (row ${number})`) : error;
}

/** The same error, naming the node it is about. */
export function ofNode(error: unknown, path: string): unknown {
  return error instanceof ServiceError ? reworded(error, `Node '${path}': ${error.message}`) : error;
}
