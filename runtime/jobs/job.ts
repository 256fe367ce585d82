import type { JsonValue } from '#runtime/content/values/json-value.ts';

/** The order of waiting jobs in a repository. */
export type JobPriority = 'high' | 'normal' | 'low';

/** The priorities, highest first. */
export const jobPriorities: readonly JobPriority[] = Object.freeze(['high', 'normal', 'low']);

/**
 * State of a job. `scheduled` and `running` are active, the others are final and never change. A job waiting for a
 * retry is `scheduled` again. A job that failed for good is a dead letter, which is kept longer than other jobs.
 */
export type JobState = 'scheduled' | 'running' | 'completed' | 'failed' | 'cancelled';

/** A request for background work. */
export interface JobRequest {
  /** Selects the handler, for example `RevisionHistoryCopy`; at most {@link JOB_TEXT_CHARACTERS_MAX} characters. */
  readonly type: string;
  /** The subject of the job, for display; at most {@link JOB_TEXT_CHARACTERS_MAX} characters. */
  readonly about: string;
  /** Input of the handler; at most {@link JOB_PAYLOAD_BYTES_MAX} bytes of JSON. */
  readonly payload: JsonValue;
  /**
   * While a job with the same key is active, this request returns that job and creates none. At most
   * {@link JOB_TEXT_CHARACTERS_MAX} characters.
   */
  readonly key?: string;
  /** Default `normal`; `low` for a job of a submitter who has {@link SUBMITTED_FIRST} active ones. */
  readonly priority?: JobPriority;
  /** Timeout of one attempt, in milliseconds. Default {@link JOB_TIMEOUT_MS}. */
  readonly timeoutMs?: number;
  /** Limit of retries. Default {@link JOB_RETRIES_MAX}. */
  readonly retriesMax?: number;
  /**
   * Whom the job is done for, as in `principalKey`: this caller may read and cancel it, and has at most
   * {@link SUBMITTED_JOBS_MAX} active ones in a repository. Absent: only administrators may.
   */
  readonly submitter?: string;
}

/** A job request with its id. */
export interface NewJob extends JobRequest {
  /** See {@link jobIdOf}; a second job of the same id is the same job. */
  readonly id: string;
}

/** A job that a caller has submitted. */
export type SubmittedJob = NewJob & Required<Pick<JobRequest, 'submitter'>>;

/** A stored job. Times are milliseconds since the Unix epoch. */
export interface JobRecord {
  readonly id: string;
  readonly type: string;
  readonly about: string;
  readonly payload: JsonValue;
  readonly key: string | null;
  /** Absent where nobody has submitted it, see {@link JobRequest.submitter}. */
  readonly submitter?: string;
  readonly priority: JobPriority;
  readonly timeoutMs: number;
  readonly retriesMax: number;
  readonly state: JobState;
  readonly createdAtMs: number;
  /** Earliest time of the next claim, while it is scheduled. */
  readonly dueAtMs: number;
  /** When the first attempt began; null before it. */
  readonly startedAtMs: number | null;
  /** When it became final; null before that. */
  readonly finishedAtMs: number | null;
  /** Time of the last heartbeat; null before the first attempt. */
  readonly heartbeatAtMs: number | null;
  /** Number of retries, including one that is scheduled. */
  readonly retries: number;
  /** From 0 to 1. */
  readonly progress: number;
  /** Error of the last failed attempt; null when none has failed. */
  readonly error: string | null;
  /** The handler's result; null when there is none. */
  readonly result: JsonValue;
}

/** Longest type, subject and key of a job, in characters. */
export const JOB_TEXT_CHARACTERS_MAX = 500;

/** Largest payload and largest result of a job, in bytes of JSON. */
export const JOB_PAYLOAD_BYTES_MAX: number = 64 * 1024;

/** Most active jobs that one caller has submitted in a repository. @see docs/interface/jobs.md#making-jobs */
export const SUBMITTED_JOBS_MAX = 100;

/** Active jobs of one caller in a repository from which on further ones of the caller have the priority `low`. */
export const SUBMITTED_FIRST = 3;

/** Longest stored error text, in characters. */
export const JOB_ERROR_CHARACTERS_MAX = 2_000;

/** Default timeout of one attempt, in milliseconds. @see docs/interface/jobs.md#attempts */
export const JOB_TIMEOUT_MS = 300_000;

/** Default limit of retries. @see docs/interface/jobs.md#attempts */
export const JOB_RETRIES_MAX = 3;

/** Prefix of the error of a job that failed for lack of heartbeats. @see docs/interface/jobs.md#attempts */
export const TIMEOUT_MARK = '[timeout_final]';

/** Whether a job is not in a final state. */
export function isActive({ state }: Pick<JobRecord, 'state'>): boolean {
  return state === 'scheduled' || state === 'running';
}
