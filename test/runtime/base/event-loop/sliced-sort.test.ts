import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sortInSlices } from '#runtime/base/event-loop/sliced-sort.ts';

describe('sorting in slices', () => {
  it('sorts stably, as a sort in one go does, and rests in between', () => {
    const item = fc.record({ key: fc.integer({ min: 0, max: 9 }), at: fc.nat() });
    fc.assert(
      fc.property(fc.array(item, { maxLength: 3000, size: 'max' }), (items) => {
        const steps = sortInSlices(items, (a, b) => a.key - b.key);
        let rests = 0;
        let step = steps.next();
        for (; step.done !== true; step = steps.next()) rests += 1;
        expect(step.value).toEqual(items.toSorted((a, b) => a.key - b.key));
        expect(rests).toBeGreaterThanOrEqual(Math.ceil(items.length / 512));
      }),
      { numRuns: 40 },
    );
  });
});
