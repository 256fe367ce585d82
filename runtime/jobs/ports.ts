import type { Delivery } from '#runtime/actor/ports.ts';
import type { Caller } from '#runtime/commit/behaviour.ts';
import type { JsonValue } from '#runtime/content/json-value.ts';
import type { JobPriority, JobRecord, NewJob } from './job.ts';

/** The repository a job belongs to: `{tenant}/{repository}~{uid}`, the beginning of its actors' ids. */
export type JobScope = string;

/** A job somebody has taken. Until the lease ends without a sign of life nobody else gets it. */
export interface ClaimedJob {
  readonly scope: JobScope;
  /** The job as it was taken. */
  readonly job: JobRecord;
  /** Names this attempt; what it answers late, after the job was given to somebody else, counts for nothing. */
  readonly token: string;
  /** Time within which a heartbeat is due, in milliseconds. */
  readonly leaseMs: number;
  /** Aborts as soon as it is known that the claim is lost: the job was cancelled, or given to somebody else. */
  readonly signal: AbortSignal;
}

/** What became of an attempt that failed. */
export type FailureOutcome = 'retried' | 'dead' | 'lost';

/** How many jobs there are and were. */
export interface JobCounts {
  /** Waiting, by priority. */
  readonly scheduled: Readonly<Record<JobPriority, number>>;
  /** Handed out since the repository was made, by priority, attempts counted. */
  readonly dispatched: Readonly<Record<JobPriority, number>>;
  /** Most active jobs there may be. */
  readonly activeMax: number;
  /** All that are kept, final ones included. */
  readonly kept: number;
  /** Active ones by type. */
  readonly types: Readonly<Record<string, { readonly scheduled: number; readonly running: number }>>;
}

/** A stretch of the list of jobs, newest first. */
export interface JobPage {
  readonly limit: number;
  readonly offset: number;
}

/**
 * Durable background jobs.
 *
 * Promises:
 * 1. A job whose enqueue was answered is handed out until an attempt completes, it fails for good, or somebody
 *    cancels it: at least once, whatever crashes. Handlers must bear being run twice.
 * 2. An id is enqueued once: repeating an enqueue changes nothing, also after the job is done, as long as its
 *    record is kept.
 * 3. A claimed job is nobody else's until its lease ends; each heartbeat renews it. What a lost claim answers
 *    changes nothing.
 * 4. An attempt that fails is retried after a wait that grows, at most `retriesMax` times; then the job is a dead
 *    letter, `failed`, and kept for a person to see. An attempt nothing was heard of counts as a failed one.
 * 5. A final state never changes. A cancelled job is never completed.
 * 6. Of the due jobs of a repository the one with the highest priority is handed out first, then the one due first.
 *
 * Enforcement: test/runtime/jobs/queue-conformance.ts, which every implementation passes.
 */
export interface Queue {
  /** Makes the queue of a repository where there is none. Call it before the commit that enqueues first. */
  prepare(scope: JobScope): Promise<void>;
  /**
   * Enqueues a job, or answers the active one that stands for it.
   *
   * @returns the job that will be run
   * @throws {ServiceError} `OVERLOADED` when too many are active, `PAYLOAD_TOO_LARGE`; `NOT_FOUND` when the
   *   repository is gone
   */
  enqueue(scope: JobScope, job: NewJob): Promise<JobRecord>;
  /**
   * Waits for a due job of one of the types and takes it.
   *
   * @returns undefined when the signal aborted first
   */
  claim(types: readonly string[], signal: AbortSignal): Promise<ClaimedJob | undefined>;
  /**
   * Renews the lease and notes the progress.
   *
   * @param progress from 0 to 1; absent: as it was
   * @returns false when the claim is lost
   */
  heartbeat(claim: ClaimedJob, progress?: number): Promise<boolean>;
  /** @returns false when the claim is lost: the result counts for nothing */
  complete(claim: ClaimedJob, result: JsonValue): Promise<boolean>;
  /** @param isFinal there is no point in trying again */
  fail(claim: ClaimedJob, error: string, isFinal: boolean): Promise<FailureOutcome>;
  /** Gives a job back as if it had not been taken: this worker stops. @returns false when the claim is lost */
  release(claim: ClaimedJob): Promise<boolean>;
  /**
   * Makes an active job `cancelled`; its worker is told. One that is cancelled already stays so.
   *
   * @throws {ServiceError} `NOT_FOUND`; `CONFLICT` when it is completed or failed; `UNAUTHORIZED`, `FORBIDDEN`
   */
  cancel(scope: JobScope, id: string, delivery: Delivery): Promise<void>;
  /**
   * Forgets a job that is final.
   *
   * @throws {ServiceError} `NOT_FOUND`; `CONFLICT` when it is active; `UNAUTHORIZED`, `FORBIDDEN`
   */
  remove(scope: JobScope, id: string, delivery: Delivery): Promise<void>;
  /**
   * Forgets those of some jobs that are final; others are left alone.
   *
   * @returns how many were forgotten
   * @throws {ServiceError} `UNAUTHORIZED`, `FORBIDDEN`
   */
  removeAll(scope: JobScope, ids: readonly string[], delivery: Delivery): Promise<number>;
  /** @throws {ServiceError} `UNAUTHORIZED`, `FORBIDDEN` */
  find(scope: JobScope, id: string, caller: Caller): Promise<JobRecord | undefined>;
  /** Newest first. @throws {ServiceError} `UNAUTHORIZED`, `FORBIDDEN` */
  list(scope: JobScope, page: JobPage, caller: Caller): Promise<readonly JobRecord[]>;
  /** Undefined where there is no queue. @throws {ServiceError} `UNAUTHORIZED`, `FORBIDDEN` */
  count(scope: JobScope, caller: Caller): Promise<JobCounts | undefined>;
}
