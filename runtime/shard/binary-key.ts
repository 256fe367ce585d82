import { Buffer } from 'node:buffer';
import { createHash } from 'node:crypto';

/** Terminates every variable part of a key: less than any byte allowed in a part. */
export const END = '\u0000';

/** Greater than every key that starts with a given prefix and {@link END}. */
export const AFTER_END = '\u0001';

/** Longest key LMDB accepts. A longer one would stop the shard, so every part of a key is bounded. */
export const KEY_BYTES_MAX = 1978;

/** Longest part kept whole when the other parts are short: a path, the name of a definition. */
export const LONG_PART_BYTES = 1500;

/** Longest value or pointer kept whole: leaves room for two ids and two names. */
export const VALUE_PART_BYTES = 1200;

/** Longest property name kept whole. */
export const NAME_PART_BYTES = 255;

const ascii = /^[\x00-\x7f]*$/;

/** UTF-8 bytes of a text as a binary string. Most texts are ASCII and are their own bytes. */
export function textBytes(text: string): string {
  return ascii.test(text) ? text : Buffer.from(text, 'utf8').toString('latin1');
}

/** Decodes {@link textBytes}. */
export function bytesText(bytes: string): string {
  return ascii.test(bytes) ? bytes : Buffer.from(bytes, 'latin1').toString('utf8');
}

/** A text that is stored as UTF-8, as ids in rows are. @param bytes they may end before their memory does */
export function storedText(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).utf8Slice();
}

/**
 * A part that may exceed the key length of LMDB: truncated, followed by a hash of the whole (32 bytes). Long parts with
 * a common prefix sort by hash, so scans over them recheck the whole text.
 *
 * @param bytesMax longest part kept whole
 */
export function boundedPart(text: string, bytesMax: number = LONG_PART_BYTES): string {
  const bytes = textBytes(text);
  if (bytes.length <= bytesMax) return bytes;
  // In hex, because a part must not contain a zero byte.
  return bytes.slice(0, bytesMax) + createHash('sha256').update(bytes, 'latin1').digest('hex').slice(0, 32);
}

/**
 * As {@link boundedPart}, for a long text given in pieces; yields where the work may be suspended.
 *
 * @param pieces each can be encoded by itself; undefined where the producer may be suspended
 */
export function* boundedPartInSteps(
  pieces: Iterable<string | undefined>,
  bytesMax: number,
): Generator<undefined, string> {
  const hash = createHash('sha256');
  let start = '';
  let length = 0;
  for (const piece of pieces) {
    if (piece !== undefined) {
      const bytes = Buffer.from(piece, 'utf8');
      if (start.length <= bytesMax) start += bytes.latin1Slice(0, bytesMax + 1 - start.length);
      length += bytes.length;
      hash.update(bytes);
    }
    yield undefined;
  }
  return length <= bytesMax ? start : start.slice(0, bytesMax) + hash.digest('hex').slice(0, 32);
}

/** A number as eight bytes in the sort order of numbers, including negative ones. */
export function sortableNumber(value: number): string {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleBE(value === 0 ? 0 : value);
  if ((bytes[0] as number) & 0x80) for (let i = 0; i < 8; i++) bytes[i] = ~(bytes[i] as number) & 0xff;
  else bytes[0] = (bytes[0] as number) | 0x80;
  return bytes.latin1Slice();
}

/** An unsigned 32-bit number as four bytes, big endian. */
export function sortableUint32(value: number): string {
  return String.fromCharCode(value >>> 24, (value >>> 16) & 255, (value >>> 8) & 255, value & 255);
}

const UINT32_RANGE = 2 ** 32;

/** An unsigned 48-bit number as six bytes, big endian. */
export function sortableUint48(value: number): string {
  const high = Math.floor(value / UINT32_RANGE);
  return String.fromCharCode(high >>> 8, high & 255) + sortableUint32(value % UINT32_RANGE);
}

/** Decodes {@link sortableUint48}. */
export function uint48(bytes: string): number {
  return Buffer.from(bytes, 'latin1').readUIntBE(0, 6);
}
