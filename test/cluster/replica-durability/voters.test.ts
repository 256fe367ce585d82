import { expect, it } from 'vitest';
import { isMajority, type Voters, majorityReached } from '#cluster/replica-durability/voters.ts';

const CHANGING: Voters = { old: ['a', 'b', 'c'], new: ['a', 'd', 'e'] };

it('asks majorities of the old and of the new voters while they change', () => {
  expect(isMajority(CHANGING, new Set(['a', 'b']))).toBe(false);
  expect(isMajority(CHANGING, new Set(['a', 'd']))).toBe(false);
  expect(isMajority(CHANGING, new Set(['a', 'b', 'd']))).toBe(true);
  // Half of four is no majority.
  const even = ['a', 'b', 'c', 'd'];
  expect(isMajority({ old: even, new: even }, new Set(['a', 'b']))).toBe(false);
});

it('counts a sequence as reached when more than half have it', () => {
  const reached = new Map([
    ['a', 9],
    ['b', 7],
    ['c', 5],
  ]);
  expect(majorityReached(['a', 'b', 'c'], reached)).toBe(7);
  expect(majorityReached(['a', 'b', 'c', 'd'], reached)).toBe(5);
  expect(majorityReached(['a', 'x', 'y'], reached)).toBe(0);
});
