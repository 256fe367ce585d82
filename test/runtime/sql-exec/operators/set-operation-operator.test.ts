import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Row } from '#runtime/sql-exec/operator.ts';
import { SetOperationOperator } from '#runtime/sql-exec/operators/set-operation-operator.ts';
import { batchesOf, executionWith, int, longestStep, RowsInput, rowsOf, text } from './operator-fixture.ts';

const types = [int, text];
const someRows = fc.array(
  fc.tuple(fc.option(fc.integer({ min: 0, max: 2 })), fc.option(fc.constantFrom('a', 'b'))),
  { maxLength: 20 },
);

/** How often each row is there. */
function counted(rows: readonly Row[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const row of rows) counts.set(JSON.stringify(row), (counts.get(JSON.stringify(row)) ?? 0) + 1);
  return counts;
}

/** How often a row comes that is `m` times on the left and `n` times on the right: the rules of PostgreSQL. */
const timesOf = {
  union: (m: number, n: number) => m + n,
  intersect: (m: number, n: number) => Math.min(m, n),
  except: (m: number, n: number) => Math.max(0, m - n),
};

function run(kind: keyof typeof timesOf, isAll: boolean, left: readonly Row[], right: readonly Row[]): Row[] {
  const inputs = [new RowsInput(left, 3), new RowsInput(right, 4)] as const;
  const execution = executionWith();
  const rows = rowsOf(new SetOperationOperator(execution, kind, isAll, ...inputs, types));
  expect([execution.budget.memory, inputs[0].isClosed, inputs[1].isClosed]).toEqual([0, true, true]);
  return rows;
}

describe('SetOperationOperator', () => {
  test.each(['union', 'intersect', 'except'] as const)('%s gives each row as often as PostgreSQL', (kind) => {
    fc.assert(
      fc.property(someRows, someRows, fc.boolean(), (left, right, isAll) => {
        const [m, n] = [counted(left), counted(right)];
        const expected = new Map<string, number>();
        for (const row of new Set([...m.keys(), ...n.keys()])) {
          const [onLeft, onRight] = [m.get(row) ?? 0, n.get(row) ?? 0];
          // Without ALL an EXCEPT leaves out what is on the right at all, not as often as it is there.
          const isIn = kind === 'except' ? onLeft > 0 && onRight === 0 : timesOf[kind](onLeft, onRight) > 0;
          const times = isAll ? timesOf[kind](onLeft, onRight) : Number(isIn);
          if (times > 0) expected.set(row, times);
        }
        const rows = run(kind, isAll, left, right);
        expect(counted(rows)).toEqual(expected);
        // The order is that of the left input, then of the right one.
        const all = [...left, ...right].map((row) => JSON.stringify(row));
        let at = -1;
        for (const row of rows) {
          if (isAll) break;
          const found = all.indexOf(JSON.stringify(row));
          expect(found).toBeGreaterThan(at);
          at = found;
        }
      }),
      { numRuns: 150 },
    );
  });

  test('UNION ALL keeps the order of both inputs', () => {
    const [left, right] = [
      [
        [2, 'a'],
        [1, 'a'],
      ],
      [
        [2, 'a'],
        [0, null],
      ],
    ];
    expect(run('union', true, left, right)).toEqual([...left, ...right]);
  });

  test('takes NULLs as equal', () => {
    expect(run('intersect', false, [[null, null]], [[null, null]])).toEqual([[null, null]]);
    expect(run('except', false, [[null, 'a']], [[null, 'a']])).toEqual([]);
    expect(run('union', false, [[null, 'a']], [[null, 'a']])).toEqual([[null, 'a']]);
  });

  test.each([0, 1, 999, 1_000, 1_001])('gives %i rows, and no batch without rows', (count) => {
    const left = Array.from({ length: count }, (_, at): Row => [at, 'a']);
    const right = Array.from({ length: 500 }, (_, at): Row => [-1 - at, 'a']);
    const inputs = [new RowsInput(left, 1_000), new RowsInput(right, 1_000)] as const;
    const batches = batchesOf(new SetOperationOperator(executionWith(), 'except', false, ...inputs, types));
    expect(batches.flat()).toEqual(left);
    for (const batch of batches) expect(batch.length).toBeGreaterThan(0);
  });

  test.each(['union', 'intersect', 'except'] as const)(
    '%s frees its memory when it is abandoned or refused',
    (kind) => {
      const rows = Array.from({ length: 3_000 }, (_, at): Row => [at, 'a']);
      const execution = executionWith({ memoryMax: 50_000 });
      const [left, right] = [new RowsInput(rows), new RowsInput(rows)];
      const operator = new SetOperationOperator(execution, kind, false, left, right, types);
      expect(() => rowsOf(operator)).toThrow(expect.objectContaining({ code: 'REQUEST_TOO_EXPENSIVE' }));
      expect(execution.budget.memory).toBeGreaterThan(0);
      operator.close();
      expect([execution.budget.memory, left.isClosed, right.isClosed]).toEqual([0, true, true]);
    },
  );

  test.each(['union', 'intersect', 'except'] as const)('%s pauses', (kind) => {
    const rows = Array.from({ length: 10_000 }, (_, at): Row => [at, 'a']);
    const execution = executionWith();
    const inputs = [new RowsInput(rows, 10_000), new RowsInput(rows, 10_000)] as const;
    const operator = new SetOperationOperator(execution, kind, false, ...inputs, types);
    expect(longestStep(operator, execution)).toBeLessThan(1_100_000);
    expect(execution.budget.work).toBeGreaterThan(2_000_000);
  });
});
