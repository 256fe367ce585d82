import { expect, it } from 'vitest';
import { ColdStarter } from '#cluster/lease/cold-start.ts';
import { ShardDamage } from '#cluster/lease/shard-damage.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { TestClock } from '#test/support/test-clock.ts';

/** Everything up to the next timer. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

it('takes a partition down after longer and longer waits when what is there cannot be put away [CLU-046]', async () => {
  const clock = new TestClock();
  const cause = new ServiceError('DATA_CORRUPTED');
  const swaps: number[] = [];
  const state = { identity: 'memory', firstSequence: 1, lastSequence: 9 };
  const nothing = { current: undefined, newest: undefined } as never;
  const damage: ShardDamage = new ShardDamage({
    clock,
    random: { bytes: (length) => new Uint8Array(length) },
    store: {} as never,
    stream: { state: () => Promise.resolve(state) } as never,
    positions: nothing,
    shards: nothing,
    coldStart: new ColdStarter(undefined, nothing, nothing),
    report: () => {},
    onCurable: async (met) => {
      swaps.push(clock.monotonicMs());
      const isMade = await damage.makeAnew(met, () => Promise.reject(new ServiceError('STORAGE_FULL')));
      if (!isMade) damage.contain(met);
    },
  });
  damage.contain(cause);
  for (let second = 0; second < 700; second += 1) {
    await settled();
    clock.advance(1_000);
  }
  const waits = swaps.slice(1).map((at, index) => (at - (swaps[index] as number)) / 1_000);
  expect(waits).toEqual([10, 20, 40, 80, 160, 300]);
});
