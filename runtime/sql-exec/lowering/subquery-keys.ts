import type { BoundExpression, BoundQuery } from '#runtime/sql-plan/bound/bound-statement.ts';
import type { SqlValue } from '#runtime/sql-values/sql-value.ts';
import type { SubqueryRun } from '../runs/subquery-run.ts';
import type { LoweringContext } from './context.ts';
import { bestLookup, type EqualExpression, keyedStep, turned } from './lookups.ts';
import type { PhysicalPlan } from './physical-plan.ts';

/** An equality of an expression of a table and the values of a subquery. */
interface SubqueryKey extends EqualExpression {
  readonly query: BoundQuery;
}

/**
 * A table of which conditions ask that an expression equals a value of a subquery: `id IN (SELECT …)`, `path = (SELECT …)`. It
 * finds its rows by these values if they are few enough. The conditions are still evaluated: an error of the subquery counts
 * only where there is a row.
 *
 * @param conditions all hold for the rows that are wanted; their subqueries have been lowered
 * @param isOrderUsed whether the plan above relies on the order of the rows if they come in it: look-ups have none, so they
 *   are used only where they are expected to be best
 * @returns the table itself if nothing finds rows by the values
 */
export function* foundBySubqueries(
  context: LoweringContext,
  table: PhysicalPlan,
  conditions: readonly BoundExpression[],
  isOrderUsed: boolean,
): Generator<undefined, PhysicalPlan> {
  if (table.lookups === undefined) return table;
  const keys = conditions.map(subqueryKey).filter((key) => key !== undefined);
  const lookup = yield* bestLookup(table, keys);
  if (lookup === undefined) return table;
  const { by, found, keysWorth } = lookup;
  const run = context.subqueries.runOf(by.query);
  const isExpected = run.rows <= keysWorth;
  if (isOrderUsed && table.isOrdered && !isExpected) return table;
  run.keepValues(keysWorth);
  const { open, plan } = keyedStep(context, table, lookup, isExpected);
  const rows = isExpected ? Math.min(table.rows, Math.max(1, run.rows * found.keyRows)) : table.rows;
  return { ...plan, rows, open: () => open(() => valuesOf(run)) };
}

function* valuesOf(run: SubqueryRun): Generator<undefined, readonly SqlValue[] | undefined> {
  yield* run.run();
  return run.values();
}

function subqueryKey(condition: BoundExpression): SubqueryKey | undefined {
  if (condition.kind === 'quantified-subquery') {
    const { function: equals, left, quantifier, query } = condition;
    const isEqual = quantifier === 'any' && equals.name === '=';
    return isEqual ? { expression: left, equals, query } : undefined;
  }
  if (condition.kind !== 'call' || condition.function.name !== '=') return undefined;
  const [left, right] = condition.args as [BoundExpression, BoundExpression];
  if (right.kind === 'scalar-subquery')
    return { expression: left, equals: condition.function, query: right.query };
  if (left.kind !== 'scalar-subquery') return undefined;
  return { expression: right, equals: turned(condition.function), query: left.query };
}
