import { Buffer } from 'node:buffer';
import { isNodeId, type NodeHeader } from '#runtime/content/content-node.ts';
import { type JsonObject, type JsonValue, ownValue } from '#runtime/content/values/json-value.ts';
import { isWorkspaceName } from '#runtime/content/names.ts';
import { findReferences } from '#runtime/content/values/references.ts';
import { indexKey, indexKeyInSteps, olderIndexKey, olderIndexKeyInSteps } from '#runtime/index/index-key.ts';
import { uniqueValue, uniqueValueInSteps } from '#runtime/index/unique-value.ts';
import { columnKey } from '#runtime/index/compound-key.ts';
import { textBytes } from '#runtime/shard/binary-key.ts';
import { BranchTable, propertyKey, referenceKey, typeKey, uniqueKey } from '#runtime/shard/key-layout.ts';
import type { IndexFields } from './index-catalog.ts';
import {
  compoundColumns,
  CREATED_AT_INDEX,
  mayBeIndexed,
  propertiesOf,
  UPDATED_AT_INDEX,
} from './index-name.ts';
import { STEP_BYTES } from './record/steps.ts';
import type { NodeRecord } from './record/node-record.ts';

/** One row of a node in an index. */
export interface IndexEntry {
  readonly table: number;
  readonly key: string;
  readonly value: Uint8Array;
  /** For a unique row: the property, so that an error can name it. */
  readonly uniqueProperty?: string;
  /** Whether the row is of an index that is pending, so that it may be missing. */
  readonly mayBeMissing?: boolean;
}

/**
 * Which rows of a node are meant: `written` are those that a write of the node leaves, `possible` are those that may be in
 * the indexes before it. They differ while indexes are pending.
 */
export type EntrySelection = 'written' | 'possible';

const nothing = new Uint8Array(0);

/** Index texts computed in advance, by index and property. */
export type IndexTexts = ReadonlyMap<string, string | undefined>;

/** Names of the indexes in {@link IndexTexts}. */
const PROPERTIES = 'properties';
const OLDER = 'older';
const UNIQUES = 'uniques';

/** Names of the properties in pending indexes. */
function pendingNames({ pending }: IndexFields): readonly string[] {
  if (pending === undefined) return [];
  return [...pending.building, ...pending.upgrading, ...pending.dropping].flatMap(propertiesOf);
}

/**
 * Computes in steps what {@link recordEntries} needs of a large record, and keeps it with the record: the index text of
 * a value of 16 MiB takes up to 300 ms.
 *
 * @param fields properties that are, or will be, indexed
 * @returns a generator that yields only for a large record
 */
export function* prepareEntries(record: NodeRecord, fields: IndexFields): Generator<undefined, void> {
  if (!record.isLarge) return;
  yield* record.prepareIndexed();
  const pending = pendingNames(fields);
  yield* prepareTexts(
    record,
    PROPERTIES,
    [...fields.properties.flatMap(propertiesOf), ...pending],
    indexKeyInSteps,
  );
  yield* prepareTexts(record, OLDER, pending, olderIndexKeyInSteps);
  yield* prepareTexts(record, UNIQUES, fields.uniques, uniqueValueInSteps);
}

function* prepareTexts(
  record: NodeRecord,
  index: string,
  names: readonly string[],
  textOf: (value: JsonValue) => Generator<undefined, string | undefined>,
): Generator<undefined, void> {
  const { indexTexts } = record;
  for (const name of names) {
    const place = `${index} ${name}`;
    if (indexTexts.has(place) || record.propertyTextBytes(name) <= STEP_BYTES) continue;
    const properties = yield* record.decode();
    indexTexts.set(place, yield* textOf(properties[name] as JsonValue));
  }
}

/** As {@link indexEntries}, of a record; of a large one only the required properties are decoded. */
export function recordEntries(
  workspace: string,
  fields: IndexFields,
  record: NodeRecord,
  selection: EntrySelection,
  properties: JsonObject = indexedProperties(record, fields),
): readonly IndexEntry[] {
  const texts = record.isLarge ? record.indexTexts : undefined;
  return indexEntries(workspace, fields, record.header, properties, selection, texts);
}

/** The properties of a record that the indexes of some fields read. */
export function indexedProperties(record: NodeRecord, ...fields: readonly IndexFields[]): JsonObject {
  if (!record.isLarge) return record.properties;
  return record.indexedProperties(
    fields.flatMap((each) => [
      ...each.properties.flatMap(propertiesOf),
      ...each.uniques,
      ...pendingNames(each),
    ]),
  );
}

/**
 * All index rows of one state of a node: a pure function of the workspace, the indexed fields and the record, so that
 * the indexes can be rebuilt from content and compared.
 *
 * @param fields indexed properties of this type in this workspace, from the catalog
 * @param texts results of {@link prepareEntries} for these properties
 */
export function indexEntries(
  workspace: string,
  fields: IndexFields,
  header: NodeHeader,
  properties: JsonObject,
  selection: EntrySelection,
  texts?: IndexTexts,
): readonly IndexEntry[] {
  const id = Buffer.from(textBytes(header.id), 'latin1');
  const entries: IndexEntry[] = [
    { table: BranchTable.types, key: typeKey(workspace, header.nodeType, header.path), value: id },
  ];
  const values = new IndexedValues(header, (name) => ownValue(properties, name), texts);
  propertyEntries(entries, workspace, fields, header.id, values, selection);
  uniqueEntries(entries, workspace, fields, header, values, id);
  for (const relation of header.relations) {
    entries.push({
      table: BranchTable.references,
      key: referenceKey(
        relation.workspace,
        relation.target,
        'relation',
        workspace,
        header.id,
        relation.relation_type,
      ),
      value: Buffer.from(JSON.stringify(relation)),
    });
  }
  for (const found of findReferences(properties)) {
    const target = found.workspace ?? workspace;
    // A reference that cannot name a node needs no row: it is the caller's text and may be anything.
    if (!isNodeId(found.ref) || !isWorkspaceName(target)) continue;
    entries.push({
      table: BranchTable.references,
      key: referenceKey(target, found.ref, 'property', workspace, header.id, found.pointer),
      value: nothing,
    });
  }
  return entries;
}

/** The key of a node in a property index. Yields only for a large node. @param index its name, see `index-name.ts` */
export function* keyInIndex(record: NodeRecord, index: string): Generator<undefined, string> {
  if (record.isLarge) yield* prepareTexts(record, PROPERTIES, propertiesOf(index), indexKeyInSteps);
  return valuesOf(record).key(index);
}

/** The key of a node in the unique index of a property; undefined when it has none. Yields only for a large node. */
export function* keyInUniqueIndex(
  record: NodeRecord,
  property: string,
): Generator<undefined, string | undefined> {
  if (record.isLarge) yield* prepareTexts(record, UNIQUES, [property], uniqueValueInSteps);
  return valuesOf(record).uniqueKey(property);
}

function valuesOf(record: NodeRecord): IndexedValues {
  const texts = record.isLarge ? record.indexTexts : undefined;
  return new IndexedValues(record, (name) => record.property(name), texts);
}

/** The keys of the values of one node. */
class IndexedValues {
  readonly #columns: Pick<NodeHeader, 'nodeType' | 'createdAt' | 'updatedAt'>;
  readonly #value: (name: string) => JsonValue | undefined;
  readonly #texts: IndexTexts | undefined;

  /** @param value the value of a property */
  constructor(
    columns: Pick<NodeHeader, 'nodeType' | 'createdAt' | 'updatedAt'>,
    value: (name: string) => JsonValue | undefined,
    texts: IndexTexts | undefined,
  ) {
    this.#columns = columns;
    this.#value = value;
    this.#texts = texts;
  }

  /** The key of the node in an index. */
  key(name: string): string {
    if (name === CREATED_AT_INDEX) return indexKey(this.#columns.createdAt);
    if (name === UPDATED_AT_INDEX) return indexKey(this.#columns.updatedAt);
    const columns = compoundColumns(name);
    if (columns === undefined) return this.#propertyKey(name);
    return columns
      .map(({ isDescending, property }) => columnKey(this.#columnKey(property), isDescending, columns.length))
      .join('');
  }

  #columnKey(column: string): string {
    switch (column) {
      case '__node_type':
        return indexKey(this.#columns.nodeType);
      case '__created_at':
        return indexKey(this.#columns.createdAt);
      case '__updated_at':
        return indexKey(this.#columns.updatedAt);
      default:
        return this.#propertyKey(column);
    }
  }

  #propertyKey(name: string): string {
    return this.#prepared(PROPERTIES, name) ?? indexKey(this.#value(name));
  }

  olderKey(name: string): string | undefined {
    if (!mayBeIndexed(name)) return undefined;
    return this.#prepared(OLDER, name) ?? olderIndexKey(this.#value(name));
  }

  uniqueKey(name: string): string | undefined {
    const value = this.#value(name);
    return value === undefined ? undefined : (this.#prepared(UNIQUES, name) ?? uniqueValue(value));
  }

  #prepared(index: string, name: string): string | undefined {
    return this.#texts?.get(`${index} ${name}`);
  }
}

function propertyEntries(
  entries: IndexEntry[],
  workspace: string,
  { pending, properties }: IndexFields,
  id: string,
  values: IndexedValues,
  selection: EntrySelection,
): void {
  const add = (name: string, value: string, mayBeMissing = false): void => {
    const key = propertyKey(workspace, name, value, id);
    entries.push({ table: BranchTable.properties, key, value: nothing, mayBeMissing });
  };
  for (const name of properties) add(name, values.key(name));
  if (pending === undefined) return;
  const { building, dropping, upgrading } = pending;
  for (const name of building) add(name, values.key(name), true);
  for (const name of upgrading) {
    const key = values.key(name);
    add(name, key, values.olderKey(name) !== key);
  }
  if (selection === 'written') return;
  for (const name of dropping) add(name, values.key(name), true);
  for (const name of [...building, ...upgrading, ...dropping]) {
    const older = values.olderKey(name);
    if (older !== undefined && older !== values.key(name)) add(name, older, true);
  }
}

function uniqueEntries(
  entries: IndexEntry[],
  workspace: string,
  { uniques }: IndexFields,
  { nodeType }: NodeHeader,
  values: IndexedValues,
  id: Uint8Array,
): void {
  for (const name of uniques) {
    const value = values.uniqueKey(name);
    if (value === undefined) continue;
    const key = uniqueKey(workspace, nodeType, name, value);
    entries.push({ table: BranchTable.uniques, key, value: id, uniqueProperty: name });
  }
}
