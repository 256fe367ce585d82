import type { ResolvedNodeType } from '#runtime/content/resolution/type-resolver.ts';
import { BranchTable, countKey } from '#runtime/shard/key-layout.ts';
import type { TableReader } from '#runtime/shard/shard.ts';

/** The indexed properties of a type in a workspace. */
export interface IndexFields {
  /** In the property index. */
  readonly properties: readonly string[];
  /** In the unique index. */
  readonly uniques: readonly string[];
}

/** The number of nodes of a type in a workspace, and their indexed properties. */
export interface TypeCount {
  readonly count: number;
  readonly fields: IndexFields;
}

const COUNT_BYTES = 8;

/** Parsed field lists by their stored text; there are few different ones. */
const parsed = new Map<string, IndexFields>();

/** Field lists kept in the cache; above it the cache is cleared. */
const PARSED_MAX = 10_000;

const byType = new WeakMap<ResolvedNodeType, IndexFields>();

const none: IndexFields = Object.freeze({ properties: [], uniques: [] });

/** The properties a type declares as indexed; none for a deleted type. */
export function wantedFields(type: ResolvedNodeType | undefined): IndexFields {
  if (type === undefined) return none;
  let fields = byType.get(type);
  if (fields === undefined) {
    const isIndexed = type.indexable && type.indexTypes.includes('Property');
    const indexed = type.indexed.filter(({ kinds }) => kinds.includes('Property')).map(({ name }) => name);
    fields = { properties: isIndexed ? indexed : [], uniques: type.unique };
    byType.set(type, fields);
  }
  return fields;
}

/** Whether two lists name the same properties. */
export function sameFields(a: IndexFields, b: IndexFields): boolean {
  return a === b || fieldsText(a) === fieldsText(b);
}

function fieldsText(fields: IndexFields): string {
  return JSON.stringify([fields.properties, fields.uniques]);
}

/**
 * Reads a row of the `counts` table, the catalog of indexed properties. The index always has the rows that the catalog
 * names. Only a reindex changes the catalog, so it can never disagree with the rows.
 */
export function readTypeCount(
  reader: TableReader,
  workspace: string,
  nodeType: string,
): TypeCount | undefined {
  const bytes = reader.get(BranchTable.counts, countKey(workspace, nodeType));
  return bytes === undefined ? undefined : decodeTypeCount(bytes);
}

/** Reads the value of a row of the `counts` table. */
export function decodeTypeCount(bytes: Uint8Array): TypeCount {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const text = buffer.utf8Slice(COUNT_BYTES);
  let fields = parsed.get(text);
  if (fields === undefined) {
    const [properties, uniques] = JSON.parse(text) as [string[], string[]];
    fields = { properties, uniques };
    if (parsed.size >= PARSED_MAX) parsed.clear();
    parsed.set(text, fields);
  }
  return { count: buffer.readDoubleBE(0), fields };
}

const texts = new WeakMap<IndexFields, string>();

/** Bytes of a row of the `counts` table. */
export function encodeTypeCount({ count, fields }: TypeCount): Uint8Array {
  let text = texts.get(fields);
  if (text === undefined) {
    text = fieldsText(fields);
    texts.set(fields, text);
  }
  const bytes = Buffer.allocUnsafe(COUNT_BYTES + Buffer.byteLength(text));
  bytes.writeDoubleBE(count, 0);
  bytes.utf8Write(text, COUNT_BYTES);
  return bytes;
}
