import type { HostLimits } from '#runtime/actor/actor-host.ts';
import type { Limits } from '#runtime/config/options.ts';

/** Unapplied bytes that are worth a shard transaction at once. Smaller ones cost a flush for less. */
const APPLY_BYTES = 1024 * 1024;

/** Time after which less is applied too, in milliseconds: range reads look into what waits. */
const APPLY_DELAY_MS = 50;

const MS_PER_HOUR = 3_600_000;

/** The bounds of the actor host, from the options of the member. */
export function hostLimits(limits: Limits): HostLimits {
  return Object.freeze({
    commit: {
      mailboxMax: limits.mailboxMax,
      batchCommandsMax: limits.batchCommandsMax,
      batchBytesMax: limits.batchBytesMax,
      applyPendingBytesMax: limits.applyPendingBytesMax,
      idempotency: {
        ttlMs: limits.idempotencyTtlHours * MS_PER_HOUR,
        entriesMax: limits.idempotencyEntriesMax,
      },
    },
    apply: { applyBytes: APPLY_BYTES, applyDelayMs: APPLY_DELAY_MS },
    openActorsMax: limits.openActorsMax,
    idleCloseMs: limits.idleActorCloseMs,
  });
}
