import { rowKeyOf } from '#runtime/sql-values/ordering/hash-key.ts';
import type {
  BoundExpression,
  DistinctPlan,
  FilterPlan,
  LimitPlan,
  LogicalPlan,
  ProjectPlan,
  SetOperationPlan,
  SortPlan,
  ValuesPlan,
} from '#runtime/sql-plan/bound/bound-statement.ts';
import { printExpressions, printSort } from '../explain/print-expression.ts';
import { valuesText } from '../explain/print-logical-plan.ts';
import { keyWork } from '../expressions/key-work.ts';
import type { Row } from '../operator.ts';
import { DistinctOperator } from '../operators/distinct-operator.ts';
import { FilterOperator } from '../operators/filter-operator.ts';
import { LimitOperator } from '../operators/limit-operator.ts';
import { ProjectOperator } from '../operators/project-operator.ts';
import type { RowExpression } from '../operators/row-expression.ts';
import { SetOperationOperator } from '../operators/set-operation-operator.ts';
import { SortOperator } from '../operators/sort-operator.ts';
import { TopNOperator } from '../operators/top-n-operator.ts';
import { ValuesOperator } from '../operators/values-operator.ts';
import {
  anyRows,
  compileRows,
  compileSort,
  type LoweringContext,
  makeStep,
  type Wish,
  withSubqueries,
} from './context.ts';
import { conjunctsOf, isVolatileOrQuery, sortExpressions } from './expression-parts.ts';
import { columnSlot, Layout } from './layout.ts';
import { lookupsThrough } from './lookups.ts';
import { lowerAggregate, lowerWindow } from './lower-groups.ts';
import { lowerJoin } from './lower-join.ts';
import { lowerQuery, project } from './lower-query.ts';
import { lowerSeries } from './lower-series.ts';
import { lowerTable } from './lower-table.ts';
import type { Lookups, PhysicalPlan } from './physical-plan.ts';
import { visibleRelations } from './plan-parts.ts';
import { foundBySubqueries } from './subquery-keys.ts';
import { isCheap, substitute } from './substitute.ts';

/** Of the rows, the part that is assumed to meet the conditions of a filter. */
const SELECTIVITY = 1 / 3;

/** Estimated nanoseconds of compiling a value. */
const COMPILE_WORK = 1_000;

/** A plan other than a common table, which its statement knows. */
export type LoweredPlan = Exclude<LogicalPlan, { readonly kind: 'common-table' }>;

/** Lowers a plan. @see LoweringContext.lower */
export function lowerPlan(
  context: LoweringContext,
  plan: LoweredPlan,
  wish: Wish,
): Generator<undefined, PhysicalPlan> {
  switch (plan.kind) {
    case 'nodes':
    case 'schema':
      return lowerTable(context, plan, [], wish);
    case 'values':
      return lowerValues(context, plan);
    case 'series':
      return lowerSeries(context, plan);
    case 'filter':
      return lowerFilter(context, plan, wish);
    case 'project':
      return lowerProject(context, plan, wish);
    case 'join':
      return lowerJoin(context, plan);
    case 'aggregate':
      return lowerAggregate(context, plan);
    case 'window':
      return lowerWindow(context, plan);
    case 'distinct':
      return lowerDistinct(context, plan);
    case 'sort':
      return lowerSort(context, plan, undefined);
    case 'limit':
      return lowerLimit(context, plan);
    case 'set-operation':
      return lowerSetOperation(context, plan);
  }
}

function* lowerValues(context: LoweringContext, plan: ValuesPlan): Generator<undefined, PhysicalPlan> {
  const columns = context.needs.allColumnsOf(plan.relation);
  const noColumns = new Layout([]);
  const rows = plan.rows.map((row) => columns.map((column) => row[column]!));
  const others = rows.flatMap((row) => row.filter(({ kind }) => kind !== 'constant'));
  const inputs = yield* context.subqueries.lower(context, others);
  const compiled: (readonly RowExpression[])[] = [];
  for (const row of rows) {
    compiled.push(compileRows(context, row, noColumns));
    context.execution.spend(COMPILE_WORK * row.length);
    if (!context.execution.isDue) continue;
    context.execution.pausing();
    yield undefined;
  }
  const values = makeStep(context, {
    describe: () => valuesText(plan),
    inputs,
    layout: new Layout(columns.map((column) => columnSlot(plan.relation, column))),
    rows: rows.length,
    isOrdered: false,
    open: () => new ValuesOperator(context.execution, compiled),
  });
  return yield* withSubqueries(context, values, others, true);
}

/** A filter of a table is the table's own, except for conditions with subqueries. */
function* lowerFilter(
  context: LoweringContext,
  { input, predicate }: FilterPlan,
  wish: Wish,
): Generator<undefined, PhysicalPlan> {
  const conditions = conjunctsOf(predicate);
  const isTable = input.kind === 'nodes' || input.kind === 'schema';
  const others = isTable ? conditions.filter(isVolatileOrQuery) : conditions;
  const below: Wish = others.length === 0 ? wish : { ...wish, limit: undefined };
  context.needs.add(others);
  const lowered = isTable
    ? yield* lowerTable(
        context,
        input,
        conditions.filter((condition) => !others.includes(condition)),
        below,
      )
    : yield* context.lower(input, below);
  if (others.length === 0) return lowered;
  const source = yield* withSubqueries(context, lowered, others, false, (plan) =>
    foundBySubqueries(context, plan, others, wish.order.length > 0),
  );
  const compiled = compileRows(context, others, source.layout);
  return makeStep(context, {
    describe: (names) => `Filter: ${printExpressions(others, names)}`,
    inputs: [source],
    layout: source.layout,
    rows: Math.max(1, source.rows * SELECTIVITY),
    isOrdered: source.isOrdered,
    sortedBy: source.sortedBy,
    lookups: others.some(isVolatileOrQuery)
      ? undefined
      : lookupsThrough(
          source.lookups,
          (operator) => new FilterOperator(context.execution, operator, compiled),
        ),
    open: () => new FilterOperator(context.execution, source.open(), compiled),
  });
}

/** Only those expressions are computed that are read. A property of a column that is only handed on is read further down. */
function* lowerProject(
  context: LoweringContext,
  plan: ProjectPlan,
  wish: Wish,
): Generator<undefined, PhysicalPlan> {
  const { needs } = context;
  const { relation } = plan;
  const expressions: BoundExpression[] = [];
  const names: string[] = [];
  for (const { column } of needs.propertiesOf(relation)) {
    if (plan.expressions[column.column]!.kind !== 'column') needs.addColumn(relation, column.column);
  }
  for (const column of needs.columnsOf(relation)) {
    expressions.push(plan.expressions[column]!);
    names.push(columnSlot(relation, column));
  }
  for (const { call, slot } of needs.propertiesOf(relation)) {
    expressions.push(substitute(call, relation, plan.expressions));
    names.push(slot);
  }
  needs.add(expressions);
  const below = wishBelow(plan, wish);
  const input = yield* context.lower(plan.input, below);
  const projected = yield* project(context, input, expressions, new Layout(names));
  return {
    ...projected,
    isOrdered: projected.isOrdered && below.order.length === wish.order.length,
    lookups: projectedLookups(context, plan, input, expressions),
  };
}

/** The look-ups of what a projection reads, by its columns. */
function projectedLookups(
  context: LoweringContext,
  { expressions: definitions, relation }: ProjectPlan,
  input: PhysicalPlan,
  expressions: readonly BoundExpression[],
): Lookups | undefined {
  if (input.lookups === undefined || expressions.some(isVolatileOrQuery)) return undefined;
  const compiled = compileRows(context, expressions, input.layout);
  return lookupsThrough(
    input.lookups,
    (operator) => new ProjectOperator(context.execution, operator, compiled),
    (expression) => substitute(expression, relation, definitions),
  );
}

/** A wish in terms of what a projection reads; none where a key is computed by it. */
function wishBelow(plan: ProjectPlan, wish: Wish): Wish {
  if (wish.order.length === 0) return wish;
  const order = wish.order.map((key) => ({
    ...key,
    expression: substitute(key.expression, plan.relation, plan.expressions),
  }));
  return order.every(({ expression }) => isCheap(expression)) ? { ...wish, order } : anyRows;
}

function* lowerDistinct(context: LoweringContext, plan: DistinctPlan): Generator<undefined, PhysicalPlan> {
  const { needs } = context;
  if (plan.on === undefined) {
    for (const { relation, columns } of visibleRelations(plan.input)) {
      for (const column of columns.keys()) needs.addColumn(relation, column);
    }
  } else {
    needs.add(plan.on);
  }
  const on = plan.on ?? visibleColumns(plan);
  const input = yield* withSubqueries(context, yield* context.lower(plan.input, anyRows), on);
  const key = compileKey(context, on, input.layout);
  return makeStep(context, {
    describe: (names) => (plan.on === undefined ? 'Distinct' : `DistinctOn: ${printExpressions(on, names)}`),
    inputs: [input],
    layout: input.layout,
    rows: input.rows,
    isOrdered: false,
    open: () => new DistinctOperator(context.execution, input.open(), key),
  });
}

function visibleColumns(plan: LogicalPlan): readonly BoundExpression[] {
  return visibleRelations(plan).flatMap(({ relation, columns }) =>
    columns.map(({ type }, column): BoundExpression => ({ kind: 'column', type, relation, column })),
  );
}

/** The key of a row, equal where the values of some expressions are. */
function compileKey(
  context: LoweringContext,
  expressions: readonly BoundExpression[],
  layout: Layout,
): (row: Row) => string {
  const compiled = compileRows(context, expressions, layout);
  const keyOf = rowKeyOf(expressions.map(({ type }) => type));
  return (row) => {
    const values = compiled.map((expression) => expression(row));
    for (const value of values) context.execution.spendOnCall(keyWork(value));
    return keyOf(values);
  };
}

/** @param count rows that are read at most; undefined: not known */
function* lowerSort(
  context: LoweringContext,
  plan: SortPlan,
  count: number | undefined,
): Generator<undefined, PhysicalPlan> {
  const expressions = sortExpressions(plan.keys);
  context.needs.add(expressions);
  const lowered = yield* context.lower(plan.input, { order: plan.keys, limit: count });
  if (lowered.isOrdered) return { ...lowered, isOrdered: false };
  const input = yield* withSubqueries(context, lowered, expressions);
  const keys = compileSort(context, plan.keys, input.layout);
  const { execution } = context;
  return makeStep(context, {
    describe: (names) => {
      const shown = `keys=[${printSort(plan.keys, names)}]`;
      return count === undefined ? `Sort: ${shown}` : `TopN: ${shown}, count=${names.value(count)}`;
    },
    inputs: [input],
    layout: input.layout,
    rows: Math.min(input.rows, count ?? Number.POSITIVE_INFINITY),
    isOrdered: false,
    open: () =>
      count === undefined
        ? new SortOperator(execution, input.open(), keys)
        : new TopNOperator(execution, input.open(), keys, count),
  });
}

function* lowerLimit(context: LoweringContext, plan: LimitPlan): Generator<undefined, PhysicalPlan> {
  const { limit, offset } = plan;
  const count = limit === undefined ? undefined : limit + offset;
  const input =
    plan.input.kind === 'sort'
      ? yield* lowerSort(context, plan.input, count)
      : yield* context.lower(plan.input, { order: [], limit: count });
  return makeStep(context, {
    describe: (names) =>
      `Limit: limit=${limit === undefined ? 'ALL' : names.value(limit)}, offset=${names.value(offset)}`,
    inputs: [input],
    layout: input.layout,
    rows: Math.min(limit ?? Number.POSITIVE_INFINITY, Math.max(0, input.rows - offset)),
    isOrdered: false,
    open: () => new LimitOperator(context.execution, input.open(), limit, offset),
  });
}

function* lowerSetOperation(
  context: LoweringContext,
  plan: SetOperationPlan,
): Generator<undefined, PhysicalPlan> {
  const { operator, isAll, relation } = plan;
  const left = yield* lowerQuery(context, plan.left, anyRows);
  const right = yield* lowerQuery(context, plan.right, anyRows);
  const types = plan.columns.map(({ type }) => type);
  return makeStep(context, {
    describe: () => {
      const name = { union: 'Union', intersect: 'Intersect', except: 'Except' }[operator];
      return isAll ? `${name}All` : name;
    },
    inputs: [left, right],
    layout: new Layout(plan.columns.map((_, column) => columnSlot(relation, column))),
    rows: operator === 'union' ? left.rows + right.rows : left.rows,
    isOrdered: false,
    open: () =>
      new SetOperationOperator(context.execution, operator, isAll, left.open(), right.open(), types),
  });
}
