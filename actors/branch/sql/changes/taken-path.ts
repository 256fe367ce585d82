import { ServiceError } from '#runtime/errors/service-error.ts';

/**
 * The error for a path that is taken, as SQL answers it: at the root of a workspace too it is a conflict, where REST answers
 * that the request is invalid. Other errors stay as they are.
 */
export function takenAsConflict(error: unknown): unknown {
  if (!(error instanceof ServiceError) || error.code !== 'VALIDATION_FAILED') return error;
  const { cause } = error;
  return cause instanceof ServiceError && cause.code === 'NODE_ALREADY_EXISTS' ? cause : error;
}

/** Does work that gives a node a path. @throws what the work throws, through {@link takenAsConflict} */
export function* orConflict<T>(work: Generator<undefined, T>): Generator<undefined, T> {
  try {
    return yield* work;
  } catch (error) {
    throw takenAsConflict(error);
  }
}
