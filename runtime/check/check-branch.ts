import { ROOT_ID } from '#runtime/content/content-node.ts';
import { joinPath } from '#runtime/content/path.ts';
import {
  compareRevisions,
  decodeRevisionDescending,
  encodeRevision,
  formatRevision,
  parseRevision,
  REVISION_BYTES,
  type Revision,
} from '#runtime/content/revision.ts';
import { bytesText, END, storedText } from '#runtime/shard/binary-key.ts';
import { consumerNameIn } from '#runtime/feed/consumer-store.ts';
import { decodeJsonRow } from '#runtime/shard/json-row.ts';
import {
  auditRevision,
  BranchTable,
  childKey,
  countKey,
  definitionKey,
  definitionVersionKey,
  manualVersionKey,
  nodeKey,
  nodeVersionKey,
  nodeVersionsUpTo,
  parentKey,
  pathKey,
  propertyPrefix,
  revisionChangesKey,
} from '#runtime/shard/key-layout.ts';
import type { Row, TableReader } from '#runtime/shard/shard.ts';
import type { AuditEntry } from '#runtime/tree/audit-store.ts';
import { decodeFeedRow, isWholeFeed } from '#runtime/tree/feed-store.ts';
import { decodeTypeCount, type IndexFields } from '#runtime/tree/index-catalog.ts';
import { indexEntries } from '#runtime/tree/index-entries.ts';
import type { ManualVersion } from '#runtime/tree/manual-version-store.ts';
import { decodeBinding, decodeParentEntry } from '#runtime/tree/node-reader.ts';
import { NodeRecord } from '#runtime/tree/record/node-record.ts';
import { revisionsUpTo } from '#runtime/tree/leading-revisions.ts';
import { readBranchHead } from '#runtime/tree/revision-store.ts';
import type { NodeChange, RevisionRecord } from '#runtime/tree/revision-record.ts';
import { type StoredKind, storedKinds } from '#runtime/tree/schema-store.ts';
import { decodeProjectionValue } from '#runtime/projection/projection-value.ts';
import { checkJsonRows, damagedRow, eachRow, type OnDamage, shownKey } from './check-rows.ts';

/** Tables derived from the nodes alone. */
export const derivedTables = ['paths', 'children', 'types', 'properties', 'uniques', 'references'] as const;

/** A table derived from the nodes alone. */
export type DerivedTable = (typeof derivedTables)[number];

const nameOf = new Map(derivedTables.map((name) => [BranchTable[name] as number, name]));

/** Tables whose rows are verified by their checksums only: nothing in them repeats the key. */
const checksummed = [BranchTable.ancestry];

/** Tables whose rows are verified one by one: their checksums, and that their keys match their values. */
const namedTables = ['definitions', 'definitionVersions', 'manualVersions', 'consumers'] as const;

/** Revisions whose changes are cached: nodes are read by id, and ids rise with time. */
const REVISIONS_KEPT = 64;

interface Parent {
  count: number;
  lastOrderKey: string;
}

/**
 * Verifies all rows of a branch: the checksums; that keys match their values; that every row of an index and of the
 * tree follows from a node and every node has all of its rows; that the revisions of nodes name them; and that version
 * tables name present or past nodes. Memory follows the number of parents and types.
 *
 * @returns a generator that yields often enough to run in slices
 */
export function* checkBranch(
  reader: TableReader,
  tableNames: readonly string[],
  tell: OnDamage,
): Generator<undefined, void> {
  const check = new BranchCheck(reader, tell);
  yield* check.nodes();
  yield* check.derivedRows();
  yield* check.parents();
  yield* check.counts();
  yield* check.nodeVersions();
  yield* check.places('pathVersions');
  yield* check.places('childVersions');
  yield* check.parentVersions();
  yield* check.revisions();
  yield* check.feed();
  yield* check.audit();
  yield* check.named();
  yield* check.projections();
  yield* checkJsonRows(reader, tableNames, checksummed, tell);
}

class BranchCheck {
  readonly #reader: TableReader;
  readonly #tell: OnDamage;
  /** Expected number of rows in each derived table. */
  readonly #expected: Record<DerivedTable, number>;
  readonly #parents = new Map<string, Parent>();
  readonly #counts = new Map<string, number>();
  /** The last revision found in the branch. */
  #knownLast = '';
  readonly #changed: ChangedNodes;

  constructor(reader: TableReader, tell: OnDamage) {
    this.#reader = reader;
    this.#tell = tell;
    this.#changed = new ChangedNodes(reader);
    this.#expected = { paths: 0, children: 0, types: 0, properties: 0, uniques: 0, references: 0 };
  }

  /** Keys and checksums; nothing tells whether the rows follow from the content. */
  *projections(): Generator<undefined, void> {
    const { projections } = BranchTable;
    yield* eachRow(this.#reader, projections, 'projections', this.#tell, verifyProjectionRow);
  }

  *nodes(): Generator<undefined, void> {
    yield* eachRow(this.#reader, BranchTable.nodes, 'nodes', this.#tell, ({ key, value }) => {
      this.#node(key, new NodeRecord(value));
    });
  }

  #node(key: string, record: NodeRecord): void {
    const workspace = key.slice(0, key.indexOf(END));
    const { header } = record;
    const { id, name, orderKey, parentId, path } = header;
    if (nodeKey(workspace, id) !== key) throw damagedRow(`it holds the node ${id} (${path})`);
    this.#expect('paths', path, pathKey(workspace, path), id);
    this.#expect('children', path, childKey(workspace, parentId, orderKey), id);
    const parent = parentKey(workspace, parentId);
    const known = this.#parents.get(parent) ?? { count: 0, lastOrderKey: '' };
    known.count += 1;
    if (orderKey > known.lastOrderKey) known.lastOrderKey = orderKey;
    this.#parents.set(parent, known);
    const type = countKey(workspace, header.nodeType);
    this.#counts.set(type, (this.#counts.get(type) ?? 0) + 1);
    this.#parentOf(workspace, parentId, name, path);
    this.#entries(workspace, type, record);
    if (!this.#changed.of(header.revision)?.has(`${workspace} ${id}`))
      this.#tell('nodes', `${path} (${id}) is not named by revision ${header.revision}, which wrote it`);
  }

  #parentOf(workspace: string, parentId: string, name: string, path: string): void {
    let parentPath = '/';
    if (parentId !== ROOT_ID) {
      const bytes = this.#reader.get(BranchTable.nodes, nodeKey(workspace, parentId));
      if (bytes === undefined) {
        this.#tell('nodes', `${path} has no parent: ${parentId} is missing`);
        return;
      }
      try {
        parentPath = new NodeRecord(bytes).path;
      } catch {
        // Damage to it is reported with its own row.
        return;
      }
    }
    if (joinPath(parentPath, name) !== path)
      this.#tell('nodes', `${path} is not '${name}' under ${parentPath}`);
  }

  #entries(workspace: string, type: string, record: NodeRecord): void {
    const catalog = this.#reader.get(BranchTable.counts, type);
    if (catalog === undefined) return;
    const { fields } = decodeTypeCount(catalog);
    const { header, properties } = record;
    for (const entry of indexEntries(workspace, fields, header, properties, 'possible')) {
      const { key, mayBeMissing, table, value } = entry;
      const name = nameOf.get(table) as DerivedTable;
      const found = this.#reader.get(table, key);
      if (found === undefined && mayBeMissing === true) continue;
      this.#expected[name] += 1;
      if (found === undefined) this.#tell(name, `${shownKey(key)} of ${header.path} is missing`);
      else if (Buffer.compare(found, value) !== 0)
        this.#tell(name, `${shownKey(key)} is not that of ${header.path}`);
    }
  }

  #expect(name: 'paths' | 'children', path: string, key: string, id: string): void {
    this.#expected[name] += 1;
    const found = this.#reader.get(BranchTable[name], key);
    if (found === undefined) this.#tell(name, `${shownKey(key)} of ${path} is missing`);
    else this.#binding(name, path, key, id, found);
  }

  #binding(name: DerivedTable, path: string, key: string, id: string, bytes: Uint8Array): void {
    const { id: found, since } = decodeBinding(bytes);
    if (found !== id) this.#tell(name, `${shownKey(key)} names ${found}, not ${id} (${path})`);
    else if (!this.#knows(since))
      this.#tell(name, `${shownKey(key)} of ${path} is said to be of an unknown revision`);
  }

  /** Whether the branch has a revision, or has it from another branch. */
  #knows(revision: Revision): boolean {
    const key = encodeRevision(revision);
    if (key === this.#knownLast) return true;
    const { revisions, ancestry } = BranchTable;
    const isKnown =
      this.#reader.get(revisions, key) !== undefined || this.#reader.get(ancestry, key) !== undefined;
    if (isKnown) this.#knownLast = key;
    return isKnown;
  }

  /** Verifies that all expected rows exist, and reports additional rows that follow from no node. */
  *derivedRows(): Generator<undefined, void> {
    for (const name of derivedTables) {
      const stray: string[] = [];
      const rows = yield* eachRow(this.#reader, BranchTable[name], name, this.#tell, ({ key, value }) => {
        if (!this.#follows(name, key, value)) stray.push(key);
      });
      for (const key of stray) this.#tell(name, `${shownKey(key)} follows from no node`);
      const more = rows - stray.length - this.#expected[name];
      if (more > 0) this.#tell(name, `${more} rows follow from no node`);
    }
  }

  #follows(name: DerivedTable, key: string, value: Uint8Array): boolean {
    return followsFromNode(this.#reader, name, key, value, (type) => {
      const catalog = this.#reader.get(BranchTable.counts, type);
      return catalog === undefined ? undefined : decodeTypeCount(catalog).fields;
    });
  }

  *parents(): Generator<undefined, void> {
    const wanted = this.#parents;
    const seen = new Set<string>();
    yield* eachRow(this.#reader, BranchTable.parents, 'parents', this.#tell, ({ key, value }) => {
      const { count, lastOrderKey, since } = decodeParentEntry(value);
      if (!this.#knows(since)) throw damagedRow('it is said to be of an unknown revision');
      seen.add(key);
      const found = wanted.get(key);
      if (found === undefined) throw damagedRow('no node has this parent');
      if (count !== found.count) throw damagedRow(`it counts ${count} children, there are ${found.count}`);
      if (lastOrderKey !== found.lastOrderKey) throw damagedRow('its last child is another one');
    });
    for (const key of wanted.keys()) if (!seen.has(key)) this.#tell('parents', `${shownKey(key)} is missing`);
  }

  *counts(): Generator<undefined, void> {
    const seen = new Set<string>();
    yield* eachRow(this.#reader, BranchTable.counts, 'counts', this.#tell, ({ key, value }) => {
      const { count } = decodeTypeCount(value);
      seen.add(key);
      const found = this.#counts.get(key) ?? 0;
      if (count !== found) throw damagedRow(`it counts ${count} nodes, there are ${found}`);
    });
    for (const key of this.#counts.keys())
      if (!seen.has(key)) this.#tell('counts', `${shownKey(key)} is missing`);
  }

  *nodeVersions(): Generator<undefined, void> {
    yield* eachRow(this.#reader, BranchTable.nodeVersions, 'nodeVersions', this.#tell, ({ key, value }) => {
      this.#requireKnown(key);
      verifyVersion(key, value);
    });
  }

  /** Verifies that old placements name present or past nodes. */
  *places(name: 'pathVersions' | 'childVersions'): Generator<undefined, void> {
    yield* eachRow(this.#reader, BranchTable[name], name, this.#tell, ({ key, value }) => {
      this.#requireKnown(key);
      if (value.length === 0) return;
      const workspace = key.slice(0, key.indexOf(END));
      const id = storedText(value);
      if (this.#reader.get(BranchTable.nodes, nodeKey(workspace, id)) !== undefined) return;
      for (const _ of this.#reader.range(BranchTable.nodeVersions, nodeVersionsUpTo(workspace, id))) return;
      throw damagedRow(`it names ${id}, of which there is no state`);
    });
  }

  *parentVersions(): Generator<undefined, void> {
    yield* eachRow(
      this.#reader,
      BranchTable.parentVersions,
      'parentVersions',
      this.#tell,
      ({ key, value }) => {
        this.#requireKnown(key);
        if (value.length > 1) throw damagedRow(`it has ${value.length} bytes`);
      },
    );
  }

  /** Verifies the entries of the change feed, and that it has all that the head names. */
  *feed(): Generator<undefined, void> {
    const table = BranchTable.feed;
    yield* eachRow(this.#reader, table, 'feed', this.#tell, (row) => verifyBranchRow(table, row));
    try {
      const { feed } = readBranchHead(this.#reader);
      if (!(yield* isWholeFeed(this.#reader, feed)))
        this.#tell('feed', `entries between ${feed.first} and ${feed.last} are missing`);
    } catch {
      // A head that cannot be read is reported with the revisions.
    }
  }

  *audit(): Generator<undefined, void> {
    yield* eachRow(this.#reader, BranchTable.audit, 'audit', this.#tell, ({ key, value }) => {
      const { node_id: id, workspace } = decodeJsonRow(value) as AuditEntry;
      if (!key.startsWith(auditPrefix(workspace, id))) throw damagedRow(`it is about ${id} in ${workspace}`);
      if (!this.#knows(auditRevision(key))) throw damagedRow('it is said to be of an unknown revision');
    });
  }

  *named(): Generator<undefined, void> {
    for (const name of namedTables) {
      const table = BranchTable[name];
      yield* eachRow(this.#reader, table, name, this.#tell, (row) => verifyBranchRow(table, row));
    }
  }

  /** Verifies that the revision at the end of a version key belongs to the branch. */
  #requireKnown(key: string): void {
    if (!this.#knows(decodeRevisionDescending(key, key.length - REVISION_BYTES)))
      throw damagedRow('it is said to be of an unknown revision');
  }

  *revisions(): Generator<undefined, void> {
    yield* eachRow(this.#reader, BranchTable.revisions, 'revisions', this.#tell, ({ key, value }) => {
      const record = decodeJsonRow(value) as RevisionRecord;
      if (encodeRevision(parseRevision(record.revision)) !== key)
        throw damagedRow(`it holds revision ${record.revision}`);
      const changes = changesIn(this.#reader, record);
      if (changes.length !== record.changeCount)
        throw damagedRow(
          `revision ${record.revision} has ${changes.length} of its ${record.changeCount} changes`,
        );
    });
    yield* eachRow(this.#reader, BranchTable.revisionChanges, 'revisionChanges', this.#tell, ({ value }) => {
      decodeJsonRow(value);
    });
    try {
      const { head, revisions } = readBranchHead(this.#reader);
      let count = 0;
      for (const _ of revisionsUpTo(this.#reader, head)) count += 1;
      if (count !== revisions)
        this.#tell(
          'meta',
          `the head ${formatRevision(head)} counts ${revisions} revisions, there are ${count}`,
        );
    } catch (error) {
      this.#tell('revisions', (error as Error).message);
    }
  }
}

/** Prefix of the audit entry keys of a node. */
function auditPrefix(workspace: string, id: string): string {
  return nodeKey(workspace, id) + END;
}

/**
 * Whether a row of a derived table points to a node that has it. Index rows hold the node id in different places.
 *
 * @param fieldsOf indexed properties of a type, by its key in `counts`
 */
export function followsFromNode(
  reader: TableReader,
  name: DerivedTable,
  key: string,
  value: Uint8Array,
  fieldsOf: (type: string) => IndexFields | undefined,
): boolean {
  const parts = key.split(END);
  const workspace = parts[0] as string;
  if (name === 'paths' || name === 'children') {
    const record = recordOf(reader, workspace, decodeBinding(value).id);
    if (record === undefined) return false;
    const { orderKey, parentId, path } = record;
    return key === (name === 'paths' ? pathKey(workspace, path) : childKey(workspace, parentId, orderKey));
  }
  const bytes = Buffer.from(value).toString('latin1');
  const [home, id] =
    name === 'references'
      ? [parts[3] ?? '', parts[4] ?? '']
      : [workspace, name === 'properties' ? (parts.at(-1) as string) : bytes];
  const record = recordOf(reader, home, bytesText(id));
  const fields = record && fieldsOf(countKey(home, record.nodeType));
  if (record === undefined || fields === undefined) return false;
  const table = BranchTable[name];
  const relevant = fieldsFor(name, fields, workspace, parts[1] as string);
  return indexEntries(home, relevant, record.header, record.properties, 'possible').some(
    (entry) => entry.table === table && entry.key === key,
  );
}

const noFields: IndexFields = Object.freeze({ properties: [], uniques: [] });

/** The fields of a type by the name of one of its property indexes, as a part of a key. */
const byIndex = new WeakMap<IndexFields, Map<string, IndexFields>>();

/** The fields of a type that a row can follow from: a type may have a thousand indexes, and each node a row in each. */
function fieldsFor(name: DerivedTable, fields: IndexFields, workspace: string, index: string): IndexFields {
  if (name === 'uniques') return { ...noFields, uniques: fields.uniques };
  if (name !== 'properties') return noFields;
  let indexes = byIndex.get(fields);
  if (indexes === undefined) {
    indexes = new Map();
    byIndex.set(fields, indexes);
  }
  let found = indexes.get(index);
  if (found === undefined) {
    found = fieldsOfIndex(
      fields,
      (each) => propertyPrefix(workspace, each) === workspace + END + index + END,
    );
    indexes.set(index, found);
  }
  return found;
}

function fieldsOfIndex({ pending, properties }: IndexFields, isIt: (index: string) => boolean): IndexFields {
  const only = { ...noFields, properties: properties.filter(isIt) };
  if (pending === undefined) return only;
  const { building, dropping, upgrading } = pending;
  const lists = {
    building: building.filter(isIt),
    upgrading: upgrading.filter(isIt),
    dropping: dropping.filter(isIt),
  };
  return { ...only, pending: { ...pending, ...lists } };
}

function recordOf(reader: TableReader, workspace: string, id: string): NodeRecord | undefined {
  const bytes = reader.get(BranchTable.nodes, nodeKey(workspace, id));
  if (bytes === undefined) return undefined;
  try {
    return new NodeRecord(bytes);
  } catch {
    return undefined;
  }
}

const jsonTables: ReadonlySet<number> = new Set([...checksummed, BranchTable.revisionChanges]);

/**
 * Verifies one row of a branch by itself: its checksum, and that its key matches its value. Rows of derived tables
 * cannot be verified this way.
 *
 * @throws {ServiceError} `DATA_CORRUPTED`, and any error of reading the row
 */
export function verifyBranchRow(table: number, { key, value }: Row): void {
  const workspace = key.slice(0, key.indexOf(END));
  if (table === BranchTable.nodes) {
    const { id, path } = new NodeRecord(value);
    if (nodeKey(workspace, id) !== key) throw damagedRow(`it holds the node ${id} (${path})`);
  } else if (table === BranchTable.nodeVersions) verifyVersion(key, value);
  else if (table === BranchTable.revisions) {
    const { revision } = decodeJsonRow(value) as RevisionRecord;
    if (encodeRevision(parseRevision(revision)) !== key) throw damagedRow(`it holds revision ${revision}`);
  } else if (table === BranchTable.definitions) verifyDefinition(key, value);
  else if (table === BranchTable.definitionVersions) verifyDefinitionVersion(key, value);
  else if (table === BranchTable.manualVersions) {
    const { header, number } = decodeJsonRow(value) as ManualVersion;
    if (manualVersionKey(workspace, header.id, number) !== key)
      throw damagedRow(`it holds version ${number} of ${header.id}`);
  } else if (table === BranchTable.audit) {
    const { node_id: id, workspace: home } = decodeJsonRow(value) as AuditEntry;
    if (!key.startsWith(auditPrefix(home, id))) throw damagedRow(`it is about ${id} in ${home}`);
  } else if (table === BranchTable.feed) decodeFeedRow({ key, value });
  else if (table === BranchTable.consumers) {
    const name = consumerNameIn({ value });
    if (name !== key) throw damagedRow(`it holds the consumer ${name}`);
  } else if (table === BranchTable.projections) verifyProjectionRow({ key, value });
  else if (jsonTables.has(table)) decodeJsonRow(value);
}

function verifyProjectionRow({ key, value }: Row): void {
  decodeJsonRow(decodeProjectionValue(key, value));
}

/** A stored definition as far as its key follows from it. */
interface NamedDefinition {
  readonly since: string;
  readonly definition: { readonly name: string };
}

function verifyDefinition(key: string, value: Uint8Array): void {
  const { name } = (decodeJsonRow(value) as NamedDefinition).definition;
  if (definitionKey(kindIn(key), name) !== key) throw damagedRow(`it holds the definition of ${name}`);
}

function verifyDefinitionVersion(key: string, value: Uint8Array): void {
  const kind = kindIn(key);
  // A deletion: only its kind can be verified.
  if (value.length === 0) return;
  const { definition, since } = decodeJsonRow(value) as NamedDefinition;
  if (definitionVersionKey(kind, definition.name, parseRevision(since)) !== key)
    throw damagedRow(`it holds the definition of ${definition.name} as of ${since}`);
}

/** The kind of definition that a key names. @throws {ServiceError} `DATA_CORRUPTED` for an unknown one */
function kindIn(key: string): StoredKind {
  const kind = key.slice(0, key.indexOf(END));
  const known = storedKinds.find((each) => each === kind);
  if (known === undefined) throw damagedRow('its kind of definition is unknown');
  return known;
}

function verifyVersion(key: string, value: Uint8Array): void {
  const written = decodeRevisionDescending(key, key.length - REVISION_BYTES);
  if (value.length === 0) return;
  const workspace = key.slice(0, key.indexOf(END));
  const { header } = new NodeRecord(value);
  const since = parseRevision(header.revision);
  if (compareRevisions(since, written) !== 0 || nodeVersionKey(workspace, header.id, since) !== key)
    throw damagedRow(`it holds ${header.id} as of ${header.revision}`);
}

/** The node changes of a revision, as far as they are readable. */
function changesIn(reader: TableReader, record: RevisionRecord): readonly NodeChange[] {
  if (record.changes !== undefined) return record.changes;
  const changes: NodeChange[] = [];
  const start = revisionChangesKey(parseRevision(record.revision), 0);
  const end = `${encodeRevision(parseRevision(record.revision))}\u00ff\u00ff\u00ff\u00ff\u00ff`;
  for (const { value } of reader.range(BranchTable.revisionChanges, { start, end }))
    for (const change of decodeJsonRow(value) as readonly NodeChange[]) changes.push(change);
  return changes;
}

/** The nodes changed by revisions, cached for the revisions requested last. */
export class ChangedNodes {
  readonly #reader: TableReader;
  readonly #known = new Map<string, ReadonlySet<string>>();

  constructor(reader: TableReader) {
    this.#reader = reader;
  }

  /** `workspace id` of the nodes a revision changed; undefined when it cannot be read. */
  of(revision: string): ReadonlySet<string> | undefined {
    const known = this.#known.get(revision);
    if (known !== undefined) return known;
    let changed: ReadonlySet<string> | undefined;
    try {
      const bytes = this.#reader.get(BranchTable.revisions, encodeRevision(parseRevision(revision)));
      if (bytes === undefined) return undefined;
      const record = decodeJsonRow(bytes) as RevisionRecord;
      changed = new Set(
        changesIn(this.#reader, record).map(({ node_id, workspace }) => `${workspace} ${node_id}`),
      );
    } catch {
      return undefined;
    }
    if (this.#known.size >= REVISIONS_KEPT) this.#known.delete(this.#known.keys().next().value as string);
    this.#known.set(revision, changed);
    return changed;
  }
}
