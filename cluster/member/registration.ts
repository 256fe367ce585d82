import type { Delivery, Router } from '#runtime/actor/ports.ts';
import type { ErrorCode } from '#runtime/errors/error-registry.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { isRegistered } from './registered-owners.ts';

/**
 * What a registry answers when it has looked at the command and refuses it. A repetition of a command that took effect
 * is answered with its first outcome, so none of these can hide one.
 */
const refusals: ReadonlySet<ErrorCode> = new Set([
  'BRANCH_ALREADY_EXISTS',
  'BRANCH_NOT_FOUND',
  'COMMIT_TOO_LARGE',
  'CONFLICT',
  'FORBIDDEN',
  'IDEMPOTENCY_MISMATCH',
  'INVALID_BRANCH_NAME',
  'REPOSITORY_ALREADY_EXISTS',
  'REPOSITORY_NOT_FOUND',
  'UNAUTHORIZED',
  'VALIDATION_FAILED',
]);

/**
 * What is answered before the registry looks at the command. This attempt did nothing and is not under way any more, but
 * an earlier one, whose answer was lost, may have taken effect: the registry knows.
 */
const turnedAway: ReadonlySet<ErrorCode> = new Set([
  'IDEMPOTENCY_IN_PROGRESS',
  'LOG_UNAVAILABLE',
  'NOT_FOUND',
  'NOT_OWNER',
  'OVERLOADED',
  'RATE_LIMITED',
  'STORAGE_FULL',
]);

/**
 * The delivery of a command that others are waiting for besides the caller, without the caller's signal and deadline. A
 * command that another member carries out goes on when its caller goes away, but its answer is lost: what has to follow
 * from it would not be done.
 */
export function toItsEnd(delivery: Delivery): Delivery {
  const { deadlineMs: _deadline, signal: _signal, ...caller } = delivery.caller;
  return { ...delivery, caller };
}

/**
 * Whether a command to a registry that failed is over, so that what the registry says from now on is the outcome. Any
 * other error, also one that is not known here, leaves open whether the command takes effect later.
 */
function isOver(error: unknown): boolean {
  return error instanceof ServiceError && (refusals.has(error.code) || turnedAway.has(error.code));
}

/**
 * Whether it is certain that a registration that failed has not taken effect and never will: only then may what was made
 * for it be removed.
 *
 * @param owner what was to be registered
 * @param error what the registration failed with
 * @returns false when nobody knows, also when the registry cannot be asked
 */
export async function isCertainlyRefused(router: Router, owner: string, error: unknown): Promise<boolean> {
  if (!isOver(error)) return false;
  if (refusals.has((error as ServiceError).code)) return true;
  return isRegistered(router, owner).then(
    (isListed) => !isListed,
    () => false,
  );
}
