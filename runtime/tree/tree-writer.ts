import { Buffer } from 'node:buffer';
import { assert, InvariantError } from '#runtime/base/assert.ts';
import type { Turn } from '#runtime/commit/behaviour.ts';
import { ROOT_ID } from '#runtime/content/content-node.ts';
import { formatRevision, parseRevision, type Revision, compareRevisions } from '#runtime/content/revision.ts';
import type { ResolvedSource } from '#runtime/content/resolution/schema-resolver.ts';
import type { ServiceError } from '#runtime/errors/service-error.ts';
import { bytesText, END, textBytes } from '#runtime/shard/binary-key.ts';
import {
  BranchTable,
  childKey,
  childVersionKey,
  countKey,
  nodeKey,
  nodeVersionKey,
  parentKey,
  parentVersionKey,
  pathKey,
  pathVersionKey,
  underParts,
} from '#runtime/shard/key-layout.ts';
import { rowsInBatches } from '#runtime/shard/rows-in-batches.ts';
import {
  decodeTypeCount,
  encodeTypeCount,
  type IndexFields,
  readTypeCount,
  sameFields,
  wantedFields,
} from './index-catalog.ts';
import { changeDetails } from './change-details.ts';
import { duplicateValue } from './duplicate-value.ts';
import { type IndexEntry, indexedProperties, prepareEntries, recordEntries } from './index-entries.ts';
import {
  type Binding,
  decodeBinding,
  encodeBinding,
  encodeParentEntry,
  HeadNodeReader,
  parentEntry,
} from './node-reader.ts';
import { NodeRecord } from './record/node-record.ts';
import type { ChangeDetails, NodeChange } from './revision-record.ts';
import { UniqueClaims, type UniqueClash } from './unique-claims.ts';

const nothing = new Uint8Array(0);
const hadChildren = Uint8Array.of(1);

/** Resolves node types during a write; undefined for a deleted workspace. */
export type TypeSource = (workspace: string) => ResolvedSource | undefined;

/** The change of a node so far, and its state before the revision. */
interface Noted {
  readonly change: NodeChange;
  /**
   * Undefined when the node did not exist. The bytes of a small record: they are kept anyway until the commit, and a
   * decoded header takes more memory than they do.
   */
  readonly before: NodeRecord | Uint8Array | undefined;
}

/**
 * Writes nodes. Keeps the head tables, version tables and indexes of a branch consistent and collects the changes of
 * the revision. It does not check content; the callers do.
 *
 * Invariants:
 * 1. Every node has exactly one path binding, one placement under its parent and the index rows of
 *    {@link indexEntries}; no other row points to it.
 * 2. A state that a revision replaces is in the version tables under the revision that wrote it, exactly once.
 * 3. The cost of a write follows what it changes.
 *
 * Enforcement: test/runtime/tree/tree-writer.test.ts, tree-model.fuzz.test.ts.
 */
export class TreeWriter {
  readonly head: HeadNodeReader;
  readonly #turn: Turn;
  readonly #types: TypeSource;
  readonly #sees: (workspace: string, id: string) => boolean;
  readonly #changes = new Map<string, Noted>();
  #claims: UniqueClaims | undefined;

  /** @param sees whether an error about another node may name it; default: never */
  constructor(turn: Turn, types: TypeSource, sees: (workspace: string, id: string) => boolean = () => false) {
    this.#turn = turn;
    this.#types = types;
    this.#sees = sees;
    this.head = new HeadNodeReader(turn);
  }

  /** The net changes so far: one entry per node (and locale). */
  get changes(): readonly NodeChange[] {
    return [...this.#changes.values()].map(({ change }) => change);
  }

  /** The details of the net change of a node so far; undefined when there is none. */
  detailsOf(workspace: string, id: string): ChangeDetails | undefined {
    return this.#changes.get(`${workspace}\0${id}`)?.change.details;
  }

  /** Number of nodes changed so far. */
  get changeCount(): number {
    return this.#changes.size;
  }

  /** The revision being written. */
  get revision(): Revision {
    return this.#turn.revision;
  }

  /**
   * Defers the comparison of unique values: {@link settleUniques} compares them all and must follow the last write.
   */
  deferUniques(): UniqueClaims {
    this.#claims ??= new UniqueClaims();
    return this.#claims;
  }

  /** Compares the deferred unique values. @returns a value that two nodes have; undefined when there is none */
  *settleUniques(): Generator<undefined, UniqueClash | undefined> {
    return this.#claims === undefined ? undefined : yield* this.#claims.settle(this.#turn);
  }

  /** The error for a unique value that two nodes have. */
  duplicateValue(clash: Omit<UniqueClash, 'operation'>): ServiceError {
    return duplicateValue(this.head, this.#sees, clash);
  }

  /**
   * Computes the index rows of a node before it is stored, replaced or removed. Without it that write computes them in
   * one step.
   *
   * @returns a generator that yields only for a large node
   */
  *prepare(workspace: string, record: NodeRecord): Generator<undefined, void> {
    if (record.isLarge) yield* prepareEntries(record, this.#fieldsOf(workspace, record.nodeType));
  }

  /**
   * Stores a new node. Its id and path must be free.
   *
   * @throws {ServiceError} `VALIDATION_FAILED` when a unique property is taken
   */
  add(workspace: string, record: NodeRecord): void {
    const { header } = record;
    assert(header.id !== ROOT_ID, 'the root is not stored');
    this.#turn.put(BranchTable.nodes, nodeKey(workspace, header.id), record.bytes);
    this.#bindPath(workspace, header.path, header.id);
    this.#place(workspace, header.parentId, header.orderKey, header.id);
    this.#count(workspace, header.nodeType, 1);
    for (const entry of this.#entries(workspace, record)) this.#putEntry(workspace, entry, header.id);
    this.#note(workspace, undefined, record);
  }

  /**
   * Replaces the state of a node; path, order, type and properties may all differ.
   *
   * @throws {ServiceError} `VALIDATION_FAILED` when a unique property is taken
   */
  replace(workspace: string, old: NodeRecord, next: NodeRecord): void {
    const before = old.header;
    const after = next.header;
    assert(before.id === after.id, 'a node keeps its id');
    this.#keepVersion(workspace, old);
    this.#turn.put(BranchTable.nodes, nodeKey(workspace, after.id), next.bytes);
    if (before.path !== after.path) {
      this.#unbindPath(workspace, before.path, before.id);
      this.#bindPath(workspace, after.path, after.id);
    }
    if (before.parentId !== after.parentId || before.orderKey !== after.orderKey) {
      this.#displace(workspace, before.parentId, before.orderKey);
      this.#place(workspace, after.parentId, after.orderKey, after.id);
    }
    this.#replaceEntries(workspace, this.#entries(workspace, old), this.#entries(workspace, next), after.id);
    if (before.nodeType !== after.nodeType) {
      this.#count(workspace, before.nodeType, -1);
      this.#count(workspace, after.nodeType, 1);
    }
    this.#note(workspace, old, next);
  }

  /** Removes a node. Its children must be removed before. */
  remove(workspace: string, old: NodeRecord): void {
    const { header } = old;
    this.#keepVersion(workspace, old);
    this.#turn.remove(BranchTable.nodes, nodeKey(workspace, header.id));
    if (!this.#isNew(workspace, header.id)) {
      this.#turn.put(BranchTable.nodeVersions, nodeVersionKey(workspace, header.id, this.revision), nothing);
    }
    this.#unbindPath(workspace, header.path, header.id);
    this.#displace(workspace, header.parentId, header.orderKey);
    for (const entry of this.#entries(workspace, old)) this.#removeEntry(workspace, entry, header.id);
    this.#count(workspace, header.nodeType, -1);
    this.#noteRemoval(workspace, old);
  }

  /**
   * Updates the index rows of all nodes after types or pins changed. Cost follows the number of nodes whose type
   * changed its indexed properties.
   *
   * @throws {ServiceError} `VALIDATION_FAILED` when values that must now be unique are not
   */
  *reindex(): Generator<undefined, void> {
    for (const { key, value } of [...this.#turn.range(BranchTable.counts, { start: '', end: '\u00ff' })]) {
      const [workspace, nodeType] = key.split(END) as [string, string];
      const { count, fields } = decodeTypeCount(value);
      const wanted = this.#wanted(workspace, nodeType);
      if (sameFields(fields, wanted)) continue;
      this.#turn.put(BranchTable.counts, key, encodeTypeCount({ count, fields: wanted }));
      const rows = rowsInBatches(this.#turn, BranchTable.types, underParts(workspace, nodeType));
      for (const row of rows) {
        const id = bytesText(Buffer.from(row.value).latin1Slice());
        const record = yield* this.head.byIdInSteps(workspace, id);
        assert(record !== undefined, 'the type index names stored nodes');
        yield* prepareEntries(record, fields);
        yield* prepareEntries(record, wanted);
        const properties = indexedProperties(record, fields, wanted);
        const old = recordEntries(workspace, fields, record, properties);
        const next = recordEntries(workspace, wanted, record, properties);
        this.#replaceEntries(workspace, old, next, record.header.id);
        yield;
      }
    }
  }

  #wanted(workspace: string, nodeType: string): IndexFields {
    return wantedFields(this.#types(workspace)?.nodeType(nodeType));
  }

  #entries(workspace: string, record: NodeRecord): readonly IndexEntry[] {
    return recordEntries(workspace, this.#fieldsOf(workspace, record.header.nodeType), record);
  }

  #fieldsOf(workspace: string, nodeType: string): IndexFields {
    return readTypeCount(this.#turn, workspace, nodeType)?.fields ?? this.#wanted(workspace, nodeType);
  }

  #replaceEntries(
    workspace: string,
    old: readonly IndexEntry[],
    next: readonly IndexEntry[],
    id: string,
  ): void {
    const kept = new Map<string, IndexEntry>();
    for (const entry of old) kept.set(`${entry.table}\0${entry.key}`, entry);
    const added: IndexEntry[] = [];
    for (const entry of next) {
      const place = `${entry.table}\0${entry.key}`;
      const same = kept.get(place);
      kept.delete(place);
      if (same === undefined || Buffer.compare(same.value, entry.value) !== 0) added.push(entry);
    }
    // Removals first: a value that moves from one row to another must not clash with itself.
    for (const entry of kept.values()) this.#removeEntry(workspace, entry, id);
    for (const entry of added) this.#putEntry(workspace, entry, id);
  }

  #removeEntry(workspace: string, { table, key, uniqueProperty }: IndexEntry, id: string): void {
    if (uniqueProperty !== undefined && this.#claims !== undefined) {
      this.#claims.release(workspace, uniqueProperty, key, id);
      return;
    }
    // In a move of several nodes another one may have taken the path, and with it this row, already.
    if (table === BranchTable.types && !this.#isHolder(this.#turn.get(table, key), id)) return;
    this.#turn.remove(table, key);
  }

  #isHolder(bytes: Uint8Array | undefined, id: string): boolean {
    return bytes !== undefined && bytesText(Buffer.from(bytes).latin1Slice()) === id;
  }

  #putEntry(
    workspace: string,
    { table, key, uniqueProperty: property, value }: IndexEntry,
    id: string,
  ): void {
    if (property !== undefined) {
      if (this.#claims !== undefined) {
        this.#claims.claim(workspace, property, key, id);
        return;
      }
      const holder = this.#turn.get(table, key);
      if (holder !== undefined && !this.#isHolder(holder, id)) {
        const ids = [id, bytesText(Buffer.from(holder).latin1Slice())] as const;
        throw this.duplicateValue({ workspace, property, ids });
      }
    }
    this.#turn.put(table, key, value);
  }

  #keepVersion(workspace: string, old: NodeRecord): void {
    const since = parseRevision(old.header.revision);
    if (compareRevisions(since, this.revision) === 0) return;
    this.#turn.put(BranchTable.nodeVersions, nodeVersionKey(workspace, old.header.id, since), old.bytes);
  }

  #bindPath(workspace: string, path: string, id: string): void {
    const key = pathKey(workspace, path);
    const bytes = this.#turn.get(BranchTable.paths, key);
    // The path was taken from a node that moves later: it stays readable there at earlier revisions.
    if (bytes !== undefined) this.#keepBinding(workspace, path, decodeBinding(bytes));
    this.#turn.put(BranchTable.paths, key, encodeBinding(this.revision, id));
  }

  /** Moves a binding to the versions, with a mark that it ends at this revision. */
  #keepBinding(workspace: string, path: string, bound: Binding): void {
    // Bound by this same revision: it was never visible, and the state before it is in the versions already.
    if (compareRevisions(bound.since, this.revision) === 0) return;
    const earlier = pathVersionKey(workspace, path, bound.since);
    this.#turn.put(BranchTable.pathVersions, earlier, Buffer.from(textBytes(bound.id), 'latin1'));
    this.#turn.put(BranchTable.pathVersions, pathVersionKey(workspace, path, this.revision), nothing);
  }

  #unbindPath(workspace: string, path: string, id: string): void {
    const key = pathKey(workspace, path);
    const bytes = this.#turn.get(BranchTable.paths, key);
    // In a move of several nodes another one may have taken the path already.
    if (bytes === undefined) return;
    const bound = decodeBinding(bytes);
    if (bound.id !== id) return;
    this.#turn.remove(BranchTable.paths, key);
    this.#keepBinding(workspace, path, bound);
  }

  #place(workspace: string, parentId: string, orderKey: string, id: string): void {
    this.#turn.put(
      BranchTable.children,
      childKey(workspace, parentId, orderKey),
      encodeBinding(this.revision, id),
    );
    const entry = parentEntry(this.#turn, workspace, parentId);
    const last = entry === undefined || orderKey > entry.lastOrderKey ? orderKey : entry.lastOrderKey;
    const next = encodeParentEntry({
      count: (entry?.count ?? 0) + 1,
      since: entry?.since ?? this.revision,
      lastOrderKey: last,
    });
    this.#turn.put(BranchTable.parents, parentKey(workspace, parentId), next);
  }

  #displace(workspace: string, parentId: string, orderKey: string): void {
    const key = childKey(workspace, parentId, orderKey);
    const bytes = this.#turn.get(BranchTable.children, key);
    assert(bytes !== undefined, 'a stored node has a place');
    const { since, id } = decodeBinding(bytes);
    this.#turn.remove(BranchTable.children, key);
    if (compareRevisions(since, this.revision) !== 0) {
      const idBytes = Buffer.from(textBytes(id), 'latin1');
      const earlier = childVersionKey(workspace, parentId, orderKey, since);
      this.#turn.put(BranchTable.childVersions, earlier, idBytes);
      const now = childVersionKey(workspace, parentId, orderKey, this.revision);
      this.#turn.put(BranchTable.childVersions, now, nothing);
    }
    const entry = parentEntry(this.#turn, workspace, parentId);
    assert(entry !== undefined && entry.count > 0, 'a parent counts its children');
    const parent = parentKey(workspace, parentId);
    if (entry.count === 1) {
      this.#turn.remove(BranchTable.parents, parent);
      this.#keepParent(workspace, parentId, entry.since);
      return;
    }
    const lastOrderKey =
      entry.lastOrderKey === orderKey ? this.#lastOrderKey(workspace, parentId) : entry.lastOrderKey;
    this.#turn.put(
      BranchTable.parents,
      parent,
      encodeParentEntry({ count: entry.count - 1, since: entry.since, lastOrderKey }),
    );
  }

  /** Records that a parent had children until now. */
  #keepParent(workspace: string, parentId: string, since: Revision): void {
    // Written by this same revision: it was never visible, and the state before it is in the versions already.
    if (compareRevisions(since, this.revision) === 0) return;
    const { parentVersions } = BranchTable;
    this.#turn.put(parentVersions, parentVersionKey(workspace, parentId, since), hadChildren);
    this.#turn.put(parentVersions, parentVersionKey(workspace, parentId, this.revision), nothing);
  }

  #lastOrderKey(workspace: string, parentId: string): string {
    for (const { orderKey } of this.head.children(workspace, parentId, { reverse: true })) return orderKey;
    throw new InvariantError('a parent with children has a last one');
  }

  #count(workspace: string, nodeType: string, by: number): void {
    const known = readTypeCount(this.#turn, workspace, nodeType);
    const count = (known?.count ?? 0) + by;
    assert(count >= 0, 'there are not fewer than no nodes of a type');
    const fields = known?.fields ?? this.#wanted(workspace, nodeType);
    const key = countKey(workspace, nodeType);
    if (count === 0) this.#turn.remove(BranchTable.counts, key);
    else this.#turn.put(BranchTable.counts, key, encodeTypeCount({ count, fields }));
  }

  #note(workspace: string, old: NodeRecord | undefined, record: NodeRecord): void {
    const { header } = record;
    assert(header.revision === formatRevision(this.revision), 'a record carries the revision that writes it');
    const place = `${workspace}\0${header.id}`;
    const noted = this.#changes.get(place);
    const earlier = noted?.change;
    const wasAdded = earlier?.operation === 'added';
    const operation = wasAdded ? 'added' : strongest(earlier?.operation, header.operation);
    const locale =
      earlier === undefined || earlier.translation_locale === header.changedLocale
        ? header.changedLocale
        : null;
    const before = noted === undefined ? old : stateOf(noted);
    const change: NodeChange = {
      node_id: header.id,
      workspace,
      operation,
      path: header.path,
      node_type: header.nodeType,
      ...(locale === null || operation === 'added' ? {} : { translation_locale: locale }),
      details: changeDetails(before, record),
    };
    this.#changes.set(place, { change, before: noted === undefined ? kept(old) : noted.before });
  }

  /** Whether this same revision created the node: if it removes it again, the node was never visible outside. */
  #isNew(workspace: string, id: string): boolean {
    return this.#changes.get(`${workspace}\0${id}`)?.change.operation === 'added';
  }

  #noteRemoval(workspace: string, old: NodeRecord): void {
    const { header } = old;
    const place = `${workspace}\0${header.id}`;
    if (this.#isNew(workspace, header.id)) {
      this.#changes.delete(place);
      return;
    }
    const noted = this.#changes.get(place);
    const before = noted === undefined ? old : (stateOf(noted) as NodeRecord);
    const { id, path, nodeType } = header;
    const { path: pathBefore, nodeType: typeBefore } = before.header;
    const details = {
      ...changeDetails(before, undefined),
      ...(pathBefore === path ? {} : { pathBefore }),
      ...(typeBefore === nodeType ? {} : { typeBefore }),
    };
    const change: NodeChange = {
      node_id: id,
      workspace,
      operation: 'deleted',
      path,
      node_type: nodeType,
      details,
    };
    this.#changes.set(place, { change, before: noted === undefined ? kept(old) : noted.before });
  }
}

function kept(state: NodeRecord | undefined): Noted['before'] {
  return state === undefined || state.isLarge ? state : state.bytes;
}

function stateOf({ before }: Noted): NodeRecord | undefined {
  return before === undefined || before instanceof NodeRecord ? before : new NodeRecord(before);
}

function strongest(
  earlier: NodeChange['operation'] | undefined,
  now: NodeChange['operation'],
): NodeChange['operation'] {
  if (earlier === undefined || earlier === 'deleted') return earlier === 'deleted' ? 'modified' : now;
  return earlier === 'reordered' ? now : earlier;
}
