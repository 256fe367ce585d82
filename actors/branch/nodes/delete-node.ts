import { assert } from '#runtime/base/assert.ts';
import { invalid } from '#runtime/errors/service-error.ts';
import type { ChildRange } from '#runtime/tree/node-reader.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import type { EditScope } from '../edit-scope.ts';
import type { DeleteNode, NodeDeleted } from '../messages.ts';

/** Removes a node with its subtree. @see messages.ts, DeleteNode */
export function* deleteNode(edit: EditScope, command: DeleteNode): Generator<undefined, NodeDeleted> {
  const top = yield* edit.requireTarget(command, 'delete');
  yield* removeSubtree(edit, command.workspace, top);
  const revision = (yield* edit.finishInSteps(command.commit, `Deleted node: ${top.header.id}`)) as string;
  return { nodeId: top.header.id, revision };
}

/**
 * Removes a node and everything below it, children before parents. The cost grows with the subtree.
 *
 * @throws {ServiceError} `VALIDATION_FAILED` when a node in it is published, `PERMISSION_DENIED`
 */
export function* removeSubtree(
  edit: EditScope,
  workspace: string,
  top: NodeRecord,
): Generator<undefined, void> {
  const doomed = yield* subtree(edit, workspace, top, 'last-first');
  for (const record of doomed) {
    edit.authorize(workspace, 'delete', record.header);
    requireUnpublished(record, 'delete', top.header.path);
  }
  // Backwards, so that children are removed before parents, and the first sibling first: after the removal of its last
  // child, a parent would have to look up the new last child each time.
  for (let index = doomed.length - 1; index >= 0; index--) {
    const record = doomed[index] as NodeRecord;
    yield* edit.writer.prepare(workspace, record);
    edit.writer.remove(workspace, record);
    edit.audit(workspace, record, 'Delete');
    yield;
  }
}

/** Children listed between two checks of the clock. */
const SLICE_CHILDREN = 512;

/**
 * A node and everything below it, parents before children.
 *
 * @param siblings `first-first` for tree order
 * @param onFound called for each node; false omits the node with its subtree. Default: all nodes
 * @throws {ServiceError} `COMMIT_TOO_LARGE` when there are more nodes than one commit may change
 */
export function* subtree(
  edit: EditScope,
  workspace: string,
  top: NodeRecord,
  siblings: 'first-first' | 'last-first' = 'first-first',
  onFound: (record: NodeRecord) => boolean = () => true,
): Generator<undefined, NodeRecord[]> {
  const found: NodeRecord[] = [];
  const waiting: string[] = [top.header.id];
  for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
    const record: NodeRecord | undefined =
      id === top.header.id ? top : yield* edit.head.byIdInSteps(workspace, id);
    assert(record !== undefined, 'a placed child is stored');
    yield;
    if (!onFound(record)) continue;
    found.push(record);
    if (!edit.head.hasChildren(workspace, id)) continue;
    // Last in, first out.
    yield* pushChildren(edit, workspace, id, siblings === 'first-first', waiting);
    edit.checkSize(found.length + waiting.length);
  }
  return found;
}

function* pushChildren(
  edit: EditScope,
  workspace: string,
  parentId: string,
  reverse: boolean,
  ids: string[],
): Generator<undefined, void> {
  let range: ChildRange | undefined = { reverse };
  while (range !== undefined) {
    let count = 0;
    let last = '';
    for (const child of edit.head.children(workspace, parentId, range)) {
      ids.push(child.id);
      last = child.orderKey;
      count += 1;
      if (count === SLICE_CHILDREN) break;
    }
    range = count === SLICE_CHILDREN ? { reverse, after: last } : undefined;
    if (range !== undefined) yield;
  }
}

/**
 * Refuses to delete, move or rename a published node.
 *
 * @param top path of the node the caller named
 * @throws {ServiceError} `VALIDATION_FAILED`
 * @see docs/interface/nodes.md#published-nodes
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
