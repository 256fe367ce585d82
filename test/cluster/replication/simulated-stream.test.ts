import { describe, expect, it } from 'vitest';
import { SimProcess } from '#test/sim/sim-process.ts';
import { SimRandom } from '#test/sim/sim-random.ts';
import { SimScheduler } from '#test/sim/sim-scheduler.ts';
import { SimStream } from '#test/sim/sim-stream.ts';

const APPENDS = 10_000;

/** Longer than anything is on its way, in milliseconds. */
const LANDED_MS = 60_000;

describe('the simulated stream', () => {
  it('never stores what it refused for want of space, however often it is delivered', async () => {
    const random = new SimRandom(1);
    const scheduler = new SimScheduler(random);
    const stream = new SimStream(scheduler, random);
    const link = stream.link(new SimProcess('m1', scheduler, 1, 0));
    const refused = new Set<string>();
    for (let number = 0; number < APPENDS; number += 1) {
      let isAnswered = false;
      // Appends arrive within 10 ms, so that there is space again for some second copies.
      stream.fill(random.next() * 10);
      void link.append(stream.messages.length, Buffer.from(`append ${number}`)).then(({ kind }) => {
        isAnswered = true;
        if (kind === 'full') refused.add(`append ${number}`);
      });
      while (!isAnswered) await scheduler.step();
    }
    const endMs = scheduler.monotonicMs() + LANDED_MS;
    while (scheduler.monotonicMs() < endMs && (await scheduler.step()));
    expect(refused.size).toBeGreaterThan(APPENDS / 10);
    expect(stream.messages.length).toBeGreaterThan(APPENDS / 10);
    const stored = stream.messages.map(({ bytes }) => bytes.toString());
    expect(stored.filter((text) => refused.has(text))).toEqual([]);
  });
});
