import type { JsonValue } from '#runtime/content/values/json-value.ts';
import { isActive, type NewJob } from '#runtime/jobs/job.ts';
import { jobIdOf } from '#runtime/jobs/job-id.ts';
import { decodeJsonRow } from '#runtime/shard/json-row.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { allJobs, JobsTable, type JobRow } from './jobs-tables.ts';

/** The jobs that were waiting or running when the queue was backed up, the oldest first. */
export function unfinishedJobs(queue: TableReader): readonly NewJob[] {
  const jobs: NewJob[] = [];
  for (const { value } of queue.range(JobsTable.jobs, allJobs)) {
    const job = decodeJsonRow(value) as JobRow;
    if (!isActive(job)) continue;
    const { about, id, key, payload, priority, retriesMax, submitter, timeoutMs, type } = job;
    const named = key === null ? {} : { key };
    const submitted = submitter === undefined ? {} : { submitter };
    jobs.push({ id, type, about, payload, priority, retriesMax, timeoutMs, ...named, ...submitted });
  }
  return jobs;
}

/**
 * Adapts a job to a restored repository: it restarts under an id of that repository and refers to its actors.
 *
 * @param repositoryPart `{name}~{uid}` of the restored repository
 * @param moved id of an actor of the repository → its id in the restored repository
 */
export function restoredJob(job: NewJob, repositoryPart: string, moved: (actor: string) => string): NewJob {
  return { ...job, id: jobIdOf(job.id, repositoryPart), payload: movedTexts(job.payload, moved) };
}

function movedTexts(value: JsonValue, moved: (actor: string) => string): JsonValue {
  if (typeof value === 'string') return moved(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item: JsonValue) => movedTexts(item, moved));
  const entries = Object.entries(value) as [string, JsonValue][];
  return Object.fromEntries(entries.map(([name, item]) => [name, movedTexts(item, moved)]));
}
