import type { JobPriority } from '#runtime/jobs/job.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { agendaKey, agendaUpTo, JobsTable, type JobRow } from './jobs-tables.ts';

/** What a worker takes. */
export interface Takes {
  readonly types: ReadonlySet<string>;
  /** Submitters whose jobs it leaves to others. */
  readonly busy: ReadonlySet<string>;
}

/** Where a search has ended. */
export interface Found {
  /** Key in the agenda. No job before it is taken. */
  readonly key: string;
  /** False: the search was given up at this job, which may be another's. The next search goes on here. */
  readonly isTaken: boolean;
}

/**
 * Whether a worker takes a job, by its key in the agenda and its type. The answer never changes for a job.
 *
 * @returns undefined: the search has done enough
 */
export type IsTaken = (key: string, type: string) => boolean | undefined;

/** Sets whose walks are remembered: for each version of the workers and each priority, one of every set of busy submitters. */
const SETS_MAX = 64;

/** No key lies between a key and this one. */
const DIRECTLY_BEHIND = '\0';

/** What is known of the waiting jobs of one priority: the first one that is taken is not before `first`. */
interface Passed {
  readonly priority: JobPriority;
  readonly takes: Takes;
  first: string;
  /** From here to before `until`, none is taken. */
  behind: string;
  until: string;
}

/**
 * Finds the first waiting job that a worker takes. It remembers which jobs it has passed, so that no claim walks again over
 * the jobs of other types and of busy submitters, whether these are due or not.
 *
 * Invariant: every write of a waiting job must be reported with {@link PassedJobs.written}; when writes are discarded
 * all is to be forgotten.
 */
export class PassedJobs {
  readonly #sets = new Map<string, Passed>();

  /**
   * Finds the first waiting job of a priority that a worker takes, due or not.
   *
   * @param takes what `isTaken` finds
   * @returns undefined: there is none
   */
  first(reader: TableReader, priority: JobPriority, takes: Takes, isTaken: IsTaken): Found | undefined {
    const passed = this.#of(priority, takes);
    const { end } = agendaUpTo('scheduled', undefined, priority);
    for (;;) {
      const isAhead = passed.behind >= passed.first && passed.behind < passed.until;
      const stop = isAhead ? passed.behind : end;
      for (const { key, value } of reader.range(JobsTable.agenda, { start: passed.first, end: stop })) {
        const found = isTaken(key, Buffer.from(value).toString('utf8'));
        if (found === false) continue;
        passed.first = key;
        return { key, isTaken: found === true };
      }
      passed.first = isAhead ? passed.until : end;
      if (passed.first >= end) return undefined;
    }
  }

  /** A job is waiting from now on. */
  written(job: JobRow): void {
    const key = agendaKey(job);
    for (const passed of this.#sets.values()) {
      const { busy, types } = passed.takes;
      if (passed.priority !== job.priority || !types.has(job.type)) continue;
      if (job.submitter !== undefined && busy.has(job.submitter)) continue;
      if (key < passed.first) {
        passed.behind = key + DIRECTLY_BEHIND;
        passed.until = passed.first;
        passed.first = key;
      } else if (key >= passed.behind && key < passed.until) passed.behind = key + DIRECTLY_BEHIND;
    }
  }

  /** Forgets all: writes were discarded. */
  forget(): void {
    this.#sets.clear();
  }

  #of(priority: JobPriority, takes: Takes): Passed {
    const name = JSON.stringify([priority, [...takes.types], [...takes.busy].sort()]);
    const known = this.#sets.get(name);
    if (known !== undefined) return known;
    if (this.#sets.size >= SETS_MAX) this.#sets.clear();
    const { start: first } = agendaUpTo('scheduled', undefined, priority);
    const passed: Passed = { priority, takes, first, behind: first, until: first };
    this.#sets.set(name, passed);
    return passed;
  }
}
