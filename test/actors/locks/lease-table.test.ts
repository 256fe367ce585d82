import { expect, it } from 'vitest';
import { type Lease, LeaseTable } from '#actors/locks/lease-table.ts';

function lease(token: number, deadlineMs: number): Lease {
  return { token, deadlineMs, ttlMs: 10, acquiredAtMs: 0, expiresAtMs: 0, owner: null };
}

it('hands out leases that have ended, earliest first, each once', () => {
  const table = new LeaseTable();
  table.set('b', lease(2, 20));
  table.set('a', lease(1, 10));
  table.set('c', lease(3, 30));
  expect(table.nextDeadline()).toBe(10);
  expect([table.takeDue(25), table.takeDue(25), table.takeDue(25)]).toEqual(['a', 'b', undefined]);
  expect(table.nextDeadline()).toBe(30);
});

it('hands out leases that end at one moment in the order they were granted', () => {
  const table = new LeaseTable();
  for (const token of [4, 2, 7, 1, 6, 3, 5]) table.set(`key ${token}`, lease(token, 10));
  const taken = Array.from({ length: 7 }, () => table.takeDue(10));
  expect(taken).toEqual([1, 2, 3, 4, 5, 6, 7].map((token) => `key ${token}`));
});

it('uses the newest end of a lease, and ignores removed leases', () => {
  const table = new LeaseTable();
  table.set('a', lease(1, 10));
  table.set('a', lease(1, 50));
  table.set('b', lease(2, 20));
  table.delete('b');
  expect(table.nextDeadline()).toBe(50);
  expect(table.takeDue(49)).toBe(undefined);
  table.set('a', lease(1, 5));
  expect(table.takeDue(5)).toBe('a');
});

it('does not keep what was renewed or released for ever', () => {
  const table = new LeaseTable();
  for (let token = 1; token <= 50_000; token += 1) {
    table.set('hot', lease(token, 1_000_000 + token));
    if (token % 2 === 0) table.delete('hot');
  }
  table.set('last', lease(50_001, 7));
  expect([table.size, table.nextDeadline()]).toEqual([1, 7]);
});
