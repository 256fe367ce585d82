import type { JobPriority } from '#runtime/jobs/job.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { readJob } from './job-store.ts';
import { agendaId } from './jobs-tables.ts';
import type { Found, PassedJobs, Takes } from './passed-jobs.ts';

/** Most entries of the agenda that one search looks at. */
const ENTRIES_MAX = 10_000;

/** Most jobs that one search reads to learn whose they are: their records may be large. */
const READS_MAX = 20;

/** Most jobs whose submitters are remembered. */
const SUBMITTERS_MAX = 10_000;

/**
 * Finds jobs that a worker takes. One search does a bounded amount of work; the next one goes on where it ended, so each finds a job
 * that is there after enough of them.
 */
export class ClaimableJobs {
  readonly #passed: PassedJobs;
  /** Submitters of jobs by their ids, which never change; empty: nobody has submitted it. */
  readonly #submitters = new Map<string, string>();

  constructor(passed: PassedJobs) {
    this.#passed = passed;
  }

  /**
   * The first waiting job of a priority that a worker takes, due or not, or the first one that was not looked at.
   *
   * @returns undefined: there is none
   */
  first(reader: TableReader, priority: JobPriority, takes: Takes): Found | undefined {
    let [entries, reads] = [0, 0];
    return this.#passed.first(reader, priority, takes, (key, type) => {
      entries += 1;
      if (entries > ENTRIES_MAX) return undefined;
      if (!takes.types.has(type)) return false;
      if (takes.busy.size === 0) return true;
      const id = agendaId(key);
      const known = this.#submitters.get(id);
      if (known === undefined) {
        reads += 1;
        if (reads > READS_MAX) return undefined;
      }
      return !takes.busy.has(known ?? this.#read(reader, id));
    });
  }

  #read(reader: TableReader, id: string): string {
    const submitter = readJob(reader, id)?.submitter ?? '';
    if (this.#submitters.size >= SUBMITTERS_MAX) this.#submitters.clear();
    this.#submitters.set(id, submitter);
    return submitter;
  }
}
