import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Execution } from '#runtime/sql-exec/execution.ts';
import type { Row } from '#runtime/sql-exec/operator.ts';
import { SortOperator } from '#runtime/sql-exec/operators/sort-operator.ts';
import { TopNOperator } from '#runtime/sql-exec/operators/top-n-operator.ts';
import type { Jsonb } from '#runtime/sql-values/sql-value.ts';
import {
  batchesOf,
  executionWith,
  int,
  jsonb,
  longestStep,
  RowsInput,
  rowsOf,
  sortKey,
  storedObjects,
  text,
} from './operator-fixture.ts';

/** Rows of two keys with few values and NULLs, and their position. */
const rowsWithTies = fc
  .array(
    fc.tuple(
      fc.option(fc.integer({ min: 0, max: 4 })),
      fc.option(fc.constantFrom('a', 'b', '\u{1f600}', '\uffff')),
    ),
    {
      maxLength: 60,
    },
  )
  .map((pairs): Row[] => pairs.map(([a, b], at) => [a, b, at]));

/** The order of PostgreSQL, written once more and plainly. */
function reference(
  rows: readonly Row[],
  keys: readonly { at: number; down: boolean; first: boolean }[],
): Row[] {
  return [...rows].sort((x, y) => {
    for (const { at, down, first } of keys) {
      const [a, b] = [x[at], y[at]];
      if (a === b) continue;
      if (a === null || a === undefined) return first ? -1 : 1;
      if (b === null || b === undefined) return first ? 1 : -1;
      const isLess =
        typeof a === 'string' ? Buffer.compare(Buffer.from(a), Buffer.from(b as string)) < 0 : a < b;
      return isLess === down ? 1 : -1;
    }
    return 0;
  });
}

const keysOf = (keys: readonly { at: number; down: boolean; first: boolean }[]) =>
  keys.map(({ at, down, first }) => sortKey(at, at === 0 ? int : text, down, first));

const someKeys = fc.uniqueArray(
  fc.record({ at: fc.constantFrom(0, 1), down: fc.boolean(), first: fc.boolean() }),
  { minLength: 1, maxLength: 2, selector: ({ at }) => at },
);

describe('SortOperator', () => {
  test('gives the rows in the order of the keys, and equal ones in the order of the input', () => {
    fc.assert(
      fc.property(rowsWithTies, someKeys, (rows, keys) => {
        const execution = executionWith();
        const operator = new SortOperator(execution, new RowsInput(rows, 7), keysOf(keys));
        expect(rowsOf(operator)).toEqual(reference(rows, keys));
        expect(execution.budget.memory).toBe(0);
      }),
      { numRuns: 150 },
    );
  });

  test('is stable over many runs', () => {
    const rows = Array.from({ length: 3_000 }, (_, at): Row => [at % 3, null, at]);
    const sorted = rowsOf(new SortOperator(executionWith(), new RowsInput(rows, 1_000), [sortKey(0, int)]));
    expect(sorted).toEqual(reference(rows, [{ at: 0, down: false, first: false }]));
  });

  test.each([0, 1, 999, 1_000, 1_001, 2_000])('gives %i rows in batches of 1,000 at most', (count) => {
    const rows = Array.from({ length: count }, (_, at): Row => [count - at]);
    const batches = batchesOf(new SortOperator(executionWith(), new RowsInput(rows, 333), [sortKey(0, int)]));
    expect(batches.map(({ length }) => length)).toEqual(sizes(count));
    expect(batches.flat()).toEqual([...rows].reverse());
  });

  test('frees its memory and closes its input when it is abandoned', () => {
    const execution = executionWith();
    const input = new RowsInput(
      Array.from({ length: 5_000 }, (_, at): Row => [at]),
      1_000,
    );
    const operator = new SortOperator(execution, input, [sortKey(0, int)]);
    const steps = operator.next();
    for (let step = 0; step < 4; step++) steps.next();
    expect(execution.budget.memory).toBeGreaterThan(0);
    operator.close();
    operator.close();
    expect(execution.budget.memory).toBe(0);
    expect(input.isClosed).toBe(true);
    // A step that was begun ends without rows, and none follows.
    expect(steps.next()).toEqual({ done: true, value: undefined });
    expect(rowsOf(operator)).toEqual([]);
  });

  test('keeps the memory until its rows are taken', () => {
    const execution = executionWith();
    const operator = new SortOperator(execution, new RowsInput([[1], [2]]), [sortKey(0, int)]);
    const steps = operator.next();
    while (steps.next().done !== true);
    expect(execution.budget.memory).toBeGreaterThan(0);
    rowsOf(operator);
    expect(execution.budget.memory).toBe(0);
  });

  test('counts stored JSON as what it takes when it is compared, and the work of parsing it', () => {
    const few = executionWith();
    const rowsWith = (execution: Execution): Row[] =>
      Array.from({ length: 20 }, (_, at): Row => [storedObjects(execution, 2_000), at]);
    const sorted = rowsOf(new SortOperator(few, new RowsInput(rowsWith(few)), [sortKey(0, jsonb)]));
    expect(sorted.map(([, at]) => at)).toEqual(Array.from({ length: 20 }, (_, at) => at));
    expect(few.budget.work).toBeGreaterThan(20 * 2_000 * 3 * 10);
    // An empty object takes 64 bytes, with the reference to it.
    const execution = executionWith({ memoryMax: 20 * 2_000 * 64 });
    const rows = rowsWith(execution);
    const operator = new SortOperator(execution, new RowsInput(rows), [sortKey(0, jsonb)]);
    expect(() => rowsOf(operator)).toThrow(expect.objectContaining({ code: 'REQUEST_TOO_EXPENSIVE' }));
    operator.close();
    expect(execution.budget.memory).toBe(0);
    expect(rows.every(([value]) => (value as Jsonb).storedText !== undefined)).toBe(true);
  });

  test('refuses more rows than memory', () => {
    const execution = executionWith({ memoryMax: 100_000 });
    const rows = Array.from({ length: 10_000 }, (_, at): Row => [at]);
    const operator = new SortOperator(execution, new RowsInput(rows), [sortKey(0, int)]);
    expect(() => rowsOf(operator)).toThrow(expect.objectContaining({ code: 'REQUEST_TOO_EXPENSIVE' }));
    operator.close();
    expect(execution.budget.memory).toBe(0);
  });

  test('pauses, also where keys are long and equal', () => {
    const execution = executionWith();
    const long = 'x'.repeat(100_000);
    const rows = Array.from({ length: 600 }, (_, at): Row => [`${long}${at % 2}`]);
    const operator = new SortOperator(execution, new RowsInput(rows), [sortKey(0, text)]);
    expect(longestStep(operator, execution)).toBeLessThan(2_500_000);
    // Each of the rows is compared with others about as often as their number has digits.
    expect(execution.budget.work).toBeGreaterThan(600 * 9 * 50_000);
  });

  test('sorts 50,000 rows with work in proportion', () => {
    const execution = executionWith();
    const rows = Array.from({ length: 50_000 }, (_, at): Row => [(at * 7_919) % 100_003]);
    const operator = new SortOperator(execution, new RowsInput(rows, 1_000), [sortKey(0, int)]);
    expect(longestStep(operator, execution)).toBeLessThan(1_500_000);
    expect(execution.budget.work).toBeLessThan(1e9);
  });
});

describe('TopNOperator', () => {
  test('gives what a stable sort begins with', () => {
    fc.assert(
      fc.property(rowsWithTies, someKeys, fc.integer({ min: 0, max: 70 }), (rows, keys, count) => {
        const execution = executionWith();
        const operator = new TopNOperator(execution, new RowsInput(rows, 7), keysOf(keys), count);
        expect(rowsOf(operator)).toEqual(reference(rows, keys).slice(0, count));
        expect(execution.budget.memory).toBe(0);
      }),
      { numRuns: 200 },
    );
  });

  test.each([1, 999, 1_000, 1_001, Number.MAX_SAFE_INTEGER])('gives the best %i', (count) => {
    const rows = Array.from({ length: 2_500 }, (_, at): Row => [(at * 7) % 2_503, at]);
    const batches = batchesOf(
      new TopNOperator(executionWith(), new RowsInput(rows, 500), [sortKey(0, int)], count),
    );
    expect(batches.map(({ length }) => length)).toEqual(sizes(Math.min(2_500, count)));
    expect(batches.flat()).toEqual([...rows].sort(([a], [b]) => Number(a) - Number(b)).slice(0, count));
  });

  test('reads nothing for 0 rows', () => {
    const input = new RowsInput([[1]]);
    expect(rowsOf(new TopNOperator(executionWith(), input, [sortKey(0, int)], 0))).toEqual([]);
    expect([input.read, input.isClosed]).toEqual([0, true]);
  });

  test('keeps no more rows than it gives', () => {
    const rows = Array.from({ length: 50_000 }, (_, at): Row => [-at, 'x'.repeat(100)]);
    const execution = executionWith({ memoryMax: 10_000 });
    const operator = new TopNOperator(execution, new RowsInput(rows, 1_000), [sortKey(0, int)], 10);
    expect(rowsOf(operator).map(([value]) => value)).toEqual([
      -49_999, -49_998, -49_997, -49_996, -49_995, -49_994, -49_993, -49_992, -49_991, -49_990,
    ]);
    expect(execution.budget.memory).toBe(0);
  });

  test('counts the work of long keys in its heap, and pauses', () => {
    const long = 'x'.repeat(50_000);
    const rows = Array.from({ length: 500 }, (_, at): Row => [`${long}${1_000 - at}`]);
    const execution = executionWith();
    const operator = new TopNOperator(execution, new RowsInput(rows), [sortKey(0, text)], 100);
    expect(longestStep(operator, execution)).toBeLessThan(2_500_000);
    expect(execution.budget.work).toBeGreaterThan(400 * 6 * 25_000);
  });
});

function sizes(count: number): number[] {
  return [
    ...new Array<number>(Math.floor(count / 1_000)).fill(1_000),
    ...(count % 1_000 === 0 ? [] : [count % 1_000]),
  ];
}
