import type { ActorId, ReplicaSource } from '#runtime/actor/ports.ts';
import { type Clock, sleep } from '#runtime/base/time/clock.ts';
import type { Caller, ReadConsistency } from '#runtime/commit/behaviour.ts';
import { compareRevisions } from '#runtime/content/revision.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { PartitionLog } from '#cluster/replication/partition-log.ts';

/**
 * Time to wait for a replica, in milliseconds, when it lacks the revision that the caller has seen or when the role
 * of its partition changes. Then the owner is asked.
 */
export const REPLICA_PATIENCE_MS = 1_000;

/** Maximum time of a barrier, in milliseconds: servers that elect a leader need part of it. */
export const BARRIER_MS_MAX = 5_000;

/** Interval of the checks of a replica, in milliseconds. */
const POLL_MS = 5;

/** Dependencies of the reads. */
export interface ConsistentReadsOptions {
  /** Returns this member's data of a partition; `changing` while its role changes. */
  readonly replica: (partition: number) => ReplicaSource | 'changing' | undefined;
  /** Sends a query to the owner, under its read lease. */
  readonly askOwner: (actor: ActorId, query: unknown, caller: Caller) => unknown;
  readonly clock: Clock;
}

/** Result of a query to a replica: an answer, `later` when it may have one soon, `never` when only the owner has. */
type Attempt = { readonly answer: unknown } | 'later' | 'never';

/**
 * Reads with another consistency than the read lease.
 *
 * Invariants:
 * 1. All queries of one request to one partition see states in order: once the owner was asked, no replica is used.
 * 2. A barrier is valid for the queries of its request, and for the log that passed it.
 *
 * @see docs/interface/conventions.md#freshness-of-reads; docs/decisions/0025-read-consistency.md
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

  /**
   * Resolves when the log has confirmed, since the request began, that this member owns it.
   *
   * @throws {ServiceError} as {@link PartitionLog.barrier}
   */
  async confirm(log: PartitionLog, consistency: ReadConsistency | undefined): Promise<void> {
    const confirmed = consistency === undefined ? undefined : this.#confirmed.get(consistency);
    if (confirmed?.has(log) === true) return;
    await this.barrier(log);
    if (consistency === undefined) return;
    if (confirmed === undefined) this.#confirmed.set(consistency, new Set([log]));
    else confirmed.add(log);
  }

  /**
   * Waits for a barrier, with the time limit of reads. The log itself waits without a limit for the outcome, as it must
   * for a write; giving up a read has no consequence.
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

  /** Answers from this member's data, within this turn if possible; else asks the owner. */
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

  /** Answers from this member's data within this turn; undefined when that is impossible. Never throws. */
  tryLocal(partition: number, actor: ActorId, query: unknown, caller: Caller): unknown {
    const replica = this.#options.replica(partition);
    if (replica === undefined || replica === 'changing') return undefined;
    try {
      const answer = replica.query(actor, query, caller);
      if (!(answer instanceof Promise)) return answer;
      answer.catch(() => {});
    } catch {
      // The caller then asks the owner, which has the answer or the error.
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
      // The actor may have been created or removed by a record that this member has not read yet.
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
      await sleep(clock, POLL_MS);
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

/** Returns whether the replica or the host was closed because the role of its partition changes. */
function isClosed(error: unknown): boolean {
  return error instanceof ServiceError && error.code === 'SHUTTING_DOWN';
}
