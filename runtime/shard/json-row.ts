import { Buffer } from 'node:buffer';
import { crc32 } from 'node:zlib';
import { parseExactJson, parseExactJsonInSteps } from '#runtime/base/text/exact-json.ts';
import { decodeUtf8InSteps } from '#runtime/base/text/sliced-text.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';

/** Format number of a JSON row. Older formats stay readable, newer ones are refused. */
export const JSON_ROW_FORMAT = 1;

/** Format (1), CRC-32 of what follows (4), JSON text. */
const PREFIX_BYTES = 5;

/** The stored form of a small record with a checksum, because LMDB has none. */
export function encodeJsonRow(value: unknown): Uint8Array {
  const text = JSON.stringify(value);
  const bytes = Buffer.allocUnsafe(PREFIX_BYTES + Buffer.byteLength(text));
  bytes[0] = JSON_ROW_FORMAT;
  bytes.utf8Write(text, PREFIX_BYTES);
  // Checksum of the text, which is the same: a view of the bytes would cost one more object per row.
  bytes.writeUInt32BE(crc32(text), 1);
  return bytes;
}

/**
 * Decodes {@link encodeJsonRow}.
 *
 * @throws {ServiceError} `DATA_CORRUPTED` when the checksum or the format is wrong
 */
export function decodeJsonRow(stored: Uint8Array): unknown {
  return JSON.parse(checkedText(stored));
}

/** As {@link decodeJsonRow}, for rows with user values, whose numbers are kept exact. */
export function decodeExactJsonRow(stored: Uint8Array): unknown {
  return parseExactJson(checkedText(stored));
}

/** Bytes checksummed in one step. */
const STEP_BYTES = 256 * 1024;

/**
 * As {@link encodeJsonRow}; yields where the work may be suspended.
 *
 * @param pieces of the JSON text
 */
export function* encodeJsonRowInSteps(
  pieces: Iterable<string | Uint8Array>,
): Generator<undefined, Uint8Array> {
  const parts: Uint8Array[] = [Buffer.alloc(PREFIX_BYTES)];
  let crc = 0;
  for (const piece of pieces) {
    const part = typeof piece === 'string' ? Buffer.from(piece) : piece;
    for (let from = 0; from < part.length; from += STEP_BYTES) {
      crc = crc32(part.subarray(from, from + STEP_BYTES), crc);
      yield undefined;
    }
    parts.push(part);
  }
  const bytes = Buffer.concat(parts);
  bytes[0] = JSON_ROW_FORMAT;
  bytes.writeUInt32BE(crc, 1);
  return bytes;
}

/** As {@link decodeExactJsonRow}; for a large row, yields where the work may be suspended. */
export function* decodeExactJsonRowInSteps(stored: Uint8Array): Generator<undefined, unknown> {
  if (stored.length <= STEP_BYTES) return decodeExactJsonRow(stored);
  const bytes = checkedFormat(stored);
  let crc = 0;
  for (let from = PREFIX_BYTES; from < bytes.length; from += STEP_BYTES) {
    crc = crc32(bytes.subarray(from, from + STEP_BYTES), crc);
    yield undefined;
  }
  requireChecksum(bytes, crc);
  return yield* parseExactJsonInSteps(yield* decodeUtf8InSteps(bytes.subarray(PREFIX_BYTES)));
}

function checkedText(stored: Uint8Array): string {
  const bytes = checkedFormat(stored);
  requireChecksum(bytes, crc32(bytes.subarray(PREFIX_BYTES)));
  return bytes.utf8Slice(PREFIX_BYTES);
}

function checkedFormat(stored: Uint8Array): Buffer {
  const bytes = Buffer.from(stored.buffer, stored.byteOffset, stored.byteLength);
  if (bytes.length < PREFIX_BYTES || bytes[0] !== JSON_ROW_FORMAT) {
    throw new ServiceError(
      'DATA_CORRUPTED',
      `A stored record has format ${bytes[0]} and ${bytes.length} bytes`,
    );
  }
  return bytes;
}

function requireChecksum(bytes: Buffer, crc: number): void {
  if (crc !== bytes.readUInt32BE(1)) {
    throw new ServiceError('DATA_CORRUPTED', 'A stored record fails its checksum');
  }
}
