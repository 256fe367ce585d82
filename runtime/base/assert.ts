/**
 * Thrown when an invariant of our own code does not hold. It is never the caller's fault: the actor stops writing (fail
 * stop) instead of repairing anything silently.
 */
export class InvariantError extends Error {
  override readonly name = 'InvariantError';
}

/**
 * Checks an invariant.
 *
 * @param condition the invariant
 * @param message what is broken when it does not hold; for the log, never for a client
 * @throws {InvariantError} when the condition is false
 */
export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new InvariantError(message);
}

/** Marks a branch the types say cannot be reached. @throws {InvariantError} when it is reached anyway */
export function unreachable(value: never): never {
  throw new InvariantError(`unreachable value: ${String(value)}`);
}
