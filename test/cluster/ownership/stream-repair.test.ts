import { beforeEach, expect, it } from 'vitest';
import { StreamRepair } from '#cluster/ownership/stream-repair.ts';
import { logCorrupted, logRegressed } from '#cluster/replication/log-errors.ts';
import { settle, TestClock } from '#test/support/test-clock.ts';

const PARTITION = 1;

const diskFailure = Object.assign(new Error('EMFILE: too many open files'), { code: 'EMFILE' });

let clock: TestClock;
/** What is told of each attempt; the last one again and again. */
let attempts: (string | Error | undefined)[];
/** Times of attempts and of doubts, in seconds from the beginning. */
let looked: number[];
let doubted: number[];
/** Who leads at each doubt; the last one again and again. Undefined: nobody can be asked. */
let leaders: (string | undefined)[];
let failures: unknown[];
let heard: unknown[];
let isWhole: boolean;
let repair: StreamRepair;

beforeEach(() => {
  clock = new TestClock();
  const startedMs = clock.monotonicMs();
  const seconds = (): number => (clock.monotonicMs() - startedMs) / 1000;
  looked = [];
  doubted = [];
  leaders = ['s1', 's2', 's3'];
  failures = [];
  heard = [];
  isWhole = false;
  repair = new StreamRepair({
    clock,
    random: { bytes: (length) => new Uint8Array(length) },
    position: () => undefined,
    hear: (trouble) => heard.push(trouble),
    onWhole: () => {
      isWhole = true;
    },
    onFailure: (cause) => failures.push(cause),
    flushed: {
      mend: async () => {
        looked.push(seconds());
        const outcome = attempts.length > 1 ? attempts.shift() : attempts[0];
        if (outcome instanceof Error) throw outcome;
        return outcome;
      },
      requestOtherLeader: async () => {
        doubted.push(seconds());
        const leader = leaders.length > 1 ? leaders.shift() : leaders[0];
        return leader === undefined ? undefined : { leader, servers: ['s1', 's2', 's3'] };
      },
    },
  });
  repair.begin();
});

async function pass(seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second += 1) {
    clock.advance(1000);
    await settle();
  }
}

it('looks every second until the stream is whole', async () => {
  attempts = ['too few answer', 'too few answer', undefined];
  await pass(10);
  expect([looked, doubted, isWhole]).toEqual([[1, 2, 3], [], true]);
});

it('has another server lead when that does not help, until each server with a copy has led', async () => {
  attempts = ['the stream ends at 3'];
  await pass(600);
  expect(doubted).toEqual([15, 38, 72]);
  expect([looked.length, isWhole]).toEqual([600, false]);
  attempts = [undefined];
  await pass(1);
  expect(isWhole).toBe(true);
});

it('retries at once when no server could be asked, and after growing delays while the same server leads', async () => {
  attempts = ['the stream ends at 3'];
  leaders = [undefined, undefined, 's1'];
  await pass(4000);
  expect(doubted.slice(0, 5)).toEqual([15, 16, 17, 40, 74]);
  expect((doubted.at(-1) as number) - (doubted.at(-2) as number)).toBe(600);
  leaders = ['s2', 's3'];
  await pass(1200);
  const { length } = doubted;
  await pass(1200);
  expect(doubted.length).toBe(length);
});

it('leaves a stream with other content alone, reports it once, and goes on when the content is restored', async () => {
  const other = logRegressed(PARTITION, 'other-record', 'record 3 is another');
  attempts = [other, other, other, undefined];
  await pass(60);
  expect([looked, doubted]).toEqual([[1, 11, 21, 31], [21]]);
  expect(failures).toEqual([other]);
  expect(isWhole).toBe(true);
});

it('ends at damage that only an operator can resolve, and when it is stopped', async () => {
  const damaged = logCorrupted(PARTITION, 3, 'it does not verify');
  attempts = [damaged];
  await pass(60);
  expect([looked, failures, isWhole]).toEqual([[1], [damaged], false]);
  repair.begin();
  repair.stop();
  await pass(60);
  expect(looked).toEqual([1]);
});

it('goes on after a failure of the disk', async () => {
  attempts = [diskFailure, diskFailure, undefined];
  await pass(10);
  expect([looked, failures, isWhole]).toEqual([[1, 2, 3], [], true]);
  expect(heard).toEqual([diskFailure.message, diskFailure.message, undefined]);
});

it('starts again after damage', async () => {
  attempts = [logCorrupted(PARTITION, 3, 'it does not verify'), undefined];
  await pass(5);
  repair.begin();
  await pass(5);
  expect([looked, isWhole]).toEqual([[1, 6], true]);
});
