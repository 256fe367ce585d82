import { describe, expect, it } from 'vitest';
import { isAggregate, resolveAggregate } from '#runtime/sql-values/aggregates/resolve-aggregate.ts';
import { sqlRows } from '#test/support/sql-in-memory.ts';
import type { SqlType } from '#runtime/sql-values/sql-type.ts';
import { Jsonb, type SqlValue } from '#runtime/sql-values/sql-value.ts';
import {
  arrayOf,
  bigintType,
  booleanType,
  dateType,
  doubleType,
  intType,
  jsonbType,
  pathType,
  textType,
  unknownType,
} from '#runtime/sql-values/types/basic-types.ts';

/** The result of rows, as an executor aggregates them. */
function over(name: string, types: readonly SqlType[], rows: readonly (readonly SqlValue[])[]): SqlValue {
  const aggregate = resolveAggregate(name, types);
  const accumulator = aggregate.start();
  for (const row of rows) if (!aggregate.skipsNulls || !row.includes(null)) accumulator.add(row);
  return accumulator.result();
}

function of(name: string, type: SqlType, ...values: readonly SqlValue[]): SqlValue {
  return over(
    name,
    [type],
    values.map((value) => [value]),
  );
}

describe('aggregates', () => {
  it('counts rows, or values', () => {
    expect(over('COUNT', [], [[], [], []])).toBe(3n);
    expect(of('COUNT', textType, 'a', null, 'b')).toBe(2n);
    expect(resolveAggregate('count', []).result).toEqual(bigintType);
  });

  it('adds', () => {
    expect(of('SUM', intType, 1, null, 2)).toBe(3n);
    expect(of('SUM', intType, ...Array(10).fill(2 ** 31 - 1))).toBe(10n * (2n ** 31n - 1n));
    expect(of('SUM', bigintType, 2n ** 62n, -1n)).toBe(2n ** 62n - 1n);
    expect(of('SUM', doubleType, 0.5, 0.25)).toBe(0.75);
    expect(resolveAggregate('SUM', [intType]).result).toEqual(bigintType);
    expect(resolveAggregate('SUM', [doubleType]).result).toEqual(doubleType);
  });

  it('refuses a whole sum out of range, but not one that was so on the way', () => {
    const most = 2n ** 63n - 1n;
    expect(() => of('SUM', bigintType, most, 1n)).toThrow('bigint out of range');
    expect(of('SUM', bigintType, most, 1n, -1n)).toBe(most);
  });

  it('adds many small numbers exactly', () => {
    const sum = resolveAggregate('SUM', [intType]).start();
    for (let count = 0; count < 2_000_000; count += 1) sum.add([2 ** 31 - 1]);
    expect(sum.result()).toBe(2_000_000n * (2n ** 31n - 1n));
    expect(sum.result()).toBe(2_000_000n * (2n ** 31n - 1n));
  });

  it('takes means', () => {
    expect(of('AVG', intType, 1, 2, null)).toBe(1.5);
    expect(of('AVG', bigintType, 2n ** 62n, 2n ** 62n)).toBe(2 ** 62);
    expect(of('AVG', doubleType, 0.5, 1)).toBe(0.75);
  });

  it('finds extremes in the order of the type', () => {
    expect(of('MIN', intType, 3, null, -1)).toBe(-1);
    expect(of('MAX', textType, 'a', 'Z', 'ä')).toBe('ä');
    expect(of('MAX', textType, '\uffff', '😀')).toBe('😀');
    expect(of('MAX', doubleType, 1, Number.NaN, 2)).toBe(Number.NaN);
    expect(of('MIN', doubleType, Number.NaN, 2)).toBe(2);
    expect(of('MIN', dateType, 5, 3)).toBe(3);
    expect(resolveAggregate('MAX', [pathType]).result).toEqual(pathType);
  });

  it('measures spread, as PostgreSQL does', () => {
    const values = [1, 2, 4, 9];
    expect(of('STDDEV', intType, ...values)).toBeCloseTo(3.559026084010437, 12);
    expect(of('STDDEV_SAMP', intType, ...values)).toBeCloseTo(3.559026084010437, 12);
    expect(of('STDDEV_POP', intType, ...values)).toBeCloseTo(3.082207001484488, 12);
    expect(of('VARIANCE', intType, ...values)).toBeCloseTo(12.666666666666666, 12);
    expect(of('VAR_SAMP', bigintType, ...values.map(BigInt))).toBeCloseTo(12.666666666666666, 12);
    expect(of('VAR_POP', intType, ...values)).toBe(9.5);
    // Sums of squares would leave nothing of this variance.
    expect(of('VAR_SAMP', doubleType, 1000000000.1, 1000000000.2, 1000000000.3)).toBeCloseTo(
      0.00999995708470454,
      12,
    );
    expect(of('STDDEV', intType, 5)).toBe(null);
    expect(of('STDDEV_POP', intType, 5)).toBe(0);
  });

  it('collects, NULLs too', () => {
    expect(of('ARRAY_AGG', intType, 1, null, 2)).toEqual([1, null, 2]);
    expect(resolveAggregate('ARRAY_AGG', [intType]).result).toEqual(arrayOf(intType));
    expect(of('JSONB_AGG', intType, 1, null)).toEqual(new Jsonb([1, null]));
    expect(of('JSON_AGG', jsonbType, new Jsonb({ a: 1 }))).toEqual(new Jsonb([{ a: 1 }]));
    const rows = [
      ['a', 1],
      ['b', null],
      ['__proto__', 2],
      ['a', 3],
    ];
    const object = over('JSONB_OBJECT_AGG', [textType, intType], rows) as Jsonb;
    expect(JSON.stringify(object.value)).toBe('{"a":3,"b":null,"__proto__":2}');
    expect(() => over('JSONB_OBJECT_AGG', [textType, intType], [[null, 1]])).toThrow(
      'JSONB_OBJECT_AGG: a key must not be NULL',
    );
  });

  it('joins texts; the delimiter of a row stands before its text', () => {
    const rows = [
      ['a', '-'],
      [null, '+'],
      ['b', null],
      ['c', '='],
    ];
    expect(over('STRING_AGG', [textType, textType], rows)).toBe('ab=c');
    expect(
      over(
        'STRING_AGG',
        [pathType, unknownType],
        [
          ['/a', ','],
          ['/b', ','],
        ],
      ),
    ).toBe('/a,/b');
  });

  it('combines truth values', () => {
    expect(of('BOOL_AND', booleanType, true, null, true)).toBe(true);
    expect(of('BOOL_AND', booleanType, true, false, true)).toBe(false);
    expect(of('EVERY', booleanType, true, false)).toBe(false);
    expect(of('BOOL_OR', booleanType, false, true, false)).toBe(true);
    expect(of('BOOL_OR', booleanType, false, false)).toBe(false);
  });
});

describe('empty input', () => {
  it.each([
    ['SUM', [intType]],
    ['SUM', [doubleType]],
    ['AVG', [intType]],
    ['MIN', [textType]],
    ['MAX', [textType]],
    ['ARRAY_AGG', [intType]],
    ['STRING_AGG', [textType, textType]],
    ['BOOL_AND', [booleanType]],
    ['BOOL_OR', [booleanType]],
    ['JSONB_AGG', [intType]],
    ['JSONB_OBJECT_AGG', [textType, intType]],
    ['STDDEV', [intType]],
    ['VAR_POP', [intType]],
  ])('%s is NULL', (name, types) => {
    expect(over(name, types, [])).toBe(null);
  });

  it('COUNT is 0', () => expect(over('COUNT', [], [])).toBe(0n));
});

describe('errors', () => {
  it.each<[string, SqlType[], string]>([
    ['SUM', [textType], 'SUM() requires numeric argument, got TEXT'],
    ['AVG', [booleanType], 'AVG() requires numeric argument, got BOOLEAN'],
    ['STDDEV', [jsonbType], 'STDDEV() requires numeric argument, got JSONB'],
    ['BOOL_AND', [intType], 'BOOL_AND() requires boolean argument, got INT'],
    ['STRING_AGG', [intType, textType], 'STRING_AGG() requires text argument, got INT'],
    ['SUM', [], 'Invalid argument count for SUM: expected 1, got 0'],
    ['COUNT', [intType, intType], 'Invalid argument count for COUNT: expected 0 to 1, got 2'],
    ['STRING_AGG', [textType], 'Invalid argument count for STRING_AGG: expected 2, got 1'],
    ['MEDIAN', [intType], 'Function not found: MEDIAN'],
  ])('%s of %j: %s', (name, types, message) => {
    expect(() => resolveAggregate(name, types)).toThrow(message);
  });

  it('refuses arrays of arrays, which a few steps could make as large as they like', () => {
    const message = 'Arrays of arrays are not supported; use JSONB';
    expect(() => resolveAggregate('ARRAY_AGG', [arrayOf(intType)])).toThrow(message);
    expect(() => sqlRows('SELECT ARRAY[ARRAY[1], ARRAY[2]]')).toThrow(message);
    expect(() => sqlRows('SELECT ARRAY[x] FROM (SELECT ARRAY[1] AS x) AS t')).toThrow(message);
  });

  it('knows the names of aggregates in any case', () => {
    expect(isAggregate('Array_Agg')).toBe(true);
    expect(isAggregate('LOWER')).toBe(false);
  });
});

describe('memory', () => {
  const text = 'x'.repeat(1_000_000);

  it.each<[string, SqlType[], SqlValue[]]>([
    ['ARRAY_AGG', [textType], [text]],
    ['STRING_AGG', [textType, textType], [text, ',']],
    ['JSONB_AGG', [textType], [text]],
    ['JSONB_OBJECT_AGG', [textType, textType], ['k', text]],
  ])('%s tells how much it keeps and refuses more than 16 MiB', (name, types, row) => {
    const accumulator = resolveAggregate(name, types).start();
    expect(accumulator.add(row)).toBeGreaterThanOrEqual(1_000_000);
    expect(() => {
      for (let count = 0; count < 17; count += 1) accumulator.add(row);
    }).toThrow(`${name} result is longer than 16 MiB`);
  });

  it('counts what MIN and MAX keep', () => {
    const longest = resolveAggregate('MAX', [textType]).start();
    expect(longest.add(['a'.repeat(1_000)])).toBeGreaterThanOrEqual(1_000);
    expect(longest.add(['b'])).toBe(0);
    expect(longest.add(['c'.repeat(2_000)])).toBeGreaterThanOrEqual(1_000);
  });

  it('gives a result that later rows do not change, and the same one until then', () => {
    const items = resolveAggregate('ARRAY_AGG', [intType]).start();
    items.add([1]);
    const first = items.result();
    expect(items.result()).toBe(first);
    items.add([2]);
    expect(first).toEqual([1]);
    expect(items.result()).toEqual([1, 2]);
  });
});
