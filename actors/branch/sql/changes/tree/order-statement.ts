import { invalid } from '#runtime/errors/service-error.ts';
import type { OrderStatement } from '#runtime/sql-syntax/nodes/tree-nodes.ts';
import { placeBeside } from '../../../nodes/reorder-node.ts';
import { affectedRows, type ChangeContext, type StatementResult } from '../change-context.ts';
import { isRoot, placeOf, requireNamed, workspaceOf } from './named-nodes.ts';

/**
 * Places a node before or after a sibling.
 *
 * @returns `affected_rows`: 1, also when it is there already
 * @throws {ServiceError} `NODE_NOT_FOUND` for either node; `PERMISSION_DENIED`; `VALIDATION_FAILED` for the root, for a node
 *   beside itself and for nodes under different parents
 * @see docs/interface/sql-tree.md#order
 */
export function* orderStatement(
  change: ChangeContext,
  statement: OrderStatement,
): Generator<undefined, StatementResult> {
  const { edit } = change;
  const workspace = workspaceOf(change, statement.workspace);
  const source = placeOf(change, statement.source);
  const target = placeOf(change, statement.target);
  if (isRoot(source) || isRoot(target)) throw invalid("ORDER: Root node '/' cannot be reordered");
  const node = yield* requireNamed(change, workspace, source, 'update', 'Source node');
  const sibling = yield* requireNamed(change, workspace, target, 'read', 'Target node');
  const { id, parentId, path } = node.header;
  if (sibling.header.id === id) throw invalid('ORDER: Cannot order a node relative to itself');
  if (sibling.header.parentId !== parentId) {
    const named = `Source '${path}' and target '${sibling.header.path}' have different parents`;
    throw invalid(`ORDER: Nodes must be siblings (same parent). ${named}`);
  }
  const position = statement.position === 'above' ? 'before' : 'after';
  yield* placeBeside(edit, workspace, node, sibling, position);
  return affectedRows(1, `Reordered node: ${id}`);
}
