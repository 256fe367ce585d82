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
import { translatedDifferently } from '#runtime/content/translations/shown-translations.ts';
import { prepareProperties, requireArchetype } from '#runtime/content/validation/validate-node.ts';
import { jsonEquals } from '#runtime/content/values/json-value.ts';
import { invalid } from '#runtime/errors/service-error.ts';
import { makeNodeRecordInSteps, withHeaderInSteps } from '#runtime/tree/record/make-record.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import { lastOrderKey, type Parent, requireAllowed, requireFreePath, requireParent } from './create-node.ts';
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
 * Descendants the caller may not read are omitted with their subtrees, and so are properties that the caller may not read.
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
  requireAllowed(edit, workspace, parent, source.header.nodeType);
  const top = yield* copyOf(edit, workspace, source, {
    name,
    path,
    parentId: parent.id,
    orderKey: lastOrderKey(edit, workspace, parent.id),
  });
  edit.access.authorize('create', workspace, top);
  requireFreePath(edit, workspace, parent.id, path);
  // Listed whole before the first copy is written, so that a copy is never copied.
  const records = request.tree ? yield* copied(edit, workspace, source) : [source];
  addCopy(edit, workspace, source, top);
  const ids = new Map([[source.header.id, top.header.id]]);
  for (let index = 1; index < records.length; index++) {
    const record = records[index] as NodeRecord;
    const { header } = record;
    const parentId = ids.get(header.parentId);
    assert(parentId !== undefined, 'what is copied comes behind its parent');
    const newPath = edit.newPath(rebasePath(header.path, source.header.path, path));
    const copy = yield* copyOf(edit, workspace, record, { path: newPath, parentId });
    edit.access.authorizeBelow('create', workspace, copy, path);
    addCopy(edit, workspace, record, copy);
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
    if (record !== source && !edit.access.mayRead(workspace, record)) return false;
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

/** A copy that is not stored yet. */
function* copyOf(
  edit: EditScope,
  workspace: string,
  source: NodeRecord,
  place: Pick<NodeHeader, 'path' | 'parentId'> & Partial<NodeHeader>,
): Generator<undefined, NodeRecord> {
  const { mark, record: shown } = yield* edit.access.shown(workspace, source);
  const header: NodeHeader = {
    ...shown.header,
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
  };
  if (mark !== undefined) return yield* partialCopy(edit, workspace, shown, header);
  yield* edit.writer.prepare(workspace, source);
  return yield* withHeaderInSteps(source, header);
}

/**
 * A copy without the properties that the caller may not read: elsewhere the caller might read them. It is checked as if the
 * caller had created it.
 */
function* partialCopy(
  edit: EditScope,
  workspace: string,
  shown: NodeRecord,
  header: NodeHeader,
): Generator<undefined, NodeRecord> {
  const type = edit.requireType(workspace, header.nodeType);
  const schema = edit.schema(workspace);
  const archetype = header.archetype === null ? null : requireArchetype(header.archetype, type, schema);
  const given = yield* shown.decode();
  const properties = prepareProperties(type, archetype, given, schema, 'create', edit.turn.budget);
  const copy = yield* makeNodeRecordInSteps(header, properties);
  yield* edit.writer.prepare(workspace, copy);
  return copy;
}

function addCopy(edit: EditScope, workspace: string, source: NodeRecord, copy: NodeRecord): void {
  edit.requireType(workspace, source.header.nodeType);
  edit.access.authorizeFields('create', workspace, copy, propertiesOf(copy));
  edit.writer.add(workspace, copy);
  edit.checkSize();
  edit.audit(workspace, copy, 'Copy', { source_id: source.header.id, source_path: source.header.path });
}

/** The properties that a copy has or has translations of. */
function* propertiesOf(copy: NodeRecord): Generator<string, void> {
  yield* Object.keys(copy.properties);
  yield* translatedDifferently(null, copy.header.translations, jsonEquals);
}
