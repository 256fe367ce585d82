import type { ResolvedNodeType } from '#runtime/content/resolution/type-resolver.ts';
import { isOfEarlierBuilds, type KeyRange } from '#runtime/index/key-range.ts';
import { COMPOUND_COLUMNS_MAX } from '#runtime/index/compound-key.ts';
import { BranchTable, countKey } from '#runtime/shard/key-layout.ts';
import type { Range, TableReader } from '#runtime/shard/shard.ts';
import { compoundIndexName, CREATED_AT_INDEX, mayBeIndexed, UPDATED_AT_INDEX } from './index-name.ts';
import { peekWhole } from '#runtime/shard/value-in-steps.ts';

/** The indexed properties of a type in a workspace. */
export interface IndexFields {
  /** Names of the indexes in `properties` with a row for every node of the type, see `index-name.ts`. */
  readonly properties: readonly string[];
  /** In the unique index. */
  readonly uniques: readonly string[];
  /** Property indexes with rows of some of the nodes; absent when there are none. */
  readonly pending?: PendingIndexes;
}

/**
 * Property indexes of a type whose rows are added or removed in the background. Every row is that of the present state of
 * a node, and every write of a node leaves the rows that the complete index will have. So only nodes that were not
 * written since are left to the background, and their paths have not changed.
 */
export interface PendingIndexes {
  /** Indexes that get rows. */
  readonly building: readonly string[];
  /** Indexes of an earlier build, which gave rows to texts, numbers and booleans only, some under other keys. */
  readonly upgrading: readonly string[];
  /** Indexes that lose their rows. */
  readonly dropping: readonly string[];
  /** The position of the last node that was done, see `IndexWriter.build`; empty before the first one. */
  readonly after: string;
  /** The revision that made the newest of them pending. */
  readonly since: string;
}

/** The number of nodes of a type in a workspace, and their indexed properties. */
export interface TypeCount {
  readonly count: number;
  readonly fields: IndexFields;
  /** Whether an earlier build wrote the row, so that it also writes the rows of the indexes. */
  readonly isOlder: boolean;
}

/** Every row of the catalog. */
export const everyType: Range = Object.freeze({ start: '', end: '\u00ff' });

const COUNT_BYTES = 8;

/** Revision of the pending indexes of an earlier build. */
const BEFORE_ALL = '0-0';

type Stored = Pick<TypeCount, 'fields' | 'isOlder'>;

/** Parsed field lists by their stored text; there are few different ones. */
const parsed = new Map<string, Stored>();

/** Field lists kept in the cache; above it the cache is cleared. */
const PARSED_MAX = 10_000;

const byType = new WeakMap<ResolvedNodeType, IndexFields>();

/** Indexes with all nodes of a workspace. */
const ofAllNodes: readonly string[] = [CREATED_AT_INDEX, UPDATED_AT_INDEX];

const none: IndexFields = Object.freeze({ properties: ofAllNodes, uniques: [] });

/** The properties a type declares as indexed; none for a deleted type. */
export function wantedFields(type: ResolvedNodeType | undefined): IndexFields {
  if (type === undefined) return none;
  let fields = byType.get(type);
  if (fields === undefined) {
    const isIndexed = type.indexable && type.indexTypes.includes('Property');
    const names = isIndexed ? [...ofAllNodes, ...declaredIndexes(type)] : ofAllNodes;
    fields = { properties: [...new Set(names)].sort(), uniques: type.unique.toSorted() };
    byType.set(type, fields);
  }
  return fields;
}

function declaredIndexes({ compoundIndexes, indexed }: ResolvedNodeType): readonly string[] {
  const single = indexed.filter(({ kinds, name }) => kinds.includes('Property') && mayBeIndexed(name));
  const compound = compoundIndexes.filter(({ columns }) => columns.length <= COMPOUND_COLUMNS_MAX);
  return [
    ...single.map(({ name }) => name),
    ...compound.map(({ columns }) =>
      compoundIndexName(columns.map(({ ascending, property }) => ({ property, isDescending: !ascending }))),
    ),
  ];
}

/**
 * The indexes to assume for a type whose row of the catalog is lost.
 *
 * @param properties names of property indexes with rows of its nodes
 */
export function assumedFields(properties: readonly string[], uniques: readonly string[]): IndexFields {
  const pending = { building: ofAllNodes, upgrading: [], dropping: [], after: '', since: BEFORE_ALL };
  return { properties, uniques, pending };
}

/**
 * Whether an index has the rows of all nodes of a type in some ranges. An index of an earlier build has rows of texts, numbers
 * and booleans only, some of them elsewhere.
 */
export function hasAllIn(
  { pending, properties }: IndexFields,
  name: string,
  ranges: readonly KeyRange[],
): boolean {
  if (properties.includes(name)) return true;
  return pending?.upgrading.includes(name) === true && ranges.every(isOfEarlierBuilds);
}

/** Whether nodes of a type may have rows in the index of a property. */
export function hasRows({ pending, properties }: IndexFields, name: string): boolean {
  if (properties.includes(name)) return true;
  return [pending?.building, pending?.upgrading, pending?.dropping].some((names) => names?.includes(name));
}

/** Whether the indexes of a type are those that it declares, or become them in the background. */
export function becomes(fields: IndexFields, wanted: IndexFields): boolean {
  return fields === wanted || (sameNames(kept(fields), wanted.properties) && hasSameUniques(fields, wanted));
}

/** Whether two lists name the same unique properties. */
export function hasSameUniques(a: IndexFields, b: IndexFields): boolean {
  return sameNames(a.uniques, b.uniques);
}

function sameNames(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((name, index) => name === b[index]);
}

/** Names of the property indexes that a type has or gets. */
function kept({ pending, properties }: IndexFields): readonly string[] {
  return pending === undefined
    ? properties
    : [...properties, ...pending.building, ...pending.upgrading].sort();
}

/**
 * The indexes of a type after its declaration changed: new ones are to be built, and others to be dropped.
 *
 * @param since the revision of the change
 */
export function begun(fields: IndexFields, wanted: IndexFields, since: string): IndexFields {
  const { properties, uniques } = wanted;
  const before = fields.pending;
  const isWanted = (name: string): boolean => properties.includes(name);
  const present = kept(fields);
  const added = properties.filter((name) => !present.includes(name));
  const dropped = present.filter((name) => !isWanted(name));
  const building = [...(before?.building.filter(isWanted) ?? []), ...added];
  const upgrading = before?.upgrading.filter(isWanted) ?? [];
  const dropping = [...(before?.dropping.filter((name) => !isWanted(name)) ?? []), ...dropped];
  const ready = fields.properties.filter(isWanted);
  if (building.length + upgrading.length + dropping.length === 0) return { properties: ready, uniques };
  const isChanged = added.length + dropped.length > 0;
  const { after, since: earlier } = before ?? { after: '', since };
  const place = isChanged ? { after: '', since } : { after, since: earlier };
  return { properties: ready, uniques, pending: { building, upgrading, dropping, ...place } };
}

/** The indexes of a type when nothing of them is pending any more. */
export function settled(fields: IndexFields): IndexFields {
  return { properties: kept(fields), uniques: fields.uniques };
}

/**
 * Reads a row of the `counts` table, the catalog of indexed properties. The indexes always have the rows that the catalog
 * names.
 */
export function readTypeCount(
  reader: TableReader,
  workspace: string,
  nodeType: string,
): TypeCount | undefined {
  const bytes = peekWhole(reader, BranchTable.counts, countKey(workspace, nodeType));
  return bytes === undefined ? undefined : decodeTypeCount(bytes);
}

/** The types with pending indexes. The cost grows with the number of types in all workspaces. */
export function pendingTypes(reader: TableReader): readonly TypeCount[] {
  const found: TypeCount[] = [];
  for (const { value } of reader.range(BranchTable.counts, everyType)) {
    const count = decodeTypeCount(value);
    if (count.fields.pending !== undefined) found.push(count);
  }
  return found;
}

/** Reads the value of a row of the `counts` table. */
export function decodeTypeCount(bytes: Uint8Array): TypeCount {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const text = buffer.utf8Slice(COUNT_BYTES, bytes.length);
  let stored = parsed.get(text);
  if (stored === undefined) {
    stored = parseFields(text);
    if (parsed.size >= PARSED_MAX) parsed.clear();
    parsed.set(text, stored);
  }
  return { count: buffer.readDoubleBE(0), ...stored };
}

/**
 * A list is the form of earlier builds. These fail at an object instead of writing some of the rows of the indexes.
 */
function parseFields(text: string): Stored {
  const json = JSON.parse(text) as readonly [string[], string[]] | IndexFields;
  if ('properties' in json) return { fields: json, isOlder: false };
  const [properties, uniques] = json;
  const upgrading = properties.filter(mayBeIndexed);
  const pending = { building: ofAllNodes, upgrading, dropping: [], after: '', since: BEFORE_ALL };
  return { fields: { properties: [], uniques, pending }, isOlder: true };
}

const texts = new WeakMap<IndexFields, string>();

/** Bytes of a row of the `counts` table. */
export function encodeTypeCount({ count, fields }: Pick<TypeCount, 'count' | 'fields'>): Uint8Array {
  let text = texts.get(fields);
  if (text === undefined) {
    const { pending, properties, uniques } = fields;
    text = JSON.stringify({ properties, uniques, pending });
    texts.set(fields, text);
  }
  const bytes = Buffer.allocUnsafe(COUNT_BYTES + Buffer.byteLength(text));
  bytes.writeDoubleBE(count, 0);
  bytes.utf8Write(text, COUNT_BYTES);
  return bytes;
}
