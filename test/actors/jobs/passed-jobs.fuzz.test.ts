import fc from 'fast-check';
import { expect, it } from 'vitest';
import { agendaKey, type JobRow } from '#actors/jobs/jobs-tables.ts';
import { PassedJobs } from '#actors/jobs/passed-jobs.ts';
import { jobPriorities } from '#runtime/jobs/job.ts';
import type { Range, TableReader } from '#runtime/shard/shard.ts';
import { workloadCount } from '#test/support/workload-count.ts';

/** The agenda in memory. */
class Agenda {
  readonly jobs = new Map<string, JobRow>();

  get reader(): TableReader {
    return { range: (_: number, range: Range) => this.#range(range) } as unknown as TableReader;
  }

  /** The first job of a priority and of some types, found by a look at each. */
  first(priority: string, types: ReadonlySet<string>): string | undefined {
    const fits = ([, job]: [string, JobRow]): boolean => job.priority === priority && types.has(job.type);
    return [...this.jobs]
      .filter(fits)
      .map(([key]) => key)
      .sort()[0];
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
  }),
  fc.record({ kind: fc.constant('remove' as const), pick: fc.nat() }),
  fc.record({
    kind: fc.constant('first' as const),
    types: fc.constantFrom(['a'], ['b'], ['a', 'b']),
    priority: fc.constantFrom(...jobPriorities.slice(0, 2)),
    takes: fc.boolean(),
  }),
);

it('finds the first waiting job of some types as if it looked at each', () => {
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
          const types = new Set(each.types);
          const key = passed.first(agenda.reader, each.priority, types);
          expect(key).toBe(agenda.first(each.priority, types));
          if (each.takes && key !== undefined) agenda.jobs.delete(key);
        }
      }
    }),
    { numRuns: workloadCount(4000) },
  );
});
