import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { HYSTERESIS_PERCENT, levelAfter, type SpaceLevel, spaceLevels } from '#runtime/space/space-level.ts';

const marks = { alarmPercent: 80, refusePercent: 90, readOnlyPercent: 95 };

describe('the level of a place', () => {
  it.each<[SpaceLevel, number, SpaceLevel]>([
    ['enough', 0, 'enough'],
    ['enough', 79.9, 'enough'],
    ['enough', 80, 'low'],
    ['enough', 89.9, 'low'],
    ['enough', 90, 'refusing'],
    ['enough', 95, 'read-only'],
    ['enough', 100, 'read-only'],
    ['low', 79, 'low'],
    ['low', 78.1, 'low'],
    ['low', 78, 'enough'],
    ['low', 92, 'refusing'],
    ['refusing', 89, 'refusing'],
    ['refusing', 88, 'low'],
    ['refusing', 77, 'enough'],
    ['read-only', 94, 'read-only'],
    ['read-only', 93, 'refusing'],
    ['read-only', 88.5, 'refusing'],
    ['read-only', 88, 'low'],
    ['read-only', 10, 'enough'],
  ])('is, after %s and with %d %% used, %s', (before, used, after) => {
    expect(levelAfter(before, used, marks)).toBe(after);
  });

  it('does not change when usage varies by less than the hysteresis', () => {
    const levels = fc.constantFrom(...spaceLevels);
    const used = fc.double({ min: 0, max: 100, noNaN: true });
    const less = fc.double({ min: 0, max: HYSTERESIS_PERCENT - 0.001, noNaN: true });
    fc.assert(
      fc.property(levels, used, less, (before, high, drop) => {
        const there = levelAfter(before, high, marks);
        expect(levelAfter(there, high, marks)).toBe(there);
        const back = levelAfter(there, Math.max(0, high - drop), marks);
        expect(levelAfter(back, high, marks)).toBe(there);
      }),
    );
  });
});
