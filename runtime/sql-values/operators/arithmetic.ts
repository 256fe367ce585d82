import { invalid } from '#runtime/errors/service-error.ts';
import type { ScalarFunction } from '../scalar-function.ts';
import type { SqlType } from '../sql-type.ts';
import type { SqlValue } from '../sql-value.ts';
import { requireBigint, requireInt } from '../types/number-ranges.ts';
import { doubleType } from '../types/basic-types.ts';
import { isNumeric, typeMismatch } from './operand-types.ts';
import { timeArithmetic } from './time-operators.ts';

type NumberOperation = (a: number, b: number) => number;

/** Operators of arithmetic, with two operands. */
export type ArithmeticOperator = '+' | '-' | '*' | '/' | '%';

const operations: Readonly<Record<ArithmeticOperator, NumberOperation>> = {
  '+': (a, b) => inRange(a + b, a, b),
  '-': (a, b) => inRange(a - b, a, b),
  '*': (a, b) =>
    notVanished(inRange(a * b, a, b), a !== 0 && b !== 0 && Number.isFinite(a) && Number.isFinite(b)),
  '/': (a, b) => {
    if (b === 0) throw invalid('Division by zero');
    return notVanished(inRange(a / b, a, b), a !== 0 && Number.isFinite(b));
  },
  '%': (a, b) => {
    if (b === 0) throw invalid('Division by zero');
    return a % b;
  },
};

/** A result that is infinite though no operand is, is too large for a double. */
function inRange(result: number, a: number, b: number): number {
  if (!Number.isFinite(result) && Number.isFinite(a) && Number.isFinite(b))
    throw invalid('value out of range: overflow');
  return result;
}

/** A result of zero that is not exact, is too small for a double. */
function notVanished(result: number, isExpected: boolean): number {
  if (result === 0 && isExpected) throw invalid('value out of range: underflow');
  return result;
}

/**
 * The arithmetic operator for two types: numbers give a DOUBLE; timestamps, dates and intervals are added and subtracted, and
 * intervals are scaled.
 *
 * @throws {ServiceError} `VALIDATION_FAILED` for types that it does not take
 */
export function arithmeticOperator(
  operator: ArithmeticOperator,
  left: SqlType,
  right: SqlType,
): ScalarFunction {
  if (isNumeric(left) && isNumeric(right)) return numericOperator(operator, left, right);
  const found = timeArithmetic(operator, left, right);
  if (found !== undefined) return found;
  // The first operand that could not be one is named.
  if (isNumeric(left)) throw typeMismatch(left, right);
  throw isNumeric(right) ? typeMismatch(left, right) : typeMismatch(doubleType, left);
}

function numericOperator(operator: ArithmeticOperator, left: SqlType, right: SqlType): ScalarFunction {
  const operation = operations[operator];
  const needsConversion = left.name === 'bigint' || right.name === 'bigint';
  return {
    name: operator,
    parameters: [left, right],
    result: doubleType,
    isStrict: true,
    evaluate: needsConversion
      ? (a, b) => operation(Number(a), Number(b))
      : (operation as ScalarFunction['evaluate']),
  };
}

/**
 * A sign in front of a number or an interval. Its result has the type of the operand.
 *
 * @throws {ServiceError} `VALIDATION_FAILED` for a type that it does not take
 */
export function signOperator(operator: '+' | '-', operand: SqlType): ScalarFunction {
  if (!isNumeric(operand) && operand.name !== 'interval') throw typeMismatch(doubleType, operand);
  const evaluate = operator === '+' ? (value: SqlValue) => value : negation(operand);
  return {
    name: operator,
    parameters: [operand],
    result: operand,
    isStrict: true,
    evaluate: (value) => evaluate(value!),
  };
}

function negation({ name }: SqlType): (value: SqlValue) => SqlValue {
  if (name === 'int') return (value) => (value === 0 ? 0 : requireInt(-(value as number)));
  if (name === 'double') return (value) => -(value as number);
  return (value) => requireBigint(-(value as bigint));
}
