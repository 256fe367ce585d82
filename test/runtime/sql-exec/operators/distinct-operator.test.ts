import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Row } from '#runtime/sql-exec/operator.ts';
import { DistinctOperator } from '#runtime/sql-exec/operators/distinct-operator.ts';
import { rowKeyOf } from '#runtime/sql-values/ordering/hash-key.ts';
import { batchesOf, executionWith, int, longestStep, RowsInput, rowsOf, text } from './operator-fixture.ts';

const keyOf = rowKeyOf([int, text]);
const wholeRow = (row: Row): string => keyOf(row);
const firstSlot = rowKeyOf([int]);

const someRows = fc.array(
  fc.tuple(fc.option(fc.integer({ min: 0, max: 3 })), fc.option(fc.constantFrom('', 'a', '1:a'))),
  { maxLength: 50 },
);

describe('DistinctOperator', () => {
  test('gives the first row of each key, in the order of the input', () => {
    fc.assert(
      fc.property(someRows, (rows) => {
        const execution = executionWith();
        const first = rows.filter(
          (row, at) => rows.findIndex(([a, b]) => a === row[0] && b === row[1]) === at,
        );
        expect(rowsOf(new DistinctOperator(execution, new RowsInput(rows, 7), wholeRow))).toEqual(first);
        expect(execution.budget.memory).toBe(0);
      }),
      { numRuns: 150 },
    );
  });

  test('keeps the first row where only a part is the key, and takes NULLs as equal', () => {
    const rows = [
      [null, 'a'],
      [2, 'b'],
      [null, 'c'],
      [2, 'a'],
    ];
    const operator = new DistinctOperator(executionWith(), new RowsInput(rows), (row) => firstSlot(row));
    expect(rowsOf(operator)).toEqual([
      [null, 'a'],
      [2, 'b'],
    ]);
  });

  test.each([0, 1, 999, 1_000, 1_001])('gives %i rows, and no batch without rows', (count) => {
    const rows = Array.from({ length: 2 * count }, (_, at): Row => [at % Math.max(count, 1), 'a']);
    const batches = batchesOf(new DistinctOperator(executionWith(), new RowsInput(rows, 500), wholeRow));
    expect(batches.flat()).toEqual(rows.slice(0, count));
    for (const batch of batches) expect(batch.length).toBeGreaterThan(0);
  });

  test('counts a key once, frees all when it is abandoned, and refuses more than its memory', () => {
    const rows = Array.from({ length: 3_000 }, (_, at): Row => [at % 10, 'a']);
    const small = executionWith({ memoryMax: 2_000 });
    expect(rowsOf(new DistinctOperator(small, new RowsInput(rows), wholeRow))).toHaveLength(10);

    const many = Array.from({ length: 3_000 }, (_, at): Row => [at, 'a']);
    const input = new RowsInput(many);
    const refused = new DistinctOperator(small, input, wholeRow);
    expect(() => rowsOf(refused)).toThrow(expect.objectContaining({ code: 'REQUEST_TOO_EXPENSIVE' }));
    expect(small.budget.memory).toBeGreaterThan(0);
    refused.close();
    expect([small.budget.memory, input.isClosed]).toEqual([0, true]);
  });

  test('pauses', () => {
    const rows = Array.from({ length: 20_000 }, (_, at): Row => [at, 'a']);
    const execution = executionWith();
    const operator = new DistinctOperator(execution, new RowsInput(rows, 20_000), wholeRow);
    expect(longestStep(operator, execution)).toBeLessThan(1_100_000);
    expect(execution.budget.work).toBeGreaterThan(2_000_000);
  });
});
