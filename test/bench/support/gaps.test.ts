import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { lengthOf, longestGap } from '../../../bench/support/gaps.ts';

describe('the longest gap', () => {
  it('goes from the last answer before to the first one after', () => {
    expect(longestGap([0, 5, 10, 4_000, 4_005, 5_000], 12, 4_500)).toEqual({ fromMs: 10, toMs: 4_000 });
  });

  it('begins before what caused it', () => {
    expect(longestGap([0, 100, 900, 910], 500, 905)).toEqual({ fromMs: 100, toMs: 900 });
  });

  it('leaves out longer ones before and after', () => {
    const answers = [0, 1_000, 1_010, 1_200, 1_210, 9_000];
    expect(longestGap(answers, 1_005, 1_205)).toEqual({ fromMs: 1_010, toMs: 1_200 });
  });

  it.each([
    ['no answer', []],
    ['no answer before', [20, 30]],
    ['no answer after', [0, 14]],
  ])('is not known with %s', (_, answers) => {
    expect(() => longestGap(answers, 10, 15)).toThrow('before or after');
  });

  it('is not shorter than any other that touches the time', () => {
    const times = fc.uniqueArray(fc.integer({ min: 1, max: 999 }), { minLength: 2, maxLength: 40 });
    fc.assert(
      fc.property(times, fc.nat(998), fc.nat(500), (some, fromMs, length) => {
        const answers = [0, ...some.sort((a, b) => a - b), 2_000];
        const toMs = fromMs + length;
        const longest = longestGap(answers, fromMs, toMs);
        const touching = answers
          .slice(1)
          .map((answer, index) => ({ fromMs: answers[index] as number, toMs: answer }))
          .filter((gap) => gap.toMs >= fromMs && gap.fromMs <= toMs);
        expect(touching).toContainEqual(longest);
        expect(lengthOf(longest)).toBe(Math.max(...touching.map(lengthOf)));
      }),
    );
  });
});
