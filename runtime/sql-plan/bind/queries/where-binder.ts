import type { Expression } from '#runtime/sql-syntax/nodes/syntax-nodes.ts';
import { booleanType } from '#runtime/sql-values/types/basic-types.ts';
import type { BoundExpression, LogicalPlan } from '../../bound/bound-statement.ts';
import type { NamedRelation, NameScope } from '../scopes/name-scope.ts';
import { expressionContext, type QueryContext } from './query-context.ts';
import { type RefuseRoute, routed } from './routing.ts';
import { requireTableConditions } from './table-conditions.ts';

/**
 * Binds WHERE, without the conditions that say what is read of the tables: these are told to the tables.
 *
 * @param conjuncts the operands of its ANDs
 * @param refuse as in {@link routed}
 * @returns conditions that all hold for the chosen rows; none: every row is chosen
 */
export function bindWhere(
  relations: readonly NamedRelation[],
  conjuncts: readonly Expression[],
  scope: NameScope,
  context: QueryContext,
  refuse?: RefuseRoute,
): readonly BoundExpression[] {
  const { binding, typing } = context;
  const expressions = expressionContext(context, scope, 'WHERE clause', { isCondition: true });
  return routed(conjuncts, scope, binding, refuse).flatMap((conjunct) => {
    const bound = expressions.bind(conjunct, expressions);
    const condition = typing.condition(bound, 'WHERE', conjunct.span);
    requireTableConditions(condition, relations, conjunct.span, binding);
    return condition.kind === 'and' ? condition.operands : [condition];
  });
}

/** The rows of a plan for which all of some conditions are TRUE. */
export function withPredicate(input: LogicalPlan, operands: readonly BoundExpression[]): LogicalPlan {
  const [first] = operands;
  if (first === undefined) return input;
  const predicate: BoundExpression =
    operands.length === 1 ? first : { kind: 'and', type: booleanType, operands };
  return { kind: 'filter', input, predicate };
}
