import type { Delivery, Router } from '#runtime/actor/ports.ts';
import type { ErrorCode } from '#runtime/errors/error-registry.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { isRegistered } from './registered-owners.ts';

/**
 * Errors of a registry that has processed the command and refuses it. A repetition of a command that took effect
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
 * Errors before the registry processes the command. This attempt did nothing and is complete, but
 * an earlier one, whose reply was lost, may have taken effect: the registry knows.
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
 * Returns the delivery of a command that others depend on besides the caller, without the caller's signal and
 * deadline. A command at another member continues when its caller disconnects, but its reply is lost, so its
 * follow-up work would not be done.
 */
export function toItsEnd(delivery: Delivery): Delivery {
  const { deadlineMs: _deadline, signal: _signal, ...caller } = delivery.caller;
  return { ...delivery, caller };
}

/**
 * Returns whether a failed command to a registry is complete, so that the current state of the registry is the
 * outcome. After any other error, also an unknown one, the command may take effect later.
 */
export function isOver(error: unknown): boolean {
  return error instanceof ServiceError && (refusals.has(error.code) || turnedAway.has(error.code));
}

/**
 * Returns whether it is certain that a failed registration has not taken effect and never will: only then may the
 * created data be removed.
 *
 * @param owner that was to be registered
 * @param error of the registration
 * @returns false when it is unknown, also when the registry cannot be read
 */
export async function isCertainlyRefused(router: Router, owner: string, error: unknown): Promise<boolean> {
  if (!isOver(error)) return false;
  if (refusals.has((error as ServiceError).code)) return true;
  return isRegistered(router, owner).then(
    (isListed) => !isListed,
    () => false,
  );
}
