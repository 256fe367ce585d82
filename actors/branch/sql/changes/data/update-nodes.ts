import { nodeNotFound, ServiceError } from '#runtime/errors/service-error.ts';
import type { BoundPoint, BoundUpdate } from '#runtime/sql-plan/bound/bound-change.ts';
import type { SqlValue } from '#runtime/sql-values/sql-value.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import type { EditScope } from '../../../edit-scope.ts';
import type { StatementResult } from '../change-context.ts';
import { answerOf, type DataChange, ofNode, placeOf, returnedRows } from './data-change.ts';
import { updateFields } from './update-fields.ts';
import { updatedFields } from './written-fields.ts';

/**
 * UPDATE: of one node, or within a transaction of all that fulfil the condition. Unique values of several nodes are compared
 * when all are written, so that they can be swapped.
 *
 * @throws {ServiceError} `NODE_NOT_FOUND` for a point without a node; `VALIDATION_FAILED`, `PERMISSION_DENIED`,
 *   `NODE_ALREADY_EXISTS`, `COMMIT_TOO_LARGE`
 * @see docs/interface/sql-writes.md
 */
export function* updateNodes(change: DataChange, bound: BoundUpdate): Generator<undefined, StatementResult> {
  const { point, returning } = bound;
  const ids = point === undefined ? yield* updateMatched(change, bound) : yield* updatePoint(change, bound, point);
  const rows = returning === undefined ? [] : yield* returnedRows(change.queries, returning, ids);
  const message = point === undefined ? 'SQL UPDATE' : `Updated node: ${ids[0]}`;
  return answerOf(bound, rows, ids, message);
}

function* updatePoint(
  { edit, queries }: DataChange,
  bound: BoundUpdate,
  point: BoundPoint,
): Generator<undefined, readonly string[]> {
  const { by, value } = point;
  const { workspace } = bound;
  const place = placeOf(point);
  if (value === null) throw new ServiceError('NODE_NOT_FOUND', `No node has NULL as its ${by}`);
  if (place === undefined) throw nodeNotFound(by === 'id' ? { id: value } : { path: value });
  // What may be done with it is asked where it is written.
  const record = yield* edit.requireNode(workspace, place, 'read');
  const values = givenValues(bound) ?? (yield* queries.rowOf(record, bound.matched))?.slice(1);
  // A condition on an id or path that was found holds.
  if (values === undefined) throw nodeNotFound(place);
  yield* updateFields(edit, workspace, record, updatedFields(bound.columns, values));
  return [record.id];
}

/** The new values, where none of them depends on the node: a query for them would cost as much as the write. */
function givenValues({ matched }: BoundUpdate): readonly SqlValue[] | undefined {
  const values: SqlValue[] = [];
  for (const { expression } of matched.query.output.slice(1)) {
    if (expression.kind !== 'constant') return undefined;
    values.push(expression.value);
  }
  return values;
}

function* updateMatched(
  { edit, queries }: DataChange,
  bound: BoundUpdate,
): Generator<undefined, readonly string[]> {
  const { rows } = yield* queries.rows(bound.matched);
  edit.checkSize(rows.length);
  edit.writer.deferUniques();
  const ids: string[] = [];
  for (const [id, ...values] of rows) {
    const record = yield* edit.head.byIdInSteps(bound.workspace, id as string);
    if (record === undefined) continue;
    yield* updateMatchedNode(edit, bound, record, values);
    ids.push(record.id);
    yield;
  }
  return ids;
}

/**
 * Writes the new values to one of several nodes.
 *
 * @param values in the order of the columns
 * @throws {ServiceError} those of the node, which they name
 */
export function* updateMatchedNode(
  edit: EditScope,
  bound: BoundUpdate,
  record: NodeRecord,
  values: readonly SqlValue[],
): Generator<undefined, void> {
  const { columns, workspace } = bound;
  try {
    yield* updateFields(edit, workspace, record, updatedFields(columns, values));
  } catch (error) {
    throw ofNode(error, record.path);
  }
}
