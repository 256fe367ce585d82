import { invalid } from '#runtime/errors/service-error.ts';
import { partsOf } from '#runtime/sql-plan/bind/expression-walk.ts';
import type {
  BoundExpression,
  BoundQuery,
  BoundStatement,
  LogicalPlan,
  RelationColumn,
} from '#runtime/sql-plan/bound/bound-statement.ts';
import {
  aggregateExpressions,
  queriesIn,
  queryOf,
  sortExpressions,
  windowExpressions,
} from './expression-parts.ts';

/** Deepest nesting of plans and expressions: lowering, opening and pulling take stack for each level. */
const DEPTH_MAX = 1_000;

/** The plans that a plan reads, except those of its subqueries. */
export function inputsOf(plan: LogicalPlan): readonly LogicalPlan[] {
  switch (plan.kind) {
    case 'nodes':
    case 'schema':
    case 'values':
    case 'series':
    case 'common-table':
      return [];
    case 'join':
      return [plan.left, plan.right];
    case 'set-operation':
      return [plan.left.plan, plan.right.plan];
    case 'filter':
    case 'project':
    case 'aggregate':
    case 'window':
    case 'distinct':
    case 'sort':
    case 'limit':
      return [plan.input];
  }
}

/** The expressions that a plan evaluates itself; of VALUES those that are no constants. */
export function expressionsOf(plan: LogicalPlan): readonly BoundExpression[] {
  switch (plan.kind) {
    case 'nodes':
    case 'schema':
    case 'common-table':
    case 'limit':
      return [];
    case 'values':
      return plan.rows.flatMap((row) => row.filter(({ kind }) => kind !== 'constant'));
    case 'series':
      return [plan.start, plan.stop, plan.step];
    case 'join':
      return plan.on === undefined ? [] : [plan.on];
    case 'filter':
      return [plan.predicate];
    case 'project':
      return plan.expressions;
    case 'aggregate':
      return [...plan.keys, ...plan.aggregates.flatMap(aggregateExpressions)];
    case 'window':
      return plan.windows.flatMap(windowExpressions);
    case 'distinct':
      return plan.on ?? [];
    case 'sort':
      return sortExpressions(plan.keys);
    case 'set-operation':
      return [...plan.left.output, ...plan.right.output].map(({ expression }) => expression);
  }
}

/** A relation that a plan gives to the plan above it. */
export interface VisibleRelation {
  readonly relation: number;
  readonly columns: readonly RelationColumn[];
}

/** The relations of the rows of a plan. */
export function visibleRelations(plan: LogicalPlan): readonly VisibleRelation[] {
  switch (plan.kind) {
    case 'nodes':
    case 'schema':
    case 'values':
    case 'series':
    case 'common-table':
    case 'project':
    case 'aggregate':
    case 'set-operation':
      return [plan];
    case 'window':
      return [...visibleRelations(plan.input), plan];
    case 'join':
      return [...visibleRelations(plan.left), ...visibleRelations(plan.right)];
    case 'filter':
    case 'distinct':
    case 'sort':
    case 'limit':
      return visibleRelations(plan.input);
  }
}

/** Numbers of the relations of the rows of a plan. */
export function relationsOf(plan: LogicalPlan): ReadonlySet<number> {
  return new Set(visibleRelations(plan).map(({ relation }) => relation));
}

/** All plans of queries, also of their subqueries, in no certain order. */
export function* plansIn(queries: readonly BoundQuery[]): Generator<LogicalPlan, void> {
  const rest: LogicalPlan[] = [];
  const enter = (entered: readonly BoundQuery[]): void => {
    for (const query of entered) {
      rest.push(query.plan);
      enter(queriesIn(query.output.map(({ expression }) => expression)));
    }
  };
  enter(queries);
  for (let plan = rest.pop(); plan !== undefined; plan = rest.pop()) {
    yield plan;
    for (const input of inputsOf(plan)) rest.push(input);
    enter(queriesIn(expressionsOf(plan)));
  }
}

/**
 * Checks that a statement is not nested too deeply, without recursion.
 *
 * @throws {ServiceError} `VALIDATION_FAILED`
 */
export function requireDepth(statement: BoundStatement): void {
  type Part = readonly [part: LogicalPlan | BoundExpression, depth: number];
  const rest: Part[] = [];
  const enter = (query: BoundQuery, depth: number): void => {
    rest.push([query.plan, depth]);
    for (const { expression } of query.output) rest.push([expression, depth]);
  };
  enter(statement.query, 0);
  for (const { query, step } of statement.commonTables) {
    enter(query, 0);
    if (step !== undefined) enter(step, 0);
  }
  for (let entry = rest.pop(); entry !== undefined; entry = rest.pop()) {
    const [part, depth] = entry;
    if (depth > DEPTH_MAX) throw invalid(`The statement is nested more than ${DEPTH_MAX} levels deep`);
    if (isExpression(part)) {
      for (const inner of partsOf(part)) {
        if (inner.kind !== 'constant') rest.push([inner, depth + 1]);
      }
      const query = queryOf(part);
      if (query !== undefined) enter(query, depth + 1);
    } else {
      for (const inner of inputsOf(part)) rest.push([inner, depth + 1]);
      for (const inner of expressionsOf(part)) rest.push([inner, depth + 1]);
    }
  }
}

function isExpression(part: LogicalPlan | BoundExpression): part is BoundExpression {
  return 'type' in part && part.kind !== 'join';
}
