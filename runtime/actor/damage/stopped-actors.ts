import { InvariantError } from '#runtime/base/assert.ts';
import type { ErrorCode } from '#runtime/errors/error-registry.ts';
import { isDamage, ServiceError } from '#runtime/errors/service-error.ts';
import type { ActorId } from '../ports.ts';

/**
 * `invariant`: its code detected a broken invariant. `log`: its log accepts no more entries. `damage`: its files are
 * missing, damaged or belong to another actor, or its log has lost records it depends on, so it is not served at all.
 */
export type ActorStopReason = 'invariant' | 'log' | 'damage';

/** An actor that takes no commands until it is reopened, by a restart of its member or by another member. */
export interface StoppedActor {
  readonly actor: ActorId;
  readonly reason: ActorStopReason;
  /** What happened, for the operator. */
  readonly message: string;
}

/** Errors of a log that are not failures: the actor is reopened, here or on another member. */
const ordinaryEnds: ReadonlySet<string> = new Set<ErrorCode>(['NOT_OWNER', 'SHUTTING_DOWN']);

/**
 * Describes a stopped actor for reports.
 *
 * @param cause of the stop
 * @returns undefined when the stop is not a failure
 */
export function stoppedActor(actor: ActorId, cause: unknown): StoppedActor | undefined {
  if (cause instanceof ServiceError && ordinaryEnds.has(cause.code)) return undefined;
  const broken = cause instanceof InvariantError ? 'invariant' : 'log';
  const reason = isDamage(cause) ? 'damage' : broken;
  return { actor, reason, message: cause instanceof Error ? cause.message : String(cause) };
}
