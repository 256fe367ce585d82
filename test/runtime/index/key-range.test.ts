import { Buffer } from 'node:buffer';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type JsonValue, jsonEquals } from '#runtime/content/values/json-value.ts';
import { indexKey, orderedPart } from '#runtime/index/index-key.ts';
import { type Comparison, intersection, type KeyRange, keyRanges } from '#runtime/index/key-range.ts';
import { workloadCount } from '#test/support/workload-count.ts';
import { compareModel, isSameKind, numbers, texts, values } from './indexed-values.ts';

const present = values.filter((value) => value !== undefined) as fc.Arbitrary<JsonValue>;
const comparable = fc.oneof(texts, numbers, fc.boolean());

const comparison: fc.Arbitrary<Comparison> = fc.oneof(
  fc.constantFrom('all' as const, 'null' as const, 'notNull' as const).map((operator) => ({ operator })),
  present.map((value) => ({ operator: 'eq' as const, value })),
  fc.array(present, { maxLength: 4 }).map((list) => ({ operator: 'in' as const, values: list })),
  texts.map((text) => ({ operator: 'prefix' as const, text })),
  {
    weight: 4,
    arbitrary: fc
      .tuple(fc.constantFrom('gt' as const, 'gte' as const, 'lt' as const, 'lte' as const), comparable)
      .map(([operator, value]) => ({ operator, value })),
  },
);

/** Whether a comparison holds, from its definition. */
function holds(asked: Comparison, value: JsonValue | undefined): boolean {
  switch (asked.operator) {
    case 'all':
      return true;
    case 'null':
      return value === undefined || value === null;
    case 'notNull':
      return value !== undefined && value !== null;
    case 'eq':
      return value !== undefined && jsonEquals(value, asked.value);
    case 'in':
      return value !== undefined && asked.values.some((each) => jsonEquals(value, each));
    case 'prefix': {
      if (typeof value !== 'string') return false;
      const bytes = Buffer.from(asked.text);
      return Buffer.from(value).subarray(0, bytes.length).equals(bytes);
    }
    default: {
      if (!isSameKind(value, asked.value)) return false;
      const order = compareModel(value, asked.value);
      if (asked.operator === 'gt') return order > 0;
      if (asked.operator === 'lt') return order < 0;
      return asked.operator === 'gte' ? order >= 0 : order <= 0;
    }
  }
}

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

describe('ranges of a comparison', () => {
  it('have every row for which it holds, and where they are exact no other', () => {
    fc.assert(
      fc.property(comparison, values, id, (asked, value, node) => {
        const found = rangeWith(keyRanges(asked), rowOf(value, node));
        if (holds(asked, value)) expect(found).toBeDefined();
        else expect(found?.isExact ?? false).toBe(false);
      }),
      { numRuns: workloadCount(6000) },
    );
  });

  it('are apart and in order, and backwards in the opposite order', () => {
    fc.assert(
      fc.property(comparison, (asked) => {
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
      fc.property(comparison, comparison, values, id, (one, other, value, node) => {
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
