import { expect, it } from 'vitest';
import { checkLockHistory, type LockAnswer, type LockEvent, type LockOperation } from './lock-history.ts';

/** One operation: what, from when to when, and what became of it; without an end nobody knows. */
type Line = readonly [LockOperation, number, number?, (LockAnswer | null)?];

function check(...lines: readonly Line[]): readonly string[] {
  const events = lines.flatMap(([operation, from, to, answer], id): LockEvent[] => {
    const invoke: LockEvent = { id, type: 'invoke', atMs: from, operation };
    if (to === undefined || answer === undefined) return [invoke];
    return [invoke, answer === null ? { id, type: 'fail', atMs: to } : { id, type: 'ok', atMs: to, answer }];
  });
  return checkLockHistory(events.toSorted((a, b) => a.atMs - b.atMs));
}

const acquire = (key = 'a', ttlMs = 100): LockOperation => ({ do: 'acquire', key, ttlMs });
const release = (token: number, key = 'a'): LockOperation => ({ do: 'release', key, token });
const renew = (token: number, ttlMs = 100, key = 'a'): LockOperation => ({ do: 'renew', key, token, ttlMs });
const write = (token: number, key = 'a'): LockOperation => ({ do: 'write', key, token });
const claim = (n: number, capacity = 3): LockOperation => ({ do: 'claim', pool: 'p', n, capacity });
const putBack = (n: number): LockOperation => ({ do: 'put back', pool: 'p', n });

it('takes a history of one holder after the other', () => {
  expect(
    check(
      [acquire(), 0, 10, { token: 1 }],
      [acquire(), 20, 30, null],
      [renew(1, 200), 40, 50, {}],
      [write(1), 60, 70, {}],
      [release(1), 100, 110, {}],
      [acquire(), 105, 120, { token: 2 }],
      [release(1), 130, 140, null],
      // The lease of token 2 has run out.
      [acquire(), 230, 240, { token: 3 }],
    ),
  ).toEqual([]);
});

it.each<readonly [string, readonly Line[]]>([
  [
    'token 5 was granted twice',
    [
      [acquire(), 0, 1, { token: 5 }],
      [acquire('b'), 0, 2, { token: 5 }],
    ],
  ],
  [
    'token 4 was granted after token 5',
    [
      [acquire(), 0, 1, { token: 5 }],
      [acquire('b'), 2, 3, { token: 4 }],
    ],
  ],
  ['operation 0 was granted with token 0', [[acquire(), 0, 1, { token: 0 }]]],
  [
    'a was granted with token 2 while token 1 held it',
    [
      [acquire(), 0, 10, { token: 1 }],
      [acquire(), 20, 90, { token: 2 }],
    ],
  ],
  [
    'a was granted with token 2 while token 1 held it',
    [
      [acquire(), 0, 10, { token: 1 }],
      [renew(1), 90, 95, {}],
      [acquire(), 100, 180, { token: 2 }],
    ],
  ],
  [
    'the lease of a with token 1 was lost before its time',
    [
      [acquire(), 0, 10, { token: 1 }],
      [renew(1), 20, 99, null],
    ],
  ],
  [
    'the lease of a with token 1 was lost before its time',
    [
      [acquire(), 0, 10, { token: 1 }],
      [release(1), 20, 99, null],
    ],
  ],
  [
    'token 1 of a was released twice',
    [
      [acquire(), 0, 10, { token: 1 }],
      [release(1), 20, 30, {}],
      [release(1), 40, 50, {}],
    ],
  ],
  [
    'token 1 of a was renewed after its release',
    [
      [acquire(), 0, 10, { token: 1 }],
      [release(1), 20, 30, {}],
      [renew(1), 40, 50, {}],
    ],
  ],
  ['release of a took token 9, which was not granted for it', [[release(9), 20, 30, {}]]],
  [
    'a write under a with token 1 was taken after token 2 was granted',
    [
      [acquire(), 0, 10, { token: 1 }],
      [release(1), 20, 30, {}],
      [acquire(), 40, 50, { token: 2 }],
      [write(1), 60, 70, {}],
    ],
  ],
  [
    '4 units of p were out, of 3',
    [
      [claim(2), 0, 1, { remaining: 1 }],
      [claim(2), 2, 3, { remaining: 1 }],
    ],
  ],
  ['-1 of 3 remained in p', [[claim(2), 0, 1, { remaining: -1 }]]],
  [
    '5 of 3 remained in p',
    [
      [claim(1), 0, 1, { remaining: 2 }],
      [putBack(1), 2, 3, { remaining: 5 }],
    ],
  ],
  // Nobody can have put back what was certainly not yet asked for.
  [
    '4 units of p were out, of 3',
    [
      [claim(3), 0, 1, { remaining: 0 }],
      [claim(1), 2, 3, { remaining: 0 }],
      [putBack(3), 4, 5, { remaining: 2 }],
    ],
  ],
])('says %j', (sentence, lines) => {
  expect(check(...lines)).toContain(sentence);
});

it.each<readonly [string, readonly Line[]]>([
  [
    'a grant that may have been made after the lease ran out',
    [
      [acquire(), 0, 10, { token: 1 }],
      [acquire(), 20, 101, { token: 2 }],
    ],
  ],
  [
    'a grant that may follow a release nobody heard of',
    [
      [acquire(), 0, 10, { token: 1 }],
      [release(1), 15],
      [acquire(), 20, 30, { token: 2 }],
    ],
  ],
  [
    'a shorter renewal nobody heard of',
    [
      [acquire(), 0, 10, { token: 1 }],
      [renew(1, 5), 15],
      [acquire(), 16, 30, { token: 2 }],
    ],
  ],
  [
    'tokens of grants under way at the same time',
    [
      [acquire('a'), 0, 10, { token: 2 }],
      [acquire('b'), 5, 9, { token: 1 }],
    ],
  ],
  [
    'other locks',
    [
      [acquire('a'), 0, 10, { token: 1 }],
      [acquire('b'), 20, 30, { token: 2 }],
    ],
  ],
  [
    'a put-back nobody heard of',
    [
      [claim(3), 0, 1, { remaining: 0 }],
      [putBack(3), 2],
      [claim(3), 3, 4, { remaining: 0 }],
    ],
  ],
  [
    'claims nobody heard of',
    [
      [claim(3), 0],
      [claim(3), 1, 2, null],
    ],
  ],
  [
    'units put back beyond the capacity',
    [
      [claim(1), 0, 1, { remaining: 2 }],
      [putBack(9), 2, 3, { remaining: 3 }],
      [claim(3), 4, 5, { remaining: 0 }],
    ],
  ],
  [
    'a write under way while the lock changed hands',
    [
      [acquire(), 0, 10, { token: 1 }],
      [write(1), 15, 60, {}],
      [release(1), 20, 30, {}],
      [acquire(), 31, 40, { token: 2 }],
    ],
  ],
])('takes %s', (_what, lines) => {
  expect(check(...lines)).toEqual([]);
});
