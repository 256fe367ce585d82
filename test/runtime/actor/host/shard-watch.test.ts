import { beforeEach, expect, it } from 'vitest';
import { SHARDS_AT_ONCE, ShardWatch, type WatchedActors } from '#runtime/actor/host/shard-watch.ts';
import { TestClock } from '#test/support/test-clock.ts';

let clock: TestClock;
let open: Map<string, { loop: { checkShard(): void } }>;
let looked: string[];
let watch: ShardWatch;

beforeEach(() => {
  clock = new TestClock();
  open = new Map();
  looked = [];
  watch = new ShardWatch(clock, open satisfies WatchedActors);
  watch.start();
});

/** Opens actors with the numbers from `first` to `last`. */
function opened(first: number, last: number): readonly string[] {
  const names = Array.from({ length: last - first + 1 }, (_, index) => `actor ${first + index}`);
  for (const name of names) open.set(name, { loop: { checkShard: () => void looked.push(name) } });
  return names;
}

/** What is looked at in the next second. */
function look(): readonly string[] {
  looked = [];
  clock.advance(1_000);
  return looked;
}

it('looks at all actors in turn where there are more than one look takes, and then begins again', () => {
  const names = opened(1, 2.5 * SHARDS_AT_ONCE);
  const [first, second, third] = [look(), look(), look()];
  expect([first, second].map(({ length }) => length)).toEqual([SHARDS_AT_ONCE, SHARDS_AT_ONCE]);
  expect([...first, ...second, ...third]).toEqual([...names, ...names.slice(0, SHARDS_AT_ONCE / 2)]);
  expect(look()).toEqual(names.slice(SHARDS_AT_ONCE / 2, 1.5 * SHARDS_AT_ONCE));
});

it('looks at each of a few actors once in a second, and at none before', () => {
  const names = opened(1, 3);
  clock.advance(999);
  expect(looked).toEqual([]);
  clock.advance(1);
  expect(looked).toEqual(names);
  for (let time = 0; time < 2; time += 1) expect([...look()].sort()).toEqual(names);
});

it('leaves out nobody and looks at nobody twice when actors are opened and closed between its looks', () => {
  expect(look()).toEqual([]);
  const names = opened(1, 2 * SHARDS_AT_ONCE);
  look();
  // One that was looked at, the next one, and all those of a whole look.
  for (const name of [names[0], names[SHARDS_AT_ONCE]]) open.delete(name as string);
  const [late] = opened(1_000, 1_000);
  expect(look()).toEqual([...names.slice(SHARDS_AT_ONCE + 1), late]);
  open.clear();
  expect(look()).toEqual([]);
  expect([...opened(1, 2)]).toEqual(look());
});

it('looks at nobody once it is ended, and sets no timer', () => {
  opened(1, 2);
  look();
  watch.end();
  expect([look(), clock.alarms]).toEqual([[], 0]);
  watch.start();
  expect(clock.alarms).toBe(0);
});
