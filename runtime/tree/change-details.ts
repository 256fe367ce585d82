import { Buffer } from 'node:buffer';
import type { Relation } from '#runtime/content/content-node.ts';
import { differingLocales } from './net-change.ts';
import { TABLE_ENTRY_BYTES } from './record/record-layout.ts';
import type { NodeRecord } from './record/node-record.ts';
import type { PropertyBytes } from './record/property-bytes.ts';
import { readUint32 } from './record/uint32.ts';
import type { ChangeDetails, ChangeKind } from './revision-record.ts';

/** Properties of a state up to which changed ones are searched for. */
export const PROPERTIES_COMPARED_MAX = 2_000;

/** Changed properties up to which their names are stored. */
export const PROPERTIES_NAMED_MAX = 64;

/** Characters of these names together. */
export const PROPERTY_NAMES_LENGTH_MAX = 2_048;

/** Details of a change that leaves a node as it is. */
export const noDetails: ChangeDetails = Object.freeze({ kinds: [] });

const created: ChangeDetails = Object.freeze({ kinds: ['created' as const] });
const deleted: ChangeDetails = Object.freeze({ kinds: ['deleted' as const] });

/**
 * What changed between two states of a node, by their stored bytes: a property differs when its JSON text does. Cost
 * follows the size of the states, without decoding their properties.
 *
 * @param before undefined: the node did not exist @param after undefined: it does not exist any more
 */
export function changeDetails(before: NodeRecord | undefined, after: NodeRecord | undefined): ChangeDetails {
  if (before !== undefined && after !== undefined) return differences(before, after);
  const state = before ?? after;
  if (state === undefined) return noDetails;
  const isCreated = after !== undefined;
  const { publishedAt, relations, translations } = state.header;
  if (publishedAt === null && relations.length === 0 && translations === null)
    return isCreated ? created : deleted;
  const kinds: ChangeKind[] = [isCreated ? 'created' : 'deleted'];
  if (publishedAt !== null) kinds.push(isCreated ? 'published' : 'unpublished');
  if (relations.length > 0) kinds.push(isCreated ? 'relation_added' : 'relation_removed');
  const locales = Object.keys(translations ?? {}).sort();
  return { kinds, ...(locales.length === 0 ? {} : { locales }) };
}

function differences(before: NodeRecord, after: NodeRecord): ChangeDetails {
  const { header: old } = before;
  const { header: next } = after;
  const kinds: ChangeKind[] = [];
  const properties = changedProperties(before, after);
  const isPropertyChanged = properties === null || properties.length > 0;
  const locales = differingLocales(before, after);
  const isUpdated =
    isPropertyChanged ||
    locales.length > 0 ||
    old.nodeType !== next.nodeType ||
    old.archetype !== next.archetype ||
    old.ownerId !== next.ownerId;
  if (isUpdated) kinds.push('updated');
  if (isPropertyChanged) kinds.push('property_changed');
  if ((old.publishedAt === null) !== (next.publishedAt === null))
    kinds.push(old.publishedAt === null ? 'published' : 'unpublished');
  if (old.name !== next.name) kinds.push('renamed');
  if (old.parentId !== next.parentId || parentPath(old) !== parentPath(next)) kinds.push('moved');
  if (old.parentId === next.parentId && old.orderKey !== next.orderKey) kinds.push('reordered');
  const relations = relationKinds(old.relations, next.relations);
  if (relations.isAdded) kinds.push('relation_added');
  if (relations.isRemoved) kinds.push('relation_removed');
  if (kinds.length === 0 && old.version !== next.version) kinds.push('updated');
  return {
    kinds,
    ...(old.path === next.path ? {} : { pathBefore: old.path }),
    ...(old.nodeType === next.nodeType ? {} : { typeBefore: old.nodeType }),
    ...(isPropertyChanged ? namedProperties(properties) : {}),
    ...(locales.length === 0 ? {} : { locales }),
  };
}

/** The path of the parent, with a slash at its end. */
function parentPath({ name, path }: { readonly name: string; readonly path: string }): string {
  return path.slice(0, path.length - name.length);
}

function namedProperties(
  properties: readonly string[] | null,
): Pick<ChangeDetails, 'properties' | 'propertyCount'> {
  if (properties === null) return { properties };
  const length = properties.reduce((sum, name) => sum + name.length, 0);
  const isBounded = properties.length <= PROPERTIES_NAMED_MAX && length <= PROPERTY_NAMES_LENGTH_MAX;
  return isBounded ? { properties } : { properties: null, propertyCount: properties.length };
}

/** Names of the properties whose stored texts differ; null when there are too many properties to compare. */
function changedProperties(before: NodeRecord, after: NodeRecord): readonly string[] | null {
  const old = new PropertyTexts(before.propertyBytes());
  const next = new PropertyTexts(after.propertyBytes());
  if (Math.max(old.count, next.count) > PROPERTIES_COMPARED_MAX)
    return before.hasSamePropertyText(after) ? [] : null;
  const changed: string[] = [];
  // Most writes change values and leave the keys as they are.
  let same = 0;
  for (; same < old.count && same < next.count; same += 1) {
    if (old.hasTextOf(same, next, same)) continue;
    if (!old.hasKeyOf(same, next)) break;
    changed.push(next.nameAt(same));
  }
  const left = new Map<string, number>();
  for (let index = same; index < old.count; index++) left.set(old.keyAt(index), index);
  for (let index = same; index < next.count; index++) {
    const key = next.keyAt(index);
    const earlier = left.get(key);
    left.delete(key);
    if (earlier === undefined || !old.hasTextOf(earlier, next, index)) changed.push(next.nameAt(index));
  }
  for (const index of left.values()) changed.push(old.nameAt(index));
  return changed;
}

/** The stored texts of properties, by their places. */
class PropertyTexts {
  readonly count: number;
  readonly #text: Buffer;
  readonly #table: Buffer;

  constructor({ count, table, text }: PropertyBytes) {
    this.count = count;
    this.#text = asBuffer(text);
    this.#table = asBuffer(table);
  }

  /** Whether two lists have the same key at a place. */
  hasKeyOf(index: number, other: PropertyTexts): boolean {
    const [start, end] = [this.#start(index), this.#keyEnd(index)];
    const [from, to] = [other.#start(index), other.#keyEnd(index)];
    return end - start === to - from && this.#text.compare(other.#text, from, to, start, end) === 0;
  }

  /** Whether a property has the same key and value as one of another list. */
  hasTextOf(index: number, other: PropertyTexts, at: number): boolean {
    const [start, end] = [this.#start(index), this.#end(index)];
    const [from, to] = [other.#start(at), other.#end(at)];
    return end - start === to - from && this.#text.compare(other.#text, from, to, start, end) === 0;
  }

  /** The stored key with its quotes, as a binary string. */
  keyAt(index: number): string {
    return this.#text.latin1Slice(this.#start(index), this.#keyEnd(index));
  }

  nameAt(index: number): string {
    return JSON.parse(this.#text.utf8Slice(this.#start(index), this.#keyEnd(index))) as string;
  }

  #start(index: number): number {
    // Every key but the first follows a comma.
    return index === 0 ? 0 : this.#end(index - 1) + 1;
  }

  #keyEnd(index: number): number {
    return readUint32(this.#table, index * TABLE_ENTRY_BYTES);
  }

  #end(index: number): number {
    return readUint32(this.#table, index * TABLE_ENTRY_BYTES + TABLE_ENTRY_BYTES / 2);
  }
}

function asBuffer(bytes: Uint8Array): Buffer {
  return bytes instanceof Buffer ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Compares two lists of relations in any order. Most differ in one place, so equal ends are passed first. */
function relationKinds(
  old: readonly Relation[],
  next: readonly Relation[],
): { readonly isAdded: boolean; readonly isRemoved: boolean } {
  const same = { isAdded: false, isRemoved: false };
  if (old === next) return same;
  let start = 0;
  const shorter = Math.min(old.length, next.length);
  while (start < shorter && isSameRelation(old[start] as Relation, next[start] as Relation)) start += 1;
  let ends = 0;
  while (
    ends < shorter - start &&
    isSameRelation(old.at(-1 - ends) as Relation, next.at(-1 - ends) as Relation)
  )
    ends += 1;
  const earlier = old.slice(start, old.length - ends).map(relationText);
  const later = next.slice(start, next.length - ends).map(relationText);
  if (earlier.length === 0 && later.length === 0) return same;
  const had = new Set(earlier);
  const has = new Set(later);
  return {
    isAdded: later.some((relation) => !had.has(relation)),
    isRemoved: earlier.some((relation) => !has.has(relation)),
  };
}

function isSameRelation(a: Relation, b: Relation): boolean {
  return (
    a === b ||
    (a.target === b.target &&
      a.relation_type === b.relation_type &&
      a.workspace === b.workspace &&
      a.weight === b.weight &&
      a.target_node_type === b.target_node_type)
  );
}

function relationText({ relation_type, target, target_node_type, weight, workspace }: Relation): string {
  return JSON.stringify([workspace, target, target_node_type, relation_type, weight]);
}
