import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Clock } from '#runtime/base/time/clock.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { BusHub } from '#runtime/bus/bus-hub.ts';
import { FanOut } from '#runtime/bus/fan-out.ts';
import type { BusItem, BusSubscription } from '#runtime/bus/ports.ts';
import { BusCounts, BusWorld } from '#test/support/bus-world.ts';
import { BRANCH } from '#test/support/test-branch.ts';

/** What one receiver's work takes on the clock of these tests, in milliseconds. */
const WORK_MS = 0.02;

/** A clock that work moves, and that notes how much of it one turn of the event loop saw. */
class WorkClock implements Clock {
  longestTurnMs = 0;
  turns = 0;
  #nowMs = 0;
  #turnStartMs = 0;

  wallMs(): number {
    return this.#nowMs;
  }

  monotonicMs(): number {
    return this.#nowMs;
  }

  after(delayMs: number, callback: () => void): { cancel(): void } {
    const timer = setTimeout(callback, delayMs);
    return { cancel: () => clearTimeout(timer) };
  }

  soon(callback: () => void): void {
    setImmediate(() => {
      this.turns += 1;
      this.#turnStartMs = this.#nowMs;
      callback();
    });
  }

  work(): void {
    this.#nowMs += WORK_MS;
    this.longestTurnMs = Math.max(this.longestTurnMs, this.#nowMs - this.#turnStartMs);
  }
}

describe('handing out', () => {
  let world: BusWorld;

  beforeEach(async () => {
    world = await BusWorld.open();
  });

  afterEach(() => world.close());

  it('one event to 10,000 subscribers holds the event loop for less than 8 ms at a time', async () => {
    const subscribers = 10_000;
    const clock = new WorkClock();
    const counts = new BusCounts();
    const hub = new BusHub({
      router: world.branch.engine.host,
      clock,
      random: systemRandom,
      observer: counts,
    });
    world.sink = (branch, events) => {
      for (const event of events) hub.receive(branch, event);
    };
    let told = 0;
    const all = Promise.withResolvers<void>();
    const listen = async (subscription: BusSubscription): Promise<void> => {
      for await (const item of subscription) {
        expect((item as BusItem).event.type).toBe('RevisionCommitted');
        clock.work();
        told += 1;
        if (told === subscribers) all.resolve();
      }
    };
    const subscriptions: BusSubscription[] = [];
    for (let index = 0; index < subscribers; index++) subscriptions.push(await hub.subscribe(BRANCH));
    for (const subscription of subscriptions) void listen(subscription);
    await world.write();
    await all.promise;
    expect(told).toBe(subscribers);
    expect(counts.items).toBe(subscribers);
    expect(clock.longestTurnMs).toBeLessThan(8);
    // 200 ms of work, so it was in many turns indeed.
    expect(clock.turns).toBeGreaterThan(25);
    for (const subscription of subscriptions) subscription.close();
    expect(hub.feeds).toBe(0);
  });

  it('does not let a source with much keep the others waiting', async () => {
    const clock = new WorkClock();
    const fanOut = new FanOut(clock);
    const order: string[] = [];
    const done = Promise.withResolvers<void>();
    const source = (name: string, pieces: number) => {
      let left = pieces;
      return {
        turn: () => {
          order.push(name);
          left -= 1;
          if (left === 0 && name === 'long') done.resolve();
          return left > 0;
        },
      };
    };
    fanOut.wake(source('long', 5));
    fanOut.wake(source('short', 1));
    expect(order).toEqual([]);
    await done.promise;
    expect(order).toEqual(['long', 'short', 'long', 'long', 'long', 'long']);
  });
});
