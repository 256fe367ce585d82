import { ServiceError } from '#runtime/errors/service-error.ts';

/**
 * The same error, saying which of several statements it is about. Errors that are not the caller's stay unchanged.
 *
 * @param number of the statement, from 1
 */
export function inStatement(error: unknown, number: number): unknown {
  return error instanceof ServiceError ? reworded(error, `statement ${number}: ${error.message}`) : error;
}

/** An error with another message; the code and everything else stay. */
export function reworded(error: ServiceError, message: string): ServiceError {
  const { details, field } = error;
  return new ServiceError(error.code, message, {
    ...(details === undefined ? {} : { details }),
    ...(field === undefined ? {} : { field }),
    cause: error,
  });
}
