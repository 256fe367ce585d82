import type { CopyStatement } from '#runtime/sql-syntax/nodes/tree-nodes.ts';
import { bigintType, textType } from '#runtime/sql-values/types/basic-types.ts';
import { copySubtree } from '../../../nodes/copy-node.ts';
import type { ChangeContext, StatementResult } from '../change-context.ts';
import { orConflict } from '../taken-path.ts';
import { textOf, workspaceOf } from './named-nodes.ts';
import { newPlace } from './new-parent.ts';

/**
 * Copies a node below another one, alone or with its subtree.
 *
 * @returns `affected_rows`: the new nodes; `copied_root_path`
 * @throws {ServiceError} as {@link newPlace} and `copySubtree`; `NODE_ALREADY_EXISTS` for a name that is taken there
 */
export function* copyStatement(
  change: ChangeContext,
  statement: CopyStatement,
): Generator<undefined, StatementResult> {
  const { edit } = change;
  const workspace = workspaceOf(change, statement.workspace);
  const { node, parentPath } = yield* newPlace(change, workspace, 'COPY', statement);
  const { id, name } = node.header;
  const newName = statement.newName === undefined ? name : textOf(change, statement.newName);
  // A copy is a new node, so each counts as one change more.
  const before = edit.writer.changeCount;
  const request = { targetPath: parentPath, newName, tree: statement.isTree };
  const top = yield* orConflict(copySubtree(edit, workspace, node, request));
  return {
    columns: [
      { name: 'affected_rows', type: bigintType },
      { name: 'copied_root_path', type: textType },
    ],
    rows: [[BigInt(edit.writer.changeCount - before), top.header.path]],
    message: `Copied node: ${id}`,
  };
}
