import { invalid } from '#runtime/errors/service-error.ts';
import type { SqlType } from '../sql-type.ts';
import type { SqlValue } from '../sql-value.ts';
import { comparatorOf } from '../ordering/comparator.ts';
import { commonType } from '../types/common-type.ts';
import { requireBigint, requireInt } from '../types/number-ranges.ts';
import { type FunctionDefinition, overloaded, strict } from './overload.ts';
import { rounded, truncated } from './rounding.ts';

/** Estimated nanoseconds for comparing a value with another one. */
const COMPARE_WORK = 30;

/** Functions on numbers, and the largest and smallest of values of any type. */
export const numberFunctions: readonly FunctionDefinition[] = [
  overloaded(
    'ABS',
    strict(['int'], 'int', (x) => requireInt(Math.abs(x))),
    strict(['bigint'], 'bigint', (x) => requireBigint(x < 0n ? -x : x)),
    strict(['double'], 'double', Math.abs),
  ),
  overloaded('ROUND', strict(['double', 'int?'], 'double', rounded)),
  overloaded('TRUNC', strict(['double', 'int?'], 'double', truncated)),
  ...['CEIL', 'CEILING'].map((name) => ofDouble(name, Math.ceil)),
  ofDouble('FLOOR', Math.floor),
  ofDouble('SIGN', Math.sign),
  ofDouble('SQRT', squareRoot),
  ofDouble('EXP', Math.exp),
  ofDouble('LN', (x) => Math.log(logarithmic(x))),
  ofDouble('LOG10', (x) => Math.log10(logarithmic(x))),
  overloaded(
    'LOG',
    strict(['double'], 'double', (x) => Math.log10(logarithmic(x))),
    strict(['double', 'double'], 'double', (base, x) =>
      inRange(quotient(Math.log(logarithmic(x)), Math.log(logarithmic(base)))),
    ),
  ),
  ...['POWER', 'POW'].map((name) => overloaded(name, strict(['double', 'double'], 'double', power))),
  overloaded(
    'MOD',
    strict(['int', 'int'], 'int', (x, y) => (x % divisor(y)) + 0),
    strict(['bigint', 'bigint'], 'bigint', (x, y) => x % bigDivisor(y)),
    strict(['double', 'double'], 'double', (x, y) => (x % divisor(y)) + 0),
  ),
  overloaded(
    'DIV',
    strict(['int', 'int'], 'bigint', (x, y) => BigInt(Math.trunc(x / divisor(y)))),
    strict(['bigint', 'bigint'], 'bigint', (x, y) => requireBigint(x / bigDivisor(y))),
    strict(['double', 'double'], 'double', (x, y) => inRange(Math.trunc(x / divisor(y)))),
  ),
  overloaded(
    'PI',
    strict([], 'double', () => Math.PI),
  ),
  ofDouble('SIN', (x) => Math.sin(finite(x))),
  ofDouble('COS', (x) => Math.cos(finite(x))),
  ofDouble('TAN', (x) => Math.tan(finite(x))),
  ofDouble('ASIN', (x) => Math.asin(ofSine(x))),
  ofDouble('ACOS', (x) => Math.acos(ofSine(x))),
  ofDouble('ATAN', Math.atan),
  overloaded(
    'ATAN2',
    strict(['double', 'double'], 'double', (y, x) => Math.atan2(y, x)),
  ),
  ofDouble('DEGREES', (x) => x * (180 / Math.PI)),
  ofDouble('RADIANS', (x) => x * (Math.PI / 180)),
  extreme('GREATEST', 1),
  extreme('LEAST', -1),
];

/** A function of one double. Minus zero, which would be written as `-0`, becomes zero. */
function ofDouble(name: string, evaluate: (x: number) => number): FunctionDefinition {
  return overloaded(
    name,
    strict(['double'], 'double', (x) => {
      const result = evaluate(x) + 0;
      return Number.isFinite(x) ? inRange(result) : result;
    }),
  );
}

function inRange(value: number): number {
  if (value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY)
    throw invalid('Value out of range: overflow');
  return value;
}

function squareRoot(x: number): number {
  if (x < 0) throw invalid('Cannot take square root of a negative number');
  return Math.sqrt(x);
}

function logarithmic(x: number): number {
  if (x === 0) throw invalid('Cannot take logarithm of zero');
  if (x < 0) throw invalid('Cannot take logarithm of a negative number');
  return x;
}

function power(x: number, y: number): number {
  if (x === 0 && y < 0) throw invalid('Zero raised to a negative power is undefined');
  if (x < 0 && Number.isFinite(x) && Number.isFinite(y) && !Number.isInteger(y))
    throw invalid('A negative number raised to a non-integer power yields a complex result');
  // One to any power is one, also where the power is no number.
  if (x === 1) return 1;
  const result = x ** y;
  return Number.isFinite(x) && Number.isFinite(y) ? inRange(result) : result;
}

function quotient(x: number, y: number): number {
  return x / divisor(y);
}

function divisor(y: number): number {
  if (y === 0) throw invalid('Division by zero');
  return y;
}

function bigDivisor(y: bigint): bigint {
  if (y === 0n) throw invalid('Division by zero');
  return y;
}

function finite(x: number): number {
  if (x === Number.POSITIVE_INFINITY || x === Number.NEGATIVE_INFINITY)
    throw invalid('Input is out of range');
  return x;
}

function ofSine(x: number): number {
  if (x < -1 || x > 1) throw invalid('Input is out of range');
  return x;
}

/** The largest (sign 1) or smallest (sign -1) argument that is not NULL. */
function extreme(name: string, sign: number): FunctionDefinition {
  return {
    name,
    least: 1,
    most: Number.POSITIVE_INFINITY,
    resolve: (types) => {
      const type: SqlType = commonType(types);
      const compare = comparatorOf(type);
      return {
        name,
        parameters: types.map(() => type),
        result: type,
        isStrict: false,
        work: (args) => args.length * COMPARE_WORK,
        evaluate: (...args) => {
          let best: SqlValue = null;
          for (const value of args)
            if (value !== null && (best === null || sign * compare(value, best) > 0)) best = value;
          return best;
        },
      };
    },
  };
}
