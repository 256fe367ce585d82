import type { Buffer } from 'node:buffer';

const minus = 0x2d;
const point = 0x2e;
const zero = 0x30;

/** Most digits of a number that a double represents exactly when its point is left out. */
const DIGITS_MAX = 15;

/** Powers of ten by which such a number may be divided. Both are exact, so the quotient is the nearest double. */
const powers: readonly number[] = Array.from({ length: DIGITS_MAX + 1 }, (_, index) => 10 ** index);

/**
 * The number whose JSON is at a place, as `JSON.parse` returns it.
 *
 * @returns undefined for anything but digits with a sign and a point, and for more than fifteen digits
 */
export function plainNumber(bytes: Buffer, from: number, to: number): number | undefined {
  const isNegative = bytes[from] === minus;
  let value = 0;
  let digits = 0;
  /** Digits behind the point; -1 before there is one. */
  let behind = -1;
  for (let at = isNegative ? from + 1 : from; at < to; at += 1) {
    const byte = bytes[at] as number;
    if (byte >= zero && byte <= zero + 9) {
      value = value * 10 + (byte - zero);
      digits += 1;
      if (behind >= 0) behind += 1;
    } else if (byte === point && behind < 0) behind = 0;
    else return undefined;
  }
  if (digits === 0 || digits > DIGITS_MAX) return undefined;
  if (behind > 0) value /= powers[behind] as number;
  return isNegative ? -value : value;
}
