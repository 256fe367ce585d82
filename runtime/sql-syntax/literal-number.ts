import type { LiteralNode } from './nodes/syntax-nodes.ts';

const INT_MAX = 2_147_483_647;
/** Digits of the largest INT: a number with fewer is one. */
const INT_DIGITS = 10;
const BIGINT_MAX = 9_223_372_036_854_775_807n;
/** Digits above which an integer cannot fit into 64 bits; leading zeros are cut off before. */
const BIGINT_DIGITS = 19;

/**
 * The value of a number as it was written, of the first type that it fits: INT, BIGINT, DOUBLE.
 *
 * @returns undefined: it is larger than any DOUBLE
 */
export function literalNumber(image: string): Pick<LiteralNode, 'type' | 'value'> | undefined {
  if (image.length < INT_DIGITS && /^\d+$/.test(image)) return { type: 'int', value: Number(image) };
  if (/^\d+$/.test(image)) {
    const digits = image.replace(/^0+(?=\d)/, '');
    if (digits.length <= BIGINT_DIGITS) {
      const value = BigInt(digits);
      if (value <= INT_MAX) return { type: 'int', value: Number(value) };
      if (value <= BIGINT_MAX) return { type: 'bigint', value };
    }
  }
  const value = Number(image);
  return Number.isFinite(value) ? { type: 'double', value } : undefined;
}

/** The least BIGINT. It can be written only as a sign and a number that is too large for a BIGINT. */
export const BIGINT_MIN = -9_223_372_036_854_775_808n;

/** Whether a number, with a minus before it, is the least BIGINT. */
export function isBigintLimit(image: string): boolean {
  return image.endsWith('9223372036854775808') && /^0*9223372036854775808$/.test(image);
}
