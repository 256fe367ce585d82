import { Buffer } from 'node:buffer';
import { createHash } from 'node:crypto';

/** Ends every variable part of a key: smaller than any byte that may stand in a part. */
export const END = '\u0000';

/** Behind every key that starts with a given prefix and {@link END}. */
export const AFTER_END = '\u0001';

/** Longest key LMDB takes; a longer one would stop the shard, so every part of a key has a bound. */
export const KEY_BYTES_MAX = 1978;

/** Longest part kept whole where the other parts are short: a path, the name of a definition. */
export const LONG_PART_BYTES = 1500;

/** Longest value or pointer kept whole: two ids and two names may stand beside it. */
export const VALUE_PART_BYTES = 1200;

/** Longest property name kept whole. */
export const NAME_PART_BYTES = 255;

const ascii = /^[\x00-\x7f]*$/;

/** UTF-8 bytes of a text as a binary string. Most texts are ASCII and are their own bytes. */
export function textBytes(text: string): string {
  return ascii.test(text) ? text : Buffer.from(text, 'utf8').toString('latin1');
}

/** Turns {@link textBytes} back. */
export function bytesText(bytes: string): string {
  return ascii.test(bytes) ? bytes : Buffer.from(bytes, 'latin1').toString('utf8');
}

/**
 * A part that may be longer than LMDB takes: cut, with a hash of the whole (32 bytes) behind it. Long parts that
 * share their beginning sort by hash, so scans over them recheck the whole text.
 *
 * @param bytesMax longest part kept whole
 */
export function boundedPart(text: string, bytesMax: number = LONG_PART_BYTES): string {
  const bytes = textBytes(text);
  if (bytes.length <= bytesMax) return bytes;
  // Spelt in hex, because no zero byte may stand inside a part.
  return bytes.slice(0, bytesMax) + createHash('sha256').update(bytes, 'latin1').digest('hex').slice(0, 32);
}

/**
 * As {@link boundedPart}, of a long text whose pieces are told one after the other; yields where the work may rest.
 *
 * @param pieces each can be encoded by itself; undefined where whoever makes them may rest
 * @param zero byte that stands where the text has a zero character, which may not stand in a part
 */
export function* boundedPartInSteps(
  pieces: Iterable<string | undefined>,
  bytesMax: number,
  zero = 0,
): Generator<undefined, string> {
  const hash = createHash('sha256');
  let start = '';
  let length = 0;
  for (const piece of pieces) {
    if (piece !== undefined) {
      const bytes = Buffer.from(piece, 'utf8');
      if (zero !== 0)
        for (let at = bytes.indexOf(0); at >= 0; at = bytes.indexOf(0, at + 1)) bytes[at] = zero;
      if (start.length <= bytesMax) start += bytes.latin1Slice(0, bytesMax + 1 - start.length);
      length += bytes.length;
      hash.update(bytes);
    }
    yield undefined;
  }
  return length <= bytesMax ? start : start.slice(0, bytesMax) + hash.digest('hex').slice(0, 32);
}

/** A number as eight bytes that sort like the number, negative ones included. */
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
