import { InvariantError } from '#runtime/base/assert.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';

/** The batch must be discarded, because an invariant of the actor is broken. */
export class Breach extends Error {
  override readonly name = 'Breach';

  constructor(cause: unknown) {
    super('broken invariant', { cause: asInvariant(cause) });
  }
}

/** Hooks of a behaviour must not fail, so any error of one is a broken invariant. */
function asInvariant(cause: unknown): InvariantError {
  if (cause instanceof InvariantError) return cause;
  const broken = new InvariantError(cause instanceof Error ? cause.message : String(cause));
  broken.cause = cause;
  return broken;
}

/** The error for the commands of a discarded batch, and for later ones if the loop stops because of it. */
export function refusalOf(cause: unknown): ServiceError {
  if (cause instanceof ServiceError) return cause;
  if (cause instanceof Breach) return new ServiceError('ACTOR_STOPPED', undefined, { cause: cause.cause });
  return new ServiceError('WRITES_STOPPED', undefined, { cause });
}
