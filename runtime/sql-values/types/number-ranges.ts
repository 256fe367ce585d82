import { invalid } from '#runtime/errors/service-error.ts';

/** The smallest INT. */
export const INT_MIN = -(2 ** 31);
/** The largest INT. */
export const INT_MAX = 2 ** 31 - 1;
/** The smallest BIGINT. */
export const BIGINT_MIN = -(2n ** 63n);
/** The largest BIGINT. */
export const BIGINT_MAX = 2n ** 63n - 1n;

/** Whether a number is an INT: whole, and in the range. */
export function isInt(value: number): boolean {
  return Number.isInteger(value) && value >= INT_MIN && value <= INT_MAX;
}

/** The number itself. @throws {ServiceError} `VALIDATION_FAILED` when it is outside the range of INT */
export function requireInt(value: number): number {
  if (!isInt(value)) throw invalid('integer out of range');
  return value;
}

/** The number itself. @throws {ServiceError} `VALIDATION_FAILED` when it is outside the range of BIGINT */
export function requireBigint(value: bigint): bigint {
  if (value < BIGINT_MIN || value > BIGINT_MAX) throw invalid('bigint out of range');
  return value;
}

/** The number itself. @throws {ServiceError} `VALIDATION_FAILED` when a result is too large for a DOUBLE */
export function requireFinite(value: number): number {
  if (!Number.isFinite(value)) throw invalid('value out of range: overflow');
  return value;
}
