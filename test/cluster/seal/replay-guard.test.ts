import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { REORDERED_MAX, ReplayGuard } from '#cluster/seal/replay-guard.ts';

describe('a guard against messages that come again', () => {
  it('takes each number of a row once, also when some overtake each other or are missing', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 3 * REORDERED_MAX }), { maxLength: 400 }), (numbers) => {
        const guard = new ReplayGuard();
        const seen = new Set<number>();
        let newest = 0;
        for (const number of numbers) {
          const isTaken = guard.take('m1', number);
          const isTooOld = newest - number >= REORDERED_MAX;
          expect(isTaken).toBe(!isTooOld && !seen.has(number));
          if (isTaken) seen.add(number);
          newest = Math.max(newest, number);
        }
      }),
    );
  });

  it('takes no number again after a leap that leaves everything behind', () => {
    const guard = new ReplayGuard();
    for (let number = 1; number <= 5; number++) expect(guard.take('m1', number)).toBe(true);
    const far = 10 * REORDERED_MAX + 3;
    expect(guard.take('m1', far)).toBe(true);
    for (let number = 1; number <= 5; number++) expect(guard.take('m1', number)).toBe(false);
    expect([guard.take('m1', far), guard.take('m1', far - 1)]).toEqual([false, true]);
  });

  it('takes a number late whose place another one had long before', () => {
    const guard = new ReplayGuard();
    const numbers = [5, REORDERED_MAX - 1, REORDERED_MAX + 10];
    expect(numbers.map((number) => guard.take('m1', number))).toEqual([true, true, true]);
    expect([guard.take('m1', REORDERED_MAX + 5), guard.take('m1', REORDERED_MAX + 5)]).toEqual([true, false]);
  });

  it('keeps rows apart', () => {
    const guard = new ReplayGuard();
    expect([guard.take('a', 1), guard.take('b', 1), guard.take('a', 1)]).toEqual([true, true, false]);
  });
});
