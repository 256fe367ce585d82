import { beforeEach, expect, it } from 'vitest';
import { policyFor } from '#runtime/access/policy.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { EmptyRanges } from '#runtime/commit/empty-ranges.ts';
import { HybridClock } from '#runtime/commit/hybrid-clock.ts';
import { Memtable } from '#runtime/commit/memtable.ts';
import { MemtableReader } from '#runtime/commit/memtable-reader.ts';
import { TurnScope } from '#runtime/commit/turn-scope.ts';
import { MemoryDisk, MemoryShard } from '#runtime/shard/memory-shard.ts';
import { jobsActor } from '#actors/jobs/jobs-actor.ts';
import type { JobClaimed } from '#actors/jobs/messages.ts';
import { TestClock } from '#test/support/test-clock.ts';

const principal = { kind: 'system', tenant: 't' } as const;
const caller = { principal, policy: policyFor(principal, 't') };
const JOBS = 1000;
const TYPE = 'test:work';

const limits = { activeMax: 3 * JOBS, finalMax: JOBS, retentionMs: 1000, deadLetterMs: 1000 };

let clock: TestClock;
let shard: MemoryShard;
let memtable: Memtable;
let run: (command: object) => unknown;
/** Rows of the shard that were walked over. */
let visited = 0;

beforeEach(() => {
  clock = new TestClock();
  shard = new MemoryShard(new MemoryDisk(), 8, clock);
  memtable = new Memtable();
  const actor = jobsActor(limits).create({
    id: 't/r/jobs',
    ask: () => undefined,
    clock,
    servingSinceMs: 0,
    submit: async () => undefined,
  });
  const reader = new MemtableReader(
    () => [memtable],
    () => shard,
    undefined,
    new EmptyRanges(),
  );
  run = (command) => {
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
  const range = shard.range.bind(shard);
  shard.range = function* (table, stretch) {
    for (const row of range(table, stretch)) {
      visited += 1;
      yield row;
    }
  };
});

let made = 0;

function enqueue(type: string): void {
  made += 1;
  const id = `job-${String(made).padStart(5, '0')}`;
  run({ type: 'EnqueueJob', job: { id, type, about: 'a', payload: null } });
}

/** Applies everything, and counts from here. */
async function apply(): Promise<void> {
  await shard.apply(memtable.writes(), { sequence: 1, clock: { ms: 1, counter: 0 } }).flushed;
  memtable = new Memtable();
  visited = 0;
}

function claim(type: string, token: string): JobClaimed {
  return run({ type: 'ClaimJob', leaseMs: 60_000, token, types: [type], worker: 'w' }) as JobClaimed;
}

it('claims and completes jobs at a cost that does not follow those already done', async () => {
  for (let number = 0; number < JOBS; number++) enqueue(TYPE);
  await apply();
  for (let number = 0; number < JOBS; number++) {
    const token = `token-${number}`;
    const { job } = claim(TYPE, token);
    expect(job).not.toBeNull();
    expect(run({ type: 'CompleteJob', id: job?.id, token, result: null })).toMatchObject({ isHeld: true });
  }
  expect(visited).toBeLessThan(JOBS * 20);
});

it('claims jobs at a cost that does not follow those of types that the worker does not know', async () => {
  for (let number = 0; number < JOBS; number++) enqueue('test:due');
  // Those are waiting to be tried again, behind everything that is enqueued now.
  for (let number = 0; number < JOBS; number++) enqueue('test:later');
  for (let number = 0; number < JOBS; number++) {
    const { job } = claim('test:later', 'other');
    run({ type: 'FailJob', id: job?.id, token: 'other', error: 'no', retryAfterMs: 3_600_000 });
  }
  await apply();
  for (let number = 0; number < JOBS; number++) {
    expect(claim(TYPE, 'early')).toMatchObject({ job: null, waitMs: null });
    enqueue(TYPE);
    const token = `token-${number}`;
    const { job } = claim(TYPE, token);
    expect(job).toMatchObject({ type: TYPE });
    expect(run({ type: 'CompleteJob', id: job?.id, token, result: null })).toMatchObject({ isHeld: true });
  }
  // Once over the others, and a constant number for each claim.
  expect(visited).toBeLessThan(JOBS * 20);
});
