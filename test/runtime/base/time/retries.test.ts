import { expect, it } from 'vitest';
import { Retries } from '#runtime/base/time/backoff.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { TestClock } from '#test/support/test-clock.ts';

it('waits longer with each attempt, up to a bound, and restarts after an attempt made progress', async () => {
  const clock = new TestClock();
  const retries = new Retries(clock, systemRandom, { firstMs: 100, factor: 2, mostMs: 300 });
  const waitedMs = async (): Promise<number> => {
    const startedMs = clock.monotonicMs();
    let isOver = false;
    const wait = retries.wait().then(() => {
      isOver = true;
    });
    while (!isOver) {
      clock.advance(1);
      await Promise.resolve();
      await Promise.resolve();
    }
    await wait;
    return clock.monotonicMs() - startedMs;
  };
  for (const wanted of [100, 200, 300, 300]) {
    const ms = await waitedMs();
    expect(ms).toBeGreaterThanOrEqual(wanted);
    expect(ms).toBeLessThanOrEqual(wanted * 1.1 + 2);
  }
  retries.reset();
  expect(await waitedMs()).toBeLessThanOrEqual(112);
});
