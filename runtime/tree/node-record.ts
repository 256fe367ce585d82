import { Buffer } from 'node:buffer';
import { crc32 } from 'node:zlib';
import { assert } from '#runtime/base/assert.ts';
import { parseExactJson, parseExactJsonInSteps } from '#runtime/base/text/exact-json.ts';
import { isLargeJson, jsonPieces } from '#runtime/base/text/sliced-json.ts';
import type { ChangeOperation, NodeHeader, Relation } from '#runtime/content/content-node.ts';
import { type JsonObject, type JsonValue, setKey } from '#runtime/content/values/json-value.ts';
import { parentName } from '#runtime/content/path.ts';
import { translationsField } from '#runtime/content/translations/translation.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';

/** Format number of a node record. Older formats stay readable; a newer one is refused. */
export const NODE_RECORD_FORMAT = 1;

/**
 * Layout, numbers big endian:
 *
 * | Bytes | What |
 * |---|---|
 * | 1 | format |
 * | 4 | CRC-32 of everything behind it |
 * | 4 | number of properties |
 * | 4 × 4 | ends of the parts *front*, *middle*, *back* in the text, start of the properties in it |
 * | 1 + n | length and name of the node type |
 * | 8 each | per property: where its key and its value end, counted from the start of the properties |
 * | rest | the text: front, middle, back, then the *inner* fields |
 *
 * The first three parts are the JSON of the node object as a read answers it, with gaps for what is derived:
 * `front` ends behind the last property, `middle` is parent and order key, `back` everything else. A read
 * copies them into its answer without decoding. `inner` is a JSON array of what only the engine knows.
 *
 * JSON rather than MessagePack: answers over REST are made of stored bytes, lone surrogates and `__proto__`
 * survive, and V8 parses it faster than any decoder written in JavaScript. The table lets a scan decode one
 * property.
 *
 * @see docs/decisions/0005-json-property-values.md
 */
const CRC_AT = 1;
const CHECKED_FROM = 5;
const COUNT_AT = 5;
const FRONT_END_AT = 9;
const MIDDLE_END_AT = 13;
const BACK_END_AT = 17;
const PROPERTIES_AT = 21;
const TYPE_LENGTH_AT = 25;
const TYPE_AT = 26;
const TABLE_ENTRY_BYTES = 8;

/** The stored key of a reference. */
const REFERENCE_KEY = '"svc:ref"';

const OPENING_BRACKET = 0x5b;

/** The end of the inner fields of a node without translations. */
const NO_TRANSLATIONS = ',null]';

/** Length of the part of the inner fields that holds the revision: a server-made id, the revision, and more. */
const INNER_START_BYTES = 128;

type InnerFields = [
  parentId: string,
  revision: string,
  operation: ChangeOperation,
  changedLocale: string | null,
  translations: JsonObject | null,
];

/** The node object on the wire, without its derived fields. */
interface WireNode {
  readonly id: string;
  readonly name: string;
  readonly path: string;
  readonly node_type: string;
  readonly archetype: string | null;
  readonly order_key: string;
  readonly version: number;
  readonly created_at: string;
  readonly updated_at: string;
  readonly created_by: string;
  readonly updated_by: string;
  readonly published_at: string | null;
  readonly published_by: string | null;
  readonly owner_id: string | null;
  readonly relations: readonly Relation[];
}

/** Property texts in stored order, with the table of their offsets. */
interface PropertyBytes {
  readonly count: number;
  /** Ends of keys and values, as stored. */
  readonly table: Uint8Array;
  /** `"key":value,…` without braces. */
  readonly text: Uint8Array;
}

/** As {@link PropertyBytes}, with the text in pieces. */
interface PropertyPieces extends Omit<PropertyBytes, 'text'> {
  readonly pieces: readonly Uint8Array[];
}

function quoted(value: string | null): string {
  return value === null ? 'null' : JSON.stringify(value);
}

function frontText(h: NodeHeader): string {
  return (
    `{"id":${JSON.stringify(h.id)},"name":${JSON.stringify(h.name)},"path":${JSON.stringify(h.path)}` +
    `,"node_type":${JSON.stringify(h.nodeType)},"archetype":${quoted(h.archetype)},"properties":{`
  );
}

function middleText(h: NodeHeader): string {
  return `"parent":${JSON.stringify(parentName(h.path))},"order_key":${JSON.stringify(h.orderKey)}`;
}

function stampsText(h: NodeHeader): string {
  return (
    `,"version":${h.version},"created_at":"${h.createdAt}","updated_at":"${h.updatedAt}"` +
    `,"created_by":${JSON.stringify(h.createdBy)},"updated_by":${JSON.stringify(h.updatedBy)}` +
    `,"published_at":${quoted(h.publishedAt)},"published_by":${quoted(h.publishedBy)}`
  );
}

function backText(h: NodeHeader): string {
  const translations = h.translations === null ? 'null' : JSON.stringify(translationsField(h.translations));
  const relations = h.relations.length === 0 ? '[]' : JSON.stringify(h.relations);
  return `${stampsText(h)},"translations":${translations},"owner_id":${quoted(h.ownerId)},"relations":${relations}`;
}

function innerText(h: NodeHeader): string {
  const inner: InnerFields = [h.parentId, h.revision, h.operation, h.changedLocale, h.translations];
  return JSON.stringify(inner);
}

function encodeProperties(properties: JsonObject): PropertyBytes {
  const keys = Object.keys(properties);
  const table = Buffer.allocUnsafe(keys.length * TABLE_ENTRY_BYTES);
  let text = '';
  for (let index = 0; index < keys.length; index++) {
    const key = keys[index] as string;
    text += `${index === 0 ? '' : ','}${JSON.stringify(key)}`;
    table.writeUInt32BE(text.length, index * TABLE_ENTRY_BYTES);
    text += `:${valueJson(properties[key] as JsonValue)}`;
    table.writeUInt32BE(text.length, index * TABLE_ENTRY_BYTES + 4);
  }
  const bytes = Buffer.from(text);
  // Offsets are in bytes. In a text that is all ASCII, as most are, they equal the number of characters.
  if (bytes.length !== text.length) countBytes(table, text);
  return { count: keys.length, table, text: bytes };
}

/** Converts the offsets of a table from characters to bytes. */
function countBytes(table: Buffer, text: string): void {
  let from = 0;
  let bytes = 0;
  for (let at = 0; at < table.length; at += TABLE_ENTRY_BYTES / 2) {
    const end = table.readUInt32BE(at);
    bytes += Buffer.byteLength(text.slice(from, end));
    from = end;
    table.writeUInt32BE(bytes, at);
  }
}

/** Length of the shortest number text that a double may not represent exactly. */
const INEXACT_LENGTH_MIN = 16;

/** Parses a property value. Scalars, the most frequent case, need no search for long numbers. */
function parseValue(text: string): JsonValue {
  const first = text.charCodeAt(0);
  // A string, or a text too short for an inexact number.
  if (first === 0x22 || text.length < INEXACT_LENGTH_MIN) return JSON.parse(text) as JsonValue;
  return parseExactJson(text) as JsonValue;
}

/** Length from which a string is long: JSON.stringify is slower than necessary for it. */
const LONG_TEXT = 4_096;

/** Characters that `JSON.stringify` may escape; surrogate pairs are left to it as well. */
const mayNeedEscape = /["\\\u0000-\u001f\ud800-\udfff]/;

/** As `JSON.stringify`, but much faster for a long string without characters to escape. */
function valueJson(value: JsonValue): string {
  const isPlain = typeof value === 'string' && value.length > LONG_TEXT && !mayNeedEscape.test(value);
  return isPlain ? `"${value}"` : JSON.stringify(value);
}

/** As {@link encodeProperties}, in steps; the text comes in pieces. */
function* encodePropertiesInSteps(properties: JsonObject): Generator<undefined, PropertyPieces> {
  const keys = Object.keys(properties);
  const table = Buffer.allocUnsafe(keys.length * TABLE_ENTRY_BYTES);
  const pieces: Buffer[] = [];
  let bytes = 0;
  const add = (text: string): void => {
    const piece = Buffer.from(text);
    pieces.push(piece);
    bytes += piece.length;
  };
  for (const [index, key] of keys.entries()) {
    add(`${index === 0 ? '' : ','}${JSON.stringify(key)}`);
    table.writeUInt32BE(bytes, index * TABLE_ENTRY_BYTES);
    add(':');
    for (const piece of jsonPieces(properties[key])) {
      add(piece);
      yield undefined;
    }
    table.writeUInt32BE(bytes, index * TABLE_ENTRY_BYTES + 4);
  }
  return { count: keys.length, table, pieces };
}

/** A record without its properties and checksum. */
interface Unfilled {
  readonly bytes: Buffer;
  /** Offset of the properties. */
  readonly at: number;
}

function encode(header: NodeHeader, properties: PropertyBytes): Buffer {
  const { at, bytes } = layOut(header, properties, properties.text.length);
  bytes.set(properties.text, at);
  bytes.writeUInt32BE(crc32(bytes.subarray(CHECKED_FROM)), CRC_AT);
  return bytes;
}

/** Bytes checksummed, searched or decoded between two yields. */
export const STEP_BYTES = 256 * 1024;

function* encodeInSteps(header: NodeHeader, properties: PropertyPieces): Generator<undefined, Buffer> {
  const length = properties.pieces.reduce((sum, piece) => sum + piece.length, 0);
  const { at, bytes } = layOut(header, properties, length);
  let offset = at;
  for (const piece of properties.pieces) {
    bytes.set(piece, offset);
    offset += piece.length;
    yield undefined;
  }
  let crc = 0;
  for (let from = CHECKED_FROM; from < bytes.length; from += STEP_BYTES) {
    crc = crc32(bytes.subarray(from, from + STEP_BYTES), crc);
    yield undefined;
  }
  bytes.writeUInt32BE(crc, CRC_AT);
  return bytes;
}

/** @param textBytes length of the text of the properties */
function layOut(
  header: NodeHeader,
  { count, table }: Pick<PropertyBytes, 'count' | 'table'>,
  textBytes: number,
): Unfilled {
  const front = frontText(header);
  const middle = middleText(header);
  const back = backText(header);
  const rest = middle + back + innerText(header);
  const frontBytes = Buffer.byteLength(front);
  const restBytes = Buffer.byteLength(rest);
  const isAscii = restBytes === rest.length;
  const frontEnd = frontBytes + textBytes;
  const middleEnd = frontEnd + (isAscii ? middle.length : Buffer.byteLength(middle));
  const backEnd = middleEnd + (isAscii ? back.length : Buffer.byteLength(back));
  const typeBytes = header.nodeType.length;
  assert(typeBytes <= 255, 'a node type name fits a byte');
  const tableAt = TYPE_AT + typeBytes;
  const textAt = tableAt + table.length;
  const bytes = Buffer.allocUnsafe(textAt + frontEnd + restBytes);
  bytes[0] = NODE_RECORD_FORMAT;
  bytes.writeUInt32BE(count, COUNT_AT);
  bytes.writeUInt32BE(frontEnd, FRONT_END_AT);
  bytes.writeUInt32BE(middleEnd, MIDDLE_END_AT);
  bytes.writeUInt32BE(backEnd, BACK_END_AT);
  bytes.writeUInt32BE(frontBytes, PROPERTIES_AT);
  bytes[TYPE_LENGTH_AT] = typeBytes;
  bytes.latin1Write(header.nodeType, TYPE_AT);
  bytes.set(table, tableAt);
  bytes.utf8Write(front, textAt);
  bytes.utf8Write(rest, textAt + frontEnd);
  return { bytes, at: textAt + frontBytes };
}

/** Bytes whose checksum was verified in steps. */
const verified = new WeakSet<Uint8Array>();

/** The record of stored bytes, whose checksum is verified in steps when it is large. @throws {ServiceError} `DATA_CORRUPTED` */
export function* recordInSteps(bytes: Uint8Array): Generator<undefined, NodeRecord> {
  if (bytes.length > STEP_BYTES) {
    let crc = 0;
    for (let from = CHECKED_FROM; from < bytes.length; from += STEP_BYTES) {
      crc = crc32(bytes.subarray(from, from + STEP_BYTES), crc);
      yield;
    }
    if (crc === new DataView(bytes.buffer, bytes.byteOffset).getUint32(CRC_AT)) verified.add(bytes);
  }
  return new NodeRecord(bytes);
}

/** Creates a record from a header and properties. */
export function makeNodeRecord(header: NodeHeader, properties: JsonObject): NodeRecord {
  return new NodeRecord(encode(header, encodeProperties(properties)), header, properties);
}

/** As {@link makeNodeRecord}, in steps: yields only when the properties are large. */
export function* makeNodeRecordInSteps(
  header: NodeHeader,
  properties: JsonObject,
): Generator<undefined, NodeRecord> {
  if (!isLargeJson(properties)) return makeNodeRecord(header, properties);
  const pieces = yield* encodePropertiesInSteps(properties);
  return new NodeRecord(yield* encodeInSteps(header, pieces), header, properties);
}

/** Creates a record with another header and the properties of an existing one, without decoding them. */
export function withHeader(record: NodeRecord, header: NodeHeader): NodeRecord {
  return new NodeRecord(encode(header, record.propertyBytes()), header, record.decoded);
}

/** As {@link withHeader}, in steps: yields only when the record is large. */
export function* withHeaderInSteps(record: NodeRecord, header: NodeHeader): Generator<undefined, NodeRecord> {
  if (!record.isLarge) return withHeader(record, header);
  const { count, table, text } = record.propertyBytes();
  const pieces: Uint8Array[] = [];
  for (let from = 0; from < text.length; from += STEP_BYTES)
    pieces.push(text.subarray(from, from + STEP_BYTES));
  const next = new NodeRecord(yield* encodeInSteps(header, { count, table, pieces }), header, record.decoded);
  next.refersAs(record);
  return next;
}

/** Fields of a node object that are not in its record. */
export interface DerivedFields {
  readonly workspace: string;
  readonly hasChildren: boolean;
  /** `"$supertypes":[…],"$mixins":[…]` of a node type. Called after everything has been copied from the record. */
  typeText(nodeType: string): string;
  /** Replace the stored properties. */
  readonly properties?: JsonObject;
  /** Replace the stored relations. */
  readonly relations?: readonly Relation[] | undefined;
  /** As {@link properties}, as the text of a JSON object. */
  readonly text?: string;
  /** Whether {@link text} is the whole answer: without translations, relations and type fields. */
  readonly isPart?: boolean;
  /** JSON text of a further field `children`. */
  readonly children?: string;
}

/** One stored state of a node. Only the checksum is verified at once; everything else is decoded on demand. */
export class NodeRecord {
  readonly bytes: Buffer;
  readonly #tableAt: number;
  readonly #textAt: number;
  #header: NodeHeader | undefined;
  #properties: JsonObject | undefined;
  #indexTexts: Map<string, string | undefined> | undefined;
  /** Whether the properties may contain a reference; undefined before the first search. */
  #refers: boolean | undefined;

  /**
   * Reads a record.
   *
   * @param bytes kept, not copied
   * @param header given by a writer that just made the bytes; without it the checksum is verified
   * @throws {ServiceError} `DATA_CORRUPTED`
   */
  constructor(bytes: Uint8Array, header?: NodeHeader, properties?: JsonObject) {
    this.bytes =
      bytes instanceof Buffer ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    if (header === undefined) checkRecord(this.bytes, verified.has(bytes));
    this.#tableAt = TYPE_AT + (this.bytes[TYPE_LENGTH_AT] as number);
    this.#textAt = this.#tableAt + this.bytes.readUInt32BE(COUNT_AT) * TABLE_ENTRY_BYTES;
    this.#header = header;
    this.#properties = properties;
  }

  /** The node type, without decoding the header. */
  get nodeType(): string {
    return this.bytes.latin1Slice(TYPE_AT, this.#tableAt);
  }

  /** The revision that wrote this state, without decoding the header. */
  get revision(): string {
    if (this.#header !== undefined) return this.#header.revision;
    const innerAt = this.#textAt + this.bytes.readUInt32BE(BACK_END_AT);
    const inner = this.bytes.latin1Slice(innerAt, Math.min(innerAt + INNER_START_BYTES, this.bytes.length));
    // `["parent id","revision",…`
    let idEnd = 2;
    while (idEnd < inner.length && inner[idEnd] !== '"') idEnd += inner[idEnd] === '\\' ? 2 : 1;
    const start = idEnd + 3;
    const end = inner.indexOf('"', start);
    return end < 0 ? this.header.revision : inner.slice(start, end);
  }

  /** Whether the node has relations, without decoding the header. */
  get hasRelations(): boolean {
    // The node object ends with `"relations":[…]`.
    return this.bytes[this.#textAt + this.bytes.readUInt32BE(BACK_END_AT) - 2] !== OPENING_BRACKET;
  }

  /** All fields except the properties. */
  get header(): NodeHeader {
    this.#header ??= this.#decodeHeader();
    return this.#header;
  }

  /** The properties as JSON text of an object. */
  get propertiesText(): string {
    return `{${this.#slice(this.bytes.readUInt32BE(PROPERTIES_AT), this.bytes.readUInt32BE(FRONT_END_AT))}}`;
  }

  /** As {@link propertiesText}, in steps. */
  *propertiesTextInSteps(): Generator<undefined, string> {
    const from = this.bytes.readUInt32BE(PROPERTIES_AT);
    return yield* this.#sliceInSteps(from, this.bytes.readUInt32BE(FRONT_END_AT), '{', '}');
  }

  /** All properties. Must not be modified. */
  get properties(): JsonObject {
    this.#properties ??= parseExactJson(this.propertiesText) as JsonObject;
    return this.#properties;
  }

  /** All properties, if they are decoded already. */
  get decoded(): JsonObject | undefined {
    return this.#properties;
  }

  /** Whether the record is so large that it is decoded and rendered in steps. */
  get isLarge(): boolean {
    return this.bytes.length > STEP_BYTES;
  }

  /** Decodes in steps what {@link indexedProperties} needs of a large record. */
  *prepareIndexed(): Generator<undefined, void> {
    if (!this.isLarge) return;
    if (this.#refers === undefined) {
      let found = false;
      for (let from = this.#textAt; from < this.bytes.length && !found; from += STEP_BYTES) {
        found = this.bytes
          .subarray(from, from + STEP_BYTES + REFERENCE_KEY.length - 1)
          .includes(REFERENCE_KEY);
        yield undefined;
      }
      this.#refers = found;
    }
    if (this.#refers) yield* this.decode();
  }

  /** Takes the result of the search for references from a record with the same properties. */
  refersAs(record: NodeRecord): void {
    this.#refers = record.#refers;
    this.#indexTexts = record.#indexTexts;
  }

  /** Index texts of large properties computed so far; filled by `prepareIndexTexts`. */
  get indexTexts(): Map<string, string | undefined> {
    this.#indexTexts ??= new Map();
    return this.#indexTexts;
  }

  /** As {@link properties}, in steps: yields only for a large record. */
  *decode(): Generator<undefined, JsonObject> {
    if (this.#properties === undefined && this.isLarge) {
      this.#properties = (yield* parseExactJsonInSteps(yield* this.propertiesTextInSteps())) as JsonObject;
    }
    return this.properties;
  }

  /**
   * The properties an index reads: those with the given names, or all of them where there may be a reference. Of a
   * large record nothing else is decoded.
   */
  indexedProperties(names: readonly string[]): JsonObject {
    if (this.#properties !== undefined || !this.isLarge || this.#mayRefer) return this.properties;
    const found: Record<string, JsonValue> = {};
    for (const name of names) {
      const value = this.property(name);
      if (value !== undefined) setKey(found, name, value);
    }
    return found;
  }

  get #mayRefer(): boolean {
    this.#refers ??= this.bytes.includes(REFERENCE_KEY, this.#textAt);
    return this.#refers;
  }

  /** One top-level property, without decoding the others; undefined when absent. */
  property(name: string): JsonValue | undefined {
    const text = this.propertyText(name);
    return text === undefined ? undefined : parseValue(text);
  }

  /** The JSON text of one top-level property. */
  propertyText(name: string): string | undefined {
    const place = this.#placeOf(name);
    return place === undefined ? undefined : this.#slice(place.from, place.to);
  }

  /** The stored texts of selected top-level properties, `"key":value,…`, in stored order. */
  propertyTexts(isWanted: (name: string) => boolean): string {
    const from = this.bytes.readUInt32BE(PROPERTIES_AT);
    const texts: string[] = [];
    let start = 0;
    for (let entry = this.#tableAt; entry < this.#textAt; entry += TABLE_ENTRY_BYTES) {
      const keyEnd = this.bytes.readUInt32BE(entry);
      const valueEnd = this.bytes.readUInt32BE(entry + 4);
      const key = this.#slice(from + start, from + keyEnd);
      const name = key.includes('\\') ? (JSON.parse(key) as string) : key.slice(1, -1);
      if (isWanted(name)) texts.push(this.#slice(from + start, from + valueEnd));
      // Every key but the first follows a comma.
      start = valueEnd + 1;
    }
    return texts.join(',');
  }

  /** Length of the stored text of one top-level property; 0 when absent. */
  propertyTextBytes(name: string): number {
    const place = this.#placeOf(name);
    return place === undefined ? 0 : place.to - place.from;
  }

  #placeOf(name: string): { readonly from: number; readonly to: number } | undefined {
    const wanted = JSON.stringify(name);
    const from = this.bytes.readUInt32BE(PROPERTIES_AT);
    let start = 0;
    for (let entry = this.#tableAt; entry < this.#textAt; entry += TABLE_ENTRY_BYTES) {
      const keyEnd = this.bytes.readUInt32BE(entry);
      const valueEnd = this.bytes.readUInt32BE(entry + 4);
      if (this.#slice(from + start, from + keyEnd) === wanted) {
        return { from: from + keyEnd + 1, to: from + valueEnd };
      }
      // Every key but the first follows a comma.
      start = valueEnd + 1;
    }
    return undefined;
  }

  /** Whether the stored texts of all properties are equal byte for byte. */
  hasSamePropertyText(other: NodeRecord): boolean {
    return Buffer.compare(this.propertyBytes().text, other.propertyBytes().text) === 0;
  }

  /** The stored properties, for use in another record. */
  propertyBytes(): PropertyBytes {
    const from = this.#textAt + this.bytes.readUInt32BE(PROPERTIES_AT);
    return {
      count: this.bytes.readUInt32BE(COUNT_AT),
      table: this.bytes.subarray(this.#tableAt, this.#textAt),
      text: this.bytes.subarray(from, this.#textAt + this.bytes.readUInt32BE(FRONT_END_AT)),
    };
  }

  /** The node object of an answer as JSON text. @see docs/interface/nodes.md#the-node-object */
  render(derived: DerivedFields): string {
    const { isPart, properties, text } = derived;
    const shown = text ?? (properties === undefined ? undefined : JSON.stringify(properties));
    const end = this.bytes.readUInt32BE(shown === undefined ? FRONT_END_AT : PROPERTIES_AT);
    const stored = this.#slice(0, end);
    return isPart === true
      ? this.#renderPart(stored, shown as string, derived)
      : this.#renderBehind(stored, shown, derived);
  }

  /** As {@link render}, in steps: yields only for a large record. */
  *renderInSteps(derived: DerivedFields): Generator<undefined, string> {
    const { properties, text } = derived;
    // The large part of it exists already.
    if (!this.isLarge || text !== undefined) return this.render(derived);
    if (properties === undefined) {
      const stored = yield* this.#sliceInSteps(0, this.bytes.readUInt32BE(FRONT_END_AT));
      return this.#renderBehind(stored, undefined, derived);
    }
    const pieces: string[] = [];
    for (const piece of jsonPieces(properties)) {
      pieces.push(piece);
      yield undefined;
    }
    return this.#renderBehind(
      this.#slice(0, this.bytes.readUInt32BE(PROPERTIES_AT)),
      pieces.join(''),
      derived,
    );
  }

  /**
   * @param before the text up to the properties, or after them where `shown` does not replace them
   * @param shown JSON of the properties that replace the stored ones
   */
  #renderBehind(before: string, shown: string | undefined, derived: DerivedFields): string {
    const frontEnd = this.bytes.readUInt32BE(FRONT_END_AT);
    const middleEnd = this.bytes.readUInt32BE(MIDDLE_END_AT);
    const front = shown === undefined ? before : before + shown.slice(1, -1);
    const isEmpty = shown === undefined ? this.#textAt === this.#tableAt : shown === '{}';
    const middle = this.#slice(frontEnd, middleEnd);
    const stored = this.#slice(middleEnd, this.bytes.readUInt32BE(BACK_END_AT));
    const back = derived.relations === undefined ? stored : withRelations(stored, derived.relations);
    const typeText = derived.typeText(this.nodeType);
    const children = derived.children === undefined ? '' : `,"children":${derived.children}`;
    return (
      `${front}${isEmpty ? '' : ','}${typeText}},${middle},"has_children":${derived.hasChildren}` +
      `,"workspace":"${derived.workspace}"${back}${children}}`
    );
  }

  /** @param stored the text up to the properties @param shown JSON of the properties that replace the stored ones */
  #renderPart(stored: string, shown: string, { children, hasChildren, workspace }: DerivedFields): string {
    const { header } = this;
    const frontEnd = this.bytes.readUInt32BE(FRONT_END_AT);
    const middle = this.#slice(frontEnd, this.bytes.readUInt32BE(MIDDLE_END_AT));
    return (
      `${stored}${shown.slice(1)},${middle},"has_children":${hasChildren},"workspace":"${workspace}"` +
      `${stampsText(header)},"owner_id":${quoted(header.ownerId)}` +
      `${children === undefined ? '' : `,"children":${children}`}}`
    );
  }

  /**
   * As {@link #slice}, in steps, between two other texts. These are joined with the pieces: added to the result, they
   * would make its first reader copy all of it once more, in one step.
   */
  *#sliceInSteps(start: number, end: number, first = '', last = ''): Generator<undefined, string> {
    const pieces = [first];
    for (let from = start; from < end; ) {
      let to = Math.min(from + STEP_BYTES, end);
      // Do not cut a character in two.
      while (to < end && ((this.bytes[this.#textAt + to] as number) & 0xc0) === 0x80) to -= 1;
      pieces.push(this.#slice(from, to));
      yield undefined;
      from = to;
    }
    pieces.push(last);
    return pieces.join('');
  }

  #slice(start: number, end: number): string {
    return this.bytes.utf8Slice(this.#textAt + start, this.#textAt + end);
  }

  #decodeHeader(): NodeHeader {
    const frontEnd = this.bytes.readUInt32BE(FRONT_END_AT);
    const backEnd = this.bytes.readUInt32BE(BACK_END_AT);
    const front = this.#slice(0, this.bytes.readUInt32BE(PROPERTIES_AT));
    const node = JSON.parse(`${front}},${this.#slice(frontEnd, backEnd)}}`) as WireNode;
    const text = this.bytes.utf8Slice(this.#textAt + backEnd, this.bytes.length);
    // Only translations contain numbers, and most nodes have none.
    const inner: unknown = text.endsWith(NO_TRANSLATIONS) ? JSON.parse(text) : parseExactJson(text);
    const [parentId, revision, operation, changedLocale, translations] = inner as InnerFields;
    return {
      id: node.id,
      name: node.name,
      path: node.path,
      nodeType: node.node_type,
      archetype: node.archetype,
      parentId,
      orderKey: node.order_key,
      version: node.version,
      createdAt: node.created_at,
      createdBy: node.created_by,
      updatedAt: node.updated_at,
      updatedBy: node.updated_by,
      publishedAt: node.published_at,
      publishedBy: node.published_by,
      ownerId: node.owner_id,
      translations,
      relations: node.relations,
      revision,
      operation,
      changedLocale,
    };
  }
}

/** The last part of a node object with other relations, which are its last field. */
function withRelations(back: string, relations: readonly Relation[]): string {
  // Inside a string a quote follows a backslash.
  const at = back.lastIndexOf(',"relations":[');
  return `${back.slice(0, at)},"relations":${JSON.stringify(relations)}`;
}

function checkRecord(bytes: Buffer, isVerified: boolean): void {
  const format = bytes[0];
  const isWhole = bytes.length > TYPE_AT;
  if (isWhole && format !== undefined && format > NODE_RECORD_FORMAT) {
    throw new ServiceError(
      'DATA_CORRUPTED',
      `a node has record format ${format}; start a newer build to read it`,
    );
  }
  if (
    !isWhole ||
    format !== NODE_RECORD_FORMAT ||
    (!isVerified && crc32(bytes.subarray(CHECKED_FROM, bytes.length)) !== bytes.readUInt32BE(CRC_AT))
  ) {
    throw new ServiceError(
      'DATA_CORRUPTED',
      'A stored node fails its checksum and is not served; restore it from a backup',
    );
  }
}
