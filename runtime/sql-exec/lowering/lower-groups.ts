import type {
  AggregatePlan,
  BoundAggregate,
  BoundWindow,
  WindowPlan,
} from '#runtime/sql-plan/bound/bound-statement.ts';
import { printExpressions } from '../explain/print-expression.ts';
import { AggregateOperator } from '../operators/aggregate-operator.ts';
import type { CompiledAggregate } from '../operators/compiled-aggregate.ts';
import { WindowOperator } from '../operators/window-operator.ts';
import { compileWindows } from '../operators/windows/compile-windows.ts';
import {
  anyRows,
  compileRow,
  compileRows,
  compileSort,
  type LoweringContext,
  makeStep,
  summedRows,
  withSubqueries,
} from './context.ts';
import { aggregateExpressions, windowExpressions } from './expression-parts.ts';
import { columnSlot, Layout } from './layout.ts';
import type { PhysicalPlan } from './physical-plan.ts';

/** Of the rows, the part that is assumed to begin a new group. */
const GROUP_SHARE = 1 / 10;

/** Lowers groups: the keys, and those aggregates that are read. */
export function* lowerAggregate(
  context: LoweringContext,
  plan: AggregatePlan,
): Generator<undefined, PhysicalPlan> {
  const { relation, keys } = plan;
  const read = new Set(context.needs.allColumnsOf(relation));
  const positions = plan.aggregates
    .map((_, index) => keys.length + index)
    .filter((column) => read.has(column));
  const aggregates = positions.map((column) => plan.aggregates[column - keys.length]!);
  const expressions = [...keys, ...aggregates.flatMap(aggregateExpressions)];
  context.needs.add(expressions);
  const input = yield* withSubqueries(context, yield* context.lower(plan.input, summedRows), expressions);
  const compiledKeys = compileRows(context, keys, input.layout);
  const keyTypes = keys.map(({ type }) => type);
  const compiled = aggregates.map((aggregate) => compileAggregate(context, aggregate, input.layout));
  const names = [...keys.map((_, column) => column), ...positions].map((column) =>
    columnSlot(relation, column),
  );
  return makeStep(context, {
    describe: (names) => {
      const parts = [`keys=[${printExpressions(keys, names)}]`];
      const functions = aggregates.map((aggregate) => aggregate.function.name);
      if (functions.length > 0) parts.push(`aggregates=[${functions.join(', ')}]`);
      return `HashAggregate: ${parts.join(', ')}`;
    },
    inputs: [input],
    layout: new Layout(names),
    rows: keys.length === 0 ? 1 : Math.max(1, input.rows * GROUP_SHARE),
    isOrdered: false,
    open: () => new AggregateOperator(context.execution, input.open(), compiledKeys, keyTypes, compiled),
  });
}

/** Lowers windows: those that are read. */
export function* lowerWindow(context: LoweringContext, plan: WindowPlan): Generator<undefined, PhysicalPlan> {
  const columns = context.needs.allColumnsOf(plan.relation);
  const windows = columns.map((column) => plan.windows[column]!);
  const expressions = windows.flatMap(windowExpressions);
  context.needs.add(expressions);
  const input = yield* withSubqueries(context, yield* context.lower(plan.input, anyRows), expressions);
  if (windows.length === 0) return { ...input, isOrdered: false };
  const { layout } = input;
  const compiled = compileWindows(windows, {
    expression: (expression) => compileRow(context, expression, layout),
    sort: (keys) => compileSort(context, keys, layout),
    aggregate: (aggregate) => compileAggregate(context, aggregate, layout),
  });
  return makeStep(context, {
    describe: () => `Window: ${windows.map(windowName).join(', ')}`,
    inputs: [input],
    layout: layout.with(columns.map((column) => columnSlot(plan.relation, column))),
    rows: input.rows,
    isOrdered: false,
    open: () => new WindowOperator(context.execution, input.open(), compiled),
  });
}

function windowName({ function: called }: BoundWindow): string {
  return called.kind === 'aggregate' ? called.aggregate.function.name : called.name;
}

function compileAggregate(
  context: LoweringContext,
  aggregate: BoundAggregate,
  layout: Layout,
): CompiledAggregate {
  return {
    function: aggregate.function,
    args: compileRows(context, aggregate.args, layout),
    argTypes: aggregate.args.map(({ type }) => type),
    isDistinct: aggregate.isDistinct,
    orderBy: compileSort(context, aggregate.orderBy, layout),
    filter: aggregate.filter === undefined ? undefined : compileRow(context, aggregate.filter, layout),
  };
}
