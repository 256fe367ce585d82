import type { JsonValue } from '#runtime/content/values/json-value.ts';

/** A running job, as its handler sees it. */
export interface RunningJob {
  readonly id: string;
  /** The tenant it belongs to. */
  readonly tenant: string;
  readonly payload: JsonValue;
  /**
   * Aborts when further work is useless: the job was cancelled or given to another worker, it timed out, or the process
   * stops. The handler must then end soon and may throw any error.
   */
  readonly signal: AbortSignal;
  /** Reports progress, from 0 to 1. The call is cheap: values are forwarded at intervals. */
  progress(fraction: number): void;
}

/** Runs the jobs of one type. */
export interface JobHandler {
  readonly type: string;
  /**
   * Runs a job, or the rest of an interrupted attempt: it may be called again after any part of the work was done.
   *
   * @returns the result to store
   * @throws {ServiceError} with the advice `give-up` fails the job for good; any other error causes a retry
   */
  run(job: RunningJob): Promise<JsonValue>;
  /**
   * Removes what the handler has kept for a job that is completed or has failed for good. It is called once and may be lost
   * with the process; a cancelled job does not call it. An error is logged.
   */
  ended?(job: Pick<RunningJob, 'id' | 'payload' | 'tenant'>): Promise<void>;
}
