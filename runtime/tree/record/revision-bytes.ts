import type { Buffer } from 'node:buffer';
import { assert } from '#runtime/base/assert.ts';
import { formatRevision, revisionMax } from '#runtime/content/revision.ts';
import { readUint32, writeUint32 } from './uint32.ts';

const zero = 0x30;
const high = 2 ** 32;

/**
 * Writes a revision as the bytes of `encodeRevision`, straight from its text: that takes a tenth of the time of parsing it
 * into an object first.
 *
 * @param text in the form of `formatRevision`, so that {@link readRevision} returns the same
 */
export function writeRevision(bytes: Buffer, at: number, text: string): void {
  const dash = text.indexOf('-');
  const ms = numberIn(text, 0, dash);
  const counter = numberIn(text, dash + 1, text.length);
  assert(ms <= revisionMax.ms && counter <= revisionMax.counter, 'a revision is written in one way');
  const top = Math.floor(ms / high);
  bytes[at] = top >>> 8;
  bytes[at + 1] = top;
  writeUint32(bytes, at + 2, ms % high);
  writeUint32(bytes, at + 6, counter);
}

/** The text of a revision that {@link writeRevision} has written. */
export function readRevision(bytes: Buffer, at: number): string {
  const top = ((bytes[at] as number) << 8) | (bytes[at + 1] as number);
  return formatRevision({ ms: top * high + readUint32(bytes, at + 2), counter: readUint32(bytes, at + 6) });
}

/** The number whose digits are in a stretch of a text; NaN unless it is written as JavaScript writes it. */
function numberIn(text: string, from: number, to: number): number {
  if (to <= from || (text.charCodeAt(from) === zero && to > from + 1)) return Number.NaN;
  let value = 0;
  for (let at = from; at < to; at += 1) {
    const digit = text.charCodeAt(at) - zero;
    if (digit < 0 || digit > 9) return Number.NaN;
    value = value * 10 + digit;
  }
  return value;
}
