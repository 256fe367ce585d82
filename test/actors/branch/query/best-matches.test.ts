import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BestMatches, type Sortable } from '#actors/branch/query/best-matches.ts';
import { RequestBudget } from '#runtime/budget/request-budget.ts';
import { runBudgeted } from '#test/support/budgeted-steps.ts';

interface Numbered extends Sortable {
  readonly value: number;
}

const compare = (a: Numbered, b: Numbered): number => a.value - b.value;
const matches = (values: readonly number[], characters = 100): Numbered[] =>
  values.map((value) => ({ value, characters }));

function* addAll(best: BestMatches<Numbered>, all: readonly Numbered[]): Generator<undefined, number[]> {
  for (const match of all) {
    yield* best.add(match);
    yield undefined;
  }
  return (yield* best.sorted()).map(({ value }) => value);
}

const windows = fc.record({
  limit: fc.option(fc.integer({ min: 1, max: 700 }), { nil: null }),
  offset: fc.nat(700),
});

describe('BestMatches', () => {
  it('has the first matches of all, as sorting all of them has', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(500), { maxLength: 4_000 }), windows, (values, window) => {
        const budget = new RequestBudget();
        const best = new BestMatches<Numbered>(window, compare, budget);
        const { result } = runBudgeted(addAll(best, matches(values)), budget);
        const { limit, offset } = window;
        const wanted = limit === null ? values.length : offset + limit;
        expect(result).toEqual(values.toSorted((a, b) => a - b).slice(0, wanted));
        expect(best.count).toBe(values.length);
        best.close();
        expect(budget.memory).toBe(0);
      }),
      { numRuns: 50 },
    );
  });

  it('keeps memory in proportion to the window, and not to the matches', () => {
    const peak = (count: number): number => {
      const budget = new RequestBudget();
      const best = new BestMatches<Numbered>({ limit: 1, offset: 0 }, compare, budget);
      const values = Array.from({ length: count }, (_, index) => count - index);
      return runBudgeted(addAll(best, matches(values)), budget).memoryMax;
    };
    expect(peak(50_000)).toBe(peak(2_000));
  });

  it('refuses what a window without an end does not fit', () => {
    const budget = new RequestBudget({ workMax: 1e12, memoryMax: 100_000 });
    const best = new BestMatches<Numbered>({ limit: null, offset: 0 }, compare, budget);
    const all = matches(Array.from({ length: 1_000 }, (_, index) => index));
    expect(() => runBudgeted(addAll(best, all), budget)).toThrow('memory');
    best.close();
    expect(budget.memory).toBe(0);
  });
});
