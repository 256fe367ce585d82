import { invalid } from '#runtime/errors/service-error.ts';
import { BIGINT_MAX, BIGINT_MIN } from '../types/number-ranges.ts';
import { DAY, requireDate, requireTimestamp } from './calendar.ts';

/** The interval itself. @throws {ServiceError} `VALIDATION_FAILED` when it does not fit into 64 bits of microseconds */
export function requireInterval(microseconds: bigint): bigint {
  if (microseconds < BIGINT_MIN || microseconds > BIGINT_MAX) throw invalid('interval out of range');
  return microseconds;
}

/** A timestamp moved by an interval. @throws {ServiceError} `VALIDATION_FAILED` out of range */
export function shiftTimestamp(timestamp: bigint, interval: bigint): bigint {
  return requireTimestamp(timestamp + interval);
}

/** A date moved by days. @throws {ServiceError} `VALIDATION_FAILED` out of range */
export function shiftDate(date: number, days: number): number {
  return requireDate(date + days);
}

/** Midnight at the start of a date, in microseconds since 1970-01-01. */
export function startOfDate(date: number): bigint {
  return BigInt(date) * DAY;
}

/** An interval times a number, rounded to microseconds. @throws {ServiceError} `VALIDATION_FAILED` out of range */
export function scaleInterval(interval: bigint, factor: number): bigint {
  if (Number.isSafeInteger(factor)) return requireInterval(interval * BigInt(factor));
  return fromDouble(Number(interval) * factor);
}

/**
 * An interval divided by a number, rounded to microseconds.
 *
 * @throws {ServiceError} `VALIDATION_FAILED` out of range, and for a division by zero
 */
export function divideInterval(interval: bigint, divisor: number): bigint {
  if (divisor === 0) throw invalid('Division by zero');
  return fromDouble(Number(interval) / divisor);
}

function fromDouble(microseconds: number): bigint {
  if (!Number.isFinite(microseconds)) throw invalid('interval out of range');
  return requireInterval(BigInt(Math.round(microseconds)));
}
