import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Execution } from '#runtime/sql-exec/execution.ts';
import type { Operator, Row } from '#runtime/sql-exec/operator.ts';
import { HashJoinOperator } from '#runtime/sql-exec/operators/joins/hash-join-operator.ts';
import type { JoinPair } from '#runtime/sql-exec/operators/joins/join-operator.ts';
import { MergeJoinOperator } from '#runtime/sql-exec/operators/joins/merge-join-operator.ts';
import { comparatorOf } from '#runtime/sql-values/ordering/comparator.ts';
import { intType } from '#runtime/sql-values/types/basic-types.ts';
import { batchesOf, executionWith, RowsInput } from '../operator-fixture.ts';

const types = ['inner', 'left', 'right', 'full'] as const;
type JoinType = (typeof types)[number];

interface Setup {
  readonly left: readonly Row[];
  readonly right: readonly Row[];
  readonly type: JoinType;
  readonly on?: (pair: JoinPair) => boolean;
  readonly batchRows?: number;
}

const key = (row: Row) => row[0]!;

function shapeOf({ batchRows, left, on, right, type }: Setup) {
  return {
    left: new RowsInput(left, batchRows),
    right: new RowsInput(right, batchRows),
    leftWidth: 2,
    rightWidth: 2,
    preservesLeft: type === 'left' || type === 'full',
    preservesRight: type === 'right' || type === 'full',
    on: on === undefined ? [] : [on],
  };
}

function mergeJoin(execution: Execution, setup: Setup): Operator {
  const compare = comparatorOf(intType);
  return new MergeJoinOperator(execution, shapeOf(setup), { left: key, right: key, compare });
}

function hashJoin(execution: Execution, setup: Setup): Operator {
  const keys = { left: [key], right: [key], types: [intType] };
  return new HashJoinOperator(execution, { ...shapeOf(setup), keepsLeft: true }, keys);
}

function sorted(batches: readonly (readonly Row[])[]): readonly string[] {
  return batches
    .flat()
    .map((row) => JSON.stringify(row))
    .sort();
}

const rowsOf = fc
  .array(fc.tuple(fc.nat(6), fc.nat(9)), { maxLength: 14 })
  .map((rows) => rows.toSorted(([a], [b]) => a - b));

describe('merge join', () => {
  test('gives the rows of a hash join, in the order of the left side where that is preserved or both are needed', () => {
    fc.assert(
      fc.property(
        rowsOf,
        rowsOf,
        fc.constantFrom(...types),
        fc.integer({ min: 1, max: 5 }),
        fc.boolean(),
        (left, right, type, batchRows, hasCondition) => {
          const on = ({ left: [, a], right: [, b] }: JoinPair): boolean => (a as number) <= (b as number);
          const setup = { left, right, type, batchRows, ...(hasCondition ? { on } : {}) };
          const execution = executionWith();
          const join = mergeJoin(execution, setup);
          const batches = batchesOf(join);
          expect(sorted(batches)).toEqual(sorted(batchesOf(hashJoin(executionWith(), setup))));
          if (type === 'inner' || type === 'left') {
            const keys = batches.flat().map(([first]) => first as number);
            expect(keys).toEqual(keys.toSorted((a, b) => a - b));
          }
          expect(batches.every((batch) => batch.length > 0)).toBe(true);
          expect(execution.budget.memory).toBe(0);
        },
      ),
    );
  });

  test('gives batches of bounded size, pauses, and keeps the rows of one key', () => {
    const rows = Array.from({ length: 60 }, (_, number): Row => [1, number]);
    const execution = executionWith();
    const join = mergeJoin(execution, { left: rows, right: rows, type: 'inner' });
    let kept = 0;
    let pauses = 0;
    const batches: number[] = [];
    for (;;) {
      const steps = join.next();
      let step = steps.next();
      for (; step.done !== true; step = steps.next()) pauses += 1;
      if (step.value === undefined) break;
      batches.push(step.value.length);
      kept = Math.max(kept, execution.budget.memory);
    }
    expect(batches.reduce((sum, size) => sum + size)).toBe(3_600);
    expect(Math.max(...batches)).toBeLessThanOrEqual(1_000);
    expect(pauses).toBeGreaterThan(1);
    expect(kept).toBeGreaterThan(0);
    expect(execution.budget.memory).toBe(0);
  });

  test('frees what it keeps when it is closed early, and reads no further than it must', () => {
    const rows = Array.from({ length: 5_000 }, (_, number): Row => [Math.floor(number / 100), number]);
    const execution = executionWith();
    const right = new RowsInput(rows);
    const left = new RowsInput([[0, 0]]);
    const compare = comparatorOf(intType);
    const join = new MergeJoinOperator(
      execution,
      { ...shapeOf({ left: [], right: [], type: 'left' }), left, right },
      { left: key, right: key, compare },
    );
    expect(batchesOf(join).flat()).toHaveLength(100);
    expect(right.read).toBeLessThanOrEqual(200);
    expect([left.isClosed, right.isClosed]).toEqual([true, true]);
    const closed = mergeJoin(execution, { left: rows, right: rows, type: 'inner' });
    const steps = closed.next();
    steps.next();
    steps.next();
    closed.close();
    expect(execution.budget.memory).toBe(0);
  });

  test('does not keep more than a statement may', () => {
    const rows = Array.from({ length: 2_000 }, (_, number): Row => [1, number]);
    const join = mergeJoin(executionWith({ memoryMax: 10_000 }), { left: rows, right: rows, type: 'inner' });
    expect(() => batchesOf(join)).toThrow(expect.objectContaining({ code: 'REQUEST_TOO_EXPENSIVE' }));
  });
});
