import type { ActorId, ReplicaSource } from '#runtime/actor/ports.ts';
import { type Clock, sleep } from '#runtime/base/clock.ts';
import type { Caller, ReadConsistency } from '#runtime/commit/behaviour.ts';
import { compareRevisions } from '#runtime/content/revision.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { PartitionLog } from '#cluster/replication/partition-log.ts';

/**
 * Time a replica is waited for, in milliseconds, when it has not got what the caller has seen or when the role of its
 * partition changes. Then the owner is asked.
 */
export const REPLICA_PATIENCE_MS = 1_000;

/** Time a barrier may take, in milliseconds: servers that elect a leader need some of it. */
export const BARRIER_MS_MAX = 5_000;

/** Between two looks at a replica, in milliseconds. */
const LOOK_MS = 5;

/** What the reads work with. */
export interface ConsistentReadsOptions {
  /** What this member has of a partition; `changing` when it is about to have something else. */
  readonly replica: (partition: number) => ReplicaSource | 'changing' | undefined;
  /** Asks the owner under its read lease. */
  readonly askOwner: (actor: ActorId, query: unknown, caller: Caller) => unknown;
  readonly clock: Clock;
}

/** What came of asking a replica: an answer, `later` when it may have one soon, `never` when only the owner has. */
type Attempt = { readonly answer: unknown } | 'later' | 'never';

/**
 * Reads that are not to be answered under the read lease.
 *
 * Invariants:
 * 1. All queries of one request to one partition see states in order: once the owner was asked, no replica is.
 * 2. A barrier counts for the queries of the request that asked for it, and of the log it was passed on.
 *
 * @see Reliability: G5, R11
 */
export class ConsistentReads {
  readonly #options: ConsistentReadsOptions;
  /** Partitions whose owner was asked, by request. */
  readonly #forwarded = new WeakMap<ReadConsistency, Set<number>>();
  /** Logs that have confirmed this member as the owner, by request. */
  readonly #confirmed = new WeakMap<ReadConsistency, Set<PartitionLog>>();

  constructor(options: ConsistentReadsOptions) {
    this.#options = options;
  }

  /** Resolves when the log has confirmed, since the request began, that this member owns it. @throws {ServiceError} as {@link PartitionLog.barrier} */
  async confirm(log: PartitionLog, consistency: ReadConsistency | undefined): Promise<void> {
    const confirmed = consistency === undefined ? undefined : this.#confirmed.get(consistency);
    if (confirmed?.has(log) === true) return;
    await this.barrier(log);
    if (consistency === undefined) return;
    if (confirmed === undefined) this.#confirmed.set(consistency, new Set([log]));
    else confirmed.add(log);
  }

  /**
   * A barrier as long as a reader waits for one. The log itself waits for ever to learn what became of it, as it must
   * for a write; nothing comes of giving up a read.
   *
   * @throws {ServiceError} as {@link PartitionLog.barrier}; `LOG_UNAVAILABLE` after {@link BARRIER_MS_MAX}
   */
  barrier(log: PartitionLog): Promise<unknown> {
    const { clock } = this.#options;
    return new Promise((resolve, reject) => {
      const timer = clock.after(BARRIER_MS_MAX, () =>
        reject(new ServiceError('LOG_UNAVAILABLE', 'The log does not answer; try again.')),
      );
      log
        .barrier()
        .then(resolve, reject)
        .finally(() => timer.cancel());
    });
  }

  /** Answers from what this member has, within this turn where it can; else asks the owner. */
  local(partition: number, actor: ActorId, query: unknown, caller: Caller): unknown {
    if (this.#isForwarded(partition, caller)) return this.#options.askOwner(actor, query, caller);
    const attempt = this.#attempt(partition, actor, query, caller);
    if (attempt === 'never') return this.#forward(partition, actor, query, caller);
    if (attempt === 'later') return this.#later(partition, actor, query, caller);
    const { answer } = attempt;
    if (!(answer instanceof Promise)) return answer;
    return answer.catch((error: unknown) => {
      if (!isClosed(error)) throw error;
      return this.#later(partition, actor, query, caller);
    });
  }

  /** What this member has and can tell within this turn; undefined where that is nothing. Throws nothing. */
  atHand(partition: number, actor: ActorId, query: unknown, caller: Caller): unknown {
    const replica = this.#options.replica(partition);
    if (replica === undefined || replica === 'changing') return undefined;
    try {
      const answer = replica.query(actor, query, caller);
      if (!(answer instanceof Promise)) return answer;
      answer.catch(() => {});
    } catch {
      // Whoever asks goes on to the owner, who has the answer or the error.
    }
    return undefined;
  }

  #attempt(partition: number, actor: ActorId, query: unknown, caller: Caller): Attempt {
    const replica = this.#options.replica(partition);
    if (replica === undefined) return 'never';
    if (replica === 'changing') return 'later';
    const { minRevision } = caller;
    try {
      if (minRevision !== undefined && compareRevisions(replica.clockOf(actor), minRevision) < 0)
        return 'later';
      return { answer: replica.query(actor, query, caller) };
    } catch (error) {
      if (isClosed(error)) return 'later';
      // It may be one that was made or removed where this member has not read to yet.
      if (error instanceof ServiceError && (error.code === 'NOT_OWNER' || error.code === 'NOT_FOUND'))
        return 'never';
      throw error;
    }
  }

  async #later(partition: number, actor: ActorId, query: unknown, caller: Caller): Promise<unknown> {
    const { clock } = this.#options;
    const untilMs = Math.min(
      clock.monotonicMs() + REPLICA_PATIENCE_MS,
      caller.deadlineMs ?? Number.POSITIVE_INFINITY,
    );
    while (clock.monotonicMs() < untilMs) {
      await sleep(clock, LOOK_MS);
      if (caller.signal?.aborted === true) throw caller.signal.reason;
      const attempt = this.#attempt(partition, actor, query, caller);
      if (attempt === 'never') break;
      if (attempt === 'later') continue;
      try {
        return await attempt.answer;
      } catch (error) {
        if (!isClosed(error)) throw error;
      }
    }
    return this.#forward(partition, actor, query, caller);
  }

  #forward(partition: number, actor: ActorId, query: unknown, caller: Caller): unknown {
    const { consistency } = caller;
    if (consistency !== undefined) {
      const forwarded = this.#forwarded.get(consistency);
      if (forwarded === undefined) this.#forwarded.set(consistency, new Set([partition]));
      else forwarded.add(partition);
    }
    return this.#options.askOwner(actor, query, caller);
  }

  #isForwarded(partition: number, { consistency }: Caller): boolean {
    return consistency !== undefined && this.#forwarded.get(consistency)?.has(partition) === true;
  }
}

/** The replica or the host that was asked is closed, because the role of its partition changes. */
function isClosed(error: unknown): boolean {
  return error instanceof ServiceError && error.code === 'SHUTTING_DOWN';
}
