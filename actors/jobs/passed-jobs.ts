import type { JobPriority } from '#runtime/jobs/job.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { agendaKey, agendaUpTo, JobsTable, type JobRow } from './jobs-tables.ts';

/** Sets of types whose walks are remembered: one for each version of the workers. */
const SETS_MAX = 16;

/** No key lies between a key and this one. */
const DIRECTLY_BEHIND = '\0';

/** What is known of the waiting jobs of one priority: the first one of the types is not before `first`. */
interface Passed {
  readonly priority: JobPriority;
  readonly types: ReadonlySet<string>;
  first: string;
  /** From here to before `until`, none has one of the types. */
  behind: string;
  until: string;
}

/**
 * Finds the first waiting job of the types that a worker handles. It remembers which jobs it has passed, so that no
 * claim walks again over the jobs of other types, whether these are due or not.
 *
 * Invariant: every write of a waiting job must be reported with {@link PassedJobs.written}; when writes are discarded
 * all is to be forgotten.
 */
export class PassedJobs {
  readonly #sets = new Map<string, Passed>();

  /** Key in the agenda of the first waiting job of a priority and of one of the types, due or not. */
  first(reader: TableReader, priority: JobPriority, types: ReadonlySet<string>): string | undefined {
    const passed = this.#of(priority, types);
    const { end } = agendaUpTo('scheduled', undefined, priority);
    for (;;) {
      const isAhead = passed.behind >= passed.first && passed.behind < passed.until;
      const stop = isAhead ? passed.behind : end;
      for (const { key, value } of reader.range(JobsTable.agenda, { start: passed.first, end: stop })) {
        if (!types.has(Buffer.from(value).toString('utf8'))) continue;
        passed.first = key;
        return key;
      }
      passed.first = isAhead ? passed.until : end;
      if (passed.first >= end) return undefined;
    }
  }

  /** A job is waiting from now on. */
  written(job: JobRow): void {
    const key = agendaKey(job);
    for (const passed of this.#sets.values()) {
      if (passed.priority !== job.priority || !passed.types.has(job.type)) continue;
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

  #of(priority: JobPriority, types: ReadonlySet<string>): Passed {
    const name = JSON.stringify([priority, ...types]);
    const known = this.#sets.get(name);
    if (known !== undefined) return known;
    if (this.#sets.size >= SETS_MAX) this.#sets.clear();
    const { start: first } = agendaUpTo('scheduled', undefined, priority);
    const passed: Passed = { priority, types, first, behind: first, until: first };
    this.#sets.set(name, passed);
    return passed;
  }
}
