import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Execution } from '#runtime/sql-exec/execution.ts';
import type { Operator, Row } from '#runtime/sql-exec/operator.ts';
import { HashJoinOperator } from '#runtime/sql-exec/operators/joins/hash-join-operator.ts';
import type { JoinPair, JoinShape } from '#runtime/sql-exec/operators/joins/join-operator.ts';
import { NestedLoopJoinOperator } from '#runtime/sql-exec/operators/joins/nested-loop-join-operator.ts';
import { intType } from '#runtime/sql-values/types/basic-types.ts';
import { batchesOf, executionWith, RowsInput } from '../operator-fixture.ts';

type JoinType = 'inner' | 'left' | 'right' | 'full';
const types: readonly JoinType[] = ['inner', 'left', 'right', 'full'];

interface Setup {
  readonly left: readonly Row[];
  readonly right: readonly Row[];
  readonly type: JoinType;
  readonly keepsLeft: boolean;
  readonly on?: (pair: JoinPair) => boolean | null;
  readonly batchRows?: number;
}

function shapeOf({ left, right, type, keepsLeft, on, batchRows = 100 }: Setup): JoinShape {
  return {
    left: new RowsInput(left, batchRows),
    right: new RowsInput(right, batchRows),
    leftWidth: 2,
    rightWidth: 2,
    keepsLeft,
    preservesLeft: type === 'left' || type === 'full',
    preservesRight: type === 'right' || type === 'full',
    on: on === undefined ? [] : [on],
  };
}

function hashJoin(execution: Execution, setup: Setup): Operator {
  const read = (row: Row) => row[0]!;
  return new HashJoinOperator(execution, shapeOf(setup), { left: [read], right: [read], types: [intType] });
}

function loopJoin(execution: Execution, setup: Setup): Operator {
  const equal = ({ left, right }: JoinPair): boolean | null =>
    left[0] === null || right[0] === null ? null : left[0] === right[0];
  const on = (pair: JoinPair) => (setup.on === undefined ? equal(pair) : equal(pair) && setup.on(pair));
  return new NestedLoopJoinOperator(execution, shapeOf({ ...setup, on }));
}

/** All pairs, looked at one by one. */
function expected({ left, right, type, on = () => true }: Setup): readonly Row[] {
  const isPair = (one: Row, other: Row): boolean =>
    one[0] !== null && one[0] === other[0] && on({ left: one, right: other }) === true;
  const pairs = left.flatMap((one) =>
    right.filter((other) => isPair(one, other)).map((other) => [...one, ...other]),
  );
  const none = [null, null];
  if (type === 'left' || type === 'full') {
    const lonely = left.filter((one) => !right.some((other) => isPair(one, other)));
    pairs.push(...lonely.map((row) => [...row, ...none]));
  }
  if (type === 'right' || type === 'full') {
    const lonely = right.filter((other) => !left.some((one) => isPair(one, other)));
    pairs.push(...lonely.map((row) => [...none, ...row]));
  }
  return pairs;
}

function sorted(rows: readonly Row[]): readonly string[] {
  return rows.map((row) => JSON.stringify(row)).sort();
}

const rowsOf = fc.array(fc.tuple(fc.constantFrom(null, 1, 2, 3), fc.nat(9)), { maxLength: 12 });

describe.each([
  ['hash join', hashJoin],
  ['nested loop join', loopJoin],
])('%s', (_name, join) => {
  test('gives the rows of a look at all pairs', () => {
    fc.assert(
      fc.property(
        rowsOf,
        rowsOf,
        fc.constantFrom(...types),
        fc.boolean(),
        fc.boolean(),
        fc.integer({ min: 1, max: 5 }),
        (left, right, type, keepsLeft, hasCondition, batchRows) => {
          const on = ({ left: one, right: other }: JoinPair) => Number(one[1]) < Number(other[1]);
          const setup = { left, right, type, keepsLeft, batchRows, ...(hasCondition ? { on } : {}) };
          const execution = executionWith();
          expect(sorted(batchesOf(join(execution, setup)).flat())).toEqual(sorted(expected(setup)));
          expect(execution.budget.memory).toBe(0);
        },
      ),
      { numRuns: 300 },
    );
  });

  test.each([0, 1, 999, 1_000, 1_001, 2_500])('of %i rows comes in full batches', (count) => {
    const rows = Array.from({ length: count }, (_, index): Row => [index % 500, index]);
    for (const type of types) {
      const setup: Setup = {
        left: rows,
        right: [
          [7, 0],
          [8, 0],
          [900, 0],
        ],
        type,
        keepsLeft: false,
      };
      const batches = batchesOf(join(executionWith(), setup));
      expect(batches.every(({ length }) => length > 0 && length <= 1_000)).toBe(true);
      expect(sorted(batches.flat())).toEqual(sorted(expected(setup)));
    }
  });

  test('of one row with very many partners comes in batches, and pauses', () => {
    const many = Array.from({ length: 5_000 }, (_, index): Row => [1, index]);
    const execution = executionWith();
    const operator = join(execution, { left: [[1, 0]], right: many, type: 'left', keepsLeft: false });
    const batches = batchesOf(operator);
    expect(batches.map(({ length }) => length)).toEqual([1_000, 1_000, 1_000, 1_000, 1_000]);
  });

  test('keeps memory until it is closed, also before its end', () => {
    const rows = Array.from({ length: 3_000 }, (_, index): Row => [index, index]);
    const execution = executionWith();
    const setup: Setup = { left: rows, right: rows, type: 'full', keepsLeft: true };
    const shape = join(execution, setup);
    const steps = shape.next();
    while (steps.next().done !== true);
    expect(execution.budget.memory).toBeGreaterThan(3_000 * 40);
    shape.close();
    expect(execution.budget.memory).toBe(0);
    shape.close();
    expect(execution.budget.memory).toBe(0);
  });

  test('refuses to keep more than a statement may', () => {
    const rows = Array.from({ length: 3_000 }, (_, index): Row => [index, index]);
    const execution = executionWith({ memoryMax: 100_000 });
    const operator = join(execution, { left: rows, right: rows, type: 'inner', keepsLeft: false });
    expect(() => batchesOf(operator)).toThrow(expect.objectContaining({ code: 'REQUEST_TOO_EXPENSIVE' }));
    operator.close();
    expect(execution.budget.memory).toBe(0);
  });

  test('does not read the other side where nothing can have a partner', () => {
    const shape = shapeOf({ left: [[1, 1]], right: [], type: 'inner', keepsLeft: false });
    const operator = new NestedLoopJoinOperator(executionWith(), shape);
    expect(batchesOf(operator)).toEqual([]);
    expect((shape.left as RowsInput).read).toBe(0);
    expect((shape.left as RowsInput).isClosed).toBe(true);
  });
});

test('a loop over pairs that makes no rows pauses after each millisecond of work', () => {
  const rows = Array.from({ length: 1_000 }, (_, index): Row => [index, index]);
  const execution = executionWith();
  const shape = {
    ...shapeOf({ left: rows, right: rows, type: 'inner', keepsLeft: false }),
    on: [() => false],
  };
  const steps = new NestedLoopJoinOperator(execution, shape).next();
  let longest = 0;
  for (let done = false; !done; ) {
    const before = execution.budget.work;
    done = steps.next().done === true;
    longest = Math.max(longest, execution.budget.work - before);
  }
  expect(execution.budget.work).toBeGreaterThan(1_000_000 * 30);
  expect(longest).toBeLessThan(1_100_000);
});

test('a join where nearly all rows have one key pauses and ends at the limit of work', () => {
  const rows = Array.from({ length: 2_000 }, (_, index): Row => [1, index]);
  const execution = executionWith({ workMax: 20_000_000 });
  const on = () => false;
  const operator = hashJoin(execution, { left: rows, right: rows, type: 'inner', keepsLeft: false, on });
  expect(() => batchesOf(operator)).toThrow(expect.objectContaining({ code: 'REQUEST_TOO_EXPENSIVE' }));
});
