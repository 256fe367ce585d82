import type { Exchange } from '#protocols/http/openapi/openapi-examples.ts';

const lock = {
  key: 'printing',
  token: 1,
  expires_at_ms: 1805036996000,
  acquired_at_ms: 1805036966000,
  ttl_ms: 30000,
  owner: 'ada',
  waiting: 0,
};

/** A lock and a pool. */
export const lockExamples: readonly Exchange[] = [
  {
    operation: 'acquireLock',
    summary: 'For half a minute.',
    body: { key: 'printing', ttl_ms: 30000, owner: 'ada' },
    status: 200,
    answer: { acquired: true, key: 'printing', token: 1, expires_at_ms: 1805036996000 },
  },
  {
    operation: 'renewLock',
    summary: 'Half a minute from now on.',
    body: { key: 'printing', token: 1, ttl_ms: 30000 },
    status: 200,
    answer: { renewed: true },
  },
  {
    operation: 'listLocksOrPools',
    summary: 'The locks that are held.',
    parameters: { list: 'locks' },
    status: 200,
    answer: { items: [lock], next_cursor: null },
  },
  { operation: 'readLock', summary: 'One lock.', parameters: { key: 'printing' }, status: 200, answer: lock },
  {
    operation: 'releaseLock',
    summary: 'Given back.',
    body: { key: 'printing', token: 1 },
    status: 200,
    answer: { released: true },
  },
  {
    operation: 'claimUnits',
    summary: 'Two of a hundred copies.',
    body: { pool: 'copies', n: 2, capacity: 100 },
    status: 200,
    answer: { claimed: true, remaining: 98 },
  },
  {
    operation: 'readPool',
    summary: 'What is left.',
    parameters: { pool: 'copies' },
    status: 200,
    answer: { pool: 'copies', capacity: 100, remaining: 98 },
  },
  {
    operation: 'releaseUnits',
    summary: 'One comes back.',
    body: { pool: 'copies', n: 1 },
    status: 200,
    answer: { remaining: 99 },
  },
];
