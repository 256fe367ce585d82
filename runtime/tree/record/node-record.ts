import { Buffer } from 'node:buffer';
import { parseExactJson, parseExactJsonInSteps } from '#runtime/base/text/exact-json.ts';
import type { NodeHeader } from '#runtime/content/content-node.ts';
import { type JsonObject, type JsonValue, setKey } from '#runtime/content/values/json-value.ts';
import { checkRecord, STEP_BYTES, verifyInSteps } from './check-record.ts';
import type { InnerFields, WireNode } from './header-text.ts';
import { TABLE_ENTRY_BYTES } from './layout.ts';
import { parseValue, type PropertyBytes } from './property-bytes.ts';
import { RecordParts } from './record-parts.ts';
import { type DerivedFields, renderRecord, renderRecordInSteps } from './render-record.ts';

/** The stored key of a reference. */
const REFERENCE_KEY = '"svc:ref"';

const OPENING_BRACKET = 0x5b;

/** The end of the inner fields of a node without translations. */
const NO_TRANSLATIONS = ',null]';

/** Length of the part of the inner fields that holds the revision: a server-made id, the revision, and more. */
const INNER_START_BYTES = 128;

/** One stored state of a node. Only the checksum is verified at once; everything else is decoded on demand. */
export class NodeRecord extends RecordParts {
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
    const buffer =
      bytes instanceof Buffer ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    if (header === undefined) checkRecord(bytes, buffer);
    super(buffer);
    this.#header = header;
    this.#properties = properties;
  }

  /** The revision that wrote this state, without decoding the header. */
  get revision(): string {
    if (this.#header !== undefined) return this.#header.revision;
    const innerAt = this.textAt + this.backEnd;
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
    return this.bytes[this.textAt + this.backEnd - 2] !== OPENING_BRACKET;
  }

  /** All fields except the properties. */
  get header(): NodeHeader {
    this.#header ??= this.#decodeHeader();
    return this.#header;
  }

  /** The properties as JSON text of an object. */
  get propertiesText(): string {
    return `{${this.slice(this.propertiesAt, this.frontEnd)}}`;
  }

  /** As {@link propertiesText}, in steps. */
  *propertiesTextInSteps(): Generator<undefined, string> {
    const from = this.propertiesAt;
    return yield* this.sliceInSteps(from, this.frontEnd, '{', '}');
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
      for (let from = this.textAt; from < this.bytes.length && !found; from += STEP_BYTES) {
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
    this.#refers ??= this.bytes.includes(REFERENCE_KEY, this.textAt);
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
    return place === undefined ? undefined : this.slice(place.from, place.to);
  }

  /** The stored texts of selected top-level properties, `"key":value,…`, in stored order. */
  propertyTexts(isWanted: (name: string) => boolean): string {
    const from = this.propertiesAt;
    const texts: string[] = [];
    let start = 0;
    for (let entry = this.tableAt; entry < this.textAt; entry += TABLE_ENTRY_BYTES) {
      const keyEnd = this.bytes.readUInt32BE(entry);
      const valueEnd = this.bytes.readUInt32BE(entry + 4);
      const key = this.slice(from + start, from + keyEnd);
      const name = key.includes('\\') ? (JSON.parse(key) as string) : key.slice(1, -1);
      if (isWanted(name)) texts.push(this.slice(from + start, from + valueEnd));
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
    const from = this.propertiesAt;
    let start = 0;
    for (let entry = this.tableAt; entry < this.textAt; entry += TABLE_ENTRY_BYTES) {
      const keyEnd = this.bytes.readUInt32BE(entry);
      const valueEnd = this.bytes.readUInt32BE(entry + 4);
      if (this.slice(from + start, from + keyEnd) === wanted) {
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
    const from = this.textAt + this.propertiesAt;
    return {
      count: this.count,
      table: this.bytes.subarray(this.tableAt, this.textAt),
      text: this.bytes.subarray(from, this.textAt + this.frontEnd),
    };
  }

  /** The node object of an answer as JSON text. @see docs/interface/nodes.md#the-node-object */
  render(derived: DerivedFields): string {
    return renderRecord(this, derived);
  }

  /** As {@link render}, in steps: yields only for a large record. */
  *renderInSteps(derived: DerivedFields): Generator<undefined, string> {
    return this.isLarge ? yield* renderRecordInSteps(this, derived) : renderRecord(this, derived);
  }

  #decodeHeader(): NodeHeader {
    const frontEnd = this.frontEnd;
    const backEnd = this.backEnd;
    const front = this.slice(0, this.propertiesAt);
    const node = JSON.parse(`${front}},${this.slice(frontEnd, backEnd)}}`) as WireNode;
    const text = this.bytes.utf8Slice(this.textAt + backEnd, this.bytes.length);
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

/** The record of stored bytes, whose checksum is verified in steps when it is large. @throws {ServiceError} `DATA_CORRUPTED` */
export function* recordInSteps(bytes: Uint8Array): Generator<undefined, NodeRecord> {
  yield* verifyInSteps(bytes);
  return new NodeRecord(bytes);
}
