import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RequestBudget } from '#runtime/budget/request-budget.ts';
import { includesInSlices } from '#runtime/content/values/text-search.ts';
import { runBudgeted } from '#test/support/budgeted-steps.ts';

const search = (text: string, needle: string, budget = new RequestBudget()) =>
  runBudgeted(includesInSlices(text, needle, budget), budget);

describe('includesInSlices', () => {
  const letters = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 300 });
  const needles = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 60 });

  it('finds what includes finds', () => {
    fc.assert(
      fc.property(letters, needles, fc.nat(), fc.boolean(), (text, other, at, isPart) => {
        const needle = isPart ? text.slice(at % (text.length + 1)).slice(0, 50) : other;
        expect(search(text, needle).result).toBe(text.includes(needle));
      }),
    );
  });

  it.each([1, 5, 32, 33, 70_000])('finds a needle of %i characters that lies across two slices', (length) => {
    const needle = 'n'.repeat(length);
    for (const at of [0, 65_536 - length, 65_535, 65_536, 131_071 - length, 200_000 - length]) {
      if (at < 0) continue;
      const text = `${'x'.repeat(at)}${needle}`.padEnd(200_000, 'x');
      expect(search(text, needle).result, `at ${at}`).toBe(text.includes(needle));
      expect(search(text, `${needle}n`).result).toBe(text.includes(`${needle}n`));
    }
  });

  it('takes time in proportion to the text, with any needle', () => {
    const text = 'a'.repeat(2_000_000);
    for (const length of [4, 1_000, 500_000]) {
      const budget = new RequestBudget();
      const needle = `${'a'.repeat(length / 2)}b${'a'.repeat(length / 2)}`;
      const { result, longestStep, rests } = search(text, needle, budget);
      expect([result, budget.memory]).toEqual([false, 0]);
      expect(budget.work).toBeLessThan(10 * (text.length + needle.length));
      expect(longestStep).toBeLessThan(1_000_000);
      expect(rests).toBeGreaterThan(25);
    }
  });

  it('ends when the budget is used up', () => {
    const budget = new RequestBudget({ workMax: 1_000_000, memoryMax: 1_000_000 });
    expect(() => search('a'.repeat(2_000_000), 'b', budget)).toThrow('work that one may take');
    const other = new RequestBudget({ workMax: 1_000_000_000, memoryMax: 1_000 });
    expect(() => search('a'.repeat(2_000_000), 'b'.repeat(1_000), other)).toThrow('MiB of memory');
  });
});
