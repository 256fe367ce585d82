import { beforeEach, expect, it } from 'vitest';
import { SupersededWatch } from '#cluster/ownership/superseded-watch.ts';
import type { SupersededEnd } from '#cluster/replica-durability/superseded-end.ts';
import { settle, TestClock } from '#test/support/test-clock.ts';

const END: SupersededEnd = { first: 3, last: 4, confirmedBy: ['m2', 'm3'] };

let clock: TestClock;
/** What the checks find; then nothing. */
let found: (SupersededEnd | Error)[];
let checks: number;
let ends: { readonly end: SupersededEnd; readonly signal: AbortSignal }[];
let failures: unknown[];
let passing: unknown[];
let onFailure: () => void;
let watch: SupersededWatch;

beforeEach(() => {
  clock = new TestClock();
  found = [];
  checks = 0;
  ends = [];
  failures = [];
  passing = [];
  onFailure = () => {};
  watch = new SupersededWatch({
    clock,
    flushed: {
      superseded: async () => {
        checks += 1;
        const next = found.shift();
        if (next instanceof Error) throw next;
        return next;
      },
    },
    onSuperseded: (end, signal) => ends.push({ end, signal }),
    onPassing: (cause) => passing.push(cause),
    onFailure: (cause) => {
      failures.push(cause);
      onFailure();
    },
  });
});

async function pass(seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second += 1) {
    clock.advance(1000);
    await settle();
  }
}

it('looks every ten seconds, once however often it is started, until the end was overwritten', async () => {
  watch.begin();
  watch.begin();
  await pass(39);
  expect(checks).toBe(3);
  found = [END];
  await pass(60);
  expect([checks, ends.map(({ end }) => end), failures]).toEqual([4, [END], []]);
});

it('aborts what it found when it is stopped, and starts again', async () => {
  found = [END, END];
  watch.begin();
  await pass(10);
  watch.stop();
  watch.begin();
  await pass(10);
  expect(ends.map(({ signal }) => signal.aborted)).toEqual([true, false]);
});

it('goes on after failures of the disk, and tells the first of several in a row', async () => {
  const failure = (): Error => Object.assign(new Error('EIO: i/o error, read'), { code: 'EIO' });
  const [first, second, third] = [failure(), failure(), failure()];
  found = [first, second];
  watch.begin();
  await pass(30);
  found = [third, END];
  await pass(60);
  expect([checks, ends.map(({ end }) => end), failures]).toEqual([5, [END], []]);
  expect(passing).toEqual([first, third]);
});

it('ends with damage, and starts again after it', async () => {
  const failure = new Error('a message is missing');
  found = [failure];
  watch.begin();
  await pass(60);
  expect([checks, failures]).toEqual([1, [failure]]);
  watch.begin();
  await pass(20);
  expect(checks).toBe(3);
});

it('can be started by whoever hears of a failure', async () => {
  found = [new Error('a failure')];
  onFailure = () => watch.begin();
  watch.begin();
  await pass(39);
  expect(checks).toBe(3);
});
