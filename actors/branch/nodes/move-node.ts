import type { NodeHeader } from '#runtime/content/content-node.ts';
import {
  isDescendantPath,
  joinPath,
  parentPath,
  pathName,
  rebasePath,
  sanitizeName,
} from '#runtime/content/path.ts';
import { invalid } from '#runtime/errors/service-error.ts';
import { withHeaderInSteps } from '#runtime/tree/record/make-record.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import { lastOrderKey, requireAllowed, requireFreePath, requireParent } from './create-node.ts';
import { eachBelow, requireUnpublished, subtree } from './delete-node.ts';
import { type EditScope, unmoved } from '../edit-scope.ts';
import type { MoveNode, RenameNode, Written } from '../messages.ts';
import { planStandIn, putStandIn, type StandIn } from './stand-in.ts';

/** Gives a node another name. @see messages.ts, RenameNode */
export function* renameNode(edit: EditScope, command: RenameNode): Generator<undefined, Written> {
  const node = yield* edit.requireTarget(command, 'update');
  yield* renameSubtree(edit, command.workspace, node, command.newName);
  return { revision: yield* edit.finishInSteps(command.commit, `Renamed node: ${node.header.id}`) };
}

/** Moves a node with its subtree. @see messages.ts, MoveNode */
export function* moveNode(edit: EditScope, command: MoveNode): Generator<undefined, Written> {
  const node = yield* edit.requireTarget(command, 'delete');
  yield* moveSubtree(edit, command.workspace, node, command.targetPath);
  return { revision: yield* edit.finishInSteps(command.commit, `Moved node: ${node.header.id}`) };
}

/** What a rename or move writes, once it is known to be permitted and possible. */
export interface PlannedMove {
  /** The node and everything below it, the node first. */
  readonly records: readonly [NodeRecord, ...NodeRecord[]];
  /** What changes in the node itself. */
  readonly change: Partial<NodeHeader> & { readonly path: string };
  readonly action: 'Move' | 'Rename';
  /** What takes the place of a node that leaves its children behind. */
  readonly standIn?: StandIn;
}

/**
 * Renames a node; it keeps its position among its siblings. Its current name as `newName` changes nothing.
 *
 * @param newName is sanitised
 * @throws {ServiceError} `VALIDATION_FAILED`, also when a node in the subtree is published or a path would be too long;
 *   `NODE_ALREADY_EXISTS`
 * @see docs/interface/nodes.md#renaming-and-moving
 */
export function* renameSubtree(
  edit: EditScope,
  workspace: string,
  node: NodeRecord,
  newName: string,
): Generator<undefined, void> {
  const plan = yield* planRename(edit, workspace, node, newName);
  if (plan !== undefined) yield* carryOutMove(edit, workspace, plan);
}

/**
 * Checks a rename without writing anything, see {@link renameSubtree}.
 *
 * @returns undefined when nothing would change
 */
export function* planRename(
  edit: EditScope,
  workspace: string,
  node: NodeRecord,
  newName: string,
): Generator<undefined, PlannedMove | undefined> {
  const name = sanitizeName(newName);
  const { path: from, parentId } = node.header;
  if (name === node.header.name) return undefined;
  const path = edit.newPath(joinPath(parentPath(from), name), from);
  const { access } = edit;
  access.together(() => {
    access.authorizePath(workspace, node, path);
    access.authorizeThere('update', workspace, node, path);
  });
  requireFreePath(edit, workspace, parentId, path);
  const records = (yield* subtree(edit, workspace, node)) as [NodeRecord, ...NodeRecord[]];
  yield* eachBelow(edit, records, node, (record) => {
    const there = rebasePath(record.path, from, path);
    access.together(() => {
      access.authorizeBelow('update', workspace, record, from);
      access.authorizePath(workspace, record, there);
      access.authorizeBelow('update', workspace, record, path, there);
    });
  });
  for (const record of records) {
    requireUnpublished(record, 'rename', from);
    edit.newPath(rebasePath(record.header.path, from, path), record.header.path);
  }
  return { records, change: { name, path }, action: 'Rename' };
}

/**
 * Moves a subtree. Its top node is placed after the last child of the new parent; under the same parent it keeps its
 * position. Its current path as `targetPath` changes nothing.
 *
 * @param targetPath full new path; the name at its end is sanitised
 * @returns the number of nodes written: those of the subtree, or none
 * @throws {ServiceError} `NODE_NOT_FOUND` for a missing parent; `VALIDATION_FAILED` for a target inside the subtree, a
 *   type that is not allowed there, a published node, a path that would be too long; `NODE_ALREADY_EXISTS`;
 *   `PERMISSION_DENIED`
 * @see docs/interface/nodes.md#renaming-and-moving
 */
export function* moveSubtree(
  edit: EditScope,
  workspace: string,
  node: NodeRecord,
  targetPath: string,
): Generator<undefined, number> {
  const plan = yield* planMove(edit, workspace, node, targetPath);
  if (plan === undefined) return 0;
  yield* carryOutMove(edit, workspace, plan);
  return plan.records.length;
}

/**
 * Checks a move without writing anything, see {@link moveSubtree}.
 *
 * @param isAlone whether the children keep their paths, below a folder in the place of the node. The node is then placed after
 *   the last child of its parent, also when that stays the same
 * @returns undefined when nothing would change
 * @throws {ServiceError} as {@link moveSubtree} and, for a node that moves alone, as {@link planStandIn}
 */
export function* planMove(
  edit: EditScope,
  workspace: string,
  node: NodeRecord,
  targetPath: string,
  isAlone = false,
): Generator<undefined, PlannedMove | undefined> {
  const { path: from, parentId, nodeType, orderKey } = node.header;
  if (isDescendantPath(targetPath, from)) {
    throw invalid(`Cannot move '${from}' into itself, to '${targetPath}'`, { field: 'targetPath' });
  }
  if (targetPath === from) return undefined;
  const name = sanitizeName(pathName(targetPath));
  if (name === node.header.name && parentPath(targetPath) === parentPath(from)) return undefined;
  const parent = yield* requireParent(edit, workspace, parentPath(targetPath));
  const path = edit.newPath(joinPath(parent.path, name), from);
  const { access } = edit;
  requireAllowed(edit, workspace, parent, nodeType);
  access.together(() => {
    access.authorize('create', workspace, node, { path }, path);
    access.authorizePath(workspace, node, path);
  });
  requireFreePath(edit, workspace, parent.id, path);
  const records = (isAlone ? [node] : yield* subtree(edit, workspace, node)) as [NodeRecord, ...NodeRecord[]];
  yield* eachBelow(edit, records, node, (record) => {
    const there = rebasePath(record.path, from, path);
    access.together(() => {
      access.authorizeBelow('delete', workspace, record, from);
      access.authorizeBelow('create', workspace, record, path, there);
      access.authorizePath(workspace, record, there);
    });
  });
  for (const record of records) {
    requireUnpublished(record, 'move', from);
    edit.newPath(rebasePath(record.header.path, from, path), record.header.path);
  }
  const standIn = isAlone ? yield* planStandIn(edit, workspace, node) : undefined;
  const isPlaced = parent.id !== parentId || standIn !== undefined;
  const place = isPlaced
    ? { parentId: parent.id, orderKey: lastOrderKey(edit, workspace, parent.id) }
    : { parentId, orderKey };
  const plan = { records, change: { name, path, ...place }, action: 'Move' } as const;
  return standIn === undefined ? plan : { ...plan, standIn };
}

/**
 * Writes every node of a subtree under its new path. The old and the new paths are disjoint, since the new top path is
 * free and not inside the subtree. So the order of the writes does not matter.
 *
 * The top node is the one the caller changed: it gets a new version, time and author. For the others, only the path
 * differs.
 *
 * @param changed another state of the top node, which is not stored yet: it is stored under the new path
 */
export function* carryOutMove(
  edit: EditScope,
  workspace: string,
  { action, change, records, standIn }: PlannedMove,
  changed?: NodeRecord,
): Generator<undefined, void> {
  const [top] = records;
  const from = top.header.path;
  for (let index = 0; index < records.length; index++) {
    const record = records[index] as NodeRecord;
    const path = rebasePath(record.header.path, from, change.path);
    yield* edit.writer.prepare(workspace, record);
    const next =
      record === top && changed !== undefined
        ? yield* withHeaderInSteps(changed, { ...changed.header, ...change })
        : yield* edit.nextInSteps(record, record === top ? change : { ...unmoved(record), path });
    edit.replace(workspace, record, next);
    edit.audit(workspace, next, action, { from: record.header.path, to: path });
    yield;
  }
  if (standIn !== undefined) yield* putStandIn(edit, workspace, standIn);
}
