import { type Evaluation, STEP_WORK } from '../evaluation/evaluation.ts';
import {
  floatValue,
  INTEGER_MAX,
  INTEGER_MIN,
  integerOf,
  integerValue,
  kindOf,
  numberOf,
  type RelValue,
} from './rel-value.ts';

/** The operators between two values that compute a third one. */
export type ArithmeticOperator = '+' | '-' | '*' | '/' | '%';

const verbs: Readonly<Record<ArithmeticOperator, readonly [string, string]>> = {
  '+': ['add', 'and'],
  '-': ['subtract', 'and'],
  '*': ['multiply', 'and'],
  '/': ['divide', 'by'],
  '%': ['divide', 'by'],
};

/**
 * Carries out `+ - * / %`. Two integers give an integer, and their quotient is truncated towards zero; with a float the
 * result is a float. `+` also joins two texts.
 *
 * @throws {Fault} for other kinds, a division by zero, an integer beyond 64 bits and a float beyond its range
 */
export function calculate(
  evaluation: Evaluation,
  operator: ArithmeticOperator,
  left: RelValue,
  right: RelValue,
): RelValue {
  evaluation.spend(STEP_WORK);
  if (typeof left === 'number' && typeof right === 'number') {
    const result = smallResult(operator, left, right);
    if (result !== undefined) return result;
  }
  if (operator === '+' && typeof left === 'string' && typeof right === 'string') {
    evaluation.spend(left.length + right.length);
    return left + right;
  }
  if (numberOf(left) === undefined || numberOf(right) === undefined) {
    const [verb, link] = verbs[operator];
    return evaluation.fail(`Cannot ${verb} ${kindOf(left)} ${link} ${kindOf(right)}`);
  }
  const x = integerOf(left);
  const y = integerOf(right);
  return x !== undefined && y !== undefined
    ? integerResult(evaluation, operator, x, y)
    : floatResult(evaluation, operator, floatOf(evaluation, left), floatOf(evaluation, right));
}

/** The negative of a number. @throws {Fault} for other kinds and for the smallest integer */
export function negate(evaluation: Evaluation, value: RelValue): RelValue {
  evaluation.spend(STEP_WORK);
  if (numberOf(value) === undefined) return evaluation.fail(`Cannot negate ${kindOf(value)}`);
  const integer = integerOf(value);
  if (integer !== undefined) return checkedInteger(evaluation, -integer);
  return checkedFloat(evaluation, -floatOf(evaluation, value));
}

/** The result for two integers that a double computes exactly; undefined for all others. */
function smallResult(operator: ArithmeticOperator, left: number, right: number): number | undefined {
  if (!Number.isSafeInteger(left) || !Number.isSafeInteger(right)) return undefined;
  // Each result is made a positive zero where it is a negative one.
  switch (operator) {
    case '+':
      return safe(left + right);
    case '-':
      return safe(left - right);
    case '*':
      return safe(left * right + 0);
    case '/':
      return right === 0 ? undefined : Math.trunc(left / right) + 0;
    case '%':
      return right === 0 ? undefined : (left % right) + 0;
  }
}

function safe(value: number): number | undefined {
  return Number.isSafeInteger(value) ? value : undefined;
}

function integerResult(
  evaluation: Evaluation,
  operator: ArithmeticOperator,
  left: bigint,
  right: bigint,
): RelValue {
  switch (operator) {
    case '+':
      return checkedInteger(evaluation, left + right);
    case '-':
      return checkedInteger(evaluation, left - right);
    case '*':
      return checkedInteger(evaluation, left * right);
    case '/':
      return right === 0n ? divisionByZero(evaluation) : checkedInteger(evaluation, left / right);
    case '%':
      return right === 0n ? divisionByZero(evaluation) : checkedInteger(evaluation, left % right);
  }
}

function floatResult(
  evaluation: Evaluation,
  operator: ArithmeticOperator,
  left: number,
  right: number,
): RelValue {
  switch (operator) {
    case '+':
      return checkedFloat(evaluation, left + right);
    case '-':
      return checkedFloat(evaluation, left - right);
    case '*':
      return checkedFloat(evaluation, left * right);
    case '/':
      return right === 0 ? divisionByZero(evaluation) : checkedFloat(evaluation, left / right);
    case '%':
      return right === 0 ? divisionByZero(evaluation) : checkedFloat(evaluation, left % right);
  }
}

/** The double of an operand. A whole number beyond 64 bits that is kept exactly would be rounded. */
function floatOf(evaluation: Evaluation, value: RelValue): number {
  const number = numberOf(value)!;
  if (typeof number === 'bigint' && integerOf(number) === undefined) {
    return evaluation.fail('Cannot calculate with an integer beyond 64 bits');
  }
  return Number(number);
}

function divisionByZero(evaluation: Evaluation): never {
  return evaluation.fail('Division by zero');
}

function checkedInteger(evaluation: Evaluation, value: bigint): RelValue {
  if (value < INTEGER_MIN || value > INTEGER_MAX)
    return evaluation.fail('The result is an integer beyond 64 bits');
  return integerValue(value);
}

function checkedFloat(evaluation: Evaluation, value: number): RelValue {
  if (!Number.isFinite(value)) return evaluation.fail('The result is beyond the range of floats');
  return floatValue(value);
}
