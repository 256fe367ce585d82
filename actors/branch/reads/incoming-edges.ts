import { Buffer } from 'node:buffer';
import type { Relation } from '#runtime/content/content-node.ts';
import { isWorkspaceName } from '#runtime/content/names.ts';
import { eachReference } from '#runtime/content/values/references.ts';
import {
  AFTER_END,
  boundedPart,
  bytesText,
  END,
  KEY_BYTES_MAX,
  textBytes,
  VALUE_PART_BYTES,
} from '#runtime/shard/binary-key.ts';
import { BranchTable, underParts } from '#runtime/shard/key-layout.ts';
import { rowsInBatches } from '#runtime/shard/rows-in-batches.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import type { Moment } from '#runtime/scan/moment.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import { type NamingNode, namingNodes, type WalkBounds } from './naming-nodes.ts';

/** A node by its id. */
export interface NodeName {
  readonly workspace: string;
  readonly id: string;
}

interface Edge {
  readonly source: NodeName;
  /** Position among the edges of one target, see {@link placeOf}. */
  readonly place: string;
}

/** A reference in the properties of a node. */
export interface PropertyEdge extends Edge {
  readonly kind: 'property';
  /** JSON pointer to the reference within the properties. */
  readonly pointer: string;
}

/** A relation of a node. */
export interface RelationEdge extends Edge {
  readonly kind: 'relation';
  readonly relation: Relation;
}

/** An edge from one node to another. */
export type IncomingEdge = PropertyEdge | RelationEdge;

type Kind = IncomingEdge['kind'];

/**
 * Looks up a node at the moment of the read; undefined for a node that is not visible. Yields after each large row that it
 * reads.
 */
export type FindSource = (source: NodeName) => Generator<undefined, NodeRecord | undefined>;

/** The range of edges of a target to read. */
export interface EdgeWindow {
  readonly target: NodeName;
  /** Only edges after this place; absent: all. */
  readonly after?: string | undefined;
  /** The most edges to return. */
  readonly most: number;
}

/**
 * Edges are ordered by workspace and id of their source, then properties before relations, then by pointer or relation
 * type. A place is a binary string that sorts in this order.
 *
 * @param source the source as encoded in tables, see {@link sourceOf}
 * @param part pointer or type as a part of a key
 */
function placeOf(source: string, kind: Kind, part: string): string {
  return source + END + kind + END + part;
}

/** The place after all edges of a source. */
function placeBehind(source: string): string {
  return source + AFTER_END;
}

/** The parts of a place; of a place from {@link placeBehind} only `source`, which is the place itself. */
function partsOf(place: string): { readonly source: string; readonly kind?: string; readonly part?: string } {
  const [workspace, id = '', kind, ...part] = place.split(END) as [string, ...string[]];
  const source = workspace + END + id;
  return kind === undefined ? { source } : { source, kind, part: part.join(END) };
}

/** Most bytes of a key before the place: workspace, id and kind of a target. */
const TARGET_BYTES_MAX = 350;

/** Whether a text may be used as a place. A client can forge one, and it becomes part of a key. */
export function isEdgePlace(text: string): boolean {
  if (text.length > KEY_BYTES_MAX - TARGET_BYTES_MAX) return false;
  return isWorkspaceName(text.slice(0, Math.max(text.indexOf(END), 0)));
}

/** The node of a key that begins with workspace and id. */
function sourceOf(key: string): NodeName {
  const [workspace, id] = key.split(END) as [string, string];
  return { workspace, id: bytesText(id) };
}

/**
 * Where the edges of one source after a place begin.
 *
 * @returns their smallest possible `part`; undefined when all edges of the kind are before the place
 */
function firstPart(
  kind: Kind,
  place: { readonly kind?: string; readonly part?: string },
): string | undefined {
  if (place.kind === undefined || kind < place.kind) return undefined;
  return kind > place.kind ? '' : `${place.part}${END}`;
}

/**
 * The edges to a node at the head. Only rows of `references` are read, and nodes only for pointers that are too long
 * for a key. An invisible edge therefore costs no more than a visible one.
 *
 * @param find called for sources with such pointers
 * @returns yields edges, and undefined where the work may pause. Returns the place behind which the edges go on when the
 *   branch got another head meanwhile: the table is that of the head
 */
export function* edgesNow(
  moment: Moment,
  window: EdgeWindow,
  find: FindSource,
): Generator<IncomingEdge | undefined, string | undefined> {
  const properties = rowsOf(moment.reader, window, 'property');
  const relations = rowsOf(moment.reader, window, 'relation');
  const pointers = new LongPointers(window, find);
  let last = window.after;
  let property = properties.next();
  let relation = relations.next();
  for (let left = window.most; left > 0; left -= 1) {
    const isProperty =
      property.done !== true && (relation.done === true || property.value.source <= relation.value.source);
    if (!isProperty && relation.done === true) return undefined;
    const row = (isProperty ? property : relation).value as EdgeRow;
    const edge = isProperty ? yield* propertyEdge(row, pointers) : relationEdge(row);
    last = edge.place;
    yield edge;
    if (isProperty) property = properties.next();
    else relation = relations.next();
    if (moment.at !== undefined) return last;
  }
  return undefined;
}

/** A row of `references`. */
interface EdgeRow {
  readonly source: string;
  readonly part: string;
  readonly value: Uint8Array;
}

function* rowsOf(
  reader: TableReader,
  { after, most, target }: EdgeWindow,
  kind: Kind,
): Generator<EdgeRow, undefined> {
  const all = underParts(target.workspace, textBytes(target.id), kind);
  const range = { start: all.start + (after === undefined ? '' : firstEnding(kind, after)), end: all.end };
  for (const { key, value } of rowsInBatches(reader, BranchTable.references, range, most)) {
    const [workspace, id, ...part] = key.slice(all.start.length).split(END);
    yield { source: `${workspace}${END}${id}`, part: part.join(END), value };
  }
  return undefined;
}

/** The suffix of the first key of a kind after a place. */
function firstEnding(kind: Kind, after: string): string {
  const place = partsOf(after);
  if (place.kind === undefined) return place.source;
  const part = firstPart(kind, place);
  return part === undefined ? placeBehind(place.source) : place.source + END + part;
}

function* propertyEdge(row: EdgeRow, pointers: LongPointers): Generator<undefined, PropertyEdge> {
  const text = bytesText(row.part);
  const source = sourceOf(row.source);
  const isWhole = row.part.length <= VALUE_PART_BYTES && !text.includes(REPLACEMENT);
  const pointer = isWhole ? text : ((yield* pointers.find(row, source)) ?? text);
  return { kind: 'property', source, place: placeOf(row.source, 'property', row.part), pointer };
}

function relationEdge({ part, source, value }: EdgeRow): RelationEdge {
  const text = Buffer.from(value.buffer, value.byteOffset, value.byteLength).utf8Slice();
  const relation = JSON.parse(text) as Relation;
  return { kind: 'relation', source: sourceOf(source), place: placeOf(source, 'relation', part), relation };
}

/** Replaces a lone surrogate in keys: a surrogate has no UTF-8 encoding. */
const REPLACEMENT = '\ufffd';

/** Finds pointers that are too long for a key, for one source after another. */
class LongPointers {
  readonly #window: EdgeWindow;
  readonly #find: FindSource;
  #source: string | undefined;
  #pointers: ReadonlyMap<string, string> = new Map();

  constructor(window: EdgeWindow, find: FindSource) {
    this.#window = window;
    this.#find = find;
  }

  /** @returns undefined for a source that is not visible */
  *find({ part, source }: EdgeRow, name: NodeName): Generator<undefined, string | undefined> {
    if (this.#source !== source) {
      const record = yield* this.#find(name);
      const { most, target } = this.#window;
      const found = record === undefined ? [] : yield* pointersTo(record, name, target, part, most);
      this.#pointers = new Map(found.map((one) => [one.part, one.pointer]));
      this.#source = source;
    }
    return this.#pointers.get(part);
  }
}

/** A reference in one node. */
interface Pointer {
  readonly part: string;
  readonly pointer: string;
}

/**
 * The references of a node to a target, in the order of their places.
 *
 * @param from the smallest part to return
 * @param most the most references to return; no more than twice as many are kept in memory
 * @returns yields undefined where the work may pause
 */
function* pointersTo(
  record: NodeRecord,
  source: NodeName,
  target: NodeName,
  from: string,
  most: number,
): Generator<undefined, readonly Pointer[]> {
  yield* record.prepareIndexed();
  let found: Pointer[] = [];
  for (const reference of eachReference(record.indexedProperties([]))) {
    if (reference === undefined) {
      yield undefined;
      continue;
    }
    const { pointer, ref, workspace } = reference;
    if (ref !== target.id || (workspace ?? source.workspace) !== target.workspace) continue;
    const part = boundedPart(pointer, VALUE_PART_BYTES);
    if (part < from) continue;
    found.push({ part, pointer });
    if (found.length < 2 * most) continue;
    found = inOrder(found).slice(0, most);
    yield undefined;
  }
  return inOrder(found).slice(0, most);
}

/** Pointers in the order of their parts. Pointers with the same part are one row of `references` and one edge. */
function inOrder(pointers: readonly Pointer[]): Pointer[] {
  const sorted = pointers.toSorted((a, b) => (a.part < b.part ? -1 : a.part > b.part ? 1 : 0));
  return sorted.filter(({ part }, index) => part !== sorted[index - 1]?.part);
}

/** How much one read of an earlier revision walks. */
const WALK_MAX: WalkBounds = { nodes: 50_000, bytes: 256 * 1024 * 1024 };

/**
 * The edges to a node at an earlier revision, from the nodes of that revision that contain its id.
 *
 * One read walks a bounded number of nodes and then returns the place to continue at. So each read ends, and a client
 * that reads all pages reaches the end of a branch of any size.
 *
 * @param find looks up sources at the revision; edges of sources that it does not find are skipped
 * @param most how much to walk
 * @returns the edges, then the place to continue after; undefined when nothing follows. Yields undefined where the work
 *   may pause
 */
export function* edgesAt(
  moment: Moment,
  window: EdgeWindow,
  find: FindSource,
  most: WalkBounds = WALK_MAX,
): Generator<IncomingEdge | undefined, string | undefined> {
  const { target } = window;
  const place = window.after === undefined ? undefined : partsOf(window.after);
  if (place?.kind !== undefined) {
    // The edges of one source may be on two pages.
    const record = yield* find(sourceOf(place.source));
    if (record !== undefined) yield* edgesOf(record, place.source, window);
  }
  const after = place?.source.endsWith(AFTER_END) === true ? place.source.slice(0, -1) : place?.source;
  const nodes = namingNodes(moment, target, after, most);
  let step = nodes.next();
  for (; step.done !== true; step = nodes.next()) {
    const record = step.value === undefined ? undefined : yield* find(step.value);
    if (record === undefined) yield undefined;
    else yield* edgesOf(record, (step.value as NamingNode).source, window);
  }
  return step.value === undefined ? undefined : placeBehind(step.value);
}

/** The edges from one node that are after the place of the window. */
function* edgesOf(
  record: NodeRecord,
  key: string,
  { after, most, target }: EdgeWindow,
): Generator<IncomingEdge | undefined, void> {
  const source = sourceOf(key);
  const place = after === undefined ? undefined : partsOf(after);
  const from = (kind: Kind): string | undefined => (place?.source === key ? firstPart(kind, place) : '');
  const firstPointer = from('property');
  if (firstPointer !== undefined) {
    for (const { part, pointer } of yield* pointersTo(record, source, target, firstPointer, most))
      yield { kind: 'property', source, place: placeOf(key, 'property', part), pointer };
  }
  const firstType = from('relation');
  if (firstType === undefined) return;
  const relations = record.header.relations
    .filter((relation) => relation.target === target.id && relation.workspace === target.workspace)
    .map((relation) => ({ part: boundedPart(relation.relation_type, VALUE_PART_BYTES), relation }))
    .filter(({ part }) => part >= firstType)
    .sort((a, b) => (a.part < b.part ? -1 : 1));
  for (const { part, relation } of relations)
    yield { kind: 'relation', source, place: placeOf(key, 'relation', part), relation };
}
