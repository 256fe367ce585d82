import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonValue } from '#runtime/content/values/json-value.ts';
import { indexKey, orderedPart } from '#runtime/index/index-key.ts';
import { comparisonHolds } from '#runtime/index/comparison.ts';
import { type Comparison, intersection, type KeyRange, keyRanges } from '#runtime/index/key-range.ts';
import { workloadCount } from '#test/support/workload-count.ts';
import { compareModel, comparisons, holdsInModel, values } from './indexed-values.ts';

function rangeWith(ranges: readonly KeyRange[], key: string): KeyRange | undefined {
  return ranges.find(({ start, end }) => key >= start && key < end);
}

/** A row of a value; ids are any bytes but zero. */
function rowOf(value: JsonValue | undefined, id: string): string {
  return `${indexKey(value)}\0${id}`;
}

const id = fc.constantFrom('0', 'a', '\u0001', '\u00ff');

describe('keys of values', () => {
  it('are in the order of the values, up to where they are cut', () => {
    fc.assert(
      fc.property(values, values, id, id, (a, b, one, other) => {
        const [x, y] = [indexKey(a), indexKey(b)];
        const order = compareModel(a, b);
        expect(`${x}${y}`).not.toContain('\0');
        if (orderedPart(x) === orderedPart(y)) {
          expect(order === 0 || x !== y || typeof a === 'string').toBe(true);
          if (order === 0) expect(x).toBe(y);
        } else expect(rowOf(a, one) < rowOf(b, other)).toBe(order < 0);
      }),
      { numRuns: workloadCount(4000) },
    );
  });
});

it('a comparison holds for a value as defined', () => {
  fc.assert(
    fc.property(comparisons, values, (asked, value) => {
      expect(comparisonHolds(asked, value)).toBe(holdsInModel(asked, value));
    }),
    { numRuns: workloadCount(6000) },
  );
});

describe('ranges of a comparison', () => {
  it('have every row for which it holds, and where they are exact no other', () => {
    fc.assert(
      fc.property(comparisons, values, id, (asked, value, node) => {
        const found = rangeWith(keyRanges(asked), rowOf(value, node));
        if (holdsInModel(asked, value)) expect(found).toBeDefined();
        else expect(found?.isExact ?? false).toBe(false);
      }),
      { numRuns: workloadCount(6000) },
    );
  });

  it('are apart and in order, and backwards in the opposite order', () => {
    fc.assert(
      fc.property(comparisons, (asked) => {
        const ranges = keyRanges(asked);
        for (const [index, { start, end }] of ranges.entries()) {
          expect(start < end).toBe(true);
          expect(start >= (ranges[index - 1]?.end ?? '')).toBe(true);
        }
        expect(keyRanges(asked, true)).toEqual(ranges.toReversed());
      }),
      { numRuns: workloadCount(1000) },
    );
  });

  it('of two comparisons have the rows that both have', () => {
    fc.assert(
      fc.property(comparisons, comparisons, values, id, (one, other, value, node) => {
        const key = rowOf(value, node);
        const [a, b] = [keyRanges(one), keyRanges(other)];
        const both = rangeWith(intersection(a, b), key);
        const [inOne, inOther] = [rangeWith(a, key), rangeWith(b, key)];
        expect(both !== undefined).toBe(inOne !== undefined && inOther !== undefined);
        if (both !== undefined)
          expect(both.isExact).toBe(inOne?.isExact === true && inOther?.isExact === true);
      }),
      { numRuns: workloadCount(3000) },
    );
  });

  it('recheck only where keys do not tell', () => {
    const isExact = (asked: Comparison): boolean => keyRanges(asked).every((range) => range.isExact);
    expect(isExact({ operator: 'eq', value: 'abc' })).toBe(true);
    expect(isExact({ operator: 'in', values: [1, 2n ** 63n + 1n, 'a', true] })).toBe(true);
    expect(isExact({ operator: 'gt', value: 'a\0' })).toBe(true);
    expect(isExact({ operator: 'prefix', text: 'a\0' })).toBe(true);
    expect(isExact({ operator: 'eq', value: null })).toBe(false);
    expect(isExact({ operator: 'eq', value: '\ud800' })).toBe(false);
    const long = 'x'.repeat(1300);
    expect(keyRanges({ operator: 'gt', value: long }).map((range) => range.isExact)).toEqual([false, true]);
    expect(keyRanges({ operator: 'lte', value: long }).map((range) => range.isExact)).toEqual([true, false]);
  });
});
