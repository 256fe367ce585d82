import { InvariantError } from '#runtime/base/assert.ts';
import type { ErrorCode } from '#runtime/errors/error-registry.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { ActorId } from './ports.ts';

/**
 * `invariant`: its own code found it in a state that cannot be. `log`: its log takes nothing more. `damage`: its files are
 * missing, damaged or not its own, or its log has lost something it depends on, so it is not served at all.
 */
export type ActorStopReason = 'invariant' | 'log' | 'damage';

/** An actor that takes no commands until it is opened anew, by a restart of its member or by another one. */
export interface StoppedActor {
  readonly actor: ActorId;
  readonly reason: ActorStopReason;
  /** What happened, for people. */
  readonly message: string;
}

/** Ways of a log to end that are none of its troubles: the actor is opened anew, here or elsewhere. */
const ordinaryEnds: ReadonlySet<string> = new Set<ErrorCode>(['NOT_OWNER', 'SHUTTING_DOWN']);

/**
 * What is to be told of an actor that has stopped.
 *
 * @param cause what stopped it
 * @returns undefined where nothing is wrong
 */
export function stoppedActor(actor: ActorId, cause: unknown): StoppedActor | undefined {
  if (cause instanceof ServiceError && ordinaryEnds.has(cause.code)) return undefined;
  const reason = cause instanceof InvariantError ? 'invariant' : 'log';
  return { actor, reason, message: cause instanceof Error ? cause.message : String(cause) };
}
