import type { JsonValue } from '#runtime/content/json-value.ts';

/** A job while it is worked on, as its handler sees it. */
export interface RunningJob {
  readonly id: string;
  /** The tenant it belongs to. */
  readonly tenant: string;
  readonly payload: JsonValue;
  /**
   * Aborts when there is no point in going on: the job was cancelled or given to somebody else, its time is up, or
   * the process stops. Then come to an end soon, by throwing whatever it takes.
   */
  readonly signal: AbortSignal;
  /** Says how far it is, from 0 to 1. Costs nothing: it is passed on now and then. */
  progress(fraction: number): void;
}

/** Does the jobs of one type. */
export interface JobHandler {
  readonly type: string;
  /**
   * Does a job, or what an interrupted attempt at it has left to do: it may be called again after any part of it
   * has been done.
   *
   * @returns what is kept as the result
   * @throws {ServiceError} one whose advice is `give-up` fails the job for good; anything else has it tried again
   */
  run(job: RunningJob): Promise<JsonValue>;
}
