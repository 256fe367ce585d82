import { beforeEach, describe, expect, it } from 'vitest';
import { systemRandom } from '#runtime/base/random.ts';
import type { OutsideConsumer } from '#runtime/feed/consumer.ts';
import { EndedBranches } from '#runtime/feed/ended-branches.ts';
import { silentLog } from '#runtime/telemetry/log-context.ts';
import { settle, TestClock } from '#test/support/test-clock.ts';
import { PathTally } from '#test/support/feed-consumers.ts';

/** A consumer that notes of which branches it was told. */
function consumer(name: string, told: string[], fails: () => boolean = () => false): OutsideConsumer {
  return {
    name,
    isEverywhere: true,
    effects: 'elsewhere',
    start: () => Promise.resolve(),
    consume: () => Promise.resolve(),
    ended(branch) {
      if (fails()) return Promise.reject(new Error('not yet'));
      told.push(`${name} ${branch}`);
      return Promise.resolve();
    },
  };
}

describe('the removal of branches', () => {
  let clock: TestClock;
  let told: string[];
  let forgotten: string[];
  let present: Set<string>;

  beforeEach(() => {
    clock = new TestClock();
    told = [];
    forgotten = [];
    present = new Set();
  });

  const open = (consumers: OutsideConsumer[], forget?: () => Promise<void>): EndedBranches =>
    new EndedBranches({
      clock,
      random: systemRandom,
      log: silentLog,
      consumers: [new PathTally(), ...consumers],
      isRemoved: (branch) => Promise.resolve(!present.has(branch)),
      forget: async (branch) => {
        await forget?.();
        forgotten.push(branch);
      },
    });

  it('is told to each consumer with effects elsewhere, and forgotten after that', async () => {
    const ended = open([consumer('a', told), consumer('b', told)]);
    ended.notice(['x', 'y']);
    await settle();
    expect(told.sort()).toEqual(['a x', 'a y', 'b x', 'b y']);
    expect(forgotten.sort()).toEqual(['x', 'y']);
    expect(ended.size).toBe(0);
    expect(ended.hasConsumers).toBe(true);
    expect(open([]).hasConsumers).toBe(false);
  });

  it('is told after the branch is removed, and not before', async () => {
    present.add('x');
    const ended = open([consumer('a', told)]);
    ended.notice(['x']);
    for (let round = 0; round < 3; round++) {
      await settle();
      clock.advance(2_000);
    }
    await settle();
    expect([told, forgotten, ended.size]).toEqual([[], [], 1]);
    present.delete('x');
    ended.notice(['x']);
    await settle();
    expect([told, forgotten]).toEqual([['a x'], ['x']]);
    expect(clock.alarms).toBe(0);
  });

  it('is told again to a consumer that failed, and not to the others; it is forgotten when all know', async () => {
    let fails = true;
    const ended = open([consumer('a', told), consumer('b', told, () => fails)]);
    ended.notice(['x']);
    await settle();
    expect([told, forgotten]).toEqual([['a x'], []]);
    fails = false;
    clock.advance(1_000);
    await settle();
    expect([told, forgotten]).toEqual([['a x', 'b x'], ['x']]);
  });

  it('is forgotten later when that fails, without telling anybody again', async () => {
    let fails = true;
    const ended = open([consumer('a', told)], () =>
      fails ? Promise.reject(new Error('no')) : Promise.resolve(),
    );
    ended.notice(['x']);
    await settle();
    expect([told, forgotten]).toEqual([['a x'], []]);
    fails = false;
    clock.advance(1_000);
    await settle();
    expect([told, forgotten]).toEqual([['a x'], ['x']]);
  });

  it('is told to nobody after it was closed', async () => {
    present.add('x');
    const ended = open([consumer('a', told)]);
    ended.notice(['x']);
    await settle();
    await ended.close();
    present.delete('x');
    ended.notice(['x']);
    clock.advance(100_000);
    await settle();
    expect([told, clock.alarms]).toEqual([[], 0]);
  });
});
