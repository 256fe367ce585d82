import { isDerivedName } from '#runtime/content/definitions/derived-names.ts';
import { isNodeId, NODE_ID_BYTES_MAX, ROOT_ID } from '#runtime/content/content-node.ts';
import {
  requireAllowedInWorkspace,
  requireAllowedUnder,
} from '#runtime/content/validation/allowed-children.ts';
import { type InitialNode, planInitialChildren } from '#runtime/content/validation/plan-initial-structure.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { orderKeyBetween } from '#runtime/content/order-key.ts';
import { joinPath, pathSegments, sanitizeName } from '#runtime/content/path.ts';
import { storedTranslations } from '#runtime/content/translations/translation.ts';
import { requireArchetype, prepareProperties } from '#runtime/content/validation/validate-node.ts';
import { requireLightRole } from '#runtime/access/roles/role-weight.ts';
import { invalid, ServiceError } from '#runtime/errors/service-error.ts';
import { atOnce } from '#runtime/base/event-loop/at-once.ts';
import { LargeValue } from '#runtime/shard/large-value.ts';
import { parentEntry } from '#runtime/tree/node-reader.ts';
import { makeNodeRecordInSteps } from '#runtime/tree/record/make-record.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import type { EditScope } from '../edit-scope.ts';
import type { CreateNode, NewNode, NodeWritten } from '../messages.ts';
import { translatedNames } from './field-writes.ts';
import { requireShortOwner } from './owner-bound.ts';
import { resolveReferences, valueResolver } from './resolve-references.ts';

/** The type of parents that are created because a node needs one. */
export const FOLDER = 'svc:Folder';

/** Missing parents created between two checks of the clock. */
const PARENTS_PER_STEP = 4;

/** The parent a node is placed under. */
export interface Parent {
  readonly id: string;
  readonly path: string;
  /** Type of the parent; undefined at the root. */
  readonly nodeType: string | undefined;
}

/** Creates a node as one revision. @see messages.ts, CreateNode */
export function* createNode(edit: EditScope, command: CreateNode): Generator<undefined, NodeWritten> {
  const { deep, expected, parentPath, workspace } = command;
  if (expected !== undefined)
    yield* edit.requireExpectedAt({ workspace, place: { path: parentPath }, expected }, deep);
  const record = yield* insertNode(edit, workspace, parentPath, command.node, { isDeep: deep });
  const message = `Created node: ${record.header.id}`;
  const revision = (yield* edit.finishInSteps(command.commit, message)) as string;
  // A lookup of children that cannot exist would cost as much as storing the node's path.
  const isLeaf = edit.requireType(workspace, record.header.nodeType).initialStructure === null;
  const hasChildren = isLeaf ? false : undefined;
  const node = yield* edit.renderInSteps(workspace, record, hasChildren);
  return {
    node,
    nodeId: record.header.id,
    revision,
    tag: yield* edit.tagInSteps(workspace, record, hasChildren),
  };
}

/** How a new node is stored. */
export interface InsertOptions {
  /** Creates missing parents as folders. */
  readonly isDeep?: boolean;
  /** Leaves out the initial structure of its type. */
  readonly isBare?: boolean;
}

/**
 * Checks and stores a new node with the initial structure of its type, without ending the revision. It pauses only when
 * the node is large or many parents are created.
 *
 * @throws {ServiceError} `NODE_NOT_FOUND` for a missing parent; `VALIDATION_FAILED`; `NODE_ALREADY_EXISTS`
 * @see docs/interface/nodes.md#creating-a-node
 */
export function* insertNode(
  edit: EditScope,
  workspace: string,
  under: string,
  node: NewNode,
  { isBare = false, isDeep = false }: InsertOptions = {},
): Generator<undefined, NodeRecord> {
  edit.workspace(workspace);
  const name = sanitizeName(node.name);
  const parent = yield* isDeep ? makeParents(edit, workspace, under) : requireParent(edit, workspace, under);
  const record = yield* addNode(edit, workspace, parent, { ...node, name });
  const type = edit.requireType(workspace, node.nodeType);
  if (type.initialStructure !== null && !isBare) {
    const self: Parent = { id: record.header.id, path: record.header.path, nodeType: node.nodeType };
    for (const child of planInitialChildren(type, edit.schema(workspace)))
      yield* addPlanned(edit, workspace, self, child);
  }
  return record;
}

/** Stores a planned node with its descendants. Existing nodes stay unchanged. */
export function* addPlanned(
  edit: EditScope,
  workspace: string,
  parent: Parent,
  planned: InitialNode,
): Generator<undefined, void> {
  const path = joinPath(parent.path, planned.name);
  const existing = yield* edit.head.byPathInSteps(workspace, path);
  const node: NewNode = {
    name: planned.name,
    nodeType: planned.node_type,
    archetype: planned.archetype,
    properties: planned.properties,
    translations: planned.translations,
  };
  const record = existing ?? atOnce(addNode(edit, workspace, parent, node, 'planned'));
  const self: Parent = { id: record.header.id, path, nodeType: record.header.nodeType };
  for (const child of planned.children) yield* addPlanned(edit, workspace, self, child);
}

/** The root of a workspace as a parent. */
export const rootParent: Parent = { id: ROOT_ID, path: '/', nodeType: undefined };

/** The parent at a path. Yields only when it is large. @throws {ServiceError} `NODE_NOT_FOUND` */
export function* requireParent(
  edit: EditScope,
  workspace: string,
  path: string,
): Generator<undefined, Parent> {
  const found = yield* findParent(edit, workspace, path);
  if (found === undefined) throw parentNotFound(path);
  return found;
}

/** The same for a parent that is missing and for one that is hidden from the caller. */
function parentNotFound(path: string): ServiceError {
  return new ServiceError('NODE_NOT_FOUND', `Parent node '${path}' not found`);
}

/**
 * @returns undefined when there is no node at the path
 * @throws {ServiceError} `NODE_NOT_FOUND` for a node the caller may not read
 */
function* findParent(
  edit: EditScope,
  workspace: string,
  path: string,
): Generator<undefined, Parent | undefined> {
  if (path === '/') return rootParent;
  const id = edit.head.idAt(workspace, path);
  if (id === undefined) return undefined;
  const isSeen = edit.access.readsAll(workspace);
  const peeked = isSeen ? edit.head.peekById(workspace, id) : undefined;
  // Only its type is needed, and the record is valid only until the next read.
  const record =
    peeked === undefined || peeked instanceof LargeValue
      ? yield* edit.head.byIdInSteps(workspace, id)
      : peeked;
  if (record === undefined) return undefined;
  if (!isSeen && !edit.access.mayRead(workspace, record)) throw parentNotFound(path);
  return { id, path, nodeType: record.nodeType };
}

/**
 * As {@link requireParent}; missing parents are created as folders. The longest path has room for two thousand, each of
 * which stores its full path: created in one step they blocked the event loop for 300 ms.
 *
 * @returns yields where the work may pause
 */
function* makeParents(edit: EditScope, workspace: string, path: string): Generator<undefined, Parent> {
  const found = yield* findParent(edit, workspace, path);
  if (found !== undefined) return found;
  let parent = rootParent;
  let isSeen = true;
  let depth = 0;
  for (const segment of pathSegments(path)) {
    const name = sanitizeName(segment);
    const existing = yield* edit.head.byPathInSteps(workspace, joinPath(parent.path, name));
    // As with a parent that was named: nothing is created below a node that may not be read.
    if (existing === undefined && !isSeen) throw parentNotFound(path);
    isSeen = existing === undefined || edit.access.mayRead(workspace, existing);
    const made =
      existing ?? (yield* addNode(edit, workspace, parent, { name, nodeType: FOLDER, properties: {} }));
    parent = { id: made.header.id, path: made.header.path, nodeType: made.header.nodeType };
    depth += 1;
    // A decision about a parent may take some milliseconds.
    if (depth % PARENTS_PER_STEP === 0 || !edit.access.policy.unrestricted) yield;
  }
  return parent;
}

/** The workspace and the parent must allow nodes of the type. @throws {ServiceError} `VALIDATION_FAILED` */
export function requireAllowed(edit: EditScope, workspace: string, parent: Parent, nodeType: string): void {
  requireAllowedInWorkspace(edit.workspace(workspace), nodeType, parent.id === ROOT_ID);
  if (parent.nodeType === undefined) return;
  const parentType = edit.schema(workspace).nodeType(parent.nodeType);
  if (parentType !== undefined) requireAllowedUnder(parentType, nodeType);
}

/**
 * @throws {ServiceError} when the path is taken: `NODE_ALREADY_EXISTS`; at the root `VALIDATION_FAILED`, as REST answers
 *   there, with the former as its cause
 * @see docs/interface/nodes.md#creating-a-node
 */
export function requireFreePath(edit: EditScope, workspace: string, parentId: string, path: string): void {
  if (edit.head.idAt(workspace, path) === undefined) return;
  const message = `Node with path '${path}' already exists`;
  const taken = new ServiceError('NODE_ALREADY_EXISTS', message);
  throw parentId === ROOT_ID ? invalid(message, { cause: taken }) : taken;
}

/** An order key after the last child. */
export function lastOrderKey(edit: EditScope, workspace: string, parentId: string): string {
  return orderKeyBetween(parentEntry(edit.turn, workspace, parentId)?.lastOrderKey ?? null, null);
}

function* addNode(
  edit: EditScope,
  workspace: string,
  parent: Parent,
  node: NewNode,
  origin: 'given' | 'planned' = 'given',
): Generator<undefined, NodeRecord> {
  const record = yield* newRecord(edit, workspace, parent, node, { origin });
  yield* storeNew(edit, workspace, record);
  return record;
}

/** Where a new node comes from. */
interface NewRecordOptions {
  /** Whether the caller gives it, or the structure of a type plans it. */
  readonly origin?: 'given' | 'planned';
  /** A node that leaves its place to the new one, which gets its path and order key; absent: the path must be free. */
  readonly insteadOf?: NodeRecord;
}

/**
 * The record of a new node, checked and not stored.
 *
 * @throws {ServiceError} `VALIDATION_FAILED`, `PERMISSION_DENIED`, `NODE_ALREADY_EXISTS`
 */
export function* newRecord(
  edit: EditScope,
  workspace: string,
  parent: Parent,
  node: NewNode,
  { insteadOf, origin = 'given' }: NewRecordOptions = {},
): Generator<undefined, NodeRecord> {
  const type = edit.requireType(workspace, node.nodeType);
  const path = edit.newPath(joinPath(parent.path, node.name));
  requireAllowed(edit, workspace, parent, node.nodeType);
  // Whether a path or an id is taken is told to nobody who may not create the node. Usually its place tells that.
  const isDecided = edit.access.decidesByPlace('create', workspace);
  const requireFree = (): void => {
    if (insteadOf === undefined) requireFreePlace(edit, workspace, parent, path, node.id);
  };
  if (isDecided) {
    edit.access.authorizeAt('create', workspace, path, node.nodeType);
    requireFree();
  }
  const id = node.id ?? edit.turn.newId();
  if (node.id !== undefined) requireNodeId(node.id);
  const schema = edit.schema(workspace);
  const archetype = node.archetype == null ? null : requireArchetype(node.archetype, type, schema);
  const properties = prepareProperties(type, archetype, node.properties, schema, 'create', edit.turn.budget);
  const record = yield* makeNodeRecordInSteps(
    {
      id,
      name: node.name,
      path,
      nodeType: node.nodeType,
      archetype: node.archetype ?? null,
      parentId: parent.id,
      orderKey: insteadOf?.orderKey ?? lastOrderKey(edit, workspace, parent.id),
      version: 1,
      createdAt: edit.now,
      createdBy: edit.who,
      updatedAt: edit.now,
      updatedBy: edit.who,
      publishedAt: null,
      publishedBy: null,
      ownerId: requireShortOwner(node.ownerId),
      translations:
        node.translations == null
          ? null
          : yield* storedTranslations(
              {
                properties,
                now: edit.now,
                resolve: valueResolver(edit, workspace),
                rules: { type, archetype, source: schema, budget: edit.turn.budget },
              },
              node.translations,
              edit.state.languages(),
            ),
      relations: [],
      revision: edit.revision,
      operation: 'added',
      changedLocale: null,
    },
    resolveReferences(edit, workspace, properties) as JsonObject,
  );
  edit.access.authorize('create', workspace, record);
  if (origin === 'given') {
    edit.access.authorizeFields('create', workspace, record, namesGiven(node));
    if (record.ownerId !== null) edit.access.authorizeBesideFields('create', workspace, record, 'owner');
  }
  if (origin === 'given') yield* requireLightRole(workspace, node.nodeType, properties);
  if (!isDecided) requireFree();
  return record;
}

/** Stores a new node that was checked. @throws {ServiceError} `COMMIT_TOO_LARGE`, `VALIDATION_FAILED` for a unique value */
export function* storeNew(
  edit: EditScope,
  workspace: string,
  record: NodeRecord,
): Generator<undefined, void> {
  yield* edit.writer.prepare(workspace, record);
  edit.writer.add(workspace, record);
  edit.checkSize();
  edit.audit(workspace, record, 'Create');
}

/** The properties that the caller gives a new node; its type may give it others. */
function* namesGiven({ properties, translations }: NewNode): Generator<string, void> {
  for (const name of Object.keys(properties)) if (!isDerivedName(name)) yield name;
  yield* translatedNames(translations);
}

function requireFreePlace(
  edit: EditScope,
  workspace: string,
  parent: Parent,
  path: string,
  id: string | undefined,
): void {
  requireFreePath(edit, workspace, parent.id, path);
  if (id === undefined) return;
  requireNodeId(id);
  if (edit.head.has(workspace, id))
    throw new ServiceError('NODE_ALREADY_EXISTS', `Node with id '${id}' already exists`);
}

function requireNodeId(id: string): void {
  if (isNodeId(id)) return;
  throw invalid(`A node id is 1 to ${NODE_ID_BYTES_MAX} bytes without control characters, and not '/'`, {
    field: 'id',
  });
}
