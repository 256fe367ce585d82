/**
 * Raised when an invariant of our own code does not hold. It is never the caller's fault: the actor that
 * sees one stops writing (fail stop) instead of repairing anything silently.
 */
export class InvariantError extends Error {
  override readonly name = 'InvariantError';
}

/**
 * States a fact that must hold.
 *
 * @param condition the fact
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
