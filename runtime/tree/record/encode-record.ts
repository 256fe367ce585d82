import { Buffer } from 'node:buffer';
import { crc32 } from 'node:zlib';
import { assert } from '#runtime/base/assert.ts';
import type { NodeHeader } from '#runtime/content/content-node.ts';
import { parentName } from '#runtime/content/path.ts';
import { translationsField } from '#runtime/content/translations/translation.ts';
import { checksumInSteps } from './check-record.ts';
import {
  COLUMN_ENDS_AT,
  columnLeads,
  FLAGS_AT,
  Flag,
  OPERATION_AT,
  OVERLAYS_END_AT,
  operations,
  PROPERTIES_END_AT,
  PROPERTIES_LEAD,
  RELATIONS_END_AT,
  RELATIONS_LEAD,
  REVISION_AT,
  TEXT_AT,
  TRANSLATIONS_END_AT,
  TRANSLATIONS_LEAD,
  VERSION_AT,
} from './format-2.ts';
import { NODE_RECORD_FORMAT } from './formats.ts';
import { type PropertyBytes, type PropertyPieces, refersInSteps } from './property-bytes.ts';
import { quoted } from './quoted.ts';
import { CHECKED_FROM, CRC_AT } from './record-layout.ts';
import { writeRevision } from './revision-bytes.ts';
import { writeUint32 } from './uint32.ts';

/** Largest number in four bytes. */
const UINT32_MAX = 0xffffffff;

/** A record without its properties and checksum. */
interface Unfilled {
  readonly bytes: Buffer;
  /** Offset of the properties. */
  readonly at: number;
}

/**
 * The bytes of a record.
 *
 * @param mayRefer whether the properties may contain a reference
 */
export function encode(header: NodeHeader, properties: PropertyBytes, mayRefer: boolean): Buffer {
  const { at, bytes } = layOut(header, properties.table, properties.text.length);
  bytes.set(properties.text, at);
  if (mayRefer) setRefers(bytes);
  writeUint32(bytes, CRC_AT, crc32(bytes.subarray(CHECKED_FROM)));
  return bytes;
}

/**
 * As {@link encode}, in steps.
 *
 * @param mayRefer whether the properties may contain a reference; undefined when nobody has searched them
 */
export function* encodeInSteps(
  header: NodeHeader,
  properties: PropertyPieces,
  mayRefer: boolean | undefined,
): Generator<undefined, Buffer> {
  const length = properties.pieces.reduce((sum, piece) => sum + piece.length, 0);
  const { at, bytes } = layOut(header, properties.table, length);
  let offset = at;
  for (const piece of properties.pieces) {
    bytes.set(piece, offset);
    offset += piece.length;
    yield undefined;
  }
  if (mayRefer ?? (yield* refersInSteps(bytes, at, offset))) setRefers(bytes);
  writeUint32(bytes, CRC_AT, yield* checksumInSteps(bytes));
  return bytes;
}

function setRefers(bytes: Buffer): void {
  bytes[FLAGS_AT] = (bytes[FLAGS_AT] as number) | Flag.refers;
}

/** The values of the columns as JSON, in the order of `Column`. */
function columnValues(h: NodeHeader): readonly string[] {
  return [
    quoted(h.parentId),
    quoted(h.changedLocale),
    quoted(parentName(h.path)),
    quoted(h.orderKey),
    String(h.version),
    quoted(h.createdAt),
    quoted(h.updatedAt),
    quoted(h.createdBy),
    quoted(h.updatedBy),
    quoted(h.publishedAt),
    quoted(h.publishedBy),
    quoted(h.ownerId),
    quoted(h.id),
    quoted(h.name),
    quoted(h.path),
    quoted(h.nodeType),
    quoted(h.archetype),
  ];
}

/** What is written behind the properties; nothing where the node has none. */
function textsBehind({ relations, translations }: NodeHeader): readonly [string, string, string] {
  return [
    translations === null ? '' : TRANSLATIONS_LEAD + JSON.stringify(translationsField(translations)),
    relations.length === 0 ? '' : RELATIONS_LEAD + JSON.stringify(relations),
    translations === null ? '' : JSON.stringify(translations),
  ];
}

/** @param textBytes length of the text of the properties */
function layOut(header: NodeHeader, table: Uint8Array, textBytes: number): Unfilled {
  const values = columnValues(header);
  const ends: number[] = [];
  let columns = '';
  for (let index = 0; index < values.length; index += 1) {
    columns += (columnLeads[index] as string) + (values[index] as string);
    ends.push(columns.length);
  }
  columns += PROPERTIES_LEAD;
  const columnBytes = Buffer.byteLength(columns);
  const isWide = columnBytes !== columns.length;
  if (isWide) countBytes(ends, columns);
  const [translations, relations, overlays] = textsBehind(header);
  const at = TEXT_AT + columnBytes;
  const propertiesEnd = at + textBytes;
  const translationsEnd = propertiesEnd + Buffer.byteLength(translations);
  const relationsEnd = translationsEnd + Buffer.byteLength(relations);
  const overlaysEnd = relationsEnd + Buffer.byteLength(overlays);
  const bytes = Buffer.allocUnsafe(overlaysEnd + table.length);
  bytes[0] = NODE_RECORD_FORMAT;
  bytes[FLAGS_AT] =
    (translations === '' ? 0 : Flag.translations) |
    (relations === '' ? 0 : Flag.relations) |
    (columns.includes('\\') ? Flag.escapes : 0) |
    (isWide ? Flag.wide : 0);
  writeFacts(bytes, header);
  writeUint32(bytes, PROPERTIES_END_AT, propertiesEnd);
  writeUint32(bytes, TRANSLATIONS_END_AT, translationsEnd);
  writeUint32(bytes, RELATIONS_END_AT, relationsEnd);
  writeUint32(bytes, OVERLAYS_END_AT, overlaysEnd);
  for (let index = 0; index < ends.length; index += 1)
    writeUint32(bytes, COLUMN_ENDS_AT + 4 * index, TEXT_AT + (ends[index] as number));
  if (isWide) bytes.utf8Write(columns, TEXT_AT);
  else bytes.latin1Write(columns, TEXT_AT);
  const behind = translations + relations + overlays;
  if (behind !== '') bytes.utf8Write(behind, propertiesEnd);
  bytes.set(table, overlaysEnd);
  return { bytes, at };
}

function writeFacts(bytes: Buffer, { operation, revision, version }: NodeHeader): void {
  assert(Number.isInteger(version) && version >= 0 && version <= UINT32_MAX, 'a version fits four bytes');
  const operationNumber = operations.indexOf(operation);
  assert(operationNumber >= 0, 'an operation has a number');
  bytes[OPERATION_AT] = operationNumber;
  writeRevision(bytes, REVISION_AT, revision);
  writeUint32(bytes, VERSION_AT, version);
}

/** Converts ends from characters to bytes. */
function countBytes(ends: number[], text: string): void {
  let from = 0;
  let bytes = 0;
  for (const [index, end] of ends.entries()) {
    bytes += Buffer.byteLength(text.slice(from, end));
    from = end;
    ends[index] = bytes;
  }
}
