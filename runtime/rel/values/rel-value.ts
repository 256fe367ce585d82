import { compareNumbers, type ExactNumber, isNumber } from '#runtime/base/text/exact-number.ts';

/**
 * A value of a condition. Stored JSON values are such values as they are. The two kinds of numbers are told apart so:
 *
 * - An integer (64 bits, signed) is a whole `number`, or a `bigint` where no double has its decimal value.
 * - A float is a `number` that is not whole or beyond 64 bits, or a {@link WholeFloat}.
 *
 * @see docs/decisions/0066-condition-language.md
 * @see docs/decisions/0038-exact-numbers.md
 */
export type RelValue =
  | null
  | boolean
  | ExactNumber
  | WholeFloat
  | string
  | readonly RelValue[]
  | { readonly [key: string]: RelValue };

/** An object of a condition. Keys come from callers: read own keys only. */
export type RelObject = { readonly [key: string]: RelValue };

/** A float that is whole, as `5.0` in a condition or a sum of floats. It is equal to the integer, but divides as a float. */
export class WholeFloat {
  readonly number: number;

  constructor(number: number) {
    // There is one zero.
    this.number = number + 0;
  }
}

/** Smallest integer. */
export const INTEGER_MIN: bigint = -(2n ** 63n);

/** Largest integer. */
export const INTEGER_MAX: bigint = 2n ** 63n - 1n;

/** Doubles from here on are beyond 64 bits. */
const BEYOND_INTEGERS = 1e19;

/** Whether a value is a list. */
export function isList(value: RelValue): value is readonly RelValue[] {
  return Array.isArray(value);
}

/** Whether a value is an object. */
export function isObject(value: RelValue): value is RelObject {
  return (
    typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof WholeFloat)
  );
}

/** The number of a numeric value, without the kind; undefined for all other values. */
export function numberOf(value: RelValue): ExactNumber | undefined {
  if (isNumber(value)) return value;
  return value instanceof WholeFloat ? value.number : undefined;
}

/**
 * The exact value of an integer.
 *
 * @returns undefined for floats and for whole numbers beyond 64 bits
 */
export function integerOf(value: RelValue): bigint | undefined {
  if (typeof value === 'number') {
    if (!Number.isInteger(value) || Math.abs(value) >= BEYOND_INTEGERS) return undefined;
    // A large double stands for its decimal digits.
    return Number.isSafeInteger(value) ? BigInt(value) : within64Bits(BigInt(String(value)));
  }
  return typeof value === 'bigint' ? within64Bits(value) : undefined;
}

function within64Bits(value: bigint): bigint | undefined {
  return value >= INTEGER_MIN && value <= INTEGER_MAX ? value : undefined;
}

/** The one form of an integer within 64 bits. */
export function integerValue(value: bigint): ExactNumber {
  const double = Number(value);
  return Number.isSafeInteger(double) || String(double) === String(value) ? double : value;
}

/** The one form of a finite float. */
export function floatValue(value: number): RelValue {
  return Number.isInteger(value) ? new WholeFloat(value) : value;
}

/** The name of the kind of a value, for messages. */
export function kindOf(value: RelValue): string {
  if (value === null) return 'null';
  if (typeof value === 'boolean' || typeof value === 'string') return typeof value;
  if (typeof value === 'bigint') return 'integer';
  if (typeof value === 'number') return integerOf(value) === undefined ? 'float' : 'integer';
  if (value instanceof WholeFloat) return 'float';
  return isList(value) ? 'array' : 'object';
}

/** Whether a condition holds that has this value: null, false, zero, and empty texts, lists and objects do not. */
export function isTruthy(value: RelValue): boolean {
  switch (typeof value) {
    case 'boolean':
      return value;
    case 'string':
      return value !== '';
    case 'number':
      return value !== 0;
    case 'bigint':
      return value !== 0n;
    default:
      break;
  }
  if (value === null) return false;
  if (value instanceof WholeFloat) return value.number !== 0;
  return isList(value) ? value.length > 0 : !isEmptyObject(value);
}

/** Whether an object has no keys. */
export function isEmptyObject(value: RelObject): boolean {
  for (const key in value) if (Object.hasOwn(value, key)) return false;
  return true;
}

/** Compares numeric values by their decimal values. @returns below 0, 0 or above 0; undefined unless both are numeric */
export function compareNumeric(a: RelValue, b: RelValue): number | undefined {
  if (typeof a === 'number' && typeof b === 'number') return a < b ? -1 : a > b ? 1 : 0;
  const x = numberOf(a);
  const y = numberOf(b);
  return x === undefined || y === undefined ? undefined : compareNumbers(x, y);
}
