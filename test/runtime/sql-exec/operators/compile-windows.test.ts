import { describe, expect, test } from 'vitest';
import { compileWindows, type WindowCompiler } from '#runtime/sql-exec/operators/windows/compile-windows.ts';
import { ExpressionKeys } from '#runtime/sql-exec/operators/windows/expression-key.ts';
import type { BoundExpression, BoundSort, BoundWindow } from '#runtime/sql-plan/bound/bound-statement.ts';
import { resolveAggregate } from '#runtime/sql-values/aggregates/resolve-aggregate.ts';
import type { ScalarFunction } from '#runtime/sql-values/scalar-function.ts';
import { Jsonb, type SqlValue } from '#runtime/sql-values/sql-value.ts';
import { aggregate, bigint, int, slot, sortKey, text } from './operator-fixture.ts';

const boolean = { name: 'boolean' } as const;
const column = (at: number, relation = 1): BoundExpression => ({
  kind: 'column',
  type: int,
  relation,
  column: at,
});
const constant = (value: SqlValue, type = int): BoundExpression => ({ kind: 'constant', type, value });
const plus: ScalarFunction = {
  name: '+',
  parameters: [int, int],
  result: int,
  isStrict: true,
  evaluate: (a, b) => Number(a) + Number(b),
};
const call = (taken: ScalarFunction, ...args: readonly BoundExpression[]): BoundExpression => ({
  kind: 'call',
  type: taken.result,
  function: taken,
  args,
});
const ascending = (expression: BoundExpression): BoundSort => ({
  expression,
  isDescending: false,
  nullsFirst: false,
});

const rowNumber = (partitionBy: readonly BoundExpression[], orderBy: readonly BoundSort[]): BoundWindow => ({
  function: { kind: 'window', name: 'ROW_NUMBER', args: [] },
  type: bigint,
  partitionBy,
  orderBy,
  frame: { unit: 'range', start: { kind: 'unbounded-preceding' }, end: { kind: 'current-row' } },
});

const compiler: WindowCompiler = {
  expression: () => slot(0),
  sort: (keys) => keys.map(() => sortKey(0, int)),
  aggregate: ({ function: taken }) => aggregate(taken, [0]),
};

describe('compileWindows', () => {
  test('gives equal partitions and orders one partitioning, and others their own', () => {
    const sum = (): BoundExpression => call({ ...plus }, column(0), constant(1));
    const windows = [
      rowNumber([sum()], [ascending(column(2))]),
      rowNumber([sum()], [ascending(column(2))]),
      rowNumber([sum()], [{ ...ascending(column(2)), isDescending: true }]),
      rowNumber([sum()], [{ ...ascending(column(2)), nullsFirst: true }]),
      rowNumber([], [ascending(sum()), ascending(column(2))]),
      rowNumber([sum(), column(2)], []),
      rowNumber([], []),
    ];
    const [first, second, ...others] = compileWindows(windows, compiler).map(
      ({ partitioning }) => partitioning,
    );
    expect(second).toBe(first);
    expect(new Set([first, ...others]).size).toBe(others.length + 1);
    expect(first?.partitionTypes).toEqual([int]);
  });

  test('compiles what windows are of', () => {
    const count: BoundWindow['function'] = {
      kind: 'aggregate',
      aggregate: {
        function: resolveAggregate('COUNT', [int]),
        args: [column(0)],
        isDistinct: false,
        orderBy: [],
        filter: undefined,
      },
    };
    const [compiled, refused] = [
      count,
      { ...count, aggregate: { ...count.aggregate, isDistinct: true } },
    ].map((bound) => () => compileWindows([{ ...rowNumber([], []), function: bound }], compiler));
    expect(compiled?.()[0]?.function.kind).toBe('aggregate');
    expect(refused).toThrow('DISTINCT is not implemented for window functions');
    const ordered = { ...count.aggregate, orderBy: [ascending(column(0))] };
    const withOrder = { ...rowNumber([], []), function: { ...count, aggregate: ordered } };
    expect(() => compileWindows([withOrder], compiler)).toThrow(
      'aggregate ORDER BY is not implemented for window functions',
    );
  });
});

describe('ExpressionKeys', () => {
  const minus = { ...plus, name: '-' };
  const subquery = { kind: 'exists-subquery', type: boolean, query: {} } as unknown as BoundExpression;
  const then = column(1);
  const branch = { when: column(0), then };
  const different: readonly BoundExpression[] = [
    column(0),
    column(1),
    column(0, 2),
    constant(1),
    constant(1n, bigint),
    constant('1', text),
    constant('1 /0', text),
    constant(null),
    constant(0),
    constant(-0),
    constant(true, boolean),
    call(plus, column(0), column(1)),
    call(minus, column(0), column(1)),
    call(plus, column(1), column(0)),
    call(plus, call(plus, column(0), column(1)), column(2)),
    call(plus, column(0), call(plus, column(1), column(2))),
    { kind: 'not', type: boolean, operand: column(0) },
    { kind: 'is', type: boolean, test: 'null', operand: column(0) },
    { kind: 'is', type: boolean, test: 'true', operand: column(0) },
    { kind: 'and', type: boolean, operands: [column(0), column(1)] },
    { kind: 'or', type: boolean, operands: [column(0), column(1)] },
    { kind: 'coalesce', type: int, operands: [column(0), column(1)] },
    { kind: 'in', type: boolean, operand: column(0), items: [column(1)] },
    { kind: 'array', type: { name: 'array', element: int }, items: [column(0), column(1)] },
    { kind: 'case', type: int, branches: [branch], otherwise: column(2) },
    {
      kind: 'quantified',
      type: boolean,
      quantifier: 'any',
      function: plus,
      left: column(0),
      array: column(1),
    },
    {
      kind: 'quantified',
      type: boolean,
      quantifier: 'all',
      function: plus,
      left: column(0),
      array: column(1),
    },
    subquery,
  ];

  test('are equal for equal expressions only', () => {
    const keys = new ExpressionKeys();
    expect(new Set(different.map((expression) => keys.of(expression))).size).toBe(different.length);
    for (const expression of different) {
      if (expression !== subquery) expect(keys.of({ ...expression })).toBe(keys.of(expression));
    }
  });

  test('take objects as equal to themselves only', () => {
    const keys = new ExpressionKeys();
    const json = new Jsonb({ a: 1 });
    const type = { name: 'jsonb' } as const;
    expect(keys.of(constant(json, type))).toBe(keys.of(constant(json, type)));
    expect(keys.of(constant(json, type))).not.toBe(keys.of(constant(new Jsonb({ a: 1 }), type)));
  });

  test('are made of deep and of wide expressions', () => {
    let deep = column(0);
    for (let level = 0; level < 50_000; level++) deep = call(plus, deep, constant(1));
    expect(new ExpressionKeys().of(deep).length).toBeGreaterThan(100_000);
    const items = Array.from({ length: 200_000 }, (_, at) => constant(at));
    const wide: BoundExpression = { kind: 'in', type: boolean, operand: column(0), items };
    expect(new ExpressionKeys().of(wide).length).toBeGreaterThan(200_000);
  });
});
