import type { BoundDelete, BoundPoint } from '#runtime/sql-plan/bound/bound-change.ts';
import type { Row } from '#runtime/sql-exec/operator.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import type { EditScope } from '../../../edit-scope.ts';
import { removeSubtree } from '../../../nodes/delete-node.ts';
import type { NodePlace } from '../../../read-messages.ts';
import type { StatementResult } from '../change-context.ts';
import { answerOf, type DataChange, placeOf, returnedRows } from './data-change.ts';

/**
 * DELETE: of one node, or within a transaction of all that fulfil the condition, each with everything below it. A node that is
 * missing, or that the caller may not read, is no error. The number of rows is that of the nodes that the condition names.
 *
 * @throws {ServiceError} `VALIDATION_FAILED` for a published node, `PERMISSION_DENIED`, `COMMIT_TOO_LARGE`
 * @see docs/interface/sql-writes.md
 */
export function* deleteNodes(change: DataChange, bound: BoundDelete): Generator<undefined, StatementResult> {
  const { edit, queries } = change;
  const { point, returning, workspace } = bound;
  const ids = point === undefined ? yield* matchedIds(change, bound) : yield* pointId(edit, workspace, point);
  // Behind the deletion there is nothing to read.
  const rows: readonly Row[] = returning === undefined ? [] : yield* returnedRows(queries, returning, ids);
  for (const id of ids) {
    const record = yield* edit.head.byIdInSteps(workspace, id);
    // It went with a node above it.
    if (record === undefined) continue;
    yield* deleteMatchedNode(edit, bound, record);
    yield;
  }
  const message = point === undefined ? 'SQL DELETE' : `Deleted node: ${ids[0] ?? ''}`;
  return answerOf(bound, rows, ids, message);
}

/**
 * Removes a node with everything below it.
 *
 * @throws {ServiceError} those of the node, which they name
 */
export function* deleteMatchedNode(
  edit: EditScope,
  { workspace }: BoundDelete,
  record: NodeRecord,
): Generator<undefined, void> {
  edit.access.authorize('delete', workspace, record);
  yield* removeSubtree(edit, workspace, record);
}

function* matchedIds({ queries }: DataChange, bound: BoundDelete): Generator<undefined, readonly string[]> {
  const { rows } = yield* queries.rows(bound.matched);
  return rows.map(([id]) => id as string);
}

function* pointId(
  edit: EditScope,
  workspace: string,
  point: BoundPoint,
): Generator<undefined, readonly string[]> {
  const place = placeOf(point);
  const record = place === undefined ? undefined : yield* recordAt(edit, workspace, place);
  return record !== undefined && edit.access.mayRead(workspace, record) ? [record.id] : [];
}

function recordAt(
  { head }: EditScope,
  workspace: string,
  place: NodePlace,
): Generator<undefined, NodeRecord | undefined> {
  return 'path' in place
    ? head.byPathInSteps(workspace, place.path)
    : head.byIdInSteps(workspace, place.id);
}
