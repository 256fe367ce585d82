import type { Expression, Query, Span } from '#runtime/sql-syntax/nodes/syntax-nodes.ts';
import type { BoundExpression, BoundQuery } from '../../bound/bound-statement.ts';
import type { ExpressionContext } from '../expressions/expression-context.ts';
import { bindExpression } from '../expressions/expression-binder.ts';
import { Typing } from '../expressions/typing.ts';
import { CommonTableScope } from '../scopes/common-table-scope.ts';
import type { NameScope } from '../scopes/name-scope.ts';
import type { StatementBinding } from '../statement-binding.ts';

/** Where a query stands. */
export interface QueryContext {
  readonly binding: StatementBinding;
  readonly typing: Typing;
  /** The names of WITH clauses that it may use. */
  readonly commonTables: CommonTableScope;
  /** The scopes of the queries around it, from the inside to the outside. */
  readonly outer: readonly NameScope[];
  /** Whether its answer is that of the statement. */
  readonly isOutermost: boolean;
  /** Whether its answer is a common table: expressions without a name are then `col0`, `col1` and so on. */
  readonly isCommonTable: boolean;
  /** Binds a query within another one. */
  readonly bindQuery: (query: Query, context: QueryContext) => BoundQuery;
  readonly bindExpression: (node: Expression, context: ExpressionContext) => BoundExpression;
}

/**
 * The context of the outermost query of a statement.
 *
 * @param bindQuery binds queries within others
 */
export function statementContext(
  binding: StatementBinding,
  bindQuery: QueryContext['bindQuery'],
): QueryContext {
  return {
    binding,
    typing: new Typing(binding),
    commonTables: CommonTableScope.empty,
    outer: [],
    isOutermost: true,
    isCommonTable: false,
    bindQuery,
    bindExpression,
  };
}

/** The context of expressions of a query. */
export function expressionContext(
  context: QueryContext,
  scope: NameScope,
  clause: string,
  allowed: Pick<ExpressionContext, 'aggregates' | 'windows' | 'isCondition'> = {},
): ExpressionContext {
  const { binding, typing, bindExpression } = context;
  return {
    binding,
    typing,
    scope,
    clause,
    ...allowed,
    bind: bindExpression,
    bindSubquery: (query) =>
      settledQuery(
        context.bindQuery(query, {
          ...context,
          commonTables: context.commonTables.runOnce,
          outer: scope.aroundSubquery,
          isOutermost: false,
          isCommonTable: false,
        }),
        query.span,
        typing,
      ),
  };
}

/** A query whose columns have known types: what is still open is text. */
export function settledQuery(query: BoundQuery, span: Span, typing: Typing): BoundQuery {
  if (query.output.every(({ expression }) => expression.type.name !== 'unknown')) return query;
  const output = query.output.map(({ name, expression }) => ({
    name,
    expression: typing.settled(expression, span),
  }));
  return { plan: query.plan, output };
}
