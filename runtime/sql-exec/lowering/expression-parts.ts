import { partsOf } from '#runtime/sql-plan/bind/expression-walk.ts';
import type {
  BoundAggregate,
  BoundExpression,
  BoundQuery,
  BoundSort,
  BoundWindow,
} from '#runtime/sql-plan/bound/bound-statement.ts';

/** The same expression with other parts. */
export function withParts(
  expression: BoundExpression,
  change: (part: BoundExpression) => BoundExpression,
): BoundExpression {
  switch (expression.kind) {
    case 'constant':
    case 'column':
    case 'scalar-subquery':
    case 'exists-subquery':
      return expression;
    case 'call':
      return { ...expression, args: expression.args.map(change) };
    case 'and':
    case 'or':
    case 'coalesce':
      return { ...expression, operands: expression.operands.map(change) };
    case 'not':
    case 'is':
      return { ...expression, operand: change(expression.operand) };
    case 'case':
      return {
        ...expression,
        // biome-ignore lint/suspicious/noThenProperty: the result of a branch, as in CASE
        branches: expression.branches.map(({ when, then }) => ({ when: change(when), then: change(then) })),
        otherwise: change(expression.otherwise),
      };
    case 'in':
      return { ...expression, operand: change(expression.operand), items: expression.items.map(change) };
    case 'array':
      return { ...expression, items: expression.items.map(change) };
    case 'quantified':
      return { ...expression, left: change(expression.left), array: change(expression.array) };
    case 'quantified-subquery':
      return { ...expression, left: change(expression.left) };
  }
}

/** An expression and all expressions in it, in no certain order. */
export function* walk(expression: BoundExpression): Generator<BoundExpression, void> {
  const rest = [expression];
  for (let part = rest.pop(); part !== undefined; part = rest.pop()) {
    yield part;
    for (const inner of partsOf(part)) rest.push(inner);
  }
}

/** An expression and the expressions in it that are no constants: lists may have thousands of these. */
function* walkOthers(expression: BoundExpression): Generator<BoundExpression, void> {
  const rest = [expression];
  for (let part = rest.pop(); part !== undefined; part = rest.pop()) {
    yield part;
    if (part.kind === 'in') {
      rest.push(part.operand);
      for (const item of part.items) if (item.kind !== 'constant') rest.push(item);
      continue;
    }
    for (const inner of partsOf(part)) if (inner.kind !== 'constant') rest.push(inner);
  }
}

/** The query of an expression that is a subquery. */
export function queryOf(expression: BoundExpression): BoundQuery | undefined {
  return 'query' in expression ? expression.query : undefined;
}

/** The subqueries in expressions. */
export function queriesIn(expressions: readonly BoundExpression[]): readonly BoundQuery[] {
  const queries: BoundQuery[] = [];
  for (const expression of expressions) {
    if (expression.kind === 'constant') continue;
    for (const part of walkOthers(expression)) {
      const query = queryOf(part);
      if (query !== undefined) queries.push(query);
    }
  }
  return queries;
}

/** Whether an expression may have another value each time, or contains a subquery. */
export function isVolatileOrQuery(expression: BoundExpression): boolean {
  for (const part of walkOthers(expression)) {
    if (queryOf(part) !== undefined || isVolatileCall(part)) return true;
  }
  return false;
}

/** Whether an expression may have another value each time. */
export function isVolatile(expression: BoundExpression): boolean {
  for (const part of walkOthers(expression)) {
    if (isVolatileCall(part)) return true;
  }
  return false;
}

function isVolatileCall(part: BoundExpression): boolean {
  return (part.kind === 'call' || part.kind === 'quantified') && part.function.isVolatile === true;
}

/** Relations whose columns an expression names. */
export function relationsIn(expression: BoundExpression): ReadonlySet<number> {
  const relations = new Set<number>();
  for (const part of walkOthers(expression)) {
    if (part.kind === 'column') relations.add(part.relation);
  }
  return relations;
}

/** The conditions that must all be TRUE for an expression to be TRUE. */
export function conjunctsOf(expression: BoundExpression): readonly BoundExpression[] {
  if (expression.kind !== 'and') return [expression];
  return expression.operands.flatMap(conjunctsOf);
}

/** @returns undefined: there are none */
export function conjunction(conjuncts: readonly BoundExpression[]): BoundExpression | undefined {
  const [first, second] = conjuncts;
  if (first === undefined || second === undefined) return first;
  return { kind: 'and', type: first.type, operands: conjuncts };
}

/** Expressions of the keys of an order. */
export function sortExpressions(keys: readonly BoundSort[]): readonly BoundExpression[] {
  return keys.map(({ expression }) => expression);
}

/** All expressions of an aggregate. */
export function aggregateExpressions(aggregate: BoundAggregate): readonly BoundExpression[] {
  const filter = aggregate.filter === undefined ? [] : [aggregate.filter];
  return [...aggregate.args, ...sortExpressions(aggregate.orderBy), ...filter];
}

/** All expressions of a window. */
export function windowExpressions(window: BoundWindow): readonly BoundExpression[] {
  const called = window.function;
  const args = called.kind === 'aggregate' ? aggregateExpressions(called.aggregate) : called.args;
  return [...args, ...window.partitionBy, ...sortExpressions(window.orderBy)];
}
