import { expect, it } from 'vitest';
import { percentile, rising } from '../../../bench/support/percentile.ts';

it.each([
  [0, 1],
  [0.5, 5],
  [0.9, 9],
  [0.91, 10],
  [0.99, 10],
  [1, 10],
])('takes the value that a share of %f does not exceed', (share, expected) => {
  expect(percentile(rising([10, 9, 8, 7, 6, 5, 4, 3, 2, 1]), share)).toBe(expected);
});

it('of one value is that value, and of none no number', () => {
  expect([0, 0.5, 1].map((share) => percentile([7], share))).toEqual([7, 7, 7]);
  expect(percentile([], 0.5)).toBeNaN();
});

it('sorts as numbers and leaves what it was given', () => {
  const given = [10, 9, 100];
  expect(rising(given)).toEqual([9, 10, 100]);
  expect(given).toEqual([10, 9, 100]);
});
