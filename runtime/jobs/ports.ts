import type { ActorId, Delivery } from '#runtime/actor/ports.ts';
import type { Caller, IdempotencyKey } from '#runtime/commit/behaviour.ts';
import type { JsonValue } from '#runtime/content/values/json-value.ts';
import type { ServiceError } from '#runtime/errors/service-error.ts';
import type { JobPriority, JobRecord, NewJob, SubmittedJob } from './job.ts';

/** The repository a job belongs to: `{tenant}/{repository}~{uid}`, the beginning of its actors' ids. */
export type JobScope = string;

/** A claimed job. Nobody else gets it before the lease expires without a heartbeat. */
export interface ClaimedJob {
  readonly scope: JobScope;
  /** The job when it was claimed. */
  readonly job: JobRecord;
  /** Identifies this attempt. After the job was given to another worker, answers with this token are ignored. */
  readonly token: string;
  /** Time until a heartbeat is due, in milliseconds. */
  readonly leaseMs: number;
  /** Aborts when the claim is known to be lost: the job was cancelled, or given to another worker. */
  readonly signal: AbortSignal;
}

/** The outcome of a failed attempt. */
export type FailureOutcome = 'retried' | 'dead' | 'lost';

/** Numbers of jobs in a repository. */
export interface JobCounts {
  /** Waiting, by priority. */
  readonly scheduled: Readonly<Record<JobPriority, number>>;
  /** Attempts handed out since the repository was created, by priority. */
  readonly dispatched: Readonly<Record<JobPriority, number>>;
  /** Limit of active jobs. */
  readonly activeMax: number;
  /** All stored jobs, final ones included. */
  readonly kept: number;
  /** Active jobs by type. */
  readonly types: Readonly<Record<string, { readonly scheduled: number; readonly running: number }>>;
}

/** A page of the list of jobs, newest first. */
export interface JobPage {
  readonly limit: number;
  readonly offset: number;
}

/**
 * Durable background jobs.
 *
 * Promises:
 * 1. Once an enqueue was answered, the job is handed out until an attempt completes, it fails for good, or it is
 *    cancelled: at least once, whatever crashes. Handlers must be idempotent.
 * 2. An id is enqueued once: repeating an enqueue changes nothing, also after the job is done, as long as its record
 *    is kept.
 * 3. A claimed job belongs to one worker until its lease ends; each heartbeat renews the lease. Answers of a lost
 *    claim change nothing.
 * 4. A failed attempt is retried after an increasing wait, at most `retriesMax` times. Then the job is a dead letter,
 *    `failed`, and is kept for an operator. An attempt without a heartbeat counts as failed.
 * 5. A final state never changes. A cancelled job is never completed.
 * 6. Of the due jobs of a repository the one with the highest priority is handed out first, then the one due first.
 *
 * Enforcement: test/runtime/jobs/queue-conformance.ts, which every implementation passes.
 */
export interface Queue {
  /** Creates the queue of a repository if there is none. Call it before the first commit that enqueues. */
  prepare(scope: JobScope): Promise<void>;
  /**
   * As {@link prepare}, and keeps that an actor of the repository may enqueue jobs, so that a start finds its outbox
   * without opening others. Not needed for the repository actor. Call it before the actor is sent `AllowJobs`.
   */
  prepareSource(scope: JobScope, actor: ActorId): Promise<void>;
  /** The actors of {@link prepareSource}; none where there is no queue. */
  sources(scope: JobScope): Promise<readonly ActorId[]>;
  /** Removes an actor that does not exist any more from {@link sources}. */
  forgetSource(scope: JobScope, actor: ActorId): Promise<void>;
  /**
   * Enqueues a job, or answers the active job with the same key.
   *
   * @returns the job that will be run
   * @throws {ServiceError} `OVERLOADED` when too many are active, `PAYLOAD_TOO_LARGE`; `NOT_FOUND` when the
   *   repository is gone
   */
  enqueue(scope: JobScope, job: NewJob): Promise<JobRecord>;
  /**
   * Enqueues a job that a caller has submitted.
   *
   * @param repeated makes a repetition answer the first job; the caller's keys are distinct from those of others
   * @returns id of the job
   * @throws {ServiceError} as {@link enqueue}; `OVERLOADED` also when the caller has too many active jobs;
   *   `IDEMPOTENCY_MISMATCH`
   */
  submit(scope: JobScope, job: SubmittedJob, repeated?: IdempotencyKey): Promise<string>;
  /**
   * Refuses a job that a caller has submitted. It is kept for the key where the repository has a queue.
   *
   * @param submitter as in {@link SubmittedJob}
   * @param repeated as of {@link submit}
   * @returns id of the job when this is a repetition, whatever has changed since
   * @throws {ServiceError} the refusal, or that of the first request; `IDEMPOTENCY_MISMATCH`
   */
  refuse(
    scope: JobScope,
    submitter: string,
    refusal: ServiceError,
    repeated: IdempotencyKey,
  ): Promise<string>;
  /**
   * Waits for a due job of one of the types and claims it.
   *
   * @param busy submitters whose jobs are left to others at present; it is asked each time. Default: none
   * @returns undefined when the signal aborted first
   */
  claim(
    types: readonly string[],
    signal: AbortSignal,
    busy?: () => readonly string[],
  ): Promise<ClaimedJob | undefined>;
  /**
   * Renews the lease and stores the progress.
   *
   * @param progress from 0 to 1; absent: unchanged
   * @returns false when the claim is lost
   */
  heartbeat(claim: ClaimedJob, progress?: number): Promise<boolean>;
  /** @returns false when the claim is lost: the result is ignored */
  complete(claim: ClaimedJob, result: JsonValue): Promise<boolean>;
  /** @param isFinal a retry would be useless */
  fail(claim: ClaimedJob, error: string, isFinal: boolean): Promise<FailureOutcome>;
  /**
   * Returns a job to the queue as if it had not been claimed: this worker stops. @returns false when the claim is lost
   */
  release(claim: ClaimedJob): Promise<boolean>;
  /**
   * Cancels an active job and notifies its worker. A cancelled job stays cancelled.
   *
   * @throws {ServiceError} `NOT_FOUND`; `CONFLICT` when it is completed or failed; `UNAUTHORIZED`, `FORBIDDEN`
   */
  cancel(scope: JobScope, id: string, delivery: Delivery): Promise<void>;
  /**
   * Removes a job in a final state.
   *
   * @throws {ServiceError} `NOT_FOUND`; `CONFLICT` when it is active; `UNAUTHORIZED`, `FORBIDDEN`
   */
  remove(scope: JobScope, id: string, delivery: Delivery): Promise<void>;
  /**
   * Removes those of the given jobs that are in a final state; the others are kept.
   *
   * @returns how many were removed
   * @throws {ServiceError} `UNAUTHORIZED`, `FORBIDDEN`
   */
  removeAll(scope: JobScope, ids: readonly string[], delivery: Delivery): Promise<number>;
  /** Undefined also for a job that the caller may not read. @throws {ServiceError} `UNAUTHORIZED` */
  find(scope: JobScope, id: string, caller: Caller): Promise<JobRecord | undefined>;
  /** Newest first. @throws {ServiceError} `UNAUTHORIZED`, `FORBIDDEN` */
  list(scope: JobScope, page: JobPage, caller: Caller): Promise<readonly JobRecord[]>;
  /** Undefined where there is no queue. @throws {ServiceError} `UNAUTHORIZED`, `FORBIDDEN` */
  count(scope: JobScope, caller: Caller): Promise<JobCounts | undefined>;
}
