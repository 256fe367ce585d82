/**
 * A number of JSON as the program has it. Every number a double has a shortest decimal text for is a `number`; a whole
 * number that is none of these is a `bigint`. So each value has one form: equal numbers are `===`.
 *
 * @see docs/decisions/0038-exact-numbers.md
 */
export type ExactNumber = number | bigint;

/** Decimal digits of the longest whole number that is kept. */
export const INTEGER_DIGITS_MAX = 38;

/** Significant digits that tell every double from all others. */
const DOUBLE_DIGITS = 17;

/** Bits the distance of a kept whole number to the next smaller double can have, and more. */
const TAIL_HEX_DIGITS = 20;

const numberShape = /^(-?)(0|[1-9]\d*)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/** `sign * digits * 10^exponent`; digits without zeros at either end, empty for zero. */
interface Decimal {
  readonly isNegative: boolean;
  readonly digits: string;
  readonly exponent: number;
}

function decimalOf(text: string): Decimal | undefined {
  const match = numberShape.exec(text);
  if (match === null) return undefined;
  const [, sign, whole, fraction = '', power = '0'] = match as unknown as [
    string,
    string,
    string,
    string?,
    string?,
  ];
  const all = whole + fraction;
  let start = 0;
  while (all[start] === '0') start += 1;
  let end = all.length;
  while (end > start && all[end - 1] === '0') end -= 1;
  const exponent = end === start ? 0 : Number(power) - fraction.length + (all.length - end);
  return { isNegative: sign === '-', digits: all.slice(start, end), exponent };
}

/**
 * The value of a number as JSON writes it.
 *
 * - A number whose decimal value a double's shortest text has is that double: `0.1`, `1e300`, `9007199254740992`.
 * - Any other whole number is exact, up to {@link INTEGER_DIGITS_MAX} digits: `9007199254740993`.
 * - Any other number that up to 17 significant digits were written of is the double they name, for these tell every
 *   double from all others: `0.10000000000000001`.
 * - What is left would become another number: `0.10000000000000000000001`, `1e400`, `1e-400`.
 *
 * @returns undefined where it cannot be kept, or the text is no number
 */
export function exactNumber(text: string): ExactNumber | undefined {
  const double = Number(text);
  // Most are written so.
  if (String(double) === text) return Number.isFinite(double) ? double : undefined;
  const asked = decimalOf(text);
  if (asked === undefined) return undefined;
  if (Number.isFinite(double)) {
    const kept = decimalOf(String(double)) as Decimal;
    if (kept.digits === asked.digits && kept.exponent === asked.exponent) return double;
  }
  const { digits, exponent, isNegative } = asked;
  if (exponent >= 0 && digits.length + exponent <= INTEGER_DIGITS_MAX)
    return BigInt(`${isNegative ? '-' : ''}${digits}${'0'.repeat(exponent)}`);
  return Number.isFinite(double) && double !== 0 && digits.length <= DOUBLE_DIGITS ? double : undefined;
}

/** Whether a value is a number, in either form. */
export function isNumber(value: unknown): value is ExactNumber {
  return typeof value === 'number' || typeof value === 'bigint';
}

/** Whether a number is whole. */
export function isWhole(value: ExactNumber): boolean {
  return typeof value === 'bigint' || Number.isInteger(value);
}

/** The whole number that the shortest text of a double names. */
function wholeOf(double: number): bigint {
  const { digits, exponent, isNegative } = decimalOf(String(double)) as Decimal;
  return BigInt(`${isNegative ? '-' : ''}${digits === '' ? '0' : digits}${'0'.repeat(exponent)}`);
}

/** Compares numbers by their decimal values, whatever form they have. @returns below 0, 0 or above 0 */
export function compareNumbers(a: ExactNumber, b: ExactNumber): number {
  if (typeof a === 'number' && typeof b === 'number') return a < b ? -1 : a > b ? 1 : 0;
  const [x, y] = [comparable(a), comparable(b)];
  return x < y ? -1 : x > y ? 1 : 0;
}

/** What a bigint may be compared with: a double of which it is certain what its last digits are. */
function comparable(value: ExactNumber): ExactNumber {
  return typeof value === 'bigint' || Math.abs(value) <= Number.MAX_SAFE_INTEGER || !Number.isFinite(value)
    ? value
    : wholeOf(value);
}

/** Whether a number is a whole multiple of another one, by their decimal values. @param step not 0 */
export function isMultiple(value: ExactNumber, step: ExactNumber): boolean {
  const [dividend, divisor] = [decimalOf(String(value)), decimalOf(String(step))] as [Decimal, Decimal];
  const exponent = Math.min(dividend.exponent, divisor.exponent);
  const scaled = ({ digits, exponent: own }: Decimal): bigint =>
    BigInt(`${digits === '' ? '0' : digits}${'0'.repeat(own - exponent)}`);
  return scaled(dividend) % scaled(divisor) === 0n;
}

/**
 * Where a bigint stands among doubles.
 *
 * @returns the largest double that is not above it, and how far above that it is, as text that sorts like the distance
 */
export function placeOf(value: bigint): { readonly double: number; readonly tail: string } {
  let double = Number(value);
  if (wholeOf(double) > value) double = doubleBelow(double);
  return { double, tail: (value - wholeOf(double)).toString(16).padStart(TAIL_HEX_DIGITS, '0') };
}

function doubleBelow(double: number): number {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, double);
  const bits = view.getBigInt64(0);
  view.setBigInt64(0, double > 0 ? bits - 1n : bits + 1n);
  return view.getFloat64(0);
}

declare global {
  interface BigInt {
    toJSON(): unknown;
  }
  interface JSON {
    rawJSON(text: string): unknown;
  }
}

// `JSON.stringify` throws for a bigint unless it has this; it then writes all of its digits.
Object.defineProperty(BigInt.prototype, 'toJSON', {
  value(this: bigint) {
    return JSON.rawJSON(String(this));
  },
  configurable: true,
  writable: true,
});
