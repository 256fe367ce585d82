import { ROOT_ID } from '#runtime/content/content-node.ts';
import type { JsonObject } from '#runtime/content/json-value.ts';
import { orderKeyBetween } from '#runtime/content/order-key.ts';
import { joinPath } from '#runtime/content/path.ts';
import { overlayOf, withOverlay } from '#runtime/content/translation.ts';
import { requireArchetype, validateProperties, validationFailed } from '#runtime/content/validate-node.ts';
import { invalid, ServiceError } from '#runtime/errors/service-error.ts';
import { BranchTable, childKey } from '#runtime/shard/key-layout.ts';
import { type DefinitionNetChange, type NetChange, sameDefinition } from '#runtime/tree/net-change.ts';
import { type NodeRecord, withHeader } from '#runtime/tree/node-record.ts';
import type { DefinitionChange, NodeChange } from '#runtime/tree/revision-store.ts';
import { removeDefinition, writeDefinition } from '#runtime/tree/schema-store.ts';
import type { BranchPair } from './branch-pair.ts';
import { requireAllowed, rootParent } from './create-node.ts';
import { SLICE_NODES } from './delete-node.ts';
import type { EditScope } from './edit-scope.ts';
import { type MergeSides, nodeKeyOf } from './merge-conflicts.ts';

/** One node a merge writes; `present` undefined: it is new here, `content` undefined: it goes. */
interface Write {
  readonly workspace: string;
  readonly id: string;
  readonly present: NodeRecord | undefined;
  /** Its content as merged, but for path and place. */
  readonly content: NodeRecord | undefined;
  readonly translations: JsonObject | null;
  readonly operation: NodeChange['operation'];
  readonly changedLocale: string | null;
  /** Whether it gets a place of the source's, by the order key it has there. */
  readonly isPlaced: boolean;
}

/**
 * Writes what the source of a merge changed into the target. There must be no conflicts.
 *
 * Everything that changes is taken out of the tree before anything is put in, so nodes may trade places, paths and
 * unique values. Nodes that only the target has below a moved one follow it.
 */
export class MergeWriter {
  readonly #edit: EditScope;
  readonly #pair: BranchPair;
  readonly #sides: MergeSides;
  readonly #sourceName: string;
  readonly #writes = new Map<string, Write>();
  readonly #paths = new Map<string, string>();
  readonly #definitions: DefinitionNetChange[] = [];
  #ownDefinitionsChanged = false;

  constructor(edit: EditScope, pair: BranchPair, sides: MergeSides, sourceName: string) {
    this.#edit = edit;
    this.#pair = pair;
    this.#sides = sides;
    this.#sourceName = sourceName;
  }

  /** What the merge commit says it changed; good once planned. */
  get changes(): readonly NodeChange[] {
    return [...this.#writes.values()].map(({ changedLocale, content, id, operation, present, workspace }) => {
      const { nodeType, path } = (content ?? (present as NodeRecord)).header;
      return {
        node_id: id,
        workspace,
        operation,
        path: content === undefined ? path : this.#pathOf(workspace, id),
        node_type: nodeType,
        ...(changedLocale === null ? {} : { translation_locale: changedLocale }),
      };
    });
  }

  get definitions(): readonly DefinitionChange[] {
    return this.#definitions.map(({ kind, name, operation }) => ({ kind, name, operation }));
  }

  /** Decides what is written. @throws {ServiceError} `COMMIT_TOO_LARGE`, `VALIDATION_FAILED` for a path too long */
  *plan(): Generator<undefined, void> {
    for (const change of this.#pair.definitionChanges('own')) {
      if (change === undefined) yield;
      else this.#ownDefinitionsChanged = true;
    }
    for (const change of this.#pair.definitionChanges('other')) {
      if (change === undefined) {
        yield;
        continue;
      }
      const { kind, name } = change;
      const [present] = this.#pair.definitions('own', [{ kind, name }]);
      if (!sameDefinition(present, change.after)) this.#definitions.push(change);
    }
    yield* inSlices([...this.#sides.other.values(), ...this.#sides.reordered], (change) =>
      this.#planNode(change),
    );
    yield* inSlices(this.#sides.own.values(), (change) => this.#planFollower(change));
    this.#edit.checkSize(this.#writes.size);
  }

  /** @throws {ServiceError} `VALIDATION_FAILED`, naming the node that would not be valid */
  *write(): Generator<undefined, void> {
    const { turn, writer, state } = this.#edit;
    const writes = [...this.#writes.values()];
    // Where a node goes is worked out while everything still stands where it stood.
    for (const { content, id, workspace } of writes) if (content !== undefined) this.#pathOf(workspace, id);
    yield* inSlices(writes, ({ present, workspace, content }) => {
      if (present === undefined) return;
      writer.remove(workspace, present);
      if (content === undefined) this.#edit.audit(workspace, present, 'Delete', this.#details);
    });
    for (const { after, kind, name } of this.#definitions) {
      if (after === undefined) removeDefinition(turn, kind, name);
      else writeDefinition(turn, kind, after.definition as never);
    }
    state.commandSchemas.forget();
    if (this.#definitions.length > 0) yield* writer.reindex();
    // Nodes that keep their place go first, so that the others find it taken.
    const kept = writes.filter(({ content, isPlaced }) => content !== undefined && !isPlaced);
    const placed = writes.filter(({ content, isPlaced }) => content !== undefined && isPlaced);
    yield* inSlices([...kept, ...placed.sort(byOrderKey)], (write) => this.#put(write));
    yield* this.#requireValid(writes);
  }

  get #details(): JsonObject {
    return { merged_from: this.#sourceName };
  }

  #planNode(theirs: NetChange): void {
    const { after, nodeId: id, workspace } = theirs;
    const key = nodeKeyOf(workspace, id);
    const present = this.#edit.head.byId(workspace, id);
    const ours = this.#sides.own.get(key);
    if (after === undefined) {
      if (present === undefined) return;
      const gone = { content: undefined, translations: null, changedLocale: null, isPlaced: false };
      this.#writes.set(key, { workspace, id, present, operation: 'deleted', ...gone });
      return;
    }
    if (present === undefined) {
      // Only reordered by the source, and deleted here.
      if (theirs.operation !== 'added') return;
      const { translations } = after.header;
      const added = { content: after, translations, changedLocale: null, isPlaced: true };
      this.#writes.set(key, { workspace, id, present, operation: 'added', ...added });
      return;
    }
    const takesNode = theirs.isNode && ours?.isNode !== true;
    const locales = theirs.locales.filter((locale) => ours === undefined || !ours.locales.includes(locale));
    const content = takesNode ? after : present;
    const isMoved = content.header.parentId !== present.header.parentId;
    const isReordered = theirs.isReordered && !isMoved && !this.#isReorderedHere(theirs, present);
    if (!takesNode && locales.length === 0 && !isReordered) return;
    let { translations } = present.header;
    for (const locale of locales) {
      translations = withOverlay(translations, locale, overlayOf(after.header.translations, locale) ?? null);
    }
    const isModified = takesNode || locales.length > 0;
    this.#writes.set(key, {
      workspace,
      id,
      present,
      content:
        isReordered && !takesNode
          ? withHeader(present, { ...present.header, orderKey: after.header.orderKey })
          : content,
      translations,
      operation: isModified ? 'modified' : 'reordered',
      changedLocale: !takesNode && locales.length === 1 ? (locales[0] as string) : null,
      isPlaced: isMoved || isReordered,
    });
  }

  /** The target's own place for a node wins, and so does another parent it gave it. */
  #isReorderedHere({ before }: NetChange, present: NodeRecord): boolean {
    return (
      before?.header.orderKey !== present.header.orderKey ||
      before.header.parentId !== present.header.parentId
    );
  }

  /** A node of the target below one the source moved. */
  #planFollower({ after, nodeId: id, workspace }: NetChange): void {
    const key = nodeKeyOf(workspace, id);
    if (after === undefined || this.#writes.has(key) || this.#pathOf(workspace, id) === after.header.path)
      return;
    const { translations } = after.header;
    const followed = { content: after, translations, changedLocale: null, isPlaced: false };
    this.#writes.set(key, { workspace, id, present: after, operation: 'modified', ...followed });
  }

  /** Where a node stands once everything is merged. */
  #pathOf(workspace: string, id: string): string {
    if (id === ROOT_ID) return '/';
    const key = nodeKeyOf(workspace, id);
    const known = this.#paths.get(key);
    if (known !== undefined) return known;
    const record = this.#writes.get(key)?.content ?? this.#edit.head.byId(workspace, id);
    if (record === undefined) throw invalid(`The merge would leave nodes below '${id}', which is not there`);
    const { name, parentId } = record.header;
    const path = joinPath(this.#pathOf(workspace, parentId), name);
    this.#paths.set(key, path);
    return path;
  }

  #put(write: Write): void {
    const { changedLocale, id, operation, present, translations, workspace } = write;
    const content = write.content as NodeRecord;
    const { parentId } = content.header;
    const path = this.#pathOf(workspace, id);
    const orderKey = write.isPlaced
      ? this.#freeOrderKey(workspace, parentId, content.header.orderKey)
      : (present as NodeRecord).header.orderKey;
    const version = Math.max(content.header.version, present?.header.version ?? 0) + 1;
    const isFollower = present === content && operation === 'modified' && changedLocale === null;
    const change = { path, orderKey, translations, operation, changedLocale };
    const next = isFollower
      ? this.#edit.carried(content, change)
      : this.#edit.next(content, { ...change, version });
    try {
      this.#edit.writer.add(workspace, next);
    } catch (error) {
      throw naming(path, error);
    }
    const action = present === undefined ? 'Create' : 'Update';
    this.#edit.audit(workspace, next, action, this.#details);
  }

  /** The wanted key, or one right behind it. */
  #freeOrderKey(workspace: string, parentId: string, wanted: string): string {
    const { head, turn } = this.#edit;
    if (turn.get(BranchTable.children, childKey(workspace, parentId, wanted)) === undefined) return wanted;
    for (const { orderKey } of head.children(workspace, parentId, { after: wanted })) {
      return orderKeyBetween(wanted, orderKey);
    }
    return orderKeyBetween(wanted, null);
  }

  /** Definitions one side changed are held against the nodes the other one changed. */
  *#requireValid(writes: readonly Write[]): Generator<undefined, void> {
    if (this.#ownDefinitionsChanged) {
      const brought = writes.filter(({ content }) => content !== undefined);
      yield* inSlices(brought, ({ workspace, id }) => this.#requireValidNode(workspace, id));
    }
    if (this.#definitions.length === 0) return;
    yield* inSlices(this.#sides.own.values(), ({ nodeId, workspace }) =>
      this.#requireValidNode(workspace, nodeId),
    );
  }

  #requireValidNode(workspace: string, id: string): void {
    const record = this.#edit.head.byId(workspace, id);
    if (record === undefined) return;
    const { archetype: archetypeName, nodeType, parentId, path } = record.header;
    try {
      const type = this.#edit.requireType(workspace, nodeType);
      const schema = this.#edit.schema(workspace);
      const archetype = archetypeName === null ? null : requireArchetype(archetypeName, type, schema);
      const issues = validateProperties(type, archetype, record.properties, schema);
      if (issues.length > 0) throw validationFailed(issues);
      const parent = parentId === ROOT_ID ? undefined : this.#edit.head.byId(workspace, parentId)?.header;
      requireAllowed(this.#edit, workspace, parent ?? rootParent, nodeType);
    } catch (error) {
      throw naming(path, error);
    }
  }
}

/** The same error, saying which node of the merged tree it is about. */
function naming(path: string, error: unknown): unknown {
  if (!(error instanceof ServiceError) || error.code !== 'VALIDATION_FAILED') return error;
  return invalid(`The merge would make '${path}' invalid: ${error.message}`, {
    ...(error.field === undefined ? {} : { field: error.field }),
    details: { ...error.details, path },
    cause: error,
  });
}

function byOrderKey(a: Write, b: Write): number {
  const first = (a.content as NodeRecord).header.orderKey;
  const second = (b.content as NodeRecord).header.orderKey;
  return first === second ? 0 : first < second ? -1 : 1;
}

function* inSlices<T>(items: Iterable<T>, handle: (item: T) => void): Generator<undefined, void> {
  let handled = 0;
  for (const item of items) {
    handle(item);
    handled += 1;
    if (handled % SLICE_NODES === 0) yield;
  }
}
