import { invalid } from '#runtime/errors/service-error.ts';

/** Longest text that an expression may give, in UTF-16 units. */
export const TEXT_LENGTH_MAX = 16 * 1024 * 1024;

/**
 * Refuses a text before it is built.
 *
 * @param length in UTF-16 units
 * @param what for the message: `REPEAT result`
 * @throws {ServiceError} `VALIDATION_FAILED`
 */
export function requireTextLength(length: number, what: string): void {
  if (length > TEXT_LENGTH_MAX) throw invalid(`${what} is longer than 16 MiB`);
}
