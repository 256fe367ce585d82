import type { Caller, Precondition } from '#runtime/commit/behaviour.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { engineCaller } from './engine-caller.ts';
import type { ActorId } from './ports.ts';

/**
 * What a message was addressed by does not hold: it was not carried out, and whoever sent it has to look its address
 * up. No client sees it.
 */
export class PreconditionRefuted extends ServiceError {
  constructor() {
    super('CONFLICT', 'What this was addressed to is another one by now; nothing was done, try again.');
  }
}

const engine = engineCaller('');

/**
 * Makes sure of the precondition of a message, within this turn.
 *
 * @param owner has all actors of the partition
 * @throws {PreconditionRefuted}
 * @throws {ServiceError} why the actor that knows cannot be asked
 */
export function requirePrecondition(
  owner: { query(actor: ActorId, query: unknown, caller: Caller): unknown },
  precondition: Precondition,
): void {
  const answer = answerOf(owner, precondition);
  if (typeof answer === 'object' && answer !== null && 'uid' in answer && answer.uid === precondition.uid)
    return;
  throw new PreconditionRefuted();
}

/** An actor that does not exist knows nothing. */
function answerOf(owner: Parameters<typeof requirePrecondition>[0], { actor, query }: Precondition): unknown {
  try {
    return owner.query(actor, query, engine);
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'NOT_FOUND') return undefined;
    throw error;
  }
}
