import type { JobsLimits } from '#actors/jobs/job-transitions.ts';
import type { HostLimits } from '#runtime/actor/actor-host.ts';
import type { RequestLimits } from '#runtime/budget/request-budget.ts';
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

const NANOSECONDS_PER_MS = 1_000_000;

/** Background jobs of one repository that wait or run. */
const ACTIVE_JOBS_MAX = 10_000;

/** Finished background jobs of one repository that are kept. */
const FINAL_JOBS_MAX = 2_000;

/** How much longer a failed job is kept than others: somebody has to look at it. */
const DEAD_LETTER_FACTOR = 7;

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
      request: requestLimits(limits),
    },
    apply: { applyBytes: APPLY_BYTES, applyDelayMs: APPLY_DELAY_MS },
    openActorsMax: limits.openActorsMax,
    idleCloseMs: limits.idleActorCloseMs,
  });
}

/** What one request may use, from the options of the member. */
export function requestLimits({ requestWorkMs, requestMemoryBytes }: Limits): RequestLimits {
  return Object.freeze({ workMax: requestWorkMs * NANOSECONDS_PER_MS, memoryMax: requestMemoryBytes });
}

/** The bounds of the background jobs of a repository, from the options of the member. */
export function jobsLimits({ jobRetentionHours }: Limits): JobsLimits {
  const retentionMs = jobRetentionHours * MS_PER_HOUR;
  return Object.freeze({
    activeMax: ACTIVE_JOBS_MAX,
    finalMax: FINAL_JOBS_MAX,
    retentionMs,
    deadLetterMs: retentionMs * DEAD_LETTER_FACTOR,
  });
}
