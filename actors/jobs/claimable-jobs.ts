import type { JobPriority } from '#runtime/jobs/job.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { readJob } from './job-store.ts';
import { agendaId, agendaUpTo, JobsTable } from './jobs-tables.ts';
import type { PassedJobs } from './passed-jobs.ts';

/** What a worker takes. */
export interface Takes {
  readonly types: ReadonlySet<string>;
  /** Submitters whose jobs it leaves to others. */
  readonly busy: ReadonlySet<string>;
}

/** Most entries of the agenda that are passed over for one claim. A submitter has a hundred jobs at most. */
const ENTRIES_MAX = 1_000;

/** Most jobs whose submitters are remembered. */
const SUBMITTERS_MAX = 10_000;

/** Finds jobs that a worker takes. It remembers whose they are: their records may be large. */
export class ClaimableJobs {
  readonly #passed: PassedJobs;
  /** Submitters of jobs by their ids, which never change; empty: nobody has submitted it. */
  readonly #submitters = new Map<string, string>();

  constructor(passed: PassedJobs) {
    this.#passed = passed;
  }

  /** Key in the agenda of the first waiting job of a priority that a worker takes, due or not. */
  first(reader: TableReader, priority: JobPriority, { busy, types }: Takes): string | undefined {
    const first = this.#passed.first(reader, priority, types);
    if (first === undefined || busy.size === 0) return first;
    const { end } = agendaUpTo('scheduled', undefined, priority);
    let entries = 0;
    for (const { key, value } of reader.range(JobsTable.agenda, { start: first, end })) {
      entries += 1;
      if (entries > ENTRIES_MAX) break;
      if (!types.has(Buffer.from(value).toString('utf8'))) continue;
      if (!busy.has(this.#submitterOf(reader, agendaId(key)))) return key;
    }
    return undefined;
  }

  #submitterOf(reader: TableReader, id: string): string {
    const known = this.#submitters.get(id);
    if (known !== undefined) return known;
    const submitter = readJob(reader, id)?.submitter ?? '';
    if (this.#submitters.size >= SUBMITTERS_MAX) this.#submitters.clear();
    this.#submitters.set(id, submitter);
    return submitter;
  }
}
