import { expect, it } from 'vitest';
import { policyFor } from '#runtime/access/policy.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { EmptyRanges } from '#runtime/commit/empty-ranges.ts';
import { HybridClock } from '#runtime/commit/hybrid-clock.ts';
import { Memtable } from '#runtime/commit/memtable.ts';
import { MemtableReader } from '#runtime/commit/memtable-reader.ts';
import { TurnScope } from '#runtime/commit/turn-scope.ts';
import { MemoryDisk, MemoryShard } from '#runtime/shard/memory-shard.ts';
import { jobsActor } from '#actors/jobs/jobs-actor.ts';
import { TestClock } from '#test/support/test-clock.ts';

const principal = { kind: 'system', tenant: 't' } as const;
const caller = { principal, policy: policyFor(principal, 't') };
const JOBS = 1000;
const TYPE = 'test:work';

/** Rows of the shard that are walked over while jobs are claimed and completed, none of which has been applied. */
it('claims and completes jobs at a cost that does not follow those already done', async () => {
  const clock = new TestClock();
  const shard = new MemoryShard(new MemoryDisk(), 8, clock);
  const limits = { activeMax: JOBS, finalMax: JOBS, retentionMs: 1000, deadLetterMs: 1000 };
  const actor = jobsActor(limits).create({
    id: 't/r/jobs',
    ask: () => undefined,
    clock,
    servingSinceMs: 0,
    submit: async () => undefined,
  });
  let memtable = new Memtable();
  const reader = new MemtableReader(
    () => [memtable],
    () => shard,
    undefined,
    new EmptyRanges(),
  );
  const run = (command: object): unknown => {
    clock.advance(1);
    const turn = new TurnScope(
      caller,
      clock.wallMs(),
      reader,
      memtable,
      new HybridClock(clock),
      systemRandom,
    );
    return actor.execute(command as never, turn);
  };
  for (let number = 0; number < JOBS; number++) {
    const id = `job-${String(number).padStart(5, '0')}`;
    run({ type: 'EnqueueJob', job: { id, type: TYPE, about: 'a', payload: null } });
  }
  await shard.apply(memtable.writes(), { sequence: 1, clock: { ms: 1, counter: 0 } }).flushed;
  memtable = new Memtable();
  let visited = 0;
  const range = shard.range.bind(shard);
  shard.range = function* (table, stretch) {
    for (const row of range(table, stretch)) {
      visited += 1;
      yield row;
    }
  };
  for (let number = 0; number < JOBS; number++) {
    const claim = { leaseMs: 60_000, token: `token-${number}`, types: [TYPE], worker: 'w' };
    const { job } = run({ type: 'ClaimJob', ...claim }) as { job: { id: string } | null };
    expect(job).not.toBeNull();
    const done = { id: job?.id, token: claim.token, result: null };
    expect(run({ type: 'CompleteJob', ...done })).toMatchObject({ isHeld: true });
  }
  expect(visited).toBeLessThan(JOBS * 20);
});
