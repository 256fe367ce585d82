import { principalKey } from '#runtime/access/principal.ts';
import type { SliceOwner } from '#runtime/base/event-loop/slice-owner.ts';
import type { Clock } from '#runtime/base/time/clock.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { Caller } from './behaviour.ts';

/** Identifies a caller for the fair scheduling of long work, see `SliceOwner`. */
export function sliceKeyOf({ principal }: Pick<Caller, 'principal'>): string {
  return `${principal.tenant}\0${principalKey(principal)}`;
}

/** The caller of a long command, as the scheduler sees it. */
export function sliceOwner(caller: Caller, clock: Clock): SliceOwner {
  return { sliceKey: sliceKeyOf(caller), requireWaiting: () => checkWaiting(caller, clock) };
}

/** @throws {ServiceError} `REQUEST_CANCELLED`, `DEADLINE_EXCEEDED` when the caller no longer waits for the answer */
export function checkWaiting(caller: Caller, clock: Clock): void {
  requireWaiting(caller, clock.monotonicMs());
}

/** As {@link checkWaiting}, at a known time. @param nowMs monotonic time */
export function requireWaiting(caller: Caller, nowMs: number): void {
  if (caller.signal?.aborted === true) throw new ServiceError('REQUEST_CANCELLED');
  if (caller.deadlineMs !== undefined && nowMs > caller.deadlineMs)
    throw new ServiceError('DEADLINE_EXCEEDED');
}
