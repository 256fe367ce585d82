import type { JsonValue } from '#runtime/content/json-value.ts';

/** Which waiting job of a repository goes first. */
export type JobPriority = 'high' | 'normal' | 'low';

/** The priorities, the one that goes first first. */
export const jobPriorities: readonly JobPriority[] = Object.freeze(['high', 'normal', 'low']);

/**
 * Where a job is. `scheduled` and `running` are active, the others are final and never change. A job that is to be
 * retried is `scheduled` again; one that failed for good is a dead letter: it is kept, longer than others.
 */
export type JobState = 'scheduled' | 'running' | 'completed' | 'failed' | 'cancelled';

/** What somebody wants to be done in the background. */
export interface JobRequest {
  /** Names the handler, as in `RevisionHistoryCopy`; at most {@link JOB_TEXT_CHARACTERS_MAX} characters. */
  readonly type: string;
  /** What it works on, for people; at most {@link JOB_TEXT_CHARACTERS_MAX} characters. */
  readonly about: string;
  /** What the handler is given; at most {@link JOB_PAYLOAD_BYTES_MAX} bytes of JSON. */
  readonly payload: JsonValue;
  /**
   * While a job with the same key is active, it stands for this one too, and this one is not made. At most
   * {@link JOB_TEXT_CHARACTERS_MAX} characters.
   */
  readonly key?: string;
  /** Default `normal`. */
  readonly priority?: JobPriority;
  /** Time one attempt may take, in milliseconds. Default {@link JOB_TIMEOUT_MS}. */
  readonly timeoutMs?: number;
  /** How often it is tried again. Default {@link JOB_RETRIES_MAX}. */
  readonly retriesMax?: number;
}

/** A job that was asked for and has its name. */
export interface NewJob extends JobRequest {
  /** See {@link jobIdOf}; a second job of the same id is the same job. */
  readonly id: string;
}

/** A job as it is kept. Times are milliseconds since the Unix epoch. */
export interface JobRecord {
  readonly id: string;
  readonly type: string;
  readonly about: string;
  readonly payload: JsonValue;
  readonly key: string | null;
  readonly priority: JobPriority;
  readonly timeoutMs: number;
  readonly retriesMax: number;
  readonly state: JobState;
  readonly createdAtMs: number;
  /** When it may be taken, while it is scheduled. */
  readonly dueAtMs: number;
  /** When the first attempt began; null before it. */
  readonly startedAtMs: number | null;
  /** When it became final; null before that. */
  readonly finishedAtMs: number | null;
  /** When its worker was last heard of; null before the first attempt. */
  readonly heartbeatAtMs: number | null;
  /** How often it was tried again, or is going to be. */
  readonly retries: number;
  /** From 0 to 1. */
  readonly progress: number;
  /** Why the last attempt failed; null when none has. */
  readonly error: string | null;
  /** What the handler answered; null without an answer. */
  readonly result: JsonValue;
}

/** Longest type, subject and key of a job, in characters. */
export const JOB_TEXT_CHARACTERS_MAX = 500;

/** Largest payload and largest result of a job, in bytes of JSON. */
export const JOB_PAYLOAD_BYTES_MAX: number = 64 * 1024;

/** Longest text of an error that is kept, in characters. */
export const JOB_ERROR_CHARACTERS_MAX = 2_000;

/** Time one attempt may take when nobody says otherwise, in milliseconds. @see docs/interface/jobs.md#attempts */
export const JOB_TIMEOUT_MS = 300_000;

/** How often a job is tried again when nobody says otherwise. @see docs/interface/jobs.md#attempts */
export const JOB_RETRIES_MAX = 3;

/** Begins the error of a job that is failed because nothing was heard of it in time. @see docs/interface/jobs.md#attempts */
export const TIMEOUT_MARK = '[timeout_final]';

/** Whether a job will still be worked on. */
export function isActive({ state }: Pick<JobRecord, 'state'>): boolean {
  return state === 'scheduled' || state === 'running';
}
