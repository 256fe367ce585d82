import { expect, it } from 'vitest';
import { ColdStarter } from '#cluster/ownership/cold-start.ts';
import { ShardDamage } from '#cluster/ownership/shard-damage.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { TestClock } from '#test/support/test-clock.ts';

/** Everything up to the next timer. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

it('stops a partition after growing delays when its damaged files cannot be set aside [CLU-046]', async () => {
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

it('rebuilds a partition after growing delays on a disk that damages it each time [CLU-046]', async () => {
  const clock = new TestClock();
  const cause = new ServiceError('DATA_CORRUPTED');
  const rebuilds: number[] = [];
  const nothing = { current: undefined, newest: undefined } as never;
  const meetDamage = async (): Promise<void> => {
    for (let met = 0; met < 2; met += 1) {
      if (await damage.makeAnew(cause, () => Promise.resolve())) rebuilds.push(clock.monotonicMs());
      else damage.contain(cause);
      expect(damage.obstacleToMakeAnew).toBe('all of it was rebuilt a moment ago');
    }
  };
  const damage: ShardDamage = new ShardDamage({
    clock,
    random: { bytes: (length) => new Uint8Array(length) },
    store: {} as never,
    stream: { state: () => Promise.resolve(whole) } as never,
    positions: nothing,
    shards: nothing,
    coldStart: new ColdStarter(undefined, nothing, nothing),
    report: () => {},
    onCurable: meetDamage,
  });
  await meetDamage();
  for (let second = 0; second < 1_000; second += 1) {
    await settled();
    clock.advance(1_000);
  }
  const waits = rebuilds.slice(1).map((time, index) => (time - (rebuilds[index] as number)) / 1_000);
  expect(waits).toEqual([10, 20, 40, 80, 160, 300, 300]);
});

it('fetches no snapshot for a partition that was released meanwhile', async () => {
  const clock = new TestClock();
  const nothing = { current: undefined, newest: undefined } as never;
  let brought = 0;
  let answer = (): void => {};
  const answered = new Promise<void>((resolve) => {
    answer = resolve;
  });
  const coldStart = new ColdStarter(
    {
      bring: () => {
        brought += 1;
        return Promise.resolve(true);
      },
      isUnfinished: () => Promise.resolve(false),
      done: () => Promise.resolve(),
    } as never,
    nothing,
    nothing,
  );
  const damage = new ShardDamage({
    clock,
    random: { bytes: (length) => new Uint8Array(length) },
    store: {} as never,
    stream: {
      state: async () => {
        await answered;
        return { identity: 'memory', firstSequence: 5, lastSequence: 9 };
      },
    } as never,
    positions: nothing,
    shards: nothing,
    coldStart,
    report: () => {},
    onCurable: () => Promise.resolve(),
  });
  damage.contain(new ServiceError('DATA_CORRUPTED'));
  clock.advance(1);
  damage.end();
  answer();
  await settled();
  expect(brought).toBe(0);
});

/** What a stream says of itself: a whole log of nine records. */
const whole = { identity: 'memory', firstSequence: 1, lastSequence: 9 };

const at = (sequence: number, identity = 'memory') => ({
  identity,
  sequence,
  epoch: 1,
  chain: Buffer.alloc(16),
});

/** What is known of a partition, where it is not that everything is well. */
interface Known {
  readonly state?: typeof whole;
  readonly current?: ReturnType<typeof at>;
  readonly newest?: ReturnType<typeof at>;
  readonly canClear?: boolean;
}

function damageOf({ canClear = true, current = at(7), newest = at(9), state = whole }: Known) {
  const positions = { current } as never;
  const shards = { newest } as never;
  const damage = new ShardDamage({
    clock: new TestClock(),
    random: { bytes: (length) => new Uint8Array(length) },
    store: { canClear } as never,
    stream: { state: () => Promise.resolve(state) } as never,
    positions,
    shards,
    coldStart: new ColdStarter(undefined, positions, shards),
    report: () => {},
    onCurable: () => Promise.resolve(),
  });
  return damage;
}

it.each<[string, Known, isMade: boolean]>([
  ['whose log has every record', {}, true],
  ['whose log ends before what the stored position says', { current: at(10) }, false],
  ['whose log ends before what a shard has', { newest: at(10) }, false],
  ['whose log is another one', { state: { ...whole, identity: 'other' } }, false],
  ['whose log was cut', { state: { ...whole, firstSequence: 2 } }, false],
  [
    'whose log never had a record',
    { state: { ...whole, lastSequence: 0 }, current: at(0), newest: at(0) },
    false,
  ],
  ['that has no room to keep what is damaged', { canClear: false }, false],
])('rebuilds a partition only if that restores everything: one %s', async (_, known, isMade) => {
  const damage = damageOf(known);
  let clears = 0;
  const clear = async (): Promise<void> => {
    clears += 1;
  };
  expect(await damage.makeAnew(new ServiceError('DATA_CORRUPTED'), clear)).toBe(isMade);
  expect(clears).toBe(isMade ? 1 : 0);
  expect([damage.wasRebuilt, await damage.isLogWhole()]).toEqual([
    isMade,
    isMade || known.canClear === false,
  ]);
});

/** Damage of a partition without room for more: what is contained stays so until it is over. */
function readingDamage() {
  const clock = new TestClock();
  const refused = new Map<string, ServiceError>();
  const looks: ((found: unknown) => void)[] = [];
  /** Whether damaged actors are refused alone, each time that is said. */
  const alone: boolean[] = [];
  const refuseAlone = (isAlone: boolean): void => void alone.push(isAlone);
  const positions = { current: undefined } as never;
  const shards = { lost: () => new Promise((resolve) => looks.push(resolve)) } as never;
  const damage = new ShardDamage({
    clock,
    random: { bytes: (length) => new Uint8Array(length) },
    store: { canClear: false, refused, refuseAlone } as never,
    stream: {} as never,
    positions,
    shards,
    coldStart: new ColdStarter(undefined, positions, shards),
    report: () => {},
    onCurable: () => Promise.resolve(),
  });
  return { alone, clock, damage, looks, refused };
}

it('judges nothing by a reading that another one took the place of meanwhile', async () => {
  const { damage, looks } = readingDamage();
  const cause = new ServiceError('DATA_CORRUPTED');
  damage.beginReading();
  const first = damage.endReading();
  damage.beginReading();
  looks.shift()?.(cause);
  expect([await first, damage.isReading]).toEqual([undefined, true]);
  const second = damage.endReading();
  looks.shift()?.(cause);
  expect([await second, damage.isReading]).toEqual([cause, false]);
});

it('contains damage until the log is read: what refuses nothing yet may miss something at its end', async () => {
  const { clock, damage, looks, refused } = readingDamage();
  const cause = new ServiceError('DATA_CORRUPTED', 'a page is damaged');
  refused.set('actor', cause);
  damage.contain(cause);
  damage.beginReading();
  refused.clear();
  clock.advance(1);
  await settled();
  expect(damage.contained).toBe('a page is damaged');
  const ended = damage.endReading();
  looks.shift()?.(undefined);
  expect(await ended).toBeUndefined();
  clock.advance(5_000);
  await settled();
  expect(damage.contained).toBeUndefined();
});

it('is contained also when the log was read', async () => {
  const { alone, damage, looks, refused } = readingDamage();
  const cause = new ServiceError('DATA_CORRUPTED', 'a page is damaged');
  refused.set('actor', cause);
  damage.contain(cause);
  damage.beginReading();
  const ended = damage.endReading();
  looks.shift()?.(cause);
  expect(await ended).toBeUndefined();
  expect([damage.contained, alone.at(-1)]).toEqual(['a page is damaged', true]);
});
