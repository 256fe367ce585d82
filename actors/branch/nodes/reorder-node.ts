import { assert } from '#runtime/base/assert.ts';
import { ORDER_KEY_LENGTH_MAX, orderKeyBetween } from '#runtime/content/order-key.ts';
import { planOrderWindow, relabelOrder } from '#runtime/content/order-window.ts';
import { invalid } from '#runtime/errors/service-error.ts';
import type { ChildEntry } from '#runtime/tree/node-reader.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import { type EditScope, unmoved } from '../edit-scope.ts';
import type { ReorderNode, Written } from '../messages.ts';

/**
 * Places a node before or after a sibling. If it is there already, nothing changes. The node gets a new version, time
 * and author; neighbours that get new keys to make room keep theirs.
 *
 * @throws {ServiceError} `NODE_NOT_FOUND`; `VALIDATION_FAILED` for a node under another parent
 * @see messages.ts, ReorderNode; docs/interface/nodes.md#reordering
 */
export function* reorderNode(edit: EditScope, command: ReorderNode): Generator<undefined, Written> {
  const { workspace, position, targetPath } = command;
  const node = yield* edit.requireTarget(command, 'update');
  const sibling = yield* edit.requireNode(workspace, { path: targetPath }, 'read');
  const { id, path, parentId } = node.header;
  if (sibling.header.id === id) return { revision: null };
  if (sibling.header.parentId !== parentId) {
    throw invalid(`'${targetPath}' is not a sibling of '${path}'`, { field: 'targetPath' });
  }
  if (!(yield* placeBeside(edit, workspace, node, sibling, position))) return { revision: null };
  return { revision: edit.finish(command.commit, `Reordered node: ${id}`) };
}

/**
 * Places a node before or after another child of its parent, without ending the revision.
 *
 * @param node the caller may update it
 * @param sibling another node, with the same parent
 * @returns false: it is there already
 */
export function* placeBeside(
  edit: EditScope,
  workspace: string,
  node: NodeRecord,
  sibling: NodeRecord,
  position: ReorderNode['position'],
): Generator<undefined, boolean> {
  const { id, parentId } = node.header;
  const isBefore = position === 'before';
  const near = sibling.header.orderKey;
  const beyond = firstChild(edit, workspace, parentId, near, isBefore);
  if (beyond?.id === id) return false;
  const far = beyond?.orderKey ?? null;
  const orderKey = isBefore ? orderKeyBetween(far, near) : orderKeyBetween(near, far);
  const moved = yield* edit.nextInSteps(node, { orderKey, operation: 'reordered' });
  yield* edit.replaceInSteps(workspace, node, moved);
  edit.audit(workspace, moved, 'Update', { reordered: position, sibling_id: sibling.header.id });
  if (orderKey.length > ORDER_KEY_LENGTH_MAX) yield* relabelAround(edit, workspace, moved);
  return true;
}

/** The sibling next to an order key. */
function firstChild(
  edit: EditScope,
  workspace: string,
  parentId: string,
  after: string,
  reverse: boolean,
): ChildEntry | undefined {
  for (const child of edit.head.children(workspace, parentId, { after, reverse })) return child;
  return undefined;
}

/**
 * Gives a node and some of its neighbours short keys. They do not count towards the bound on nodes of one commit: the
 * caller did not request them, and refusing them would make the position unusable forever.
 */
function* relabelAround(edit: EditScope, workspace: string, middle: NodeRecord): Generator<undefined, void> {
  const { id, parentId, orderKey } = middle.header;
  const walk = (reverse: boolean): Iterator<ChildEntry> =>
    edit.head.children(workspace, parentId, { after: orderKey, reverse })[Symbol.iterator]();
  const before = walk(true);
  const after = walk(false);
  const window = planOrderWindow(before, { id, orderKey }, after);
  before.return?.();
  after.return?.();
  for (const [entry, key] of relabelOrder(window)) {
    const record = yield* edit.head.byIdInSteps(workspace, entry.id);
    assert(record !== undefined, 'a placed child is stored');
    yield* edit.writer.prepare(workspace, record);
    const change = { ...unmoved(record), orderKey: key, operation: 'reordered' } as const;
    edit.writer.replace(workspace, record, yield* edit.nextInSteps(record, change));
    yield;
  }
}
