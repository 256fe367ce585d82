import { Buffer } from 'node:buffer';
import { crc32 } from 'node:zlib';
import { parseExactJson } from '#runtime/base/exact-json.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';

/** Format number of a JSON row; older ones stay readable for ever, a newer one is refused. */
export const JSON_ROW_FORMAT = 1;

/** Format (1), CRC-32 of what follows (4), JSON text. */
const PREFIX_BYTES = 5;

/** The stored form of a small record: LMDB has no checksums of its own, so every value carries one. */
export function encodeJsonRow(value: unknown): Uint8Array {
  const text = JSON.stringify(value);
  const bytes = Buffer.allocUnsafe(PREFIX_BYTES + Buffer.byteLength(text));
  bytes[0] = JSON_ROW_FORMAT;
  bytes.utf8Write(text, PREFIX_BYTES);
  // Of the text, which is the same: a view of the bytes would be one more object for every row.
  bytes.writeUInt32BE(crc32(text), 1);
  return bytes;
}

/**
 * Turns {@link encodeJsonRow} back.
 *
 * @throws {ServiceError} `DATA_CORRUPTED` when the bytes are not what was written
 */
export function decodeJsonRow(stored: Uint8Array): unknown {
  return JSON.parse(checkedText(stored));
}

/** As {@link decodeJsonRow}, for rows with values of users, whose numbers are exact. */
export function decodeExactJsonRow(stored: Uint8Array): unknown {
  return parseExactJson(checkedText(stored));
}

function checkedText(stored: Uint8Array): string {
  const bytes = Buffer.from(stored.buffer, stored.byteOffset, stored.byteLength);
  if (bytes.length < PREFIX_BYTES || bytes[0] !== JSON_ROW_FORMAT) {
    throw new ServiceError(
      'DATA_CORRUPTED',
      `A stored record has format ${bytes[0]} and ${bytes.length} bytes`,
    );
  }
  if (crc32(bytes.subarray(PREFIX_BYTES)) !== bytes.readUInt32BE(1)) {
    throw new ServiceError('DATA_CORRUPTED', 'A stored record fails its checksum');
  }
  return bytes.utf8Slice(PREFIX_BYTES);
}
