import { CommonTable } from '#runtime/commit/behaviour.ts';
import {
  compareRevisions,
  decodeRevisionDescending,
  parseRevision,
  REVISION_BYTES,
  type Revision,
} from '#runtime/content/revision.ts';
import type { Write } from '#runtime/log/log-entry.ts';
import { bytesText, END, storedText } from '#runtime/shard/binary-key.ts';
import {
  BranchTable,
  childKey,
  countKey,
  nodeKey,
  nodeVersionsUpTo,
  parentKey,
  pathKey,
  revisionKey,
} from '#runtime/shard/key-layout.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { storedRows } from '#runtime/shard/value-in-steps.ts';
import {
  assumedFields,
  decodeTypeCount,
  encodeTypeCount,
  type IndexFields,
} from '#runtime/tree/index-catalog.ts';
import { indexEntries } from '#runtime/tree/index-entries.ts';
import {
  decodeBinding,
  decodeParentEntry,
  encodeBinding,
  encodeParentEntry,
  type ParentEntry,
} from '#runtime/tree/node-reader.ts';
import { NodeRecord } from '#runtime/tree/record/node-record.ts';
import { restartedConsumer } from '#runtime/feed/consumer-store.ts';
import { headOfBrokenFeed } from '#runtime/tree/revision-store.ts';
import { ChangedNodes, type DerivedTable, derivedTables, followsFromNode } from './check-branch.ts';
import { everyKey } from './check-rows.ts';

/** A missing node that another row names. */
export interface LostNode {
  readonly workspace: string;
  readonly path: string;
  readonly id: string;
}

/** The children of a parent found so far. */
interface Family {
  count: number;
  lastOrderKey: string;
  since: Revision;
}

/**
 * Makes the derived tables of a branch agree with its nodes: rows of missing nodes are removed, and missing rows are
 * added. Node records, their versions and revisions are not changed. A change feed that lacks entries begins again, and
 * consumers with effects in the shard start again.
 *
 * @param onLost called for every missing node that a path names
 */
export function* repairBranch(reader: TableReader, onLost: (lost: LostNode) => void): Generator<Write, void> {
  const repair = new BranchRepair(reader);
  yield* repair.nodes();
  yield* repair.strays(onLost);
  yield* repair.formerPlaces();
  yield* repair.parents();
  yield* repair.counts();
  yield* repair.feed();
  yield* repair.consumers();
}

/**
 * Removes nodes and versions whose key may be damaged. A record does not contain its workspace, but the revision that
 * wrote a node names it, and so does its path.
 *
 * @param onUnconfirmed called for every row
 */
export function* removeUnconfirmed(
  reader: TableReader,
  onUnconfirmed: (table: 'nodes' | 'nodeVersions', key: string) => void,
): Generator<Write, void> {
  const changed = new ChangedNodes(reader);
  for (const name of ['nodes', 'nodeVersions'] as const) {
    const table = BranchTable[name];
    for (const { key, value } of reader.range(table, everyKey)) {
      if (value.length === 0) continue;
      const workspace = key.slice(0, key.indexOf(END));
      const { id, path, revision } = new NodeRecord(value);
      const named = changed.of(revision);
      if (named?.has(`${workspace} ${id}`) === true) continue;
      const bytes = reader.get(BranchTable.paths, pathKey(workspace, path));
      const bound = bytes === undefined ? undefined : readOrNothing(() => decodeBinding(bytes).id);
      if (bound === id || (name === 'nodeVersions' && named === undefined)) continue;
      onUnconfirmed(name, key);
      yield { table, key, value: null };
    }
  }
}

class BranchRepair {
  readonly #reader: TableReader;
  readonly #families = new Map<string, Family>();
  readonly #counts = new Map<string, number>();
  readonly #fields = new Map<string, IndexFields>();
  #guessed: ReadonlyMap<string, GuessedFields> | undefined;

  constructor(reader: TableReader) {
    this.#reader = reader;
  }

  *nodes(): Generator<Write, void> {
    for (const { key, value } of this.#reader.range(BranchTable.nodes, everyKey)) {
      const workspace = key.slice(0, key.indexOf(END));
      const record = new NodeRecord(value);
      const { header } = record;
      const { id, nodeType, orderKey, parentId, path } = header;
      const since = parseRevision(header.revision);
      yield* this.#binding(BranchTable.paths, pathKey(workspace, path), id, since);
      yield* this.#binding(BranchTable.children, childKey(workspace, parentId, orderKey), id, since);
      this.#note(parentKey(workspace, parentId), orderKey, since);
      const type = countKey(workspace, nodeType);
      this.#counts.set(type, (this.#counts.get(type) ?? 0) + 1);
      const entries = indexEntries(workspace, this.#fieldsOf(type), header, record.properties, 'written');
      for (const entry of entries) {
        const found = this.#reader.get(entry.table, entry.key);
        if (entry.mayBeMissing === true) continue;
        if (found === undefined || Buffer.compare(found, entry.value) !== 0)
          yield { table: entry.table, key: entry.key, value: entry.value };
      }
    }
  }

  *strays(onLost: (lost: LostNode) => void): Generator<Write, void> {
    for (const name of derivedTables) {
      const table = BranchTable[name];
      for (const { key, value } of this.#reader.range(table, everyKey)) {
        if (this.#follows(name, key, value)) continue;
        if (name === 'paths') this.#tellLost(key, value, onLost);
        yield { table, key, value: null };
      }
    }
  }

  /**
   * Empties former paths and positions of nodes of which no state from then is left: a listing in the past would find none
   * there. A row that is removed would show what was there before again.
   */
  *formerPlaces(): Generator<Write, void> {
    for (const table of [BranchTable.pathVersions, BranchTable.childVersions]) {
      for (const { key, value } of this.#reader.range(table, everyKey)) {
        if (value.length === 0) continue;
        const workspace = key.slice(0, key.indexOf(END));
        const id = storedText(value);
        const since = decodeRevisionDescending(key, key.length - REVISION_BYTES);
        if (!this.#hadState(workspace, id, since)) yield { table, key, value: new Uint8Array(0) };
      }
    }
  }

  /** Whether there is a state of a node that was written at or before a revision. */
  #hadState(workspace: string, id: string, at: Revision): boolean {
    const earlier = nodeVersionsUpTo(workspace, id, at);
    for (const { value } of storedRows(this.#reader, BranchTable.nodeVersions, earlier))
      if (value.length > 0) return true;
    const present = this.#reader.get(BranchTable.nodes, nodeKey(workspace, id));
    return (
      present !== undefined &&
      compareRevisions(parseRevision(new NodeRecord(present).header.revision), at) <= 0
    );
  }

  *parents(): Generator<Write, void> {
    for (const { key } of this.#reader.range(BranchTable.parents, everyKey))
      if (!this.#families.has(key)) yield { table: BranchTable.parents, key, value: null };
    for (const [key, { count, lastOrderKey, since }] of this.#families) {
      const known = this.#parent(key);
      if (known?.count === count && known.lastOrderKey === lastOrderKey && this.#knows(known.since)) continue;
      const kept = known !== undefined && this.#knows(known.since) ? known.since : since;
      const value = encodeParentEntry({ count, lastOrderKey, since: kept });
      yield { table: BranchTable.parents, key, value };
    }
  }

  *counts(): Generator<Write, void> {
    for (const { key } of this.#reader.range(BranchTable.counts, everyKey))
      if (!this.#counts.has(key)) yield { table: BranchTable.counts, key, value: null };
    for (const [key, count] of this.#counts) {
      // The fields are those of the row, unless it cannot be read.
      const found = this.#reader.get(BranchTable.counts, key);
      const known = found === undefined ? undefined : readOrNothing(() => decodeTypeCount(found));
      if (known?.count === count) continue;
      const value = encodeTypeCount({ count, fields: this.#fieldsOf(key) });
      yield { table: BranchTable.counts, key, value };
    }
  }

  *#binding(table: number, key: string, id: string, since: Revision): Generator<Write, void> {
    const bytes = this.#reader.get(table, key);
    const found = bytes === undefined ? undefined : readOrNothing(() => decodeBinding(bytes));
    if (found?.id === id && this.#knows(found.since)) return;
    yield { table, key, value: encodeBinding(since, id) };
  }

  #note(parent: string, orderKey: string, since: Revision): void {
    const family = this.#families.get(parent) ?? { count: 0, lastOrderKey: '', since };
    family.count += 1;
    if (orderKey > family.lastOrderKey) family.lastOrderKey = orderKey;
    if (compareRevisions(since, family.since) < 0) family.since = since;
    this.#families.set(parent, family);
  }

  #follows(name: DerivedTable, key: string, value: Uint8Array): boolean {
    return (
      readOrNothing(() => followsFromNode(this.#reader, name, key, value, (type) => this.#fieldsOf(type))) ===
      true
    );
  }

  #tellLost(key: string, value: Uint8Array, onLost: (lost: LostNode) => void): void {
    const binding = readOrNothing(() => decodeBinding(value));
    const [workspace = '', path = ''] = key.split(END);
    onLost({ workspace, path: bytesText(path), id: binding?.id ?? '' });
  }

  *feed(): Generator<Write, void> {
    const row = readOrNothing(() => headOfBrokenFeed(this.#reader));
    if (row !== undefined) yield { table: CommonTable.meta, ...row };
  }

  /** What was lost or removed is in no entry of the feed. */
  *consumers(): Generator<Write, void> {
    for (const { key, value } of this.#reader.range(BranchTable.consumers, everyKey)) {
      const row = readOrNothing(() => restartedConsumer(value));
      if (row !== undefined) yield { table: BranchTable.consumers, key, value: row };
    }
  }

  #parent(key: string): ParentEntry | undefined {
    const bytes = this.#reader.get(BranchTable.parents, key);
    return bytes === undefined ? undefined : readOrNothing(() => decodeParentEntry(bytes));
  }

  #knows(revision: Revision): boolean {
    const key = revisionKey(revision);
    return (
      this.#reader.get(BranchTable.revisions, key) !== undefined ||
      this.#reader.get(BranchTable.ancestry, key) !== undefined
    );
  }

  /** The indexed properties of a type: from the catalog, otherwise from the existing rows. */
  #fieldsOf(type: string): IndexFields {
    let fields = this.#fields.get(type);
    if (fields !== undefined) return fields;
    const bytes = this.#reader.get(BranchTable.counts, type);
    fields = bytes === undefined ? undefined : readOrNothing(() => decodeTypeCount(bytes).fields);
    if (fields === undefined) {
      this.#guessed ??= guessedFields(this.#reader);
      const { properties, uniques } = this.#guessed.get(type) ?? { properties: [], uniques: [] };
      fields = assumedFields(properties, uniques);
    }
    this.#fields.set(type, fields);
    return fields;
  }
}

interface GuessedFields {
  readonly properties: string[];
  readonly uniques: string[];
}

/** The properties of each type that have rows in the indexes. */
function guessedFields(reader: TableReader): ReadonlyMap<string, GuessedFields> {
  const found = new Map<string, GuessedFields>();
  const note = (type: string, kind: 'properties' | 'uniques', name: string): void => {
    const fields = found.get(type) ?? { properties: [], uniques: [] };
    if (!fields[kind].includes(name)) fields[kind].push(name);
    found.set(type, fields);
  };
  const typeOf = (workspace: string, id: string): string | undefined => {
    const bytes = reader.get(BranchTable.nodes, workspace + END + id);
    return bytes === undefined
      ? undefined
      : readOrNothing(() => countKey(workspace, new NodeRecord(bytes).nodeType));
  };
  for (const { key } of reader.range(BranchTable.properties, everyKey)) {
    const parts = key.split(END);
    // Other indexes are built again.
    if (parts[1]?.startsWith('\u00ff') === true) continue;
    const type = typeOf(parts[0] ?? '', parts.at(-1) ?? '');
    if (type !== undefined) note(type, 'properties', bytesText(parts[1] ?? ''));
  }
  for (const { key } of reader.range(BranchTable.uniques, everyKey)) {
    const [workspace = '', nodeType = '', name = ''] = key.split(END);
    note(countKey(workspace, nodeType), 'uniques', bytesText(name));
  }
  return found;
}

/** @returns undefined when it cannot be read, which is reported elsewhere */
function readOrNothing<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
