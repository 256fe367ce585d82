import { joinPath } from '#runtime/content/path.ts';
import type { MoveStatement } from '#runtime/sql-syntax/nodes/tree-nodes.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import type { EditScope } from '../../../edit-scope.ts';
import { subtree } from '../../../nodes/delete-node.ts';
import { moveSubtree } from '../../../nodes/move-node.ts';
import { affectedRows, type ChangeContext, type StatementResult } from '../change-context.ts';
import { orConflict } from '../taken-path.ts';
import { workspaceOf } from './named-nodes.ts';
import { newPlace } from './new-parent.ts';

/**
 * Moves a node with its subtree below another node, after its last child. Below its present parent it stays as it is.
 *
 * @returns `affected_rows`: the nodes of the subtree
 * @throws {ServiceError} as {@link newPlace} and `moveSubtree`; `NODE_ALREADY_EXISTS` for a name that is taken there
 */
export function* moveStatement(
  change: ChangeContext,
  statement: MoveStatement,
): Generator<undefined, StatementResult> {
  const { edit } = change;
  const workspace = workspaceOf(change, statement.workspace);
  const { node, parentPath } = yield* newPlace(change, workspace, 'MOVE', statement);
  const { name, path } = node.header;
  const message = `MOVE ${path} TO ${parentPath}`;
  const moved = yield* orConflict(moveSubtree(edit, workspace, node, joinPath(parentPath, name)));
  return affectedRows(moved > 0 ? moved : yield* nodesIn(edit, workspace, node), message);
}

/** The number of nodes of a subtree that the caller may read. */
function* nodesIn(edit: EditScope, workspace: string, top: NodeRecord): Generator<undefined, number> {
  const isSeen = (record: NodeRecord): boolean => edit.access.mayRead(workspace, record);
  return (yield* subtree(edit, workspace, top, isSeen)).length;
}
