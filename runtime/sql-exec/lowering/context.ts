import type {
  BoundExpression,
  BoundQuery,
  BoundSort,
  LogicalPlan,
} from '#runtime/sql-plan/bound/bound-statement.ts';
import { comparatorOf } from '#runtime/sql-values/ordering/comparator.ts';
import type { Execution } from '../execution.ts';
import type { Names } from '../explain/names.ts';
import { compileExpression } from '../expressions/compile-expression.ts';
import type { Evaluate } from '../expressions/evaluate.ts';
import { compileNumberCast, isNumberCast } from '../expressions/number-cast.ts';
import type { Operator, Row } from '../operator.ts';
import type { RowExpression } from '../operators/row-expression.ts';
import type { SortKey } from '../operators/sort-key.ts';
import { SubqueryOperator } from '../operators/subquery-operator.ts';
import type { TableRead, Tables } from '../ports.ts';
import { queriesIn } from './expression-parts.ts';
import type { Layout } from './layout.ts';
import type { Needs } from './needs.ts';
import type { PhysicalPlan } from './physical-plan.ts';
import type { SubqueryRun } from '../runs/subquery-run.ts';

/** What the plan above would like. */
export interface Wish {
  /** The order of the rows; whether they come in it is said by {@link PhysicalPlan.isOrdered}. */
  readonly order: readonly BoundSort[];
  /** In that order no more rows than these are read; undefined: not known. */
  readonly limit: number | undefined;
  /** Whether the rows are only taken into aggregates, see {@link TableRead.isSummed}. Absent: no. */
  readonly isSummed?: boolean;
}

/** No wish. */
export const anyRows: Wish = { order: [], limit: undefined };

/** No wish, for rows that are only taken into aggregates. */
export const summedRows: Wish = { ...anyRows, isSummed: true };

/** Is told each step that is opened; returns what is to be used instead of it. */
export type Observer = (plan: PhysicalPlan, operator: Operator) => Operator;

/** The subqueries of a statement, each of which is lowered and run once. */
export interface SubqueryRuns {
  /** The run of a subquery, which was lowered before. */
  runOf(query: BoundQuery): SubqueryRun;
  /**
   * Lowers the subqueries in expressions that are not yet.
   *
   * @returns their plans, for explanations
   */
  lower(
    context: LoweringContext,
    expressions: readonly BoundExpression[],
  ): Generator<undefined, readonly PhysicalPlan[]>;
}

/** What the parts of the lowering of one statement share. */
export interface LoweringContext {
  readonly execution: Execution;
  readonly tables: Tables;
  readonly needs: Needs;
  readonly names: Names;
  readonly subqueries: SubqueryRuns;
  readonly observe: Observer | undefined;
  /** Lowers a plan whose conditions have been moved down. What is read of it above has been added to the needs. */
  lower(plan: LogicalPlan, wish: Wish): Generator<undefined, PhysicalPlan>;
}

/** Makes a step of the plan. */
export function makeStep(context: LoweringContext, parts: PhysicalPlan): PhysicalPlan {
  const { observe } = context;
  if (observe === undefined) return parts;
  const plan: PhysicalPlan = { ...parts, open: () => observe(plan, parts.open()) };
  return plan;
}

/** Compiles an expression for something that slots are read from. */
export function compileFor<R>(
  context: LoweringContext,
  expression: BoundExpression,
  readSlot: (expression: BoundExpression) => Evaluate<R> | undefined,
): Evaluate<R> {
  const read = (part: BoundExpression): Evaluate<R> | undefined => {
    const slot = readSlot(part);
    if (slot !== undefined) return slot;
    if (part.kind === 'scalar-subquery' || part.kind === 'exists-subquery') {
      const run = context.subqueries.runOf(part.query);
      return () => run.value(null);
    }
    if (part.kind === 'quantified-subquery') {
      const run = context.subqueries.runOf(part.query);
      const left = compileExpression(part.left, read, context.execution);
      return (row) => run.value(left(row));
    }
    return undefined;
  };
  return compileExpression(expression, read, context.execution);
}

/** Compiles an expression for rows. */
export function compileRow(
  context: LoweringContext,
  expression: BoundExpression,
  layout: Layout,
): RowExpression {
  return compileFor<Row>(context, expression, (part) =>
    slotReader(layout, part, (slot) => (row) => row[slot]!, context.execution),
  );
}

/**
 * Reads an expression from a slot.
 *
 * @param readerOf how a slot is read
 * @returns undefined: none has it
 */
export function slotReader<R>(
  layout: Layout,
  expression: BoundExpression,
  readerOf: (slot: number) => Evaluate<R>,
  execution: Execution,
): Evaluate<R> | undefined {
  const slot = layout.slotOf(expression);
  if (slot !== undefined) return readerOf(slot);
  if (!isNumberCast(expression)) return undefined;
  const numberSlot = layout.numberSlotOf(expression);
  return numberSlot === undefined
    ? undefined
    : compileNumberCast(expression, readerOf(numberSlot), execution);
}

/** Compiles several expressions for rows. */
export function compileRows(
  context: LoweringContext,
  expressions: readonly BoundExpression[],
  layout: Layout,
): readonly RowExpression[] {
  return expressions.map((expression) => compileRow(context, expression, layout));
}

/** Compiles the keys of an order. */
export function compileSort(
  context: LoweringContext,
  keys: readonly BoundSort[],
  layout: Layout,
): readonly SortKey[] {
  return keys.map(({ expression, isDescending, nullsFirst }) => ({
    read: compileRow(context, expression, layout),
    compare: comparatorOf(expression.type),
    isDescending,
    nullsFirst,
  }));
}

/**
 * Lowers the subqueries in expressions, and has them run before the expressions are evaluated for a row of the input.
 *
 * @param isFirst whether the input itself evaluates them
 * @param adapt what takes the place of the input, when the subqueries have been lowered; absent: the input itself
 */
export function* withSubqueries(
  context: LoweringContext,
  input: PhysicalPlan,
  expressions: readonly BoundExpression[],
  isFirst = false,
  adapt?: (input: PhysicalPlan) => Generator<undefined, PhysicalPlan>,
): Generator<undefined, PhysicalPlan> {
  const queries = new Set(queriesIn(expressions));
  if (queries.size === 0) return input;
  const steps = yield* context.subqueries.lower(context, expressions);
  const runs = [...queries].map((query) => context.subqueries.runOf(query));
  const source = adapt === undefined ? input : yield* adapt(input);
  return makeStep(context, {
    ...source,
    describe: () => 'Subqueries',
    inputs: [source, ...steps],
    // What is looked up would pass by the subqueries.
    lookups: undefined,
    measured: undefined,
    open: () => new SubqueryOperator(source.open(), runs, isFirst),
  });
}
