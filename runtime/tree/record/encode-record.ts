import { Buffer } from 'node:buffer';
import { crc32 } from 'node:zlib';
import { assert } from '#runtime/base/assert.ts';
import type { NodeHeader } from '#runtime/content/content-node.ts';
import { checksumInSteps } from './check-record.ts';
import { backText, frontText, innerText, middleText } from './header-text.ts';
import {
  BACK_END_AT,
  CHECKED_FROM,
  COUNT_AT,
  CRC_AT,
  FRONT_END_AT,
  MIDDLE_END_AT,
  NODE_RECORD_FORMAT,
  PROPERTIES_AT,
  TYPE_AT,
  TYPE_LENGTH_AT,
} from './layout.ts';
import type { PropertyBytes, PropertyPieces } from './property-bytes.ts';

/** A record without its properties and checksum. */
interface Unfilled {
  readonly bytes: Buffer;
  /** Offset of the properties. */
  readonly at: number;
}

/** The bytes of a record. */
export function encode(header: NodeHeader, properties: PropertyBytes): Buffer {
  const { at, bytes } = layOut(header, properties, properties.text.length);
  bytes.set(properties.text, at);
  bytes.writeUInt32BE(crc32(bytes.subarray(CHECKED_FROM)), CRC_AT);
  return bytes;
}

/** As {@link encode}, in steps. */
export function* encodeInSteps(header: NodeHeader, properties: PropertyPieces): Generator<undefined, Buffer> {
  const length = properties.pieces.reduce((sum, piece) => sum + piece.length, 0);
  const { at, bytes } = layOut(header, properties, length);
  let offset = at;
  for (const piece of properties.pieces) {
    bytes.set(piece, offset);
    offset += piece.length;
    yield undefined;
  }
  bytes.writeUInt32BE(yield* checksumInSteps(bytes), CRC_AT);
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
