import type { JsonValue } from '#runtime/content/json-value.ts';
import type { JobRecord, NewJob } from '#runtime/jobs/job.ts';
import type { FailureOutcome, JobPage } from '#runtime/jobs/ports.ts';

/**
 * What the jobs actor of a repository can be told and asked. Records are read and cancelled by administrators; the
 * queue itself is worked by the engine only.
 *
 * @see docs/interface/jobs.md
 */

/** What there is to do next; times are milliseconds since the Unix epoch, null: nothing. */
export interface QueueStatus {
  /** When the next job may be taken: the next one becomes due, or a lease ends. */
  readonly dueMs: number | null;
  /** When the next final job is forgotten. */
  readonly cleanMs: number | null;
}

/** The result of every command of the engine carries where the queue stands after it. */
export interface QueueReply {
  readonly status: QueueStatus;
}

/**
 * Enqueues a job; for the engine only. Result: {@link JobEnqueued}.
 *
 * @throws {ServiceError} `OVERLOADED` when too many jobs are active
 */
export interface EnqueueJob {
  readonly type: 'EnqueueJob';
  readonly job: NewJob;
}

/** What {@link EnqueueJob} answers. */
export interface JobEnqueued extends QueueReply {
  /** The job that was made, or the one that stands for it. */
  readonly job: JobRecord;
}

/** Takes the next due job; for the engine only. Result: {@link JobClaimed}. */
export interface ClaimJob {
  readonly type: 'ClaimJob';
  readonly types: readonly string[];
  /** Names the attempt. */
  readonly token: string;
  /** Names the process that takes it. */
  readonly worker: string;
  readonly leaseMs: number;
}

/** What {@link ClaimJob} answers. */
export interface JobClaimed extends QueueReply {
  /** Null when none is due. */
  readonly job: JobRecord | null;
  /**
   * Time until a job of those types may be taken, in milliseconds, so that nobody compares two clocks; null: there
   * is none that waits, and nobody has any.
   */
  readonly waitMs: number | null;
  /** Jobs that are active, of all types, that one among them. */
  readonly active: number;
}

/** Names one attempt at a job. */
export interface ClaimedBy {
  readonly id: string;
  readonly token: string;
}

/** Renews a lease; for the engine only. Result: {@link ClaimAnswered}. */
export interface RenewJob extends ClaimedBy {
  readonly type: 'RenewJob';
  /** From 0 to 1; absent: as it was. */
  readonly progress?: number;
  readonly leaseMs: number;
}

/** Makes a job completed; for the engine only. Result: {@link ClaimAnswered}. */
export interface CompleteJob extends ClaimedBy {
  readonly type: 'CompleteJob';
  readonly result: JsonValue;
}

/** Gives a job back, as if it had not been taken; for the engine only. Result: {@link ClaimAnswered}. */
export interface ReleaseJob extends ClaimedBy {
  readonly type: 'ReleaseJob';
}

/** What commands about a claim answer. */
export interface ClaimAnswered extends QueueReply {
  /** Whether the job was still held by this attempt; otherwise nothing was changed. */
  readonly isHeld: boolean;
}

/** Notes that an attempt failed; for the engine only. Result: {@link JobFailed}. */
export interface FailJob extends ClaimedBy {
  readonly type: 'FailJob';
  readonly error: string;
  /** How long to wait before it is tried again, in milliseconds; null: never. */
  readonly retryAfterMs: number | null;
}

/** What {@link FailJob} answers. */
export interface JobFailed extends QueueReply {
  readonly outcome: FailureOutcome;
}

/**
 * Takes back what processes that are gone had taken, as failed attempts, and tells where the queue stands; for the
 * engine only. Result: {@link QueueReply}.
 */
export interface RecoverJobs {
  readonly type: 'RecoverJobs';
  /** The process that is there, and whose claims stay. */
  readonly worker: string;
}

/** Forgets final jobs whose time is up, a bounded number at a time; for the engine only. Result: {@link QueueReply}. */
export interface CleanJobs {
  readonly type: 'CleanJobs';
}

/**
 * Makes an active job cancelled, for good; one that is cancelled already stays so. Result: undefined.
 *
 * @throws {ServiceError} `NOT_FOUND`; `CONFLICT` when it is completed or failed
 */
export interface CancelJob {
  readonly type: 'CancelJob';
  readonly id: string;
}

/**
 * Forgets a job. Result: undefined.
 *
 * @throws {ServiceError} `NOT_FOUND`; `CONFLICT` when it is active
 */
export interface RemoveJob {
  readonly type: 'RemoveJob';
  readonly id: string;
}

/** Forgets those of some jobs that are final. Result: how many. */
export interface RemoveJobs {
  readonly type: 'RemoveJobs';
  readonly ids: readonly string[];
}

/** Every command of the jobs actor. */
export type JobsCommand =
  | EnqueueJob
  | ClaimJob
  | RenewJob
  | CompleteJob
  | ReleaseJob
  | FailJob
  | RecoverJobs
  | CleanJobs
  | CancelJob
  | RemoveJob
  | RemoveJobs;

/** A job by its id. Answer: {@link JobRecord} or undefined. */
export interface FindJob {
  readonly type: 'FindJob';
  readonly id: string;
}

/** Jobs, newest first. Answer: array of {@link JobRecord}. */
export interface ListJobs extends JobPage {
  readonly type: 'ListJobs';
}

/** How many jobs there are. Answer: `JobCounts`. */
export interface CountJobs {
  readonly type: 'CountJobs';
}

/** Active jobs, for whoever takes a queue up. Answer: array of their ids. */
export interface ListActiveJobs {
  readonly type: 'ListActiveJobs';
}

/** Every query of the jobs actor. */
export type JobsQuery = FindJob | ListJobs | CountJobs | ListActiveJobs;
