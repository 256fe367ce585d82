import { Buffer } from 'node:buffer';
import fc from 'fast-check';
import { compareNumbers, type ExactNumber, isNumber } from '#runtime/base/text/exact-number.ts';
import { type JsonValue, jsonEquals } from '#runtime/content/values/json-value.ts';
import type { Comparison } from '#runtime/index/key-range.ts';

/** Characters that a key could cut, end at or put in the wrong order. */
const piece = fc.constantFrom(
  ...['', 'a', 'b', '0', 'f', '\0', '\u0001', '\u0002', '\0\u0001', 'ü', '\ud7ff', '🌳', '\uffff'],
  ...['\ud83c', '\udf33', '\ufffd', '\ue000'],
);
const pieces = fc.array(piece, { maxLength: 4 }).map((found) => found.join(''));

/** Texts about as long as a key may be, with a common start. */
const longText = fc
  .tuple(
    fc.constantFrom(590, 598, 599, 600, 1195, 1198, 1199, 1200, 1201),
    pieces,
    fc.constantFrom('x', 'ü', '\0'),
  )
  .map(([length, end, fill]) => fill.repeat(fill === 'x' ? length : Math.min(length, 600)) + end);

const exact = fc
  .tuple(fc.bigInt({ min: -(10n ** 38n) + 1n, max: 10n ** 38n - 1n }), fc.constantFrom(1n, 10n ** 20n))
  .map(([value, divisor]) => value / divisor)
  .filter((value) => BigInt.asIntN(64, value) !== BigInt(Number.MAX_SAFE_INTEGER));

/** As the parser of JSON would answer it: a whole number that a double writes out is a double. */
function parsed(value: bigint): ExactNumber {
  return String(Number(value)) === String(value) ? Number(value) : value;
}

const near = fc
  .tuple(fc.constantFrom(2n ** 53n, -(2n ** 53n), 10n ** 20n, 2n ** 64n), fc.bigInt({ min: -3n, max: 3n }))
  .map(([around, by]) => around + by);

/** Numbers at every border of the form of keys. */
export const numbers: fc.Arbitrary<ExactNumber> = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.constantFrom(0, -0, 1, -1, 5e-324, -5e-324, 2.2250738585072014e-308, 1e300, -1e300, 2 ** 53),
  fc.integer({ min: -3, max: 3 }),
  exact.map(parsed),
  near.map(parsed),
);

/** Short and long texts. */
export const texts: fc.Arbitrary<string> = fc.oneof({ weight: 3, arbitrary: pieces }, longText);

/** Any value of a property; undefined when it is absent. */
export const values: fc.Arbitrary<JsonValue | undefined> = fc.oneof(
  { weight: 4, arbitrary: texts },
  { weight: 3, arbitrary: numbers as fc.Arbitrary<JsonValue> },
  fc.boolean(),
  fc.constantFrom(null, undefined, [], ['a'], {}, { a: 1 }),
);

function rank(value: JsonValue | undefined): number {
  if (value === undefined || value === null) return 6;
  if (typeof value === 'boolean') return value ? 1 : 0;
  if (isNumber(value)) return 2;
  if (typeof value === 'string') return 3;
  return Array.isArray(value) ? 4 : 5;
}

/** The common order of values, from its definition. */
export function compareModel(a: JsonValue | undefined, b: JsonValue | undefined): number {
  if (rank(a) !== rank(b)) return rank(a) < rank(b) ? -1 : 1;
  if (isNumber(a) && isNumber(b)) return compareNumbers(a, b);
  return typeof a === 'string' && typeof b === 'string' ? Buffer.compare(Buffer.from(a), Buffer.from(b)) : 0;
}

/** Whether two values compare with each other. */
export function isSameKind(a: JsonValue | undefined, b: JsonValue): boolean {
  return rank(a) === rank(b) || (typeof a === 'boolean' && typeof b === 'boolean');
}

const present = values.filter((value) => value !== undefined) as fc.Arbitrary<JsonValue>;
const comparable = fc.oneof(texts, numbers, fc.boolean());

/** Any comparison with a value of an index. */
export const comparisons: fc.Arbitrary<Comparison> = fc.oneof(
  fc.constantFrom('all' as const, 'null' as const, 'notNull' as const).map((operator) => ({ operator })),
  present.map((value) => ({ operator: 'eq' as const, value })),
  fc.array(present, { maxLength: 4 }).map((list) => ({ operator: 'in' as const, values: list })),
  texts.map((text) => ({ operator: 'prefix' as const, text })),
  {
    weight: 4,
    arbitrary: fc
      .tuple(fc.constantFrom('gt' as const, 'gte' as const, 'lt' as const, 'lte' as const), comparable)
      .map(([operator, value]) => ({ operator, value })),
  },
);

/** Whether a comparison holds, from its definition. */
export function holdsInModel(asked: Comparison, value: JsonValue | undefined): boolean {
  switch (asked.operator) {
    case 'all':
      return true;
    case 'null':
      return value === undefined || value === null;
    case 'notNull':
      return value !== undefined && value !== null;
    case 'composite':
      return typeof value === 'object' && value !== null;
    case 'eq':
      return value !== undefined && jsonEquals(value, asked.value);
    case 'in':
      return value !== undefined && asked.values.some((each) => jsonEquals(value, each));
    case 'prefix': {
      if (typeof value !== 'string') return false;
      const bytes = Buffer.from(asked.text);
      return Buffer.from(value).subarray(0, bytes.length).equals(bytes);
    }
    default: {
      if (!isSameKind(value, asked.value)) return false;
      const order = compareModel(value, asked.value);
      if (asked.operator === 'gt') return order > 0;
      if (asked.operator === 'lt') return order < 0;
      return asked.operator === 'gte' ? order >= 0 : order <= 0;
    }
  }
}
