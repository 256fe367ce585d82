import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  REMOVAL_MARGIN,
  removedTokenFloor,
  RESTORE_MARGIN,
  restoredTokenFloor,
} from '#runtime/base/token-floor.ts';

describe('the floor of fence tokens after a restore', () => {
  const now = Date.UTC(2026, 0, 1);

  it('lies a margin above every token of the backup, and below 2^53 for thousands of restores', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 2 ** 52 }), (highest) => {
        const floor = restoredTokenFloor(highest, now);
        expect(floor).toBeGreaterThanOrEqual(highest + RESTORE_MARGIN);
        expect(Number.isSafeInteger(floor)).toBe(true);
      }),
    );
    let token = 0;
    for (let restore = 0; restore < 5_000; restore += 1) token = restoredTokenFloor(token, now);
    expect(token).toBeLessThan(2 ** 53);
  });

  it('is above what was handed out since an earlier restore of the same backup, a million a second', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 2 ** 40 }),
        fc.integer({ min: 1, max: 10 ** 9 }),
        (highest, ms) => {
          const handedOut = restoredTokenFloor(highest, now) + ms * 1000;
          expect(restoredTokenFloor(highest, now + ms + 1)).toBeGreaterThan(handedOut);
        },
      ),
    );
  });

  it('does not reach 2^53 with any time of this and the next century', () => {
    expect(Number.isSafeInteger(restoredTokenFloor(0, Date.UTC(2199, 0, 1)))).toBe(true);
  });
});

describe('the floor of fence tokens of the next repository of a name', () => {
  it('is above everything the removed one can have granted, a million a second', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 2 ** 52 }),
        fc.integer({ min: 0, max: 10 ** 11 }),
        (floor, lifeMs) => {
          expect(removedTokenFloor(floor, lifeMs)).toBeGreaterThanOrEqual(floor + lifeMs * 1000);
          expect(removedTokenFloor(floor, lifeMs)).toBeGreaterThanOrEqual(floor + REMOVAL_MARGIN);
        },
      ),
    );
  });

  it('lies a margin above the one before when the clock was put back', () => {
    expect(removedTokenFloor(1000, -(10 ** 9))).toBe(1000 + REMOVAL_MARGIN);
  });

  it('stays below 2^53 for a removal every minute of three years', () => {
    const minutes = 3 * 365 * 24 * 60;
    expect(removedTokenFloor(minutes * REMOVAL_MARGIN, 60_000)).toBeLessThan(2 ** 53);
  });
});
