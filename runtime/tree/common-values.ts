import { AFTER_END, END, storedText } from '#runtime/shard/binary-key.ts';
import { BranchTable, propertyPrefix, underParts } from '#runtime/shard/key-layout.ts';
import { LargeValue } from '#runtime/shard/large-value.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { decodeTypeCount } from './index-catalog.ts';
import { keyInIndex } from './index-entries.ts';
import { fewValues, indexSize } from './index-statistics.ts';
import { HeadNodeReader } from './node-reader.ts';

/** Values that are answered. */
const COMMON_MAX = 16;

/** Rows of one value that are counted; those of a value that has more are estimated. */
const COUNTED_MAX = 1_024;

/** Types of which nodes are looked at: those with the most nodes. */
const TYPES_MAX = 8;

/** Places of a type at which nodes are looked at, and nodes at each. */
const WINDOWS = 16;
const NODES_PER_WINDOW = 16;

/** Bytes of a key that are interpolated: more do not fit into a whole number. */
const PLACE_BYTES = 6;

/** A value of an index and the number of nodes that have it. */
export interface CommonValue {
  /** Key of the value, see `indexKey`. */
  readonly key: string;
  readonly rows: number;
  /** Whether the rows were counted; otherwise they are estimated, and at least so many as are counted. */
  readonly isExact: boolean;
}

/**
 * The most common values of an index, the most frequent one first. In an index of few values they are among all of them;
 * in one of many they are those that several of some hundred nodes have, which are looked at in groups all over the types.
 *
 * The cost is bounded, whatever the size of the index: some hundred nodes of each type, and a thousand rows of a value.
 *
 * @param index its name, see `index-name.ts`
 * @returns yields where the work may pause; the reader must show one state meanwhile
 */
export function* commonValues(
  reader: TableReader,
  workspace: string,
  index: string,
): Generator<undefined, readonly CommonValue[]> {
  const rows = indexSize(reader, workspace, index);
  const hits = yield* sampledValues(reader, workspace, index);
  const few = fewValues(reader, workspace, index);
  const candidates = new Set(few);
  for (const [key, { count }] of hits) if (count > 1) candidates.add(key);
  const counted: CommonValue[] = [];
  const many: string[] = [];
  let left = rows;
  for (const key of candidates) {
    const found = rowsOf(reader, workspace, index, key);
    if (found > COUNTED_MAX) many.push(key);
    else {
      counted.push({ key, rows: found, isExact: true });
      left -= found;
    }
    yield undefined;
  }
  const estimated = few === undefined ? scaled(many, hits, rows) : shared(many, hits, left);
  return [...counted, ...estimated].sort((a, b) => b.rows - a.rows).slice(0, COMMON_MAX);
}

/** How many of the nodes that were looked at have a value, and how many nodes of the index they stand for. */
interface Hits {
  readonly count: number;
  readonly weight: number;
}

/** All rows that are left are those of these values. */
function shared(
  keys: readonly string[],
  hits: ReadonlyMap<string, Hits>,
  rows: number,
): readonly CommonValue[] {
  // A value that none of the nodes had is rarer than the others.
  const weightOf = (key: string): number => hits.get(key)?.weight ?? 1;
  const sum = keys.reduce((total, key) => total + weightOf(key), 0);
  return keys.map((key) => estimate(key, (rows * weightOf(key)) / sum));
}

/** The nodes that were looked at stand for all of the index. */
function scaled(
  keys: readonly string[],
  hits: ReadonlyMap<string, Hits>,
  rows: number,
): readonly CommonValue[] {
  const sum = [...hits.values()].reduce((total, { weight }) => total + weight, 0);
  return keys.map((key) => estimate(key, (rows * (hits.get(key)?.weight ?? 0)) / sum));
}

function estimate(key: string, rows: number): CommonValue {
  return { key, rows: Math.max(Math.round(rows), COUNTED_MAX + 1), isExact: false };
}

/** Number of rows of a value, up to one more than are counted. */
function rowsOf(reader: TableReader, workspace: string, index: string, key: string): number {
  const prefix = propertyPrefix(workspace, index) + key;
  let rows = 0;
  for (const _ of reader.range(BranchTable.properties, { start: prefix + END, end: prefix + AFTER_END })) {
    rows += 1;
    if (rows > COUNTED_MAX) break;
  }
  return rows;
}

/** The values of some nodes of the largest types of an index. */
function* sampledValues(
  reader: TableReader,
  workspace: string,
  index: string,
): Generator<undefined, ReadonlyMap<string, Hits>> {
  const types: { readonly nodeType: string; readonly count: number }[] = [];
  for (const { key, value } of reader.range(BranchTable.counts, underParts(workspace))) {
    const { count, fields } = decodeTypeCount(value);
    const nodeType = key.slice(workspace.length + END.length);
    if (fields.properties.includes(index)) types.push({ nodeType, count });
  }
  types.sort((a, b) => b.count - a.count);
  const tree = new HeadNodeReader(reader);
  const hits = new Map<string, Hits>();
  for (const { count, nodeType } of types.slice(0, TYPES_MAX)) {
    const keys: string[] = [];
    for (const id of sampledIds(reader, workspace, nodeType)) {
      const record = id === undefined ? undefined : tree.quickById(workspace, id);
      if (record !== undefined && !(record instanceof LargeValue))
        keys.push(yield* keyInIndex(record, index));
      if (id === undefined) yield undefined;
    }
    for (const key of keys) {
      const known = hits.get(key) ?? { count: 0, weight: 0 };
      hits.set(key, { count: known.count + 1, weight: known.weight + count / keys.length });
    }
  }
  return hits;
}

/** Ids of nodes of a type, in groups at places that divide its paths evenly; undefined after each group. */
function* sampledIds(
  reader: TableReader,
  workspace: string,
  nodeType: string,
): Generator<string | undefined, void> {
  const { end, start } = underParts(workspace, nodeType);
  const [first] = reader.range(BranchTable.types, { start, end });
  const [last] = reader.range(BranchTable.types, { start, end, reverse: true });
  if (first === undefined || last === undefined) return;
  let from = first.key;
  for (let window = 0; window < WINDOWS; window += 1) {
    const place = between(first.key, last.key, window / WINDOWS);
    // Where many places are before the same node, the nodes behind it are taken.
    if (place > from) from = place;
    const ids: string[] = [];
    for (const { key, value } of reader.range(BranchTable.types, { start: from, end })) {
      ids.push(storedText(value));
      from = `${key}\0`;
      if (ids.length === NODES_PER_WINDOW) break;
    }
    yield* ids;
    yield undefined;
  }
}

/** A key between two others, by the bytes in which they differ first. */
function between(first: string, last: string, share: number): string {
  let at = 0;
  while (at < first.length && first[at] === last[at]) at += 1;
  const [low, high] = [numberAt(first, at), numberAt(last, at)];
  let number = Math.floor(low + (high - low) * share);
  let bytes = '';
  for (let byte = 0; byte < PLACE_BYTES; byte += 1) {
    bytes = String.fromCharCode(number % 256) + bytes;
    number = Math.floor(number / 256);
  }
  return first.slice(0, at) + bytes;
}

function numberAt(key: string, at: number): number {
  let number = 0;
  for (let byte = 0; byte < PLACE_BYTES; byte += 1) number = number * 256 + (key.charCodeAt(at + byte) || 0);
  return number;
}
