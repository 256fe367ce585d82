import { requireBigint, requireFinite, requireInt } from '../types/number-ranges.ts';
import { invalid } from '#runtime/errors/service-error.ts';
import type { SqlType } from '../sql-type.ts';
import { bigintType, doubleType, intType } from '../types/basic-types.ts';
import { cannotCast } from './cast-error.ts';

/** Most digits of a BIGINT. */
const BIGINT_DIGITS = 19;
/** A number outside of the range of BIGINT, with either sign. */
const BEYOND = 2n ** 64n;

const wholeShape = /^([+-]?)(\d+)(?:\.\d*)?$/;
const numberShape = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i;

const words: ReadonlyMap<string, number> = new Map([
  ['infinity', Number.POSITIVE_INFINITY],
  ['+infinity', Number.POSITIVE_INFINITY],
  ['-infinity', Number.NEGATIVE_INFINITY],
  ['inf', Number.POSITIVE_INFINITY],
  ['-inf', Number.NEGATIVE_INFINITY],
  ['nan', Number.NaN],
]);

/** The INT of a double: its fraction is cut off. @throws {ServiceError} `VALIDATION_FAILED` out of range */
export function intOfDouble(value: number): number {
  const whole = Math.trunc(value);
  return requireInt(whole === 0 ? 0 : whole);
}

/** The INT of a BIGINT. @throws {ServiceError} `VALIDATION_FAILED` out of range */
export function intOfBigint(value: bigint): number {
  return requireInt(Number(value));
}

/** The BIGINT of a double: its fraction is cut off. @throws {ServiceError} `VALIDATION_FAILED` out of range */
export function bigintOfDouble(value: number): bigint {
  if (!Number.isFinite(value)) throw invalid('bigint out of range');
  return requireBigint(BigInt(Math.trunc(value)));
}

/** The INT of a text; the fraction of a number is cut off. @throws {ServiceError} `VALIDATION_FAILED` */
export function intOfText(text: string): number {
  const whole = wholeOfText(text, intType);
  return requireInt(Number(whole));
}

/** The BIGINT of a text; the fraction of a number is cut off. @throws {ServiceError} `VALIDATION_FAILED` */
export function bigintOfText(text: string): bigint {
  return requireBigint(wholeOfText(text, bigintType));
}

/** The DOUBLE of a text. @throws {ServiceError} `VALIDATION_FAILED` for no number, or one that is too large */
export function doubleOfText(text: string): number {
  const trimmed = text.trim();
  const word = trimmed.length > 'infinity'.length + 1 ? undefined : words.get(trimmed.toLowerCase());
  if (word !== undefined) return word;
  if (!numberShape.test(trimmed)) throw cannotCast(text, doubleType);
  return requireFinite(Number(trimmed));
}

/** The whole part of a number; beyond the range of BIGINT it is any number beyond it. */
function wholeOfText(text: string, type: SqlType): bigint {
  const trimmed = text.trim();
  const match = wholeShape.exec(trimmed);
  if (match !== null) {
    const [, sign, padded] = match as unknown as [string, string, string];
    let zeros = 0;
    while (padded[zeros] === '0') zeros += 1;
    const digits = padded.slice(zeros);
    // The digits of a long text are not converted: that takes time with their square.
    const size = digits.length > BIGINT_DIGITS ? BEYOND : BigInt(digits);
    return sign === '-' ? -size : size;
  }
  if (!numberShape.test(trimmed)) throw cannotCast(text, type);
  const double = Math.trunc(Number(trimmed));
  return Number.isFinite(double) ? BigInt(double) : BEYOND;
}
