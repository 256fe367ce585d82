import type { Caller, Precondition } from '#runtime/commit/behaviour.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { engineCaller } from './engine-caller.ts';
import type { ActorId } from './ports.ts';

/**
 * The precondition of a message does not hold. The message was not executed, and the sender has to resolve the address
 * again. Never reaches a client.
 */
export class PreconditionRefuted extends ServiceError {
  constructor() {
    super('CONFLICT', 'What this was addressed to is another one by now; nothing was done, try again.');
  }
}

const engine = engineCaller('');

/**
 * Checks the precondition of a message, within this turn.
 *
 * @param owner gives access to all actors of the partition
 * @throws {PreconditionRefuted}
 * @throws {ServiceError} when the actor of the precondition cannot be queried
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

/** The answer to the query of a precondition; undefined when the actor does not exist. */
function answerOf(owner: Parameters<typeof requirePrecondition>[0], { actor, query }: Precondition): unknown {
  try {
    return owner.query(actor, query, engine);
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'NOT_FOUND') return undefined;
    throw error;
  }
}
