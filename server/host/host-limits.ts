import type { JobsLimits } from '#actors/jobs/job-transitions.ts';
import type { HostLimits } from '#runtime/actor/host/actor-host.ts';
import { changeBytesMax } from '#runtime/base/event-loop/change-room.ts';
import { heapShare } from '#runtime/base/process/heap-share.ts';
import { COMMIT_BYTES_MAX } from '#runtime/commit/turn-scope.ts';
import { ByteBudget } from '#runtime/budget/byte-budget.ts';
import { HELD_BYTES_MAX, type RequestLimits } from '#runtime/budget/request-budget.ts';
import type { Limits } from '#runtime/config/options.ts';

/**
 * Unapplied bytes that trigger a shard transaction. LMDB copies every page it touches, so the larger a
 * transaction, the less each change costs. Measured with creates at random places among 100,000 nodes:
 * 1 MiB 125 µs of processor a create, 16 MiB 77, 32 MiB 74.
 */
const APPLY_BYTES = 16 * 1024 * 1024;

/**
 * Time after which fewer bytes are applied too, in milliseconds. It bounds the work that a restart replays and that a
 * fork waits for.
 */
const APPLY_DELAY_MS = 1000;

/**
 * Divisor of the heap's load memory for the unapplied bytes of one actor: small enough that an actor whose shard
 * cannot be written does not use up the share of all actors, in which each change counts several times its bytes.
 */
const PENDING_SHARE = 40;

/** Divisor of the heap's load memory for what reads hold together until they can answer. */
const READS_SHARE = 4;

/** Nodes that one request may hold to compare them, as a multiple of the changes of one commit: before and after. */
const HELD_PER_COMMIT = 2;

const MS_PER_HOUR = 3_600_000;

const NANOSECONDS_PER_MS = 1_000_000;

/** Maximum number of waiting or running background jobs of one repository. */
const ACTIVE_JOBS_MAX = 10_000;

/** Maximum number of finished background jobs of one repository that are kept. */
const FINAL_JOBS_MAX = 2_000;

/** Factor by which a failed job is kept longer than others, so that an operator can examine it. */
const DEAD_LETTER_FACTOR = 7;

/** Returns the limits of the actor host, from the options of the member. */
export function hostLimits(limits: Limits): HostLimits {
  return Object.freeze({
    commit: {
      mailboxMax: limits.mailboxMax,
      batchCommandsMax: limits.batchCommandsMax,
      batchBytesMax: limits.batchBytesMax,
      commitBytesMax: Math.min(COMMIT_BYTES_MAX, changeBytesMax()),
      applyPendingBytesMax: Math.min(limits.applyPendingBytesMax, heapShare(PENDING_SHARE)),
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

/** One for each member, whose reads of own actors and of replicas use the same memory. */
const pools = new WeakMap<Limits, ByteBudget>();

function poolOf(limits: Limits): ByteBudget {
  const known = pools.get(limits);
  if (known !== undefined) return known;
  // One request alone is refused by its own limit.
  const pool = new ByteBudget(Math.max(heapShare(READS_SHARE), limits.requestMemoryBytes));
  pools.set(limits, pool);
  return pool;
}

/** Returns the limits of one request, from the options of the member. */
export function requestLimits(limits: Limits): RequestLimits {
  const { requestWorkMs, requestMemoryBytes } = limits;
  return Object.freeze({
    pool: poolOf(limits),
    workMax: requestWorkMs * NANOSECONDS_PER_MS,
    memoryMax: requestMemoryBytes,
    heldMax: Math.min(HELD_BYTES_MAX, HELD_PER_COMMIT * changeBytesMax()),
  });
}

/** Returns the limits of a repository's background jobs, from the options of the member. */
export function jobsLimits({ jobRetentionHours }: Limits): JobsLimits {
  const retentionMs = jobRetentionHours * MS_PER_HOUR;
  return Object.freeze({
    activeMax: ACTIVE_JOBS_MAX,
    finalMax: FINAL_JOBS_MAX,
    retentionMs,
    deadLetterMs: retentionMs * DEAD_LETTER_FACTOR,
  });
}
