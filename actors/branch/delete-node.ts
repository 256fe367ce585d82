import { invalid } from '#runtime/errors/service-error.ts';
import type { NodeRecord } from '#runtime/tree/node-record.ts';
import type { EditScope } from './edit-scope.ts';
import type { DeleteNode, NodeDeleted } from './messages.ts';

/** Removes a node with its subtree. @see messages.ts, DeleteNode */
export function* deleteNode(edit: EditScope, command: DeleteNode): Generator<undefined, NodeDeleted> {
  const top = edit.requireNode(command.workspace, command.place, 'delete');
  yield* removeSubtree(edit, command.workspace, top);
  const revision = edit.finish(command.commit, `Deleted node: ${top.header.id}`) as string;
  return { nodeId: top.header.id, revision };
}

/**
 * Removes a node and everything below it, children before parents. Cost follows the subtree.
 *
 * @throws {ServiceError} `VALIDATION_FAILED` when something in it is published, `PERMISSION_DENIED`
 */
export function* removeSubtree(
  edit: EditScope,
  workspace: string,
  top: NodeRecord,
): Generator<undefined, void> {
  const doomed = yield* subtree(edit, workspace, top);
  for (const record of doomed) {
    edit.authorize(workspace, 'delete', record.header);
    requireUnpublished(record, 'delete', top.header.path);
  }
  for (let index = doomed.length - 1; index >= 0; index--) {
    const record = doomed[index] as NodeRecord;
    edit.writer.remove(workspace, record);
    edit.checkSize();
    edit.audit(workspace, record, 'Delete');
    if (index % SLICE_NODES === 0) yield;
  }
}

/** Nodes handled between two looks at the clock. */
export const SLICE_NODES = 64;

/** A node and everything below it in tree order, parents before children. */
export function* subtree(
  edit: EditScope,
  workspace: string,
  top: NodeRecord,
): Generator<undefined, NodeRecord[]> {
  const found: NodeRecord[] = [];
  const waiting: NodeRecord[] = [top];
  for (let record = waiting.pop(); record !== undefined; record = waiting.pop()) {
    found.push(record);
    const children: NodeRecord[] = [];
    for (const { id } of edit.head.children(workspace, record.header.id)) {
      children.push(edit.head.byId(workspace, id) as NodeRecord);
    }
    for (const child of children.reverse()) waiting.push(child);
    if (found.length % SLICE_NODES === 0) yield;
  }
  return found;
}

/**
 * A published node is not deleted, moved or renamed.
 *
 * @param top path of the node the caller named
 * @throws {ServiceError} `VALIDATION_FAILED`
 * @see Supplement 5.1, published guard
 */
export function requireUnpublished(
  record: NodeRecord,
  verb: 'delete' | 'move' | 'rename',
  top: string,
): void {
  if (record.header.publishedAt === null) return;
  const what =
    record.header.path === top
      ? `node '${top}' is published`
      : `'${record.header.path}' below '${top}' is published`;
  throw invalid(`Cannot ${verb}: ${what}; unpublish it first`);
}
