import { wholeScope } from '#runtime/access/policy.ts';
import { invalid } from '#runtime/errors/service-error.ts';
import { Moment } from '#runtime/scan/moment.ts';
import { scan } from '#runtime/scan/scan.ts';
import { behindSubtree } from '#runtime/scan/tree-places.ts';
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
 * @param top the caller may delete it
 * @throws {ServiceError} `VALIDATION_FAILED` when a node in it is published, `PERMISSION_DENIED`
 */
export function* removeSubtree(
  edit: EditScope,
  workspace: string,
  top: NodeRecord,
): Generator<undefined, void> {
  const doomed = yield* lastFirst(yield* subtree(edit, workspace, top));
  // First, because the errors of the others name nodes.
  yield* eachBelow(edit, doomed, top, (record) =>
    edit.access.authorizeBelow('delete', workspace, record, top.header.path),
  );
  for (const record of doomed) requireUnpublished(record, 'delete', top.header.path);
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

/**
 * A node and everything below it, in tree order.
 *
 * @param onFound called for each node; false omits the node with its subtree. Default: all nodes
 * @throws {ServiceError} `COMMIT_TOO_LARGE` when there are more nodes than one commit may change
 */
export function* subtree(
  edit: EditScope,
  workspace: string,
  top: NodeRecord,
  onFound: (record: NodeRecord) => boolean = () => true,
): Generator<undefined, NodeRecord[]> {
  if (!onFound(top)) return [];
  const found = [top];
  const moment = new Moment(edit.turn);
  const source = { kind: 'subtree', workspace, topId: top.header.id } as const;
  let after: string | undefined;
  for (let isOver = false; !isOver; ) {
    isOver = true;
    for (const row of scan(moment, { source, scope: wholeScope, after })) {
      yield;
      if (row === undefined) continue;
      if (!onFound(row.record)) {
        after = behindSubtree(row.position);
        isOver = false;
        break;
      }
      found.push(row.record);
      edit.checkSize(found.length);
    }
  }
  return found;
}

/**
 * Asks about each node of a subtree but the top one, where that has to be asked. Yields behind each: a condition may take some
 * milliseconds.
 *
 * @param ask throws when the caller may not do what it does
 */
export function* eachBelow(
  edit: EditScope,
  records: readonly NodeRecord[],
  top: NodeRecord,
  ask: (record: NodeRecord) => void,
): Generator<undefined, void> {
  if (edit.access.policy.unrestricted) return;
  for (const record of records) {
    if (record === top) continue;
    ask(record);
    yield;
  }
}

/** The nodes of a subtree, parents before children, of siblings the last one first. @param records in tree order */
function* lastFirst(records: readonly NodeRecord[]): Generator<undefined, NodeRecord[]> {
  const children = new Map<string, NodeRecord[]>();
  for (const record of records) {
    yield;
    const siblings = children.get(record.parentId);
    if (siblings === undefined) children.set(record.parentId, [record]);
    else siblings.push(record);
  }
  const ordered: NodeRecord[] = [];
  const waiting = records.slice(0, 1);
  for (let record = waiting.pop(); record !== undefined; record = waiting.pop()) {
    yield;
    ordered.push(record);
    for (const child of children.get(record.id) ?? []) waiting.push(child);
  }
  return ordered;
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
