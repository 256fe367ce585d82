import { crc32 } from 'node:zlib';
import { assert } from '#runtime/base/assert.ts';
import type { NodeHeader, Relation } from '#runtime/content/content-node.ts';
import type { JsonObject, JsonValue } from '#runtime/content/json-value.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';

/** Format number of a node record; an older one stays readable for ever, a newer one is refused. */
export const NODE_RECORD_FORMAT = 1;

/**
 * Layout, big endian: format (1), CRC-32 of all that follows (4), header bytes (4), number of properties (4),
 * per property the ends of its key and value inside the properties text (8), header, properties text.
 *
 * The header is a JSON array, the properties are the text of one JSON object. JSON rather than MessagePack:
 * an answer over REST is then made of stored bytes without decoding, lone surrogates and `__proto__` survive,
 * and V8 parses it faster than any decoder written in JavaScript. The table lets a scan decode one property.
 *
 * @see docs/decisions/0005-json-property-values.md
 */
const PREFIX_BYTES = 13;
const CRC_AT = 1;
const HEADER_LENGTH_AT = 5;
const COUNT_AT = 9;
const TABLE_ENTRY_BYTES = 8;

type HeaderRow = [
  id: string,
  name: string,
  path: string,
  nodeType: string,
  archetype: string | null,
  parentId: string,
  orderKey: string,
  version: number,
  createdAt: string,
  createdBy: string,
  updatedAt: string,
  updatedBy: string,
  publishedAt: string | null,
  publishedBy: string | null,
  ownerId: string | null,
  translations: JsonObject | null,
  relations: Relation[],
  revision: string,
  operation: NodeHeader['operation'],
  changedLocale: string | null,
];

function headerRow(h: NodeHeader): HeaderRow {
  return [
    h.id,
    h.name,
    h.path,
    h.nodeType,
    h.archetype,
    h.parentId,
    h.orderKey,
    h.version,
    h.createdAt,
    h.createdBy,
    h.updatedAt,
    h.updatedBy,
    h.publishedAt,
    h.publishedBy,
    h.ownerId,
    h.translations,
    h.relations as Relation[],
    h.revision,
    h.operation,
    h.changedLocale,
  ];
}

function headerOf(r: HeaderRow): NodeHeader {
  return {
    id: r[0],
    name: r[1],
    path: r[2],
    nodeType: r[3],
    archetype: r[4],
    parentId: r[5],
    orderKey: r[6],
    version: r[7],
    createdAt: r[8],
    createdBy: r[9],
    updatedAt: r[10],
    updatedBy: r[11],
    publishedAt: r[12],
    publishedBy: r[13],
    ownerId: r[14],
    translations: r[15],
    relations: r[16],
    revision: r[17],
    operation: r[18],
    changedLocale: r[19],
  };
}

/** Writes a record from a header and parsed properties. */
export function encodeNodeRecord(header: NodeHeader, properties: JsonObject): Uint8Array {
  const headerText = JSON.stringify(headerRow(header));
  const keys = Object.keys(properties);
  const parts: string[] = [];
  let ascii = true;
  for (const key of keys) {
    const keyText = JSON.stringify(key);
    const valueText = JSON.stringify(properties[key]);
    parts.push(keyText, valueText);
    if (ascii && (!isAscii(keyText) || !isAscii(valueText))) ascii = false;
  }
  const size = (text: string): number => (ascii ? text.length : Buffer.byteLength(text));
  let textBytes = 2;
  for (let index = 0; index < parts.length; index++) textBytes += size(parts[index] as string) + 1;
  if (parts.length > 0) textBytes -= 1;
  const headerBytes = Buffer.byteLength(headerText);
  const tableBytes = keys.length * TABLE_ENTRY_BYTES;
  const bytes = Buffer.allocUnsafe(PREFIX_BYTES + tableBytes + headerBytes + textBytes);
  bytes[0] = NODE_RECORD_FORMAT;
  bytes.writeUInt32BE(headerBytes, HEADER_LENGTH_AT);
  bytes.writeUInt32BE(keys.length, COUNT_AT);
  const textAt = PREFIX_BYTES + tableBytes + headerBytes;
  bytes.utf8Write(headerText, PREFIX_BYTES + tableBytes);
  let at = textAt;
  bytes[at++] = 0x7b;
  for (let index = 0; index < parts.length; index += 2) {
    if (index > 0) bytes[at++] = 0x2c;
    at += bytes.utf8Write(parts[index] as string, at);
    const entry = PREFIX_BYTES + (index / 2) * TABLE_ENTRY_BYTES;
    bytes.writeUInt32BE(at - textAt, entry);
    bytes[at++] = 0x3a;
    at += bytes.utf8Write(parts[index + 1] as string, at);
    bytes.writeUInt32BE(at - textAt, entry + 4);
  }
  bytes[at++] = 0x7d;
  assert(at === bytes.length, 'a node record fills its bytes');
  bytes.writeUInt32BE(crc32(bytes.subarray(HEADER_LENGTH_AT)), CRC_AT);
  return bytes;
}

/** Writes a record with another header and the properties of an existing one, without decoding them. */
export function withHeader(record: NodeRecord, header: NodeHeader): NodeRecord {
  const old = record.bytes;
  const headerText = JSON.stringify(headerRow(header));
  const headerBytes = Buffer.byteLength(headerText);
  const tableEnd = record.tableEnd;
  const text = old.subarray(record.textAt);
  const bytes = Buffer.allocUnsafe(tableEnd + headerBytes + text.length);
  bytes.set(old.subarray(0, tableEnd));
  bytes.writeUInt32BE(headerBytes, HEADER_LENGTH_AT);
  bytes.utf8Write(headerText, tableEnd);
  bytes.set(text, tableEnd + headerBytes);
  bytes.writeUInt32BE(crc32(bytes.subarray(HEADER_LENGTH_AT)), CRC_AT);
  return new NodeRecord(bytes, header);
}

/** Makes a record of a header and properties. */
export function makeNodeRecord(header: NodeHeader, properties: JsonObject): NodeRecord {
  return new NodeRecord(encodeNodeRecord(header, properties), header, properties);
}

/** One stored state of a node. The header is decoded at once, properties when asked for. */
export class NodeRecord {
  readonly bytes: Buffer;
  readonly header: NodeHeader;
  /** Where the property table ends and the header begins. */
  readonly tableEnd: number;
  /** Where the properties text begins. */
  readonly textAt: number;
  #properties: JsonObject | undefined;

  /**
   * Reads a record.
   *
   * @param bytes kept, not copied
   * @param header given by a writer that just made the bytes; otherwise decoded after the checksum is checked
   * @throws {ServiceError} `DATA_CORRUPTED`
   */
  constructor(bytes: Uint8Array, header?: NodeHeader, properties?: JsonObject) {
    this.bytes =
      bytes instanceof Buffer ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    if (header === undefined) checkRecord(this.bytes);
    this.tableEnd = PREFIX_BYTES + this.bytes.readUInt32BE(COUNT_AT) * TABLE_ENTRY_BYTES;
    this.textAt = this.tableEnd + this.bytes.readUInt32BE(HEADER_LENGTH_AT);
    this.header =
      header ?? headerOf(JSON.parse(this.bytes.utf8Slice(this.tableEnd, this.textAt)) as HeaderRow);
    this.#properties = properties;
  }

  /** The properties as the text of a JSON object. */
  get propertiesText(): string {
    return this.bytes.utf8Slice(this.textAt, this.bytes.length);
  }

  /** All properties. Must not be changed. */
  get properties(): JsonObject {
    this.#properties ??= JSON.parse(this.propertiesText) as JsonObject;
    return this.#properties;
  }

  /** One top-level property, decoding nothing else; undefined when absent. */
  property(name: string): JsonValue | undefined {
    const text = this.propertyText(name);
    return text === undefined ? undefined : (JSON.parse(text) as JsonValue);
  }

  /** The JSON text of one top-level property. */
  propertyText(name: string): string | undefined {
    const wanted = JSON.stringify(name);
    let start = 1;
    for (let entry = PREFIX_BYTES; entry < this.tableEnd; entry += TABLE_ENTRY_BYTES) {
      const keyEnd = this.bytes.readUInt32BE(entry);
      const valueEnd = this.bytes.readUInt32BE(entry + 4);
      if (this.bytes.utf8Slice(this.textAt + start, this.textAt + keyEnd) === wanted) {
        return this.bytes.utf8Slice(this.textAt + keyEnd + 1, this.textAt + valueEnd);
      }
      start = valueEnd + 1;
    }
    return undefined;
  }
}

function checkRecord(bytes: Buffer): void {
  const format = bytes[0];
  const whole = bytes.length >= PREFIX_BYTES;
  if (whole && format !== undefined && format > NODE_RECORD_FORMAT) {
    throw new ServiceError(
      'DATA_CORRUPTED',
      `a node has record format ${format}; start a newer build to read it`,
    );
  }
  if (
    !whole ||
    format !== NODE_RECORD_FORMAT ||
    crc32(bytes.subarray(HEADER_LENGTH_AT)) !== bytes.readUInt32BE(CRC_AT)
  ) {
    throw new ServiceError(
      'DATA_CORRUPTED',
      'A stored node fails its checksum and is not served; restore it from a backup',
    );
  }
}

const asciiOnly = /^[\x00-\x7f]*$/;

function isAscii(text: string): boolean {
  return asciiOnly.test(text);
}
