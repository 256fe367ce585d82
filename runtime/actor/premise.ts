import type { Caller, Premise } from '#runtime/commit/behaviour.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { engineCaller } from './engine-caller.ts';
import type { ActorId } from './ports.ts';

/**
 * What a message was addressed by does not hold: it was not carried out, and whoever sent it has to look its address
 * up. No client sees it.
 */
export class PremiseRefuted extends ServiceError {
  constructor() {
    super('CONFLICT', 'What this was addressed to is another one by now; nothing was done, try again.');
  }
}

const engine = engineCaller('');

/**
 * Makes sure of the premise of a message, within this turn.
 *
 * @param owner has all actors of the partition
 * @throws {PremiseRefuted}
 * @throws {ServiceError} why the actor that knows cannot be asked
 */
export function requirePremise(
  owner: { query(actor: ActorId, query: unknown, caller: Caller): unknown },
  premise: Premise,
): void {
  const answer = answerOf(owner, premise);
  if (typeof answer === 'object' && answer !== null && 'uid' in answer && answer.uid === premise.uid) return;
  throw new PremiseRefuted();
}

/** An actor that does not exist knows nothing. */
function answerOf(owner: Parameters<typeof requirePremise>[0], { actor, query }: Premise): unknown {
  try {
    return owner.query(actor, query, engine);
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'NOT_FOUND') return undefined;
    throw error;
  }
}
