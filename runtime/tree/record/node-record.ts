import { Buffer } from 'node:buffer';
import { parseExactJson, parseExactJsonInSteps } from '#runtime/base/text/exact-json.ts';
import type { NodeHeader } from '#runtime/content/content-node.ts';
import { type JsonObject, type JsonValue, setKey } from '#runtime/content/values/json-value.ts';
import { checkedLayout, knownLayout, verifyInSteps } from './check-record.ts';
import { headerText } from './header-text.ts';
import { parseValue, type PropertyBytes, refers, refersInSteps } from './property-bytes.ts';
import { findProperty, wantedProperty } from './property-table.ts';
import { RecordParts } from './record-parts.ts';
import { Column, TABLE_ENTRY_BYTES, type TextColumn } from './record-layout.ts';
import { type DerivedFields, renderRecord, renderRecordInSteps } from './render-record.ts';
import { STEP_BYTES } from './steps.ts';
import { readUint32 } from './uint32.ts';

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
   * @param header given by who made or verified the bytes; without it the checksum is verified
   * @throws {ServiceError} `DATA_CORRUPTED`
   */
  constructor(bytes: Uint8Array, header?: NodeHeader, properties?: JsonObject) {
    const buffer =
      bytes instanceof Buffer ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    super(buffer, header === undefined ? checkedLayout(bytes, buffer) : knownLayout(buffer, buffer.length));
    this.#header = header;
    this.#properties = properties;
  }

  /** The id of the node. */
  get id(): string {
    return this.#text(Column.id) as string;
  }

  /** Its name, the last part of its path. */
  get name(): string {
    return this.#text(Column.name) as string;
  }

  /** Its path. */
  get path(): string {
    return this.#text(Column.path) as string;
  }

  /** The id of its parent. */
  get parentId(): string {
    return this.#text(Column.parentId) as string;
  }

  /** Its type. */
  get nodeType(): string {
    return this.#text(Column.nodeType) as string;
  }

  /** Its archetype. */
  get archetype(): string | null {
    return this.#text(Column.archetype);
  }

  /** Its place among its siblings. */
  get orderKey(): string {
    return this.#text(Column.orderKey) as string;
  }

  /** The id of its owner. */
  get ownerId(): string | null {
    return this.#text(Column.ownerId);
  }

  /** When it was created. */
  get createdAt(): string {
    return this.#text(Column.createdAt) as string;
  }

  /** Who created it. */
  get createdBy(): string {
    return this.#text(Column.createdBy) as string;
  }

  /** When this state was written. */
  get updatedAt(): string {
    return this.#text(Column.updatedAt) as string;
  }

  /** Who wrote it. */
  get updatedBy(): string {
    return this.#text(Column.updatedBy) as string;
  }

  /** When it was published. */
  get publishedAt(): string | null {
    return this.#text(Column.publishedAt);
  }

  /** Who published it. */
  get publishedBy(): string | null {
    return this.#text(Column.publishedBy);
  }

  /** The number of writes of the node. */
  get version(): number {
    if (this.#header === undefined && this.layout.placesColumns)
      return this.layout.version(this.bytes, this.bytes.length);
    return this.header.version;
  }

  /** The revision that wrote this state. */
  get revision(): string {
    return this.#header === undefined
      ? this.layout.revision(this.bytes, this.bytes.length)
      : this.#header.revision;
  }

  /** {@link revision} as bytes that sort like it. @see encodeRevision */
  get sinceKey(): string {
    return this.layout.sinceKey(this.bytes, this.bytes.length);
  }

  /** Whether the node has relations. */
  get hasRelations(): boolean {
    return this.layout.hasRelations(this.bytes);
  }

  /** Whether the node has translations. */
  get hasTranslations(): boolean {
    return this.layout.hasTranslations(this.bytes, this.bytes.length);
  }

  /** A column: without decoding the header, where the format allows it. */
  #text(column: TextColumn): string | null {
    if (this.#header === undefined && this.layout.placesColumns)
      return this.layout.text(this.bytes, this.bytes.length, column);
    return headerText(this.header, column);
  }

  /** The text of a column; null where it has none. */
  column(column: TextColumn): string | null {
    return this.#text(column);
  }

  /** All fields except the properties. */
  get header(): NodeHeader {
    this.#header ??= this.layout.header(this.bytes, this.bytes.length);
    return this.#header;
  }

  /** The properties as JSON text of an object. */
  get propertiesText(): string {
    return `{${this.slice(this.propertiesAt, this.propertiesEnd)}}`;
  }

  /** As {@link propertiesText}, in steps. */
  *propertiesTextInSteps(): Generator<undefined, string> {
    return yield* this.sliceInSteps(this.propertiesAt, this.propertiesEnd, '{', '}');
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
    if (this.isLarge && (yield* this.mayReferInSteps())) yield* this.decode();
  }

  /** Whether the properties may contain a reference. */
  get mayRefer(): boolean {
    this.#refers ??=
      this.layout.mayRefer(this.bytes) ?? refers(this.bytes, this.propertiesAt, this.propertiesEnd);
    return this.#refers;
  }

  /** As {@link mayRefer}, in steps where the properties have to be searched. */
  *mayReferInSteps(): Generator<undefined, boolean> {
    this.#refers ??=
      this.layout.mayRefer(this.bytes) ??
      (yield* refersInSteps(this.bytes, this.propertiesAt, this.propertiesEnd));
    return this.#refers;
  }

  /** Shares the index texts of a record with the same properties. */
  shareIndexTexts(record: NodeRecord): void {
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
    if (this.#properties !== undefined || !this.isLarge || this.mayRefer) return this.properties;
    const found: Record<string, JsonValue> = {};
    for (const name of names) {
      const value = this.property(name);
      if (value !== undefined) setKey(found, name, value);
    }
    return found;
  }

  /** One top-level property, without decoding the others; undefined when absent. */
  property(name: string): JsonValue | undefined {
    const text = this.propertyText(name);
    return text === undefined ? undefined : parseValue(text);
  }

  /** The JSON text of one top-level property. */
  propertyText(name: string): string | undefined {
    const entry = this.#entryOf(name);
    return entry < 0 ? undefined : this.slice(this.#valueAt(entry), this.#valueEnd(entry));
  }

  /** The stored texts of selected top-level properties, `"key":value,…`, in stored order. */
  propertyTexts(isWanted: (name: string) => boolean): string {
    const stretches = this.stretchesOf(isWanted);
    const texts: string[] = [];
    for (let index = 0; index < stretches.length; index += 2)
      texts.push(this.slice(stretches[index] as number, stretches[index + 1] as number));
    return texts.join(',');
  }

  /** Length of the stored text of one top-level property; 0 when absent. */
  propertyTextBytes(name: string): number {
    const entry = this.#entryOf(name);
    return entry < 0 ? 0 : this.#valueEnd(entry) - this.#valueAt(entry);
  }

  /** The entry of a property in the table; -1 when it is absent. */
  #entryOf(name: string): number {
    return findProperty(this.bytes, this.propertiesAt, this.tableAt, this.tableEnd, wantedProperty(name));
  }

  /** Where a value begins: behind its key and a colon. */
  #valueAt(entry: number): number {
    return this.propertiesAt + readUint32(this.bytes, entry) + 1;
  }

  #valueEnd(entry: number): number {
    return this.propertiesAt + readUint32(this.bytes, entry + TABLE_ENTRY_BYTES / 2);
  }

  /** Whether the stored texts of all properties are equal byte for byte. */
  hasSamePropertyText(other: NodeRecord): boolean {
    return Buffer.compare(this.propertyBytes().text, other.propertyBytes().text) === 0;
  }

  /** The stored properties, for use in another record. */
  propertyBytes(): PropertyBytes {
    return {
      count: this.count,
      table: this.bytes.subarray(this.tableAt, this.tableEnd),
      text: this.bytes.subarray(this.propertiesAt, this.propertiesEnd),
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
}

/** The record of stored bytes, whose checksum is verified in steps when it is large. @throws {ServiceError} `DATA_CORRUPTED` */
export function* recordInSteps(bytes: Uint8Array): Generator<undefined, NodeRecord> {
  yield* verifyInSteps(bytes);
  return new NodeRecord(bytes);
}
