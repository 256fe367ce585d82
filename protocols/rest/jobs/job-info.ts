import type { JsonValue } from '#runtime/content/values/json-value.ts';
import { JOB_RETRIES_MAX, JOB_TIMEOUT_MS, type JobRecord } from '#runtime/jobs/job.ts';
import type { JsonSchema } from '#protocols/http/route.ts';

/** The state of a job on the wire. @see docs/interface/jobs.md#states-of-a-job */
export type JobStatus = 'Scheduled' | 'Running' | 'Completed' | 'Cancelled' | { readonly Failed: string };

/** A job on the wire. @see docs/interface/jobs.md#states-of-a-job */
export interface JobInfo {
  readonly id: string;
  /** Type and subject, as in `RevisionHistoryCopy(blog/draft)`. */
  readonly job_type: string;
  readonly status: JobStatus;
  readonly tenant: string;
  readonly repository: string;
  /** ISO 8601, as all times. */
  readonly created_at: string;
  readonly started_at: string | null;
  readonly completed_at: string | null;
  /** From 0 to 1. */
  readonly progress: number;
  /** Why the last attempt failed. */
  readonly error: string | null;
  readonly result: JsonValue;
  readonly retry_count: number;
  readonly max_retries: number;
  readonly last_heartbeat: string | null;
  readonly timeout_seconds: number;
  readonly next_retry_at: string | null;
}

/** The body of the status route. */
export function jobStatus({ error, state }: JobRecord): JobStatus {
  switch (state) {
    case 'scheduled':
      return 'Scheduled';
    case 'running':
      return 'Running';
    case 'completed':
      return 'Completed';
    case 'cancelled':
      return 'Cancelled';
    case 'failed':
      return { Failed: error ?? '' };
  }
}

/** An entry of the list. @param repository name of the repository the job belongs to */
export function jobInfo(job: JobRecord, tenant: string, repository: string): JobInfo {
  const isRetried = job.state === 'scheduled' && job.retries > 0;
  return {
    id: job.id,
    job_type: `${job.type}(${job.about})`,
    status: jobStatus(job),
    tenant,
    repository,
    created_at: timeText(job.createdAtMs),
    started_at: optionalTime(job.startedAtMs),
    completed_at: optionalTime(job.finishedAtMs),
    progress: job.progress,
    error: job.error,
    result: job.result,
    retry_count: job.retries,
    max_retries: job.retriesMax,
    last_heartbeat: optionalTime(job.heartbeatAtMs),
    timeout_seconds: job.timeoutMs / 1000,
    next_retry_at: isRetried ? timeText(job.dueAtMs) : null,
  };
}

function optionalTime(ms: number | null): string | null {
  return ms === null ? null : timeText(ms);
}

function timeText(ms: number): string {
  return new Date(ms).toISOString();
}

/** JSON Schema of {@link JobStatus}. */
export const jobStatusSchema: JsonSchema = Object.freeze({
  description: '`Running` from the first attempt on, `Scheduled` again while it waits for the next one.',
  oneOf: [
    { type: 'string', enum: ['Scheduled', 'Running', 'Completed', 'Cancelled'] },
    { type: 'object', required: ['Failed'], properties: { Failed: { type: 'string' } } },
  ],
});

const time: JsonSchema = { type: 'string', format: 'date-time' };
const optionalTimeSchema: JsonSchema = { type: ['string', 'null'], format: 'date-time' };

const jobInfoProperties = {
  id: { type: 'string', format: 'uuid' },
  job_type: { type: 'string', description: 'As in `RevisionHistoryCopy(blog/draft)`.' },
  status: jobStatusSchema,
  tenant: { type: 'string' },
  repository: { type: 'string' },
  created_at: time,
  started_at: optionalTimeSchema,
  completed_at: optionalTimeSchema,
  progress: { type: 'number', minimum: 0, maximum: 1 },
  error: { type: ['string', 'null'], description: 'Why the last attempt failed.' },
  result: { description: 'What the job answered.' },
  retry_count: { type: 'integer' },
  max_retries: { type: 'integer', default: JOB_RETRIES_MAX },
  last_heartbeat: optionalTimeSchema,
  timeout_seconds: { type: 'number', default: JOB_TIMEOUT_MS / 1000 },
  next_retry_at: optionalTimeSchema,
} as const;

/** JSON Schema of {@link JobInfo}. */
export const jobInfoSchema: JsonSchema = Object.freeze({
  type: 'object',
  required: Object.keys(jobInfoProperties),
  properties: jobInfoProperties,
});
