/**
 * A JSON number in the program. Every number that is the shortest decimal text of a double is a `number`; any other
 * whole number is a `bigint`. So each value has one representation, and equal numbers are `===`.
 *
 * @see docs/decisions/0038-exact-numbers.md
 */
export type ExactNumber = number | bigint;

/** Decimal digits of the longest accepted whole number. */
export const INTEGER_DIGITS_MAX = 38;

/** Significant digits that identify every double. */
const DOUBLE_DIGITS = 17;

/** The smallest double with all of its digits. Between smaller ones the distance is a large part of their value. */
const NORMAL_MIN = 2.2250738585072014e-308;

/** From here on every double is whole, so a fraction would be lost. */
const WHOLE_MIN = 2 ** 52;

/** Upper bound of the distance from an accepted whole number to the next smaller double, in hex digits. */
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
 * Parses a JSON number.
 *
 * - A number equal to the shortest decimal text of a double is that double: `0.1`, `1e300`, `9007199254740992`.
 * - Any other whole number is exact, up to {@link INTEGER_DIGITS_MAX} digits: `9007199254740993`.
 * - Any other number with up to 17 significant digits is the double they identify, because 17 digits distinguish all
 *   doubles: `0.10000000000000001`. Below 2.2e-308 doubles have fewer digits: there the double must have those digits.
 * - All other numbers would change their value: `0.10000000000000000000001`, `1e400`, `1e-400`, `3e-324`, and a number
 *   with a fraction above 2^52, `9007199254740993.5`.
 *
 * @returns undefined when it cannot be represented, or the text is no number
 */
export function exactNumber(text: string): ExactNumber | undefined {
  const double = Number(text);
  // The form of most numbers.
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
  return isIdentified(double, asked) ? double : undefined;
}

/** Whether a number is a double written with up to 17 digits, and not one that the double only approximates. */
function isIdentified(double: number, { digits, exponent }: Decimal): boolean {
  if (!Number.isFinite(double) || double === 0 || digits.length > DOUBLE_DIGITS) return false;
  const size = Math.abs(double);
  if (exponent < 0 && size >= WHOLE_MIN) return false;
  if (size >= NORMAL_MIN) return true;
  const rounded = decimalOf(double.toPrecision(digits.length)) as Decimal;
  return rounded.digits === digits && rounded.exponent === exponent;
}

/** Whether a value is a number, as a double or a bigint. */
export function isNumber(value: unknown): value is ExactNumber {
  return typeof value === 'number' || typeof value === 'bigint';
}

/** Whether a number is whole. */
export function isWhole(value: ExactNumber): boolean {
  return typeof value === 'bigint' || Number.isInteger(value);
}

/** The whole number with the shortest decimal text of a double. */
function wholeOf(double: number): bigint {
  const { digits, exponent, isNegative } = decimalOf(String(double)) as Decimal;
  return BigInt(`${isNegative ? '-' : ''}${digits === '' ? '0' : digits}${'0'.repeat(exponent)}`);
}

/** Compares numbers by their decimal values, doubles and bigints alike. @returns below 0, 0 or above 0 */
export function compareNumbers(a: ExactNumber, b: ExactNumber): number {
  if (typeof a === 'number' && typeof b === 'number') return a < b ? -1 : a > b ? 1 : 0;
  const [x, y] = [comparable(a), comparable(b)];
  return x < y ? -1 : x > y ? 1 : 0;
}

/** The operand for a comparison with a bigint: a large double becomes the bigint with its decimal digits. */
function comparable(value: ExactNumber): ExactNumber {
  return typeof value === 'bigint' || Math.abs(value) <= Number.MAX_SAFE_INTEGER || !Number.isFinite(value)
    ? value
    : wholeOf(value);
}

/** Whether a number is an integer multiple of another one, by their decimal values. @param step not 0 */
export function isMultiple(value: ExactNumber, step: ExactNumber): boolean {
  const [dividend, divisor] = [decimalOf(String(value)), decimalOf(String(step))] as [Decimal, Decimal];
  const exponent = Math.min(dividend.exponent, divisor.exponent);
  const scaled = ({ digits, exponent: own }: Decimal): bigint =>
    BigInt(`${digits === '' ? '0' : digits}${'0'.repeat(own - exponent)}`);
  return scaled(dividend) % scaled(divisor) === 0n;
}

/**
 * The position of a bigint among doubles.
 *
 * @returns the largest double not above it, and the distance to it, as text that sorts like the distance
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

// Without this `JSON.stringify` throws for a bigint; with it, it writes all digits.
Object.defineProperty(BigInt.prototype, 'toJSON', {
  value(this: bigint) {
    return JSON.rawJSON(String(this));
  },
  configurable: true,
  writable: true,
});
