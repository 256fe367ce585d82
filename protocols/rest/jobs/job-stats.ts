import { type JobPriority, jobPriorities } from '#runtime/jobs/job.ts';
import type { JobCounts } from '#runtime/jobs/ports.ts';
import type { JsonSchema } from '#protocols/http/route.ts';

/** Job statistics of a tenant on the wire. @see docs/interface/jobs.md#routes-of-jobs */
export interface JobStats {
  /** `{high,normal,low}_queue_len`, `_capacity`, and `total_{high,normal,low}_dispatched`. */
  readonly queue: Readonly<Record<string, number>>;
  readonly workers: { readonly pool_size: number };
  readonly persisted: {
    readonly total_entries: number;
    /** Active jobs of types that no worker of this member handles. */
    readonly orphaned_entries: number;
  };
  /** Active jobs by type, sorted. */
  readonly categories: readonly {
    readonly category: string;
    readonly scheduled: number;
    readonly running: number;
  }[];
}

/** Sums the statistics of repositories. @param here workers and job types of the member */
export function jobStats(
  counts: readonly JobCounts[],
  here: { readonly workers: number; readonly types: readonly string[] },
): JobStats {
  const sum = (each: (count: JobCounts) => number): number =>
    counts.reduce((total, count) => total + each(count), 0);
  const capacity = sum(({ activeMax }) => activeMax);
  const queue = Object.fromEntries(
    jobPriorities.flatMap((priority: JobPriority) => [
      [`${priority}_queue_len`, sum(({ scheduled }) => scheduled[priority])],
      [`${priority}_capacity`, capacity],
      [`total_${priority}_dispatched`, sum(({ dispatched }) => dispatched[priority])],
    ]),
  );
  const types = [...new Set(counts.flatMap((count) => Object.keys(count.types)))].sort();
  const categories = types.map((category) => ({
    category,
    scheduled: sum((count) => count.types[category]?.scheduled ?? 0),
    running: sum((count) => count.types[category]?.running ?? 0),
  }));
  const orphaned = categories.filter(({ category }) => !here.types.includes(category));
  return {
    queue,
    workers: { pool_size: here.workers },
    persisted: {
      total_entries: sum(({ kept }) => kept),
      orphaned_entries: orphaned.reduce((total, { running, scheduled }) => total + running + scheduled, 0),
    },
    categories,
  };
}

const number: JsonSchema = { type: 'integer' };

/** JSON Schema of {@link JobStats}. */
export const jobStatsSchema: JsonSchema = Object.freeze({
  type: 'object',
  required: ['queue', 'workers', 'persisted', 'categories'],
  properties: {
    queue: {
      type: 'object',
      properties: Object.fromEntries(
        jobPriorities.flatMap((priority) => [
          [`${priority}_queue_len`, number],
          [`${priority}_capacity`, number],
          [`total_${priority}_dispatched`, number],
        ]),
      ),
    },
    workers: { type: 'object', properties: { pool_size: number } },
    persisted: { type: 'object', properties: { total_entries: number, orphaned_entries: number } },
    categories: {
      type: 'array',
      items: {
        type: 'object',
        properties: { category: { type: 'string' }, scheduled: number, running: number },
      },
    },
  },
});
