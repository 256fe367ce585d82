import type { BoundExpression, BoundQuery } from '#runtime/sql-plan/bound/bound-statement.ts';
import { printExpressions } from '../explain/print-expression.ts';
import { ProjectOperator } from '../operators/project-operator.ts';
import { compileRows, type LoweringContext, makeStep, type Wish, withSubqueries } from './context.ts';
import { Layout } from './layout.ts';
import type { PhysicalPlan } from './physical-plan.ts';

/** Lowers a query whose conditions have been moved down. The rows have a slot for each column of its output. */
export function* lowerQuery(
  context: LoweringContext,
  query: BoundQuery,
  wish: Wish,
): Generator<undefined, PhysicalPlan> {
  const expressions = query.output.map(({ expression }) => expression);
  context.needs.add(expressions);
  const input = yield* context.lower(query.plan, wish);
  return yield* project(context, input, expressions, outputLayout(query));
}

/** The layout of the output of a query: slots without names of columns, which nothing above can mean by mistake. */
function outputLayout(query: BoundQuery): Layout {
  return new Layout(query.output.map((_, slot) => `output ${slot}`));
}

/** A step that makes rows of expressions; none where the rows are the same already. */
export function* project(
  context: LoweringContext,
  input: PhysicalPlan,
  expressions: readonly BoundExpression[],
  layout: Layout,
): Generator<undefined, PhysicalPlan> {
  const isSame =
    expressions.length === input.layout.width &&
    expressions.every((expression, slot) => input.layout.slotOf(expression) === slot);
  // The names of its columns are not those that its look-ups know.
  if (isSame) return { ...input, layout, lookups: undefined };
  const source = yield* withSubqueries(context, input, expressions);
  const compiled = compileRows(context, expressions, source.layout);
  return makeStep(context, {
    describe: (names) => `Project: ${printExpressions(expressions, names)}`,
    inputs: [source],
    layout,
    rows: source.rows,
    isOrdered: source.isOrdered,
    sortedBy: sortedSlot(source, expressions),
    open: () => new ProjectOperator(context.execution, source.open(), compiled),
  });
}

/** The slot of a projection in whose order the rows come. */
function sortedSlot(source: PhysicalPlan, expressions: readonly BoundExpression[]): number | undefined {
  if (source.sortedBy === undefined) return undefined;
  const slot = expressions.findIndex((expression) => source.layout.slotOf(expression) === source.sortedBy);
  return slot === -1 ? undefined : slot;
}
