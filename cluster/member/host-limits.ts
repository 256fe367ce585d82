import type { HostLimits } from '#runtime/actor/actor-host.ts';
import type { Limits } from '#runtime/config/options.ts';

/**
 * Unapplied bytes that are worth a shard transaction at once. LMDB copies every page it touches, so the more a
 * transaction brings, the less each change costs. Measured with creates at random places among 100,000 nodes:
 * 1 MiB 125 µs of processor a create, 16 MiB 77, 32 MiB 74.
 */
const APPLY_BYTES = 16 * 1024 * 1024;

/**
 * Time after which less is applied too, in milliseconds. It bounds what a restart has to replay and what a fork
 * has to wait for.
 */
const APPLY_DELAY_MS = 1000;

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
