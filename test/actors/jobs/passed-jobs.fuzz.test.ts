import fc from 'fast-check';
import { expect, it } from 'vitest';
import { agendaKey, type JobRow } from '#actors/jobs/jobs-tables.ts';
import { type Found, PassedJobs, type Takes } from '#actors/jobs/passed-jobs.ts';
import { type JobPriority, jobPriorities } from '#runtime/jobs/job.ts';
import type { Range, TableReader } from '#runtime/shard/shard.ts';
import { workloadCount } from '#test/support/workload-count.ts';

/** The agenda in memory. */
class Agenda {
  readonly jobs = new Map<string, JobRow>();

  get reader(): TableReader {
    return { range: (_: number, range: Range) => this.#range(range) } as unknown as TableReader;
  }

  /** The first job of a priority that a worker takes, found by a look at each. */
  first(priority: string, { busy, types }: Takes): string | undefined {
    const fits = ([, job]: [string, JobRow]): boolean =>
      job.priority === priority && types.has(job.type) && !busy.has(job.submitter ?? '');
    return [...this.jobs]
      .filter(fits)
      .map(([key]) => key)
      .sort()[0];
  }

  /** One search that looks at so many jobs. */
  search(passed: PassedJobs, priority: JobPriority, takes: Takes, looks: number): Found | undefined {
    let looked = 0;
    return passed.first(this.reader, priority, takes, (key, type) => {
      looked += 1;
      if (looked > looks) return undefined;
      return takes.types.has(type) && !takes.busy.has(this.jobs.get(key)?.submitter ?? '');
    });
  }

  /** Searches until one finds a job, or that there is none. */
  searchOn(passed: PassedJobs, priority: JobPriority, takes: Takes, looks: number): string | undefined {
    for (;;) {
      const found = this.search(passed, priority, takes, looks);
      if (found === undefined || found.isTaken) return found?.key;
    }
  }

  *#range({ start, end }: Range): Generator<{ key: string; value: Uint8Array }> {
    for (const key of [...this.jobs.keys()].sort())
      if (key >= start && key < end) yield { key, value: Buffer.from((this.jobs.get(key) as JobRow).type) };
  }
}

const step = fc.oneof(
  fc.record({
    kind: fc.constant('put' as const),
    type: fc.constantFrom('a', 'b', 'c'),
    priority: fc.constantFrom(...jobPriorities.slice(0, 2)),
    dueAtMs: fc.nat({ max: 20 }),
    id: fc.constantFrom('1', '2'),
    submitter: fc.constantFrom(undefined, 'ada', 'bob'),
  }),
  fc.record({ kind: fc.constant('remove' as const), pick: fc.nat() }),
  fc.record({
    kind: fc.constant('first' as const),
    types: fc.constantFrom(['a'], ['b'], ['a', 'b']),
    priority: fc.constantFrom(...jobPriorities.slice(0, 2)),
    busy: fc.constantFrom([], ['ada'], ['ada', 'bob'], ['bob', 'ada']),
    looks: fc.integer({ min: 1, max: 3 }),
    takes: fc.boolean(),
  }),
);

it('finds the first waiting job that a worker takes as if it looked at each, however short its searches are', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
      const agenda = new Agenda();
      const passed = new PassedJobs();
      for (const each of steps) {
        if (each.kind === 'put') {
          const job = { ...each, state: 'scheduled' } as unknown as JobRow;
          agenda.jobs.set(agendaKey(job), job);
          passed.written(job);
        } else if (each.kind === 'remove') {
          const keys = [...agenda.jobs.keys()];
          agenda.jobs.delete(keys[each.pick % Math.max(1, keys.length)] ?? '');
        } else {
          const takes = { types: new Set(each.types), busy: new Set(each.busy) };
          const expected = agenda.first(each.priority, takes);
          const first = agenda.search(passed, each.priority, takes, each.looks);
          expect(first?.key ?? '~').toSatisfy((key: string) => key <= (expected ?? '~'));
          const key = agenda.searchOn(passed, each.priority, takes, each.looks);
          expect(key).toBe(expected);
          if (each.takes && key !== undefined) agenda.jobs.delete(key);
        }
      }
    }),
    { numRuns: workloadCount(4000) },
  );
});
