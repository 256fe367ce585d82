import { assert } from '#runtime/base/assert.ts';
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
import { lastOrderKey, type Parent, requireParent, requirePlace } from './create-node.ts';
import { subtree } from './delete-node.ts';
import type { EditScope } from '../edit-scope.ts';
import type { CopyNode, NodeWritten } from '../messages.ts';

/** What to copy and where to; see the message. */
type CopyRequest = Pick<CopyNode, 'targetPath' | 'newName' | 'tree'>;

/** Copies a node, alone or with its subtree. @see messages.ts, CopyNode */
export function* copyNode(edit: EditScope, command: CopyNode): Generator<undefined, NodeWritten> {
  const { workspace } = command;
  const source = yield* edit.requireTarget(command, 'read');
  const copy = yield* copySubtree(edit, workspace, source, command);
  const message = `Copied node: ${source.header.id}`;
  const revision = (yield* edit.finishInSteps(command.commit, message)) as string;
  return { node: yield* edit.renderInSteps(workspace, copy), nodeId: copy.header.id, revision };
}

/**
 * Copies a node or a subtree after the last child of the destination, with new ids at every level, new timestamps and
 * authors, and nothing published. Properties, translations, archetype, owner and order among siblings are those of the
 * source. So are references and relations: they point to the same nodes as the source, even inside the copied subtree.
 * Descendants the caller may not read are omitted with their subtrees.
 *
 * @returns the copy of the top node
 * @throws {ServiceError} `NODE_NOT_FOUND` for a missing parent; `VALIDATION_FAILED` for a destination inside the
 *   source, a type that is deleted or not allowed there, a unique value (the source has it already), a path that would
 *   be too long; `NODE_ALREADY_EXISTS`; `PERMISSION_DENIED`
 * @see docs/interface/nodes.md#copying
 */
export function* copySubtree(
  edit: EditScope,
  workspace: string,
  source: NodeRecord,
  request: CopyRequest,
): Generator<undefined, NodeRecord> {
  const { parent, name } = yield* destination(edit, workspace, source, request);
  const path = edit.newPath(joinPath(parent.path, name));
  requirePlace(edit, workspace, parent, source.header.nodeType, path);
  // Listed whole before the first copy is written, so that a copy is never copied.
  const records = request.tree ? yield* copied(edit, workspace, source) : [source];
  const top = yield* addCopy(edit, workspace, source, {
    name,
    path,
    parentId: parent.id,
    orderKey: lastOrderKey(edit, workspace, parent.id),
  });
  const ids = new Map([[source.header.id, top.header.id]]);
  for (let index = 1; index < records.length; index++) {
    const record = records[index] as NodeRecord;
    const { header } = record;
    const parentId = ids.get(header.parentId);
    assert(parentId !== undefined, 'what is copied comes behind its parent');
    const newPath = edit.newPath(rebasePath(header.path, source.header.path, path));
    edit.authorize(workspace, 'create', { path: newPath, nodeType: header.nodeType });
    const copy = yield* addCopy(edit, workspace, record, { path: newPath, parentId });
    ids.set(header.id, copy.header.id);
    yield;
  }
  return top;
}

/**
 * The nodes of a subtree to copy. Refused before anything is written if the commit would have too many nodes or bytes.
 * Repeated copies double the size, so the last ones would be most of the work of a refused commit.
 *
 * @throws {ServiceError} `COMMIT_TOO_LARGE`
 */
function copied(edit: EditScope, workspace: string, source: NodeRecord): Generator<undefined, NodeRecord[]> {
  let nodes = edit.writer.changeCount;
  let bytes = 0;
  return subtree(edit, workspace, source, (record) => {
    if (record !== source && !isReadable(edit, workspace, record.header)) return false;
    nodes += 1;
    bytes += record.propertyBytes().text.length;
    edit.checkSize(nodes);
    edit.turn.requireRoom(bytes);
    return true;
  });
}

function* destination(
  edit: EditScope,
  workspace: string,
  source: NodeRecord,
  { targetPath, newName }: CopyRequest,
): Generator<undefined, { readonly parent: Parent; readonly name: string }> {
  const { path: from } = source.header;
  const under = newName === undefined ? parentPath(targetPath) : targetPath;
  if (under === from || isDescendantPath(under, from)) {
    throw invalid(`Cannot copy '${from}' into itself, below '${under}'`, { field: 'targetPath' });
  }
  const name = sanitizeName(newName ?? pathName(targetPath));
  return { parent: yield* requireParent(edit, workspace, under), name };
}

function isReadable(edit: EditScope, workspace: string, { path, nodeType }: NodeHeader): boolean {
  const { policy } = edit.turn.caller;
  return policy.unrestricted || policy.allows('read', { workspace, path, nodeType });
}

function* addCopy(
  edit: EditScope,
  workspace: string,
  source: NodeRecord,
  place: Pick<NodeHeader, 'path' | 'parentId'> & Partial<NodeHeader>,
): Generator<undefined, NodeRecord> {
  edit.requireType(workspace, source.header.nodeType);
  yield* edit.writer.prepare(workspace, source);
  const copy = yield* withHeaderInSteps(source, {
    ...source.header,
    id: edit.turn.newId(),
    version: 1,
    createdAt: edit.now,
    createdBy: edit.who,
    updatedAt: edit.now,
    updatedBy: edit.who,
    publishedAt: null,
    publishedBy: null,
    revision: edit.revision,
    operation: 'added',
    changedLocale: null,
    ...place,
  });
  edit.writer.add(workspace, copy);
  edit.checkSize();
  edit.audit(workspace, copy, 'Copy', { source_id: source.header.id, source_path: source.header.path });
  return copy;
}
