import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { RequestBudget } from '#runtime/budget/request-budget.ts';
import { Execution } from '#runtime/sql-exec/execution.ts';
import type { Row } from '#runtime/sql-exec/operator.ts';
import type { CompiledAggregate } from '#runtime/sql-exec/operators/compiled-aggregate.ts';
import type {
  CompiledWindow,
  WindowFunctionName,
  WindowPartitioning,
} from '#runtime/sql-exec/operators/compiled-window.ts';
import type { SortKey } from '#runtime/sql-exec/operators/sort-key.ts';
import { rowBytes } from '#runtime/sql-exec/operators/row-memory.ts';
import { WindowOperator } from '#runtime/sql-exec/operators/window-operator.ts';
import type { BoundFrameEdge } from '#runtime/sql-plan/bound/bound-statement.ts';
import { resolveAggregate } from '#runtime/sql-values/aggregates/resolve-aggregate.ts';
import type { SqlType } from '#runtime/sql-values/sql-type.ts';
import type { Jsonb, SqlValue } from '#runtime/sql-values/sql-value.ts';
import {
  aggregate,
  arrayOf,
  batchesOf,
  bigint,
  double,
  executionWith,
  int,
  jsonb,
  longestStep,
  RowsInput,
  rowsOf,
  slot,
  sortKey,
  storedObjects,
  text,
  wide,
} from './operator-fixture.ts';

/** A budget that notes what is left whenever memory is freed. */
class FreedMemory extends RequestBudget {
  readonly left: number[] = [];

  override free(bytes: number): void {
    super.free(bytes);
    this.left.push(this.memory);
  }
}

type Frame = CompiledWindow['frame'];

const fromStart: BoundFrameEdge = { kind: 'unbounded-preceding' };
const toEnd: BoundFrameEdge = { kind: 'unbounded-following' };
const current: BoundFrameEdge = { kind: 'current-row' };
const rowsBefore = (distance: number): BoundFrameEdge => ({ kind: 'preceding', distance });
const rowsBehind = (distance: number): BoundFrameEdge => ({ kind: 'following', distance });
const running: Frame = { unit: 'range', start: fromStart, end: current };
const rowsFrame = (start: BoundFrameEdge, end: BoundFrameEdge): Frame => ({ unit: 'rows', start, end });

/** Partitions by slot 0, ordered by slot 1. */
const byFirst: WindowPartitioning = {
  partitionBy: [slot(0)],
  partitionTypes: [text],
  orderBy: [sortKey(1, int)],
};

/** One partition, in the order of slots. */
function whole(...orderBy: readonly SortKey[]): WindowPartitioning {
  return { partitionBy: [], partitionTypes: [], orderBy };
}

function over(
  taken: CompiledAggregate,
  frame: Frame = running,
  partitioning: WindowPartitioning = byFirst,
): CompiledWindow {
  return {
    function: { kind: 'aggregate', aggregate: taken },
    type: taken.function.result,
    partitioning,
    frame,
  };
}

function call(
  name: WindowFunctionName,
  args: readonly ((row: Row) => SqlValue)[] = [],
  rest: { frame?: Frame; partitioning?: WindowPartitioning; type?: SqlType } = {},
): CompiledWindow {
  const { frame = running, partitioning = byFirst, type = bigint } = rest;
  return { function: { kind: 'window', name, args }, type, partitioning, frame };
}

/** Only what the windows give. */
function values(rows: readonly Row[], ...windows: readonly CompiledWindow[]): Row[] {
  const execution = executionWith();
  const result = rowsOf(new WindowOperator(execution, new RowsInput(rows, 7), windows));
  expect(execution.budget.memory).toBe(0);
  const width = rows[0]?.length ?? 0;
  expect(result.map((row) => row.slice(0, width))).toEqual(rows);
  return result.map((row) => row.slice(width));
}

/** The column of one window. */
function column(rows: readonly Row[], window: CompiledWindow): SqlValue[] {
  return values(rows, window).map(([value]) => value as SqlValue);
}

// One partition with ties, in an order other than that of the input.
const scores: readonly Row[] = [30, 10, 20, 20, null].map((score) => ['a', score]);

describe('window functions', () => {
  test('number and rank rows, peers alike', () => {
    expect(column(scores, call('ROW_NUMBER'))).toEqual([4n, 1n, 2n, 3n, 5n]);
    expect(column(scores, call('RANK'))).toEqual([4n, 1n, 2n, 2n, 5n]);
    expect(column(scores, call('DENSE_RANK'))).toEqual([3n, 1n, 2n, 2n, 4n]);
    expect(column(scores, call('PERCENT_RANK', [], { type: double }))).toEqual([0.75, 0, 0.25, 0.25, 1]);
    expect(column(scores, call('CUME_DIST', [], { type: double }))).toEqual([0.8, 0.2, 0.6, 0.6, 1]);
    expect(column([['a', 1]], call('PERCENT_RANK', [], { type: double }))).toEqual([0]);
    expect(column(scores, call('RANK', [], { type: int }))).toEqual([4, 1, 2, 2, 5]);
  });

  test('without an order all rows are peers', () => {
    const unordered = { partitioning: whole() };
    expect(column(scores, call('RANK', [], unordered))).toEqual([1n, 1n, 1n, 1n, 1n]);
    expect(column(scores, call('ROW_NUMBER', [], unordered))).toEqual([1n, 2n, 3n, 4n, 5n]);
    const sum = aggregate(resolveAggregate('SUM', [int]), [1]);
    expect(column(scores, over(sum, running, whole()))).toEqual([80n, 80n, 80n, 80n, 80n]);
  });

  test('NTILE makes larger parts first', () => {
    const rows = Array.from({ length: 7 }, (_, at): Row => ['a', at]);
    const tiles = (parts: SqlValue): SqlValue[] => column(rows, call('NTILE', [() => parts], { type: int }));
    expect(tiles(3)).toEqual([1, 1, 1, 2, 2, 3, 3]);
    expect(tiles(7n)).toEqual([1, 2, 3, 4, 5, 6, 7]);
    expect(tiles(100)).toEqual([1, 2, 3, 4, 5, 6, 7]);
    expect(tiles(1)).toEqual([1, 1, 1, 1, 1, 1, 1]);
    expect(tiles(null)).toEqual(new Array(7).fill(null));
    expect(() => tiles(0)).toThrow('argument of NTILE must be greater than zero');
  });

  test('LAG and LEAD look at other rows of the partition', () => {
    const rows: Row[] = [
      ['a', 2],
      ['b', 5],
      ['a', 1],
      ['a', 3],
    ];
    const type = { type: int };
    expect(column(rows, call('LAG', [slot(1)], type))).toEqual([1, null, null, 2]);
    expect(column(rows, call('LEAD', [slot(1)], type))).toEqual([3, null, 2, null]);
    expect(column(rows, call('LAG', [slot(1), () => 2, () => -1], type))).toEqual([-1, -1, -1, 1]);
    expect(column(rows, call('LEAD', [slot(1), () => 2n], type))).toEqual([null, null, 3, null]);
    expect(column(rows, call('LAG', [slot(1), () => 0], type))).toEqual([2, 5, 1, 3]);
    expect(column(rows, call('LAG', [slot(1), () => -1], type))).toEqual([3, null, 2, null]);
    expect(column(rows, call('LAG', [slot(1), () => null, () => -1], type))).toEqual(new Array(4).fill(null));
  });

  test('FIRST_VALUE, LAST_VALUE and NTH_VALUE look at the frame', () => {
    const args = [slot(1)];
    expect(column(scores, call('FIRST_VALUE', args, { type: int }))).toEqual([10, 10, 10, 10, 10]);
    // The default frame ends with the last peer.
    expect(column(scores, call('LAST_VALUE', args, { type: int }))).toEqual([30, 10, 20, 20, null]);
    const all = { type: int, frame: rowsFrame(fromStart, toEnd) };
    expect(column(scores, call('LAST_VALUE', args, all))).toEqual(new Array(5).fill(null));
    expect(column(scores, call('NTH_VALUE', [slot(1), () => 4], all))).toEqual(new Array(5).fill(30));
    expect(column(scores, call('NTH_VALUE', [slot(1), () => 2], { type: int }))).toEqual([
      20,
      null,
      20,
      20,
      20,
    ]);
    expect(column(scores, call('NTH_VALUE', [slot(1), () => 6], all))).toEqual(new Array(5).fill(null));
    expect(column(scores, call('NTH_VALUE', [slot(1), () => null], all))).toEqual(new Array(5).fill(null));
    expect(() => column(scores, call('NTH_VALUE', [slot(1), () => 0], all))).toThrow(
      'argument of NTH_VALUE must be greater than zero',
    );
    const empty = { type: int, frame: rowsFrame(rowsBehind(10), rowsBehind(20)) };
    expect(column(scores, call('FIRST_VALUE', args, empty))).toEqual(new Array(5).fill(null));
    expect(column(scores, call('LAST_VALUE', args, empty))).toEqual(new Array(5).fill(null));
  });
});

/** The places of a frame, by the definition: every row is asked whether it is in. */
function members(frame: Frame, rows: readonly Row[], at: number): Row[] {
  const isIn = (other: number): boolean => {
    const peers = frame.unit === 'range' && rows[other]?.[1] === rows[at]?.[1];
    const edge = ({ kind, ...rest }: BoundFrameEdge): number => {
      if (kind === 'unbounded-preceding') return Number.NEGATIVE_INFINITY;
      if (kind === 'unbounded-following') return Number.POSITIVE_INFINITY;
      const distance = 'distance' in rest ? (rest.distance as number) : 0;
      return at + (kind === 'preceding' ? -distance : distance);
    };
    const isBehindStart = edge(frame.start) <= other || (frame.start.kind === 'current-row' && peers);
    const isBeforeEnd = other <= edge(frame.end) || (frame.end.kind === 'current-row' && peers);
    return isBehindStart && isBeforeEnd;
  };
  return rows.filter((_, other) => isIn(other));
}

const edges = fc.oneof(
  fc.constantFrom(current),
  fc.integer({ min: 0, max: 6 }).map(rowsBefore),
  fc.integer({ min: 0, max: 6 }).map(rowsBehind),
);
const rangeEdge = fc.constant(current);
const frames: fc.Arbitrary<Frame> = fc.oneof(
  fc.record({
    unit: fc.constant('rows' as const),
    start: fc.oneof(fc.constant(fromStart), edges),
    end: fc.oneof(fc.constant(toEnd), edges),
  }),
  fc.record({
    unit: fc.constant('range' as const),
    start: fc.oneof(fc.constant(fromStart), rangeEdge),
    end: fc.oneof(fc.constant(toEnd), rangeEdge),
  }),
);
const partitionedRows = fc
  .array(
    fc.tuple(
      fc.option(fc.constantFrom('a', 'b')),
      fc.option(fc.integer({ min: 0, max: 5 })),
      fc.option(fc.integer({ min: -9, max: 9 })),
      fc.option(fc.boolean()),
    ),
    { maxLength: 30 },
  )
  .map((rows): Row[] => rows);

const ofInt = (name: string): CompiledAggregate => aggregate(resolveAggregate(name, [int]), [2]);
const aggregates: readonly CompiledAggregate[] = [
  ...['COUNT', 'SUM', 'AVG', 'MIN', 'MAX', 'ARRAY_AGG'].map(ofInt),
  aggregate(resolveAggregate('SUM', [double]), [2]),
  aggregate(resolveAggregate('COUNT', []), [], { filter: slot(3) }),
  aggregate(resolveAggregate('SUM', [int]), [2], { filter: slot(3) }),
  aggregate(resolveAggregate('MAX', [int]), [2], { filter: slot(3) }),
];

function plainly({ args, filter, function: taken }: CompiledAggregate, rows: readonly Row[]): SqlValue {
  const accumulator = taken.start();
  for (const row of rows) {
    const values = args.map((read) => read(row));
    if (filter !== undefined && filter(row) !== true) continue;
    if (!(taken.skipsNulls && values.includes(null))) accumulator.add(values);
  }
  return accumulator.result();
}

describe('aggregates over frames', () => {
  test('are as an evaluation of each frame by itself', () => {
    const inOrder = (a: Row, b: Row): number => Number(a[1] ?? 99) - Number(b[1] ?? 99);
    fc.assert(
      fc.property(partitionedRows, frames, (rows, frame) => {
        const partitionOf = (row: Row): Row[] => rows.filter(([key]) => key === row[0]).sort(inOrder);
        const expected = rows.map((row) => {
          const partition = partitionOf(row);
          const frameRows = members(frame, partition, partition.indexOf(row));
          return aggregates.map((taken) => plainly(taken, frameRows));
        });
        expect(values(rows, ...aggregates.map((taken) => over(taken, frame)))).toEqual(expected);
      }),
      { numRuns: 200 },
    );
  });

  test('slide over more rows than they keep at once', () => {
    const rows = Array.from({ length: 500 }, (_, at): Row => ['a', at, (at * 37) % 101]);
    const [start, end] = [200, 2];
    const frame = rowsFrame(rowsBefore(start), rowsBefore(end));
    const expected = rows.map((_, at) => {
      const frameRows = rows.slice(Math.max(0, at - start), Math.max(0, at - end + 1));
      return aggregates.map((taken) => plainly(taken, frameRows));
    });
    expect(values(rows, ...aggregates.map((taken) => over(taken, frame)))).toEqual(expected);
  });

  test('a sum of a frame that is out of range is refused, and only then', () => {
    const most = 9_223_372_036_854_775_807n;
    const sum = aggregate(resolveAggregate('SUM', [bigint]), [1]);
    const rows: Row[] = [most, -most, most].map((value, at) => [at, value]);
    const ordered = whole(sortKey(0, int));
    expect(column(rows, over(sum, rowsFrame(rowsBefore(1), current), ordered))).toEqual([most, 0n, 0n]);
    const twice = [...rows, [3, most]];
    expect(() => column(twice, over(sum, rowsFrame(rowsBefore(1), current), ordered))).toThrow(/range/i);
  });
});

describe('WindowOperator', () => {
  test('computes windows of several partitionings, in the order of the windows', () => {
    const windows = [
      call('ROW_NUMBER'),
      call('ROW_NUMBER', [], { partitioning: whole(sortKey(1, int, true)) }),
      over(aggregate(resolveAggregate('COUNT', []), [])),
    ];
    const rows: Row[] = [
      ['a', 1],
      ['b', 2],
      ['a', 3],
    ];
    expect(values(rows, ...windows)).toEqual([
      [1n, 3n, 1n],
      [1n, 2n, 1n],
      [2n, 1n, 2n],
    ]);
  });

  test('sorts once for windows with one partitioning', () => {
    let compared = 0;
    const key = sortKey(0, int);
    const counting = {
      ...key,
      compare: (a: SqlValue, b: SqlValue): number => {
        compared += 1;
        return key.compare(a, b);
      },
    };
    const rows = Array.from({ length: 300 }, (_, at): Row => [(at * 7) % 300]);
    const partitioning = whole(counting);
    values(rows, call('RANK', [], { partitioning }));
    const once = compared;
    values(rows, call('RANK', [], { partitioning }), call('ROW_NUMBER', [], { partitioning }));
    expect(compared).toBe(2 * once);
  });

  test('takes NULL as a partition of its own', () => {
    expect(
      column(
        [
          [null, 1],
          ['a', 2],
          [null, 3],
        ],
        call('ROW_NUMBER'),
      ),
    ).toEqual([1n, 1n, 2n]);
  });

  test.each([0, 1, 999, 1_000, 1_001])('gives %i rows in batches of 1,000 at most', (count) => {
    const rows = Array.from({ length: count }, (_, at): Row => ['a', -at]);
    const operator = new WindowOperator(executionWith(), new RowsInput(rows, 500), [call('ROW_NUMBER')]);
    const batches = batchesOf(operator);
    expect(batches.flat()).toEqual(rows.map((row, at) => [...row, BigInt(count - at)]));
    for (const { length } of batches) expect(length === 1_000 || length === count % 1_000).toBe(true);
  });

  test.each([0, 5, 40])('frees all memory when it is abandoned after %i steps', (steps) => {
    const rows = Array.from({ length: 20_000 }, (_, at): Row => ['a', at]);
    const execution = executionWith();
    const input = new RowsInput(rows, 20_000);
    const frame = rowsFrame(rowsBefore(10), rowsBehind(10));
    const windows = [
      over(aggregate(arrayOf(int), [1]), frame),
      over(aggregate(resolveAggregate('MIN', [int]), [1]), frame),
    ];
    const operator = new WindowOperator(execution, input, windows);
    const work = operator.next();
    for (let step = 0; step < steps; step++) expect(work.next().done).toBe(false);
    expect(execution.budget.memory > 0).toBe(steps > 1);
    operator.close();
    expect([execution.budget.memory, input.isClosed]).toEqual([0, true]);
  });

  test('frees as much as it has kept of stored JSON that is read while it is in a frame', () => {
    const budget = new FreedMemory(wide);
    const execution = new Execution(budget);
    // Few of them are results, which are counted besides.
    const values = (at: number): Jsonb => storedObjects(execution, at % 5 === 0 ? 101 : 100);
    const rows = Array.from({ length: 300 }, (_, at): Row => ['a', at, values(at)]);
    const bytes = rows.reduce((sum, row) => sum + rowBytes(row), 0);
    const window = over(
      aggregate(resolveAggregate('MAX', [jsonb]), [2]),
      rowsFrame(rowsBefore(2), rowsBehind(2)),
    );
    const operator = new WindowOperator(execution, new RowsInput(rows), [window]);
    expect(rowsOf(operator)).toHaveLength(rows.length);
    // Of a few rows all are in the first batch, and kept until the next is asked for.
    expect(budget.left.at(-1)).toBe(0);
    expect(Math.min(...budget.left.slice(0, -1))).toBeGreaterThanOrEqual(bytes);
  });

  test('counts the memory of its results', () => {
    const rows = Array.from({ length: 2_000 }, (_, at): Row => ['a', at]);
    const execution = executionWith({ memoryMax: 4_000_000 });
    const operator = new WindowOperator(execution, new RowsInput(rows), [over(aggregate(arrayOf(int), [1]))]);
    expect(() => rowsOf(operator)).toThrow(expect.objectContaining({ code: 'REQUEST_TOO_EXPENSIVE' }));
    operator.close();
    expect(execution.budget.memory).toBe(0);
  });

  test('counts equal results of rows behind one another once, and shares them', () => {
    const rows = Array.from({ length: 2_000 }, (_, at): Row => ['a', at]);
    const execution = executionWith({ memoryMax: 4_000_000 });
    // Each call makes a text of its own.
    const long = (row: Row): SqlValue => 'x'.repeat(100_000) + (Number(row[1]) >= 0 ? '' : 'y');
    const window = call('LAG', [long, () => 0], { type: text });
    const results = rowsOf(new WindowOperator(execution, new RowsInput(rows), [window]));
    expect(results).toHaveLength(2_000);
  });

  test('pauses in one partition of 100,000 rows with a wide frame, in work that is bounded', () => {
    const rows = Array.from({ length: 100_000 }, (_, at): Row => ['a', (at * 7_919) % 100_003]);
    const execution = executionWith({ workMax: 2e9, memoryMax: 2 ** 27 });
    const frame = rowsFrame(rowsBefore(1_000), rowsBehind(1_000));
    const windows = ['MIN', 'MAX', 'SUM'].map((name) =>
      over(aggregate(resolveAggregate(name, [int]), [1]), frame),
    );
    const operator = new WindowOperator(execution, new RowsInput(rows, 1_000), windows);
    expect(longestStep(operator, execution)).toBeLessThan(1_800_000);
    expect(execution.budget.memory).toBe(0);
  });

  test('refuses wide frames of an aggregate that has to begin anew for each', () => {
    const rows = Array.from({ length: 100_000 }, (_, at): Row => ['a', at]);
    const execution = executionWith({ workMax: 200_000_000 });
    const frame = rowsFrame(rowsBefore(1_000), rowsBehind(1_000));
    const sum = over(aggregate(resolveAggregate('SUM', [double]), [1]), frame);
    const operator = new WindowOperator(execution, new RowsInput(rows, 1_000), [sum]);
    expect(() => rowsOf(operator)).toThrow(expect.objectContaining({ code: 'REQUEST_TOO_EXPENSIVE' }));
    operator.close();
    expect(execution.budget.memory).toBe(0);
  });
});
