import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Row } from '#runtime/sql-exec/operator.ts';
import { AggregateOperator } from '#runtime/sql-exec/operators/aggregate-operator.ts';
import type { CompiledAggregate } from '#runtime/sql-exec/operators/compiled-aggregate.ts';
import type { SqlValue } from '#runtime/sql-values/sql-value.ts';
import {
  aggregate,
  arrayOf,
  batchesOf,
  countOf,
  executionWith,
  extremeOf,
  int,
  longestStep,
  RowsInput,
  rowsOf,
  slot,
  sortKey,
  sumOfInts,
  text,
} from './operator-fixture.ts';

const someRows = fc.array(
  fc.tuple(
    fc.option(fc.constantFrom('a', 'b', '')),
    fc.option(fc.integer({ min: 0, max: 3 })),
    fc.option(fc.boolean()),
  ),
  { maxLength: 40 },
);

function run(rows: readonly Row[], aggregates: readonly CompiledAggregate[], hasKey = true): Row[] {
  const execution = executionWith();
  const [keys, keyTypes] = hasKey ? [[slot(0)], [text]] : [[], []];
  const operator = new AggregateOperator(execution, new RowsInput(rows, 7), keys, keyTypes, aggregates);
  const result = rowsOf(operator);
  expect(execution.budget.memory).toBe(0);
  return result;
}

/** The rows of each group, in the order of their first rows. */
function groupsOf(rows: readonly Row[]): { key: SqlValue; members: Row[] }[] {
  const groups: { key: SqlValue; members: Row[] }[] = [];
  for (const row of rows) {
    const known = groups.find(({ key }) => key === row[0]);
    if (known === undefined) groups.push({ key: row[0] as SqlValue, members: [row] });
    else known.members.push(row);
  }
  return groups;
}

const isKnown = (value: SqlValue | undefined): value is number => value !== null && value !== undefined;
const ascending = (a: number, b: number): number => a - b;

describe('AggregateOperator', () => {
  test('is as a plain evaluation of each group', () => {
    const filter = slot(2);
    const aggregates = [
      aggregate(countOf(), []),
      aggregate(countOf(int), [1]),
      aggregate(countOf(int), [1], { isDistinct: true }),
      aggregate(sumOfInts, [1], { filter }),
      aggregate(extremeOf('MAX', int), [1]),
      aggregate(arrayOf(int), [1]),
      aggregate(arrayOf(int), [1], { isDistinct: true }),
      aggregate(arrayOf(int), [1], { orderBy: [sortKey(1, int, true, false)] }),
    ];
    fc.assert(
      fc.property(someRows, (rows) => {
        const expected = groupsOf(rows).map(({ key, members }) => {
          const values = members.map((row) => row[1] as number | null);
          const known = values.filter(isKnown);
          const filtered = members
            .filter((row) => row[2] === true)
            .flatMap((row) => (isKnown(row[1]) ? [row[1]] : []));
          const nulls = values.filter((value) => value === null);
          return [
            key,
            BigInt(members.length),
            BigInt(known.length),
            BigInt(new Set(known).size),
            filtered.length === 0 ? null : BigInt(filtered.reduce((a, b) => a + b)),
            known.length === 0 ? null : Math.max(...known),
            values,
            [...[...new Set(known)].sort(ascending), ...nulls.slice(0, 1)],
            [...known.sort(ascending).reverse(), ...nulls],
          ];
        });
        expect(run(rows, aggregates)).toEqual(expected);
      }),
      { numRuns: 150 },
    );
  });

  test('without keys gives one row, also of no rows', () => {
    const aggregates = [
      aggregate(countOf(), []),
      aggregate(sumOfInts, [1]),
      aggregate(arrayOf(int), [1], { orderBy: [sortKey(1, int)] }),
    ];
    expect(run([], aggregates, false)).toEqual([[0n, null, null]]);
    expect(
      run(
        [
          ['a', 1],
          ['b', 2],
        ],
        aggregates,
        false,
      ),
    ).toEqual([[2n, 3n, [1, 2]]]);
    expect(run([], aggregates)).toEqual([]);
  });

  test('takes only rows for which the filter is TRUE, not those for which it is unknown', () => {
    const rows = [
      ['a', 1, true],
      ['a', 2, null],
      ['a', 4, false],
    ];
    expect(run(rows, [aggregate(sumOfInts, [1], { filter: slot(2) })])).toEqual([['a', 1n]]);
  });

  test('orders rows that are equal in the order of an aggregate as the input', () => {
    const rows = Array.from({ length: 1_500 }, (_, at): Row => ['a', at, at % 2]);
    const [[, values] = []] = run(rows, [aggregate(arrayOf(int), [1], { orderBy: [sortKey(2, int)] })]);
    expect(values).toEqual([
      ...rows.filter((row) => row[2] === 0).map((row) => row[1]),
      ...rows.filter((row) => row[2] === 1).map((row) => row[1]),
    ]);
  });

  test('keeps distinct arguments of two columns apart', () => {
    const rows = [
      ['a', '1', '11'],
      ['a', '11', '1'],
      ['a', '1', '11'],
    ];
    expect(run(rows, [aggregate(countOf(text, text), [1, 2], { isDistinct: true })])).toEqual([['a', 2n]]);
  });

  test.each([0, 1, 999, 1_000, 1_001])('gives %i groups in batches of 1,000 at most', (count) => {
    const rows = Array.from({ length: 2 * count }, (_, at): Row => [at % Math.max(1, count)]);
    const operator = new AggregateOperator(
      executionWith(),
      new RowsInput(rows, 500),
      [slot(0)],
      [int],
      [aggregate(countOf(), [])],
    );
    const batches = batchesOf(operator);
    expect(batches.flat()).toEqual(Array.from({ length: count }, (_, at) => [at, 2n]));
    for (const { length } of batches) expect(length === 1_000 || length === count % 1_000).toBe(true);
  });

  test('makes 100,000 groups in bounded work and steps', () => {
    const rows = Array.from({ length: 100_000 }, (_, at): Row => [at]);
    const execution = executionWith({ workMax: 1e9, memoryMax: 2 ** 27 });
    const operator = new AggregateOperator(
      execution,
      new RowsInput(rows, 1_000),
      [slot(0)],
      [int],
      [aggregate(countOf(), [])],
    );
    expect(longestStep(operator, execution)).toBeLessThan(1_500_000);
    expect(execution.budget.memory).toBe(0);
  });

  test('refuses one group with more values than memory', () => {
    const long = 'x'.repeat(1_000);
    const rows = Array.from({ length: 20_000 }, (): Row => [long]);
    for (const rest of [{}, { orderBy: [sortKey(0, text)] }]) {
      const execution = executionWith({ memoryMax: 10_000_000 });
      const input = new RowsInput(rows, 1_000);
      const values = aggregate(arrayOf(text), [0], rest);
      const operator = new AggregateOperator(execution, input, [], [], [values]);
      expect(() => rowsOf(operator)).toThrow(expect.objectContaining({ code: 'REQUEST_TOO_EXPENSIVE' }));
      expect(execution.budget.memory).toBeGreaterThan(0);
      operator.close();
      expect([execution.budget.memory, input.isClosed]).toEqual([0, true]);
    }
  });

  test('refuses distinct values beyond its memory', () => {
    const rows = Array.from({ length: 20_000 }, (_, at): Row => [at]);
    const execution = executionWith({ memoryMax: 500_000 });
    const distinct = aggregate(countOf(int), [0], { isDistinct: true });
    const operator = new AggregateOperator(execution, new RowsInput(rows), [], [], [distinct]);
    expect(() => rowsOf(operator)).toThrow(expect.objectContaining({ code: 'REQUEST_TOO_EXPENSIVE' }));
    operator.close();
    expect(execution.budget.memory).toBe(0);
  });

  test('pauses between the aggregates of a row, and while it sorts one group', () => {
    const rows = Array.from({ length: 20_000 }, (_, at): Row => [-at]);
    const execution = executionWith();
    const many = [
      ...Array.from({ length: 50 }, () => aggregate(countOf(int), [0])),
      aggregate(arrayOf(int), [0], { orderBy: [sortKey(0, int)] }),
    ];
    const operator = new AggregateOperator(execution, new RowsInput(rows, 20_000), [], [], many);
    expect(longestStep(operator, execution)).toBeLessThan(1_800_000);
  });
});
