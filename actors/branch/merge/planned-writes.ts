import { sortInSlices } from '#runtime/base/event-loop/sliced-sort.ts';
import { crashPoint } from '#runtime/commit/crash-point.ts';
import { ROOT_ID } from '#runtime/content/content-node.ts';
import { type JsonObject, jsonEquals } from '#runtime/content/values/json-value.ts';
import { orderKeyBetween } from '#runtime/content/order-key.ts';
import { joinPath } from '#runtime/content/path.ts';
import { overlayOf, storedTranslations, withOverlay } from '#runtime/content/translations/translation.ts';
import {
  requireArchetype,
  validateProperties,
  validationFailed,
} from '#runtime/content/validation/validate-node.ts';
import { invalid, ServiceError } from '#runtime/errors/service-error.ts';
import { BranchTable, childKey } from '#runtime/shard/key-layout.ts';
import { noDetails } from '#runtime/tree/change-details.ts';
import type { DefinitionNetChange } from '#runtime/tree/net-change.ts';
import { makeNodeRecordInSteps } from '#runtime/tree/record/make-record.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import type { DefinitionChange, NodeChange } from '#runtime/tree/revision-record.ts';
import { removeDefinition, writeDefinition } from '#runtime/tree/schema-store.ts';
import { requireAllowed, rootParent } from '../nodes/create-node.ts';
import { subtree } from '../nodes/delete-node.ts';
import { eachInSlices } from '../each-in-slices.ts';
import { type EditScope, unmoved } from '../edit-scope.ts';
import { resolveReferences, valueResolver } from '../nodes/resolve-references.ts';
import { changedNode } from '../nodes/update-node.ts';
import { shownPath } from './shown-path.ts';

/** One node to be written; `present` undefined: it is new here, `content` undefined: it is removed. */
export interface PlannedWrite {
  readonly workspace: string;
  readonly id: string;
  readonly present: NodeRecord | undefined;
  /** Its new content, except path and position. */
  readonly content: NodeRecord | undefined;
  readonly translations: JsonObject | null;
  readonly operation: NodeChange['operation'];
  readonly changedLocale: string | null;
  /** Whether it gets the order key of `content`, or one right after it. */
  readonly isPlaced: boolean;
  /** Whether it only moves with an ancestor, or stays unchanged: it keeps its version, time and author. */
  readonly isFollower?: boolean;
  /** Content given by the caller in place of that of `content`. */
  readonly given?: GivenContent;
  /** The state that names the node in the revision if it neither exists here nor is added. */
  readonly named?: NodeRecord;
}

/** Content as a caller gives it. It is checked against the schema when it is written. */
export interface GivenContent {
  readonly properties?: JsonObject;
  /** By locale, in the form of the field `translations` of a node. */
  readonly translations?: ReadonlyMap<string, JsonObject>;
}

/** The purpose of the writes, for messages. */
export interface WritesPurpose {
  /** As in "The merge would …". */
  readonly noun: 'merge' | 'revert' | 'restore';
  /** For audit entries. */
  readonly details: JsonObject;
}

/**
 * Writes many nodes and definitions in one step. First everything is planned, then written: all changed nodes are
 * removed from the tree before any is inserted, so nodes may swap positions, paths and unique values. The plan must be
 * free of conflicts.
 */
export class PlannedWrites {
  /** By node, in the order of planning. */
  readonly #nodes = new Map<string, PlannedWrite>();
  readonly #definitions: DefinitionNetChange[] = [];
  readonly #paths = new Map<string, string>();
  readonly #edit: EditScope;
  readonly #purpose: WritesPurpose;

  constructor(edit: EditScope, purpose: WritesPurpose) {
    this.#edit = edit;
    this.#purpose = purpose;
  }

  get nodes(): readonly PlannedWrite[] {
    return [...this.#nodes.values()];
  }

  /** Number of nodes to be written. */
  get size(): number {
    return this.#nodes.size;
  }

  /** Returns the node changes recorded in the revision; valid after {@link PlannedWrites.write}. */
  *changes(): Generator<undefined, readonly NodeChange[]> {
    const changes: NodeChange[] = [];
    for (const write of this.#nodes.values()) {
      changes.push(yield* this.#changeOf(write));
      yield;
    }
    return changes;
  }

  /** As {@link PlannedWrites.changes}, for definitions. */
  get definitions(): readonly DefinitionChange[] {
    return this.#definitions.map(({ kind, name, operation }) => ({ kind, name, operation }));
  }

  /** The write of a node, if there is one. */
  of(workspace: string, id: string): PlannedWrite | undefined {
    return this.#nodes.get(keyOf(workspace, id));
  }

  set(write: PlannedWrite): void {
    this.#nodes.set(keyOf(write.workspace, write.id), write);
  }

  setDefinition(change: DefinitionNetChange): void {
    this.#definitions.push(change);
  }

  /** Moves an otherwise unchanged node along with its ancestors. Writes of all its ancestors must be planned. */
  *follow(workspace: string, present: NodeRecord): Generator<undefined, void> {
    const { id, path, translations } = present.header;
    if (this.#nodes.has(keyOf(workspace, id)) || (yield* this.pathOf(workspace, id)) === path) return;
    this.set({
      workspace,
      id,
      present,
      content: present,
      translations,
      operation: 'modified',
      changedLocale: null,
      isPlaced: false,
      isFollower: true,
    });
  }

  /**
   * Moves the descendants of nodes that get another path. All other writes must be planned. The cost grows with the
   * subtrees.
   *
   * @throws {ServiceError} `COMMIT_TOO_LARGE`, `VALIDATION_FAILED` for a path too long
   */
  *followMoved(): Generator<undefined, void> {
    const moved: PlannedWrite[] = [];
    for (const write of this.nodes) {
      const { content, id, present, workspace } = write;
      yield;
      if (content === undefined || present === undefined) continue;
      if ((yield* this.pathOf(workspace, id)) !== present.header.path) moved.push(write);
    }
    const walked = new Set<string>();
    // Top nodes first: the walk of a top node includes all moved nodes below it.
    for (const { id, present, workspace } of yield* sortInSlices(moved, byPresentPath)) {
      if (walked.has(keyOf(workspace, id))) continue;
      for (const record of yield* subtree(this.#edit, workspace, present as NodeRecord)) {
        walked.add(keyOf(workspace, record.header.id));
        yield* this.follow(workspace, record);
      }
      this.#edit.checkSize(this.size);
    }
  }

  /**
   * @throws {ServiceError} `VALIDATION_FAILED`, naming the node, for a unique value that is taken, a path too long,
   *   given content that is not valid, and when the result would not be a tree
   */
  *write(): Generator<undefined, void> {
    const { turn, writer, state } = this.#edit;
    const { nodes } = this;
    // The new paths are computed before anything is moved.
    for (const { content, id, workspace } of nodes) {
      if (content !== undefined) yield* this.pathOf(workspace, id);
      yield;
    }
    yield* eachInSlices(nodes, (write) => this.#take(write));
    crashPoint('mid-merge');
    for (const { after, kind, name } of this.#definitions) {
      if (after === undefined) removeDefinition(turn, kind, name);
      else writeDefinition(turn, kind, after.definition as never);
    }
    state.commandSchemas.forget();
    if (this.#definitions.length > 0) yield* writer.reindex();
    // Nodes that keep their position are inserted first, so that it is taken for the others.
    const kept = nodes.filter(({ content, isPlaced }) => content !== undefined && !isPlaced);
    const placed = nodes.filter(({ content, isPlaced }) => content !== undefined && isPlaced);
    const ordered = yield* sortInSlices(placed, byOrderKey);
    const following = yield* followingKeys(ordered);
    yield* eachInSlices([...kept, ...ordered], (write) => this.#put(write, following.get(write) ?? null));
    // Given references may name nodes that were inserted just now.
    const given = nodes.filter(({ content, given }) => content !== undefined && given !== undefined);
    yield* eachInSlices(given, (write) => this.#resolveReferences(write));
    yield* eachInSlices(nodes, (write) => this.#requireNothingBelow(write));
  }

  /**
   * Validates nodes against the current schema. To be called after {@link PlannedWrites.write}.
   *
   * @throws {ServiceError} `VALIDATION_FAILED`, naming the invalid node
   */
  *requireValid(
    nodes: Iterable<{ readonly workspace: string; readonly id: string }>,
  ): Generator<undefined, void> {
    yield* eachInSlices(nodes, (node) => this.#requireValid(node));
  }

  *#requireValid({
    id,
    workspace,
  }: {
    readonly workspace: string;
    readonly id: string;
  }): Generator<undefined, void> {
    const record = yield* this.#edit.head.byIdInSteps(workspace, id);
    if (record === undefined) return;
    try {
      yield* requireValidNode(this.#edit, workspace, record);
    } catch (error) {
      throw this.#naming(record.header.path, error);
    }
  }

  /** The path of a node after all writes. @throws {ServiceError} `VALIDATION_FAILED` when it has none */
  *pathOf(workspace: string, id: string): Generator<undefined, string> {
    if (id === ROOT_ID) return '/';
    const key = keyOf(workspace, id);
    const known = this.#paths.get(key);
    if (known !== undefined) return known;
    const write = this.#nodes.get(key);
    const record = write?.content ?? (yield* this.#edit.head.byIdInSteps(workspace, id));
    if (record === undefined) {
      throw invalid(`The ${this.#purpose.noun} would leave nodes below '${id}', which is not there`);
    }
    const { name, parentId } = record.header;
    const presentPath = (write === undefined ? record : write.present)?.header.path;
    const parent = yield* this.pathOf(workspace, parentId);
    try {
      const path = this.#edit.newPath(joinPath(parent, name), presentPath ?? record.header.path);
      this.#paths.set(key, path);
      return path;
    } catch (error) {
      throw this.#naming(presentPath ?? record.header.path, error);
    }
  }

  *#changeOf(write: PlannedWrite): Generator<undefined, NodeChange> {
    const { changedLocale, content, id, named, operation, present, workspace } = write;
    const { nodeType, path } = (content ?? present ?? (named as NodeRecord)).header;
    return {
      node_id: id,
      workspace,
      operation,
      path: content === undefined ? path : yield* this.pathOf(workspace, id),
      node_type: nodeType,
      ...(changedLocale === null ? {} : { translation_locale: changedLocale }),
      // A node that is recorded as deleted and has not been here is not written.
      details: this.#edit.writer.detailsOf(workspace, id) ?? noDetails,
    };
  }

  *#take({ content, present, workspace }: PlannedWrite): Generator<undefined, void> {
    if (present === undefined) return;
    yield* this.#edit.writer.prepare(workspace, present);
    this.#edit.writer.remove(workspace, present);
    if (content === undefined) this.#edit.audit(workspace, present, 'Delete', this.#purpose.details);
  }

  *#put(write: PlannedWrite, following: string | null): Generator<undefined, void> {
    const { changedLocale, id, isFollower, operation, present, workspace } = write;
    const content = write.content as NodeRecord;
    const { parentId } = content.header;
    const path = yield* this.pathOf(workspace, id);
    const orderKey = write.isPlaced
      ? this.#freeOrderKey(workspace, parentId, content.header.orderKey, following)
      : (present as NodeRecord).header.orderKey;
    const version = Math.max(content.header.version, present?.header.version ?? 0) + 1;
    let next: NodeRecord;
    try {
      if (this.#edit.head.idAt(workspace, path) !== undefined) throw invalid('there is another node');
      const { properties, translations } = yield* givenContent(this.#edit, write, content);
      const change = { path, orderKey, translations, operation, changedLocale };
      yield* this.#edit.writer.prepare(workspace, content);
      next =
        isFollower === true
          ? yield* this.#edit.nextInSteps(content, { ...unmoved(content), ...change })
          : yield* this.#edit.nextInSteps(content, { ...change, version }, properties);
      yield* this.#edit.writer.prepare(workspace, next);
      this.#edit.writer.add(workspace, next);
    } catch (error) {
      throw this.#naming(path, error);
    }
    const action = present === undefined ? 'Create' : 'Update';
    this.#edit.audit(workspace, next, action, this.#purpose.details);
  }

  *#resolveReferences({ given, id, workspace }: PlannedWrite): Generator<undefined, void> {
    const { head, writer } = this.#edit;
    const record = (yield* head.byIdInSteps(workspace, id)) as NodeRecord;
    const stored = yield* record.decode();
    const properties =
      given?.properties === undefined ? stored : resolveReferences(this.#edit, workspace, stored);
    let { translations } = record.header;
    for (const locale of given?.translations?.keys() ?? []) {
      const overlay = overlayOf(translations, locale);
      if (overlay?.type !== 'properties') continue;
      const data = resolveReferences(this.#edit, workspace, overlay.data);
      translations = withOverlay(translations, locale, { ...overlay, data });
    }
    if (jsonEquals(properties, stored) && jsonEquals(translations, record.header.translations)) return;
    const next = yield* makeNodeRecordInSteps({ ...record.header, translations }, properties);
    yield* writer.prepare(workspace, record);
    yield* writer.prepare(workspace, next);
    writer.replace(workspace, record, next);
  }

  #requireNothingBelow({ content, id, workspace }: PlannedWrite): void {
    if (content !== undefined || !this.#edit.head.hasChildren(workspace, id)) return;
    throw invalid(`The ${this.#purpose.noun} would leave nodes below '${id}', which is not there`);
  }

  /**
   * The wanted key, or one right after it.
   *
   * @param following key wanted by the next node under this parent, which must stay greater; null for the last
   */
  #freeOrderKey(workspace: string, parentId: string, wanted: string, following: string | null): string {
    const { head, turn } = this.#edit;
    if (turn.get(BranchTable.children, childKey(workspace, parentId, wanted)) === undefined) return wanted;
    for (const { orderKey } of head.children(workspace, parentId, { after: wanted })) {
      return orderKeyBetween(wanted, following !== null && following < orderKey ? following : orderKey);
    }
    return orderKeyBetween(wanted, following);
  }

  /** The same error, naming the node of the new tree. */
  #naming(path: string, error: unknown): unknown {
    if (!(error instanceof ServiceError) || error.code !== 'VALIDATION_FAILED') return error;
    return invalid(`The ${this.#purpose.noun} would make '${shownPath(path)}' invalid: ${error.message}`, {
      ...(error.field === undefined ? {} : { field: error.field }),
      details: { ...error.details, path },
      cause: error,
    });
  }
}

/**
 * The new properties and translations of a node.
 *
 * @returns properties undefined: unchanged
 * @throws {ServiceError} `VALIDATION_FAILED` when given ones are not valid
 */
function* givenContent(
  edit: EditScope,
  { given, translations: planned, workspace }: PlannedWrite,
  content: NodeRecord,
): Generator<undefined, { properties: JsonObject | undefined; translations: JsonObject | null }> {
  if (given?.properties === undefined && given?.translations === undefined) {
    return { properties: undefined, translations: planned };
  }
  const { archetype, nodeType } = content.header;
  const wanted = given.properties ?? (yield* content.decode());
  const valid = yield* changedNode(edit, workspace, content, wanted, archetype, {});
  const rules = {
    type: edit.requireType(workspace, nodeType),
    archetype: archetype === null ? null : (edit.schema(workspace).archetype(archetype) ?? null),
    source: edit.schema(workspace),
    budget: edit.turn.budget,
  };
  let translations = planned;
  // Checked together: the bound applies to all that is stored and hashed for one node.
  const fields = Object.fromEntries(given.translations ?? []);
  // The locales come from conflicts: they exist on the node even if the repository no longer supports them.
  const stored = yield* storedTranslations(
    { properties: valid.properties, now: edit.now, resolve: valueResolver(edit, workspace), rules },
    fields,
    null,
    content.header.translations,
  );
  for (const locale of Object.keys(fields))
    translations = withOverlay(translations, locale, overlayOf(stored, locale) ?? null);
  return { properties: given.properties === undefined ? undefined : valid.properties, translations };
}

/**
 * Validates a node against the schema: its properties, and whether it is allowed under its parent. Yields only for large
 * nodes.
 *
 * @throws {ServiceError} `VALIDATION_FAILED`
 */
export function* requireValidNode(
  edit: EditScope,
  workspace: string,
  record: NodeRecord,
): Generator<undefined, void> {
  const { archetype: archetypeName, nodeType, parentId } = record.header;
  const type = edit.requireType(workspace, nodeType);
  const schema = edit.schema(workspace);
  const archetype = archetypeName === null ? null : requireArchetype(archetypeName, type, schema);
  // Read first, because reading a large parent and validating a large node are a step each.
  const parent = parentId === ROOT_ID ? undefined : yield* edit.head.byIdInSteps(workspace, parentId);
  const issues = validateProperties(type, archetype, yield* record.decode(), schema, edit.turn.budget);
  if (issues.length > 0) throw validationFailed(issues);
  requireAllowed(edit, workspace, parent?.header ?? rootParent, nodeType);
}

function keyOf(workspace: string, id: string): string {
  return `${workspace}\0${id}`;
}

/** Shorter paths first: a node comes before its descendants. */
function byPresentPath(a: PlannedWrite, b: PlannedWrite): number {
  return (a.present as NodeRecord).header.path.length - (b.present as NodeRecord).header.path.length;
}

/** By write: the key wanted by the next node under the same parent. @param placed by order key */
function* followingKeys(
  placed: readonly PlannedWrite[],
): Generator<undefined, ReadonlyMap<PlannedWrite, string>> {
  const following = new Map<PlannedWrite, string>();
  const next = new Map<string, string>();
  yield* eachInSlices(placed.toReversed(), (write) => {
    const { orderKey, parentId } = (write.content as NodeRecord).header;
    const parent = keyOf(write.workspace, parentId);
    const key = next.get(parent);
    if (key !== undefined && key > orderKey) following.set(write, key);
    next.set(parent, orderKey);
  });
  return following;
}

function byOrderKey(a: PlannedWrite, b: PlannedWrite): number {
  const first = (a.content as NodeRecord).header.orderKey;
  const second = (b.content as NodeRecord).header.orderKey;
  return first === second ? 0 : first < second ? -1 : 1;
}
