import { jsonEquals } from '#runtime/content/values/json-value.ts';
import { jsonBytes } from '../json/json-limits.ts';
import { type Comparator, comparatorOf, compareNumbers } from '../ordering/comparator.ts';
import type { ScalarFunction } from '../scalar-function.ts';
import type { SqlType } from '../sql-type.ts';
import { Jsonb, type SqlValue } from '../sql-value.ts';
import { booleanType, textType } from '../types/basic-types.ts';
import { commonOfTwo, sameType } from '../types/common-type.ts';
import { isNumeric, isTextual, typeMismatch } from './operand-types.ts';

/** Operators that compare two values. */
export type ComparisonOperator =
  | '='
  | '<>'
  | '<'
  | '<='
  | '>'
  | '>='
  | 'IS DISTINCT FROM'
  | 'IS NOT DISTINCT FROM';

/** Estimated nanoseconds for comparing a character, and a byte of JSON for equality and in its order. */
const CHARACTER_WORK = 1;
const JSON_EQUALITY_WORK = 2;
const JSON_ORDER_WORK = 10;

/** Whether an order, below 0, 0 or above 0, makes a comparison true. */
const tests: Readonly<Record<'<' | '<=' | '>' | '>=', (order: number) => boolean>> = {
  '<': (order) => order < 0,
  '<=': (order) => order <= 0,
  '>': (order) => order > 0,
  '>=': (order) => order >= 0,
};

/**
 * The comparison of two types. Numbers are compared by their exact values, texts by code point, JSON in the
 * order of PostgreSQL.
 *
 * @throws {ServiceError} `VALIDATION_FAILED` for types that are not comparable with each other
 */
export function comparisonOperator(
  operator: ComparisonOperator,
  left: SqlType,
  right: SqlType,
): ScalarFunction {
  const [first, second] = comparedTypes(left, right);
  const compare = isNumeric(first) ? compareNumbers : comparatorOf(first);
  const isEqual = equalityOf(first, second, compare);
  const isOrder = operator === '<' || operator === '<=' || operator === '>' || operator === '>=';
  const work = workOf(first, isOrder);
  return {
    name: operator,
    parameters: [first, second],
    result: booleanType,
    isStrict: operator !== 'IS DISTINCT FROM' && operator !== 'IS NOT DISTINCT FROM',
    ...(work === undefined ? {} : { work }),
    evaluate: evaluation(operator, compare, isEqual) as ScalarFunction['evaluate'],
  };
}

/** The types that the operands are cast to. */
function comparedTypes(left: SqlType, right: SqlType): readonly [SqlType, SqlType] {
  if (left.name === 'unknown' && right.name === 'unknown') return [textType, textType];
  // A number is not written as a text: in the older program such a comparison was always false.
  if (left.name === 'unknown' && isNumeric(right)) throw typeMismatch(textType, right);
  if (right.name === 'unknown' && isNumeric(left)) throw typeMismatch(left, textType);
  if (isNumeric(left) && isNumeric(right)) return [left, right];
  const isLiteral = left.name === 'unknown' || right.name === 'unknown';
  if (isTextual(left) && isTextual(right) && !isLiteral) return [left, right];
  const common = commonOfTwo(left, right);
  if (common === undefined) throw typeMismatch(left, right);
  return [common, common];
}

function equalityOf(
  first: SqlType,
  second: SqlType,
  compare: Comparator,
): (a: SqlValue, b: SqlValue) => boolean {
  if (first.name === 'jsonb') return (a, b) => jsonEquals((a as Jsonb).value, (b as Jsonb).value);
  // Doubles have two zeros and NaN; texts may differ in the parts of broken surrogate pairs only.
  if (sameType(first, second) && first.name !== 'double' && !isTextual(first) && first.name !== 'array')
    return (a, b) => a === b;
  return (a, b) => a === b || compare(a, b) === 0;
}

function evaluation(
  operator: ComparisonOperator,
  compare: Comparator,
  isEqual: (a: SqlValue, b: SqlValue) => boolean,
): (a: SqlValue, b: SqlValue) => boolean {
  const isSame = (a: SqlValue, b: SqlValue): boolean => (a === null || b === null ? a === b : isEqual(a, b));
  switch (operator) {
    case '=':
      return isEqual;
    case '<>':
      return (a, b) => !isEqual(a, b);
    case 'IS NOT DISTINCT FROM':
      return isSame;
    case 'IS DISTINCT FROM':
      return (a, b) => !isSame(a, b);
    default: {
      const test = tests[operator];
      return (a, b) => test(compare(a, b));
    }
  }
}

function workOf(type: SqlType, isOrder: boolean): ScalarFunction['work'] {
  if (isTextual(type))
    return ([a, b]) =>
      Math.min((a as string | null)?.length ?? 0, (b as string | null)?.length ?? 0) * CHARACTER_WORK;
  if (type.name === 'jsonb') {
    const perByte = isOrder ? JSON_ORDER_WORK : JSON_EQUALITY_WORK;
    return ([a, b]) => (sizeOf(a!) + sizeOf(b!)) * perByte;
  }
  if (type.name === 'array') return ([a, b]) => (sizeOf(a!) + sizeOf(b!)) * JSON_ORDER_WORK;
  return undefined;
}

/** A measure of the length of a value: characters, bytes of JSON, elements with theirs. */
function sizeOf(value: SqlValue): number {
  if (typeof value === 'string') return value.length;
  if (value instanceof Jsonb) return jsonBytes(value);
  if (typeof value !== 'object' || value === null) return 1;
  let size = 1;
  for (const item of value) size += sizeOf(item);
  return size;
}
