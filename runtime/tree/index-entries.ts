import { Buffer } from 'node:buffer';
import { isNodeId, type NodeHeader } from '#runtime/content/content-node.ts';
import type { JsonObject, JsonValue } from '#runtime/content/values/json-value.ts';
import { isWorkspaceName } from '#runtime/content/names.ts';
import { findReferences } from '#runtime/content/values/references.ts';
import {
  indexValue,
  indexValueInSteps,
  uniqueValue,
  uniqueValueInSteps,
} from '#runtime/index/index-value.ts';
import { textBytes } from '#runtime/shard/binary-key.ts';
import { BranchTable, propertyKey, referenceKey, typeKey, uniqueKey } from '#runtime/shard/key-layout.ts';
import type { IndexFields } from './index-catalog.ts';
import { STEP_BYTES } from './record/check-record.ts';
import type { NodeRecord } from './record/node-record.ts';

/** One row of a node in an index. */
export interface IndexEntry {
  readonly table: number;
  readonly key: string;
  readonly value: Uint8Array;
  /** For a unique row: the property, so that an error can name it. */
  readonly uniqueProperty?: string;
}

const nothing = new Uint8Array(0);

/** Index texts computed in advance, by index and property. */
export type IndexTexts = ReadonlyMap<string, string | undefined>;

/** Names of the indexes in {@link IndexTexts}. */
const PROPERTIES = 'properties';
const UNIQUES = 'uniques';

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
  yield* prepareTexts(record, PROPERTIES, fields.properties, indexValueInSteps);
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
  properties: JsonObject = indexedProperties(record, fields),
): readonly IndexEntry[] {
  const texts = record.isLarge ? record.indexTexts : undefined;
  return indexEntries(workspace, fields, record.header, properties, texts);
}

/** The properties of a record that the indexes of some fields read. */
export function indexedProperties(record: NodeRecord, ...fields: readonly IndexFields[]): JsonObject {
  if (!record.isLarge) return record.properties;
  return record.indexedProperties(fields.flatMap(({ properties, uniques }) => [...properties, ...uniques]));
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
  texts?: IndexTexts,
): readonly IndexEntry[] {
  const id = Buffer.from(textBytes(header.id), 'latin1');
  const entries: IndexEntry[] = [
    { table: BranchTable.types, key: typeKey(workspace, header.nodeType, header.path), value: id },
  ];
  propertyEntries(entries, workspace, fields, header, properties, id, texts);
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

function propertyEntries(
  entries: IndexEntry[],
  workspace: string,
  fields: IndexFields,
  header: NodeHeader,
  properties: JsonObject,
  id: Uint8Array,
  texts: IndexTexts | undefined,
): void {
  for (const name of fields.properties) {
    if (!Object.hasOwn(properties, name)) continue;
    const place = texts === undefined ? '' : `${PROPERTIES} ${name}`;
    const value = texts?.has(place) === true ? texts.get(place) : indexValue(properties[name] as JsonValue);
    if (value === undefined) continue;
    const key = propertyKey(workspace, name, value, header.id);
    entries.push({ table: BranchTable.properties, key, value: nothing });
  }
  for (const name of fields.uniques) {
    if (!Object.hasOwn(properties, name)) continue;
    const place = texts === undefined ? '' : `${UNIQUES} ${name}`;
    const value = texts?.has(place) === true ? texts.get(place) : uniqueValue(properties[name] as JsonValue);
    if (value === undefined) continue;
    const key = uniqueKey(workspace, header.nodeType, name, value);
    entries.push({ table: BranchTable.uniques, key, value: id, uniqueProperty: name });
  }
}
