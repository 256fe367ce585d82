import { expect, it } from 'vitest';
import { Tally, type Told } from '../../../bench/members/tally.ts';

function tallyOf(subscribers: number): { tally: Tally; complete: Told[] } {
  const complete: Told[] = [];
  const tally = new Tally((told) => complete.push(told));
  tally.subscribers = subscribers;
  return { tally, complete };
}

it('reports when the first, the median and the last subscriber received a revision', () => {
  const { complete, tally } = tallyOf(5);
  for (const atMs of [10, 11, 12, 13]) tally.count('7-0', atMs);
  expect(complete).toEqual([]);
  tally.count('7-0', 14);
  expect(complete).toEqual([{ revision: '7-0', firstMs: 10, halfMs: 12, lastMs: 14 }]);
});

it('counts revisions separately when they are received at the same time', () => {
  const { complete, tally } = tallyOf(2);
  tally.count('7-0', 1);
  tally.count('8-0', 2);
  tally.count('8-0', 3);
  tally.count('7-0', 4);
  expect(complete.map(({ firstMs, lastMs, revision }) => [revision, firstMs, lastMs])).toEqual([
    ['8-0', 2, 3],
    ['7-0', 1, 4],
  ]);
});

it('drops revisions that not every subscriber received, so that it does not grow', () => {
  const { complete, tally } = tallyOf(2);
  tally.count('1-0', 1);
  for (let revision = 2; revision < 1_500; revision++) tally.count(`${revision}-0`, revision);
  tally.count('1-0', 2_000);
  expect(complete).toEqual([]);
  tally.count('1499-0', 2_001);
  expect(complete.map(({ revision }) => revision)).toEqual(['1499-0']);
});
