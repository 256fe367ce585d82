import { Buffer } from 'node:buffer';
import { assert } from '#runtime/base/assert.ts';
import type { Turn } from '#runtime/commit/behaviour.ts';
import { formatRevision } from '#runtime/content/revision.ts';
import type { ResolvedSource } from '#runtime/content/resolution/schema-resolver.ts';
import type { ServiceError } from '#runtime/errors/service-error.ts';
import { AFTER_END, END, LONG_PART_BYTES, storedText } from '#runtime/shard/binary-key.ts';
import { BranchTable, countKey } from '#runtime/shard/key-layout.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { indexesPending } from './branch-events.ts';
import {
  becomes,
  begun,
  decodeTypeCount,
  encodeTypeCount,
  everyType,
  hasSameUniques,
  type IndexFields,
  readTypeCount,
  settled,
  type TypeCount,
  wantedFields,
} from './index-catalog.ts';
import {
  type EntrySelection,
  type IndexEntry,
  indexedProperties,
  prepareEntries,
  recordEntries,
} from './index-entries.ts';
import { noteDeciding } from './access-stamp.ts';
import type { NodeRecord } from './record/node-record.ts';
import type { UniqueClaims, UniqueClash } from './unique-claims.ts';

/** Resolves node types during a write; undefined for a deleted workspace. */
export type TypeSource = (workspace: string) => ResolvedSource | undefined;

/**
 * The nodes of a type behind a position, by their paths: a scan, which is built on the trees that this folder has.
 *
 * @returns yields undefined where the work may pause
 */
export type NodesOfType = (
  reader: TableReader,
  workspace: string,
  nodeType: string,
  after: string | undefined,
) => Generator<{ readonly position: string; readonly record: NodeRecord } | undefined, unknown>;

/** Nodes whose index rows one command changes at once after types changed; those of larger types follow in the background. */
const AT_ONCE_NODES_MAX = 256;

/** Bytes of nodes after which a step of a build ends, unless it has only one node. */
const STEP_BYTES_MAX = 8 * 1024 * 1024;

/** The progress of pending indexes. */
export interface IndexStep {
  /** Nodes whose rows were written. */
  readonly nodes: number;
  /** Whether no index is pending. */
  readonly isDone: boolean;
}

/** What the writer of the tree knows and the indexes need. */
export interface IndexWriterEnvironment {
  readonly turn: Turn;
  readonly types: TypeSource;
  /** Nodes whose rows a change of types writes at once. Default {@link AT_ONCE_NODES_MAX}. */
  readonly atOnceMax?: number | undefined;
  /** Absent for a writer that changes no indexes of types. */
  readonly nodesOfType?: NodesOfType | undefined;
  /** The error for a unique value that another node has; absent when a state is written that was there before. */
  readonly duplicate?: (clash: Omit<UniqueClash, 'operation'>) => ServiceError;
}

/**
 * Writes the rows of the indexes and the catalog that names them.
 *
 * Invariants:
 * 1. Every row of an index is that of the present state of a node. A complete index has all of them; one that is pending
 *    may lack those of nodes that were not written since it became pending.
 * 2. A pending index becomes complete, or disappears, in the commit that writes the rows of its last node.
 *
 * Enforcement: test/runtime/tree/tree-model.fuzz.test.ts, index-build.fuzz.test.ts.
 */
export class IndexWriter {
  /** Unique values whose comparison is deferred. */
  claims: UniqueClaims | undefined;
  readonly #turn: Turn;
  readonly #types: TypeSource;
  readonly #atOnceMax: number;
  readonly #nodesOfType: NodesOfType | undefined;
  readonly #duplicate: IndexWriterEnvironment['duplicate'];

  constructor({
    atOnceMax = AT_ONCE_NODES_MAX,
    duplicate,
    nodesOfType,
    turn,
    types,
  }: IndexWriterEnvironment) {
    this.#atOnceMax = atOnceMax;
    this.#nodesOfType = nodesOfType;
    this.#turn = turn;
    this.#types = types;
    this.#duplicate = duplicate;
  }

  /** Computes the rows of a node before it is written: yields only for a large node. */
  *prepare(workspace: string, record: NodeRecord): Generator<undefined, void> {
    if (record.isLarge) yield* prepareEntries(record, this.#fieldsOf(workspace, record.nodeType));
  }

  /** Adds the rows of a new node. @throws {ServiceError} `VALIDATION_FAILED` when a unique property is taken */
  add(workspace: string, record: NodeRecord): void {
    const { id, nodeType } = record;
    noteDeciding(this.#turn, workspace, nodeType);
    this.#count(workspace, nodeType, 1);
    for (const entry of this.#entries(workspace, record, 'written')) this.#putEntry(workspace, entry, id);
  }

  /** Replaces the rows of a node. @throws {ServiceError} `VALIDATION_FAILED` when a unique property is taken */
  replace(workspace: string, old: NodeRecord, next: NodeRecord): void {
    const isSameType = old.nodeType === next.nodeType;
    noteDeciding(this.#turn, workspace, next.nodeType);
    if (!isSameType) noteDeciding(this.#turn, workspace, old.nodeType);
    const fields = this.#adopted(workspace, next.nodeType);
    const former = isSameType ? fields : this.#fieldsOf(workspace, old.nodeType);
    const possible = recordEntries(workspace, former, old, 'possible');
    this.#replaceEntries(workspace, possible, recordEntries(workspace, fields, next, 'written'), next.id);
    if (isSameType) return;
    this.#count(workspace, old.nodeType, -1);
    this.#count(workspace, next.nodeType, 1);
  }

  /** Removes the rows of a node. */
  remove(workspace: string, old: NodeRecord): void {
    const { id, nodeType } = old;
    noteDeciding(this.#turn, workspace, nodeType);
    for (const entry of this.#entries(workspace, old, 'possible')) this.#removeEntry(workspace, entry, id);
    this.#count(workspace, nodeType, -1);
  }

  /**
   * Changes the indexes after types or pins changed. The rows of small types and of unique properties are written at once,
   * other rows by {@link build}. The cost grows with the number of types, and of nodes whose rows are written at once.
   *
   * @throws {ServiceError} `VALIDATION_FAILED` when values that must now be unique are not
   */
  *reindex(): Generator<undefined, void> {
    let left = this.#atOnceMax;
    for (const { key, value } of [...this.#turn.range(BranchTable.counts, everyType)]) {
      const [workspace, nodeType] = key.split(END) as [string, string];
      const { count, fields } = decodeTypeCount(value);
      const wanted = this.#wanted(workspace, nodeType);
      if (becomes(fields, wanted)) continue;
      if (count <= left) {
        left -= count;
        this.#turn.put(BranchTable.counts, key, encodeTypeCount({ count, fields: wanted }));
        yield* this.#rewrite(workspace, nodeType, fields, wanted);
        continue;
      }
      const next = begun(fields, wanted, formatRevision(this.#turn.revision));
      this.#turn.put(BranchTable.counts, key, encodeTypeCount({ count, fields: next }));
      if (!hasSameUniques(fields, wanted))
        yield* this.#rewrite(workspace, nodeType, uniquesOf(fields), uniquesOf(wanted));
      if (next.pending !== undefined) this.#turn.emit(indexesPending(next.pending.since));
    }
  }

  /**
   * Writes the missing rows of pending indexes, and removes those of dropped ones, for some nodes.
   *
   * @param nodesMax nodes after which it stops; fewer where they are large
   */
  *build(nodesMax: number): Generator<undefined, IndexStep> {
    // Indexes that an earlier build did not know are not in its catalog.
    yield* this.reindex();
    const progress = { nodes: 0, bytes: 0 };
    for (const { key, value } of [...this.#turn.range(BranchTable.counts, everyType)]) {
      const { fields } = decodeTypeCount(value);
      if (fields.pending === undefined) continue;
      if (!(yield* this.#buildType(key, fields, nodesMax, progress)))
        return { nodes: progress.nodes, isDone: false };
    }
    return { nodes: progress.nodes, isDone: true };
  }

  /** @returns whether the indexes of the type are complete */
  *#buildType(
    key: string,
    fields: IndexFields,
    nodesMax: number,
    progress: { nodes: number; bytes: number },
  ): Generator<undefined, boolean> {
    const [workspace, nodeType] = key.split(END) as [string, string];
    let after = positionIn(fields.pending?.after ?? '');
    for (const row of this.#walk(workspace, nodeType, after)) {
      if (row === undefined) {
        yield;
        continue;
      }
      if (progress.nodes >= nodesMax || progress.bytes >= STEP_BYTES_MAX) {
        const pending = { ...fields.pending!, after: keptPosition(after) };
        this.#setFields(key, { ...fields, pending });
        return false;
      }
      const { position, record } = row;
      yield* this.#rewriteNode(workspace, record, fields, fields);
      after = position;
      progress.nodes += 1;
      progress.bytes += record.bytes.length;
      yield;
    }
    this.#setFields(key, settled(fields));
    return true;
  }

  #setFields(key: string, fields: IndexFields): void {
    const { count } = decodeTypeCount(this.#turn.get(BranchTable.counts, key) as Uint8Array);
    this.#turn.put(BranchTable.counts, key, encodeTypeCount({ count, fields }));
  }

  /** Replaces the rows of every node of a type. */
  *#rewrite(
    workspace: string,
    nodeType: string,
    fields: IndexFields,
    wanted: IndexFields,
  ): Generator<undefined, void> {
    for (const row of this.#walk(workspace, nodeType, undefined)) {
      if (row !== undefined) yield* this.#rewriteNode(workspace, row.record, fields, wanted);
      yield;
    }
  }

  *#rewriteNode(
    workspace: string,
    record: NodeRecord,
    fields: IndexFields,
    wanted: IndexFields,
  ): Generator<undefined, void> {
    yield* prepareEntries(record, fields);
    yield* prepareEntries(record, wanted);
    const properties = indexedProperties(record, fields, wanted);
    const old = recordEntries(workspace, fields, record, 'possible', properties);
    const next = recordEntries(workspace, wanted, record, 'written', properties);
    this.#replaceEntries(workspace, old, next, record.id);
  }

  #walk(workspace: string, nodeType: string, after: string | undefined): ReturnType<NodesOfType> {
    assert(this.#nodesOfType !== undefined, 'a writer that changes indexes finds the nodes of a type');
    return this.#nodesOfType(this.#turn, workspace, nodeType, after);
  }

  #wanted(workspace: string, nodeType: string): IndexFields {
    return wantedFields(this.#types(workspace)?.nodeType(nodeType));
  }

  #entries(workspace: string, record: NodeRecord, selection: EntrySelection): readonly IndexEntry[] {
    return recordEntries(workspace, this.#fieldsOf(workspace, record.nodeType), record, selection);
  }

  #fieldsOf(workspace: string, nodeType: string): IndexFields {
    return readTypeCount(this.#turn, workspace, nodeType)?.fields ?? this.#wanted(workspace, nodeType);
  }

  /**
   * The indexes of a type. If an earlier build wrote their row in the catalog, it is rewritten, so that that build does not go
   * on with indexes of this one.
   */
  #adopted(workspace: string, nodeType: string): IndexFields {
    const known = readTypeCount(this.#turn, workspace, nodeType);
    if (known?.isOlder === true)
      this.#turn.put(BranchTable.counts, countKey(workspace, nodeType), encodeTypeCount(known));
    return known?.fields ?? this.#wanted(workspace, nodeType);
  }

  #count(workspace: string, nodeType: string, by: number): void {
    const known: Pick<TypeCount, 'count' | 'fields'> = readTypeCount(this.#turn, workspace, nodeType) ?? {
      count: 0,
      fields: this.#wanted(workspace, nodeType),
    };
    const count = known.count + by;
    assert(count >= 0, 'there are not fewer than no nodes of a type');
    const key = countKey(workspace, nodeType);
    if (count === 0) this.#turn.remove(BranchTable.counts, key);
    else this.#turn.put(BranchTable.counts, key, encodeTypeCount({ count, fields: known.fields }));
  }

  #replaceEntries(
    workspace: string,
    old: readonly IndexEntry[],
    next: readonly IndexEntry[],
    id: string,
  ): void {
    // Both are made in the same order, and most writes change few of them.
    const isAligned = old.length === next.length;
    const isChanged = (at: number): boolean =>
      !isAligned || !isKept(old[at] as IndexEntry, next[at] as IndexEntry);
    const kept = new Map<string, IndexEntry>();
    for (const [at, entry] of old.entries())
      if (isChanged(at)) kept.set(`${entry.table}\0${entry.key}`, entry);
    const added: IndexEntry[] = [];
    for (const [at, entry] of next.entries()) {
      if (!isChanged(at)) continue;
      const place = `${entry.table}\0${entry.key}`;
      const same = kept.get(place);
      kept.delete(place);
      if (same === undefined || !isKept(same, entry)) added.push(entry);
    }
    // Removals first: a value that moves from one row to another must not clash with itself.
    for (const entry of kept.values()) this.#removeEntry(workspace, entry, id);
    for (const entry of added) this.#putEntry(workspace, entry, id);
  }

  #removeEntry(workspace: string, { table, key, uniqueProperty }: IndexEntry, id: string): void {
    if (uniqueProperty !== undefined && this.claims !== undefined) {
      this.claims.release(workspace, uniqueProperty, key, id);
      return;
    }
    // In a move of several nodes another one may have taken the path, and with it this row, already.
    if (table === BranchTable.types && !this.#isHolder(this.#turn.get(table, key), id)) return;
    this.#turn.remove(table, key);
  }

  #isHolder(bytes: Uint8Array | undefined, id: string): boolean {
    return bytes !== undefined && storedText(bytes) === id;
  }

  #putEntry(
    workspace: string,
    { table, key, uniqueProperty: property, value }: IndexEntry,
    id: string,
  ): void {
    if (property !== undefined) {
      if (this.claims !== undefined) {
        this.claims.claim(workspace, property, key, id);
        return;
      }
      this.#requireFree(workspace, property, key, id);
    }
    this.#turn.put(table, key, value);
  }

  /** @throws {ServiceError} `VALIDATION_FAILED` when another node has a unique value */
  #requireFree(workspace: string, property: string, key: string, id: string): void {
    if (this.#duplicate === undefined) return;
    const holder = this.#turn.get(BranchTable.uniques, key);
    if (holder === undefined || this.#isHolder(holder, id)) return;
    const ids = [id, storedText(holder)] as const;
    throw this.#duplicate({ workspace, property, ids });
  }
}

/**
 * The position of a build as the catalog has it. Of a long path earlier builds kept the key, in which it is cut; positions
 * are whole paths and are marked.
 */
function keptPosition(position: string | undefined): string {
  if (position === undefined) return '';
  return position.length > LONG_PART_BYTES ? position + END : position;
}

/** Reads {@link keptPosition}; with a cut key a build begins again with the paths that are cut to it. */
function positionIn(kept: string): string | undefined {
  if (kept === '') return undefined;
  if (kept.length <= LONG_PART_BYTES) return kept;
  return kept.endsWith(END) ? kept.slice(0, -1) : kept.slice(0, LONG_PART_BYTES) + AFTER_END;
}

/** Whether an entry that is surely there need not be written again. */
function isKept(old: IndexEntry, next: IndexEntry): boolean {
  if (old.mayBeMissing === true || next.mayBeMissing === true) return false;
  if (old.key !== next.key || old.table !== next.table) return false;
  return old.value === next.value || Buffer.compare(old.value, next.value) === 0;
}

function uniquesOf({ uniques }: IndexFields): IndexFields {
  return { properties: [], uniques };
}
