import type { SeriesPlan } from '#runtime/sql-plan/bound/bound-statement.ts';
import { printExpressions } from '../explain/print-expression.ts';
import { SeriesOperator } from '../operators/series-operator.ts';
import { compileRow, type LoweringContext, makeStep, withSubqueries } from './context.ts';
import { columnSlot, Layout } from './layout.ts';
import type { PhysicalPlan } from './physical-plan.ts';

/** Rows that are assumed of a series whose bounds are not known. */
const UNKNOWN_ROWS = 1_000;

/** Lowers GENERATE_SERIES. */
export function* lowerSeries(context: LoweringContext, plan: SeriesPlan): Generator<undefined, PhysicalPlan> {
  const columns = context.needs.allColumnsOf(plan.relation);
  const expressions = [plan.start, plan.stop, plan.step];
  const inputs = yield* context.subqueries.lower(context, expressions);
  const noColumns = new Layout([]);
  const [start, stop, step] = expressions.map((expression) => compileRow(context, expression, noColumns));
  const series = { start: start!, stop: stop!, step: step!, type: plan.columns[0]!.type };
  const lowered = makeStep(context, {
    describe: (names) => `Series: ${printExpressions(expressions, names)}`,
    inputs,
    layout: new Layout(columns.map((column) => columnSlot(plan.relation, column))),
    rows: rowsOf(plan),
    isOrdered: false,
    open: () => new SeriesOperator(context.execution, series, columns.length > 0),
  });
  return yield* withSubqueries(context, lowered, expressions, true);
}

/** How many rows a series has, where its bounds are known. */
function rowsOf({ start, step, stop }: SeriesPlan): number {
  if (start.kind !== 'constant' || stop.kind !== 'constant' || step.kind !== 'constant') return UNKNOWN_ROWS;
  const rows = Math.floor((Number(stop.value) - Number(start.value)) / Number(step.value)) + 1;
  return Number.isFinite(rows) ? Math.max(0, rows) : UNKNOWN_ROWS;
}
