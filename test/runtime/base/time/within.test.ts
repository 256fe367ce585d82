import { expect, it } from 'vitest';
import { within } from '#runtime/base/time/within.ts';
import { TestClock } from '#test/support/test-clock.ts';

it('reports whether something ended in time, and leaves no timer behind', async () => {
  const clock = new TestClock();
  expect(await within(clock, 100, Promise.resolve(1))).toBe(true);
  const late = within(clock, 100, new Promise(() => undefined));
  clock.advance(99);
  expect(clock.alarms).toBe(1);
  clock.advance(1);
  expect(await late).toBe(false);
  await expect(within(clock, 100, Promise.reject(new TypeError('no')))).rejects.toThrow('no');
  expect(clock.alarms).toBe(0);
});
