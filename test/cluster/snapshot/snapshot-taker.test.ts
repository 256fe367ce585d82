import { describe, expect, it } from 'vitest';
import { snapshotTaker } from '#cluster/snapshot/snapshot-taker.ts';

describe('the member that takes the next snapshot', () => {
  it.each([
    ['the first follower', { owner: 'a', warmFollowers: ['b', 'c'] }, undefined, 'b'],
    ['another follower than last time', { owner: 'a', warmFollowers: ['b', 'c'] }, 'b', 'c'],
    ['the first one again after the second', { owner: 'a', warmFollowers: ['b', 'c'] }, 'c', 'b'],
    ['the only follower every time', { owner: 'a', warmFollowers: ['b'] }, 'b', 'b'],
    ['the owner where nobody follows', { owner: 'a', warmFollowers: [] }, 'b', 'a'],
    ['nobody where nobody has it', { owner: undefined, warmFollowers: [] }, 'a', undefined],
  ] as const)('is %s', (_name, holders, last, taker) => {
    expect(snapshotTaker(holders, last)).toBe(taker);
  });
});
