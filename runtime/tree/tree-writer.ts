import { Buffer } from 'node:buffer';
import { assert, InvariantError } from '#runtime/base/assert.ts';
import type { Turn } from '#runtime/commit/behaviour.ts';
import { ROOT_ID } from '#runtime/content/content-node.ts';
import {
  compareRevisions,
  decodeRevision,
  formatRevision,
  type Revision,
} from '#runtime/content/revision.ts';
import type { ServiceError } from '#runtime/errors/service-error.ts';
import { textBytes } from '#runtime/shard/binary-key.ts';
import {
  BranchTable,
  childKey,
  childVersionKey,
  nodeKey,
  nodeVersionKey,
  parentKey,
  parentVersionKey,
  pathKey,
  pathVersionKey,
} from '#runtime/shard/key-layout.ts';
import { changeDetails } from './change-details.ts';
import { duplicateValue, type SeesProperty } from './duplicate-value.ts';
import { type IndexStep, IndexWriter, type IndexWriterEnvironment, type TypeSource } from './index-writer.ts';
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

/** Options of {@link TreeWriter}. */
export interface TreeWriterOptions {
  /** Whether an error about a property of another node may name the node; default: never. */
  readonly sees?: SeesProperty;
  /** See {@link IndexWriterEnvironment}. */
  readonly atOnceMax?: number | undefined;
  readonly nodesOfType?: IndexWriterEnvironment['nodesOfType'];
}

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
  readonly #indexes: IndexWriter;
  readonly #sees: SeesProperty;
  readonly #changes = new Map<string, Noted>();

  constructor(turn: Turn, types: TypeSource, { atOnceMax, nodesOfType, sees }: TreeWriterOptions = {}) {
    this.#turn = turn;
    this.#sees = sees ?? (() => false);
    this.head = new HeadNodeReader(turn);
    const duplicate = (clash: Omit<UniqueClash, 'operation'>): ServiceError => this.duplicateValue(clash);
    this.#indexes = new IndexWriter({ turn, types, duplicate, atOnceMax, nodesOfType });
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
   * Defers the comparison of unique values until {@link settleUniques}, which compares them all and must follow the last write
   * that is meant. Until then they are not found in the index.
   */
  deferUniques(): UniqueClaims {
    this.#indexes.claims ??= new UniqueClaims();
    return this.#indexes.claims;
  }

  /**
   * Compares the deferred unique values, if they were deferred; later ones are compared at once again.
   *
   * @returns a value that two nodes have; undefined when there is none
   */
  *settleUniques(): Generator<undefined, UniqueClash | undefined> {
    const { claims } = this.#indexes;
    if (claims === undefined) return undefined;
    const clash = yield* claims.settle(this.#turn);
    this.#indexes.claims = undefined;
    return clash;
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
  prepare(workspace: string, record: NodeRecord): Generator<undefined, void> {
    return this.#indexes.prepare(workspace, record);
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
    this.#indexes.add(workspace, record);
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
    this.#indexes.replace(workspace, old, next);
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
    this.#indexes.remove(workspace, old);
    this.#noteRemoval(workspace, old);
  }

  /** Changes the indexes after types or pins changed, see {@link IndexWriter.reindex}. */
  reindex(): Generator<undefined, void> {
    return this.#indexes.reindex();
  }

  /** Continues with pending indexes, see {@link IndexWriter.build}. */
  buildIndexes(nodesMax: number): Generator<undefined, IndexStep> {
    return this.#indexes.build(nodesMax);
  }

  #keepVersion(workspace: string, old: NodeRecord): void {
    const since = decodeRevision(old.sinceKey, 0);
    if (compareRevisions(since, this.revision) === 0) return;
    this.#turn.put(BranchTable.nodeVersions, nodeVersionKey(workspace, old.id, since), old.bytes);
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
