import type { JsonValue } from '#runtime/content/values/json-value.ts';
import type { VersionedMessage } from '#runtime/actor/message-version.ts';
import type { ErrorCode } from '#runtime/errors/error-registry.ts';
import type { JobRecord, NewJob, SubmittedJob } from '#runtime/jobs/job.ts';
import type { FailureOutcome, JobPage } from '#runtime/jobs/ports.ts';

/**
 * Commands and queries of the jobs actor of a repository. Administrators read, cancel and remove jobs; who has submitted a
 * job reads and cancels it. Only the engine enqueues and processes them.
 *
 * @see docs/interface/jobs.md
 */

/** When the queue next has work. Times are milliseconds since the Unix epoch; null when there is none. */
export interface QueueStatus {
  /** When the next job can be claimed: a job becomes due, or a lease ends. */
  readonly dueMs: number | null;
  /** When the next final job is to be removed. */
  readonly cleanMs: number | null;
}

/** Part of the result of every command of the engine: the status of the queue after it. */
export interface QueueReply {
  readonly status: QueueStatus;
}

/**
 * Enqueues a job, for the engine only. Result: {@link JobEnqueued}.
 *
 * @throws {ServiceError} `OVERLOADED` when too many jobs are active
 */
export interface EnqueueJob {
  readonly type: 'EnqueueJob';
  readonly job: NewJob;
}

/** Result of {@link EnqueueJob}. */
export interface JobEnqueued extends QueueReply {
  /** The new job, or the existing job with the same id or key. */
  readonly job: JobRecord;
}

/**
 * Enqueues a job that a caller has submitted, for the engine only. Result: its id.
 *
 * @throws {ServiceError} `OVERLOADED` when too many jobs are active, of the repository or of the caller
 */
export interface SubmitJob extends VersionedMessage {
  readonly type: 'SubmitJob';
  readonly job: SubmittedJob;
}

/**
 * Refuses a job that could not be submitted, for the engine only. With an idempotency key: a repetition of a submission may be
 * refused because of what has changed since, and is answered with the outcome of the first one.
 *
 * @throws {ServiceError} the refusal
 */
export interface RefuseJob extends VersionedMessage {
  readonly type: 'RefuseJob';
  readonly code: ErrorCode;
  readonly message: string;
  readonly field?: string;
  readonly details?: Readonly<Record<string, unknown>>;
}

/** Claims the next due job, for the engine only. Result: {@link JobClaimed}. */
export interface ClaimJob {
  readonly type: 'ClaimJob';
  readonly types: readonly string[];
  /** Identifies the attempt. */
  readonly token: string;
  /** Identifies the process that claims the job. */
  readonly worker: string;
  readonly leaseMs: number;
  /** Submitters whose jobs are left to others, because they have their share of the process; absent: none. */
  readonly busy?: readonly string[];
}

/** Result of {@link ClaimJob}. */
export interface JobClaimed extends QueueReply {
  /** Null when none is due. */
  readonly job: JobRecord | null;
  /**
   * Time until a job of those types can be claimed, in milliseconds. It is relative, so that the clocks of two machines
   * need not agree. Null when no such job is waiting and no job is running.
   */
  readonly waitMs: number | null;
  /** Number of active jobs of all types, including the claimed one. */
  readonly active: number;
}

/** Identifies one attempt of a job. */
export interface ClaimedBy {
  readonly id: string;
  readonly token: string;
}

/** Renews a lease, for the engine only. Result: {@link ClaimAnswered}. */
export interface RenewJob extends ClaimedBy {
  readonly type: 'RenewJob';
  /** From 0 to 1; absent keeps the value. */
  readonly progress?: number;
  readonly leaseMs: number;
}

/** Completes a job, for the engine only. Result: {@link ClaimAnswered}. */
export interface CompleteJob extends ClaimedBy {
  readonly type: 'CompleteJob';
  readonly result: JsonValue;
}

/** Returns a job to the queue without counting a retry, for the engine only. Result: {@link ClaimAnswered}. */
export interface ReleaseJob extends ClaimedBy {
  readonly type: 'ReleaseJob';
}

/** Result of commands on a claim. */
export interface ClaimAnswered extends QueueReply {
  /** Whether this attempt still held the job. If not, nothing was changed. */
  readonly isHeld: boolean;
}

/** Records a failed attempt, for the engine only. Result: {@link JobFailed}. */
export interface FailJob extends ClaimedBy {
  readonly type: 'FailJob';
  readonly error: string;
  /** Delay before the next attempt, in milliseconds; null for no further attempt. */
  readonly retryAfterMs: number | null;
}

/** Result of {@link FailJob}. */
export interface JobFailed extends QueueReply {
  readonly outcome: FailureOutcome;
}

/** Ends the claims of earlier processes as failed attempts, for the engine only. Result: {@link QueueReply}. */
export interface RecoverJobs {
  readonly type: 'RecoverJobs';
  /** The running process, whose claims are kept. */
  readonly worker: string;
}

/**
 * Removes final jobs whose retention has ended, a bounded number for each command. For the engine only. Result:
 * {@link QueueReply}.
 */
export interface CleanJobs {
  readonly type: 'CleanJobs';
}

/**
 * Cancels an active job permanently. Cancelling a cancelled job changes nothing. Result: undefined.
 *
 * @throws {ServiceError} `NOT_FOUND`, also for a job that the caller may not read; `CONFLICT` when it is completed or failed
 */
export interface CancelJob {
  readonly type: 'CancelJob';
  readonly id: string;
}

/**
 * Removes a job. Result: undefined.
 *
 * @throws {ServiceError} `NOT_FOUND`; `CONFLICT` when it is active
 */
export interface RemoveJob {
  readonly type: 'RemoveJob';
  readonly id: string;
}

/** Removes the given jobs that are final. Result: their number. */
export interface RemoveJobs {
  readonly type: 'RemoveJobs';
  readonly ids: readonly string[];
}

/** The commands of the jobs actor. */
export type JobsCommand =
  | EnqueueJob
  | SubmitJob
  | RefuseJob
  | ClaimJob
  | RenewJob
  | CompleteJob
  | ReleaseJob
  | FailJob
  | RecoverJobs
  | CleanJobs
  | CancelJob
  | RemoveJob
  | RemoveJobs
  | NoteSource;

/** Keeps that an actor may enqueue jobs, or not any more; for the engine only. Result: {@link QueueReply}. */
export interface NoteSource {
  readonly type: 'NoteSource' | 'ForgetSource';
  readonly actor: string;
}

/** Reads the actors of {@link NoteSource}; for the engine only. Answer: array of their ids. */
export interface ListSources {
  readonly type: 'ListSources';
}

/** Reads a job by its id. Answer: {@link JobRecord}; undefined also for a job that the caller may not read. */
export interface FindJob {
  readonly type: 'FindJob';
  readonly id: string;
}

/** Lists jobs, newest first. Answer: array of {@link JobRecord}. */
export interface ListJobs extends JobPage {
  readonly type: 'ListJobs';
}

/** Counts jobs. Answer: `JobCounts`. */
export interface CountJobs {
  readonly type: 'CountJobs';
}

/** Lists the active jobs, for a member that takes over a queue. Answer: array of their ids. */
export interface ListActiveJobs {
  readonly type: 'ListActiveJobs';
}

/** The queries of the jobs actor. */
export type JobsQuery = FindJob | ListJobs | CountJobs | ListActiveJobs | ListSources;
