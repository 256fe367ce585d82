import type { ExplainStatement, QueryStatement } from '#runtime/sql-syntax/nodes/statement-nodes.ts';
import type { BoundStatement } from '../bound/bound-statement.ts';
import type { StatementScope } from '../ports.ts';
import { bindExpression } from './expressions/expression-binder.ts';
import { Typing } from './expressions/typing.ts';
import { bindQuery } from './queries/query-binder.ts';
import { settledQuery } from './queries/query-context.ts';
import { CommonTableScope } from './scopes/common-table-scope.ts';
import { StatementBinding } from './statement-binding.ts';

/**
 * Binds a statement: resolves its names, finds its functions, and brings every expression to the type that is wanted of it.
 * Nothing is decided about how it is run.
 *
 * @param source the text that the places of the statement refer to, for messages
 * @throws {ServiceError} `VALIDATION_FAILED`, with line and column where they are known
 */
export function bindStatement(
  statement: QueryStatement | ExplainStatement,
  source: string,
  scope: StatementScope,
): BoundStatement {
  const binding = new StatementBinding(source, scope);
  const typing = new Typing(binding);
  const bound = bindQuery(statement.query, {
    binding,
    typing,
    commonTables: CommonTableScope.empty,
    outer: [],
    isOutermost: true,
    isCommonTable: false,
    bindQuery,
    bindExpression,
  });
  const query = settledQuery(bound, statement.span, typing);
  return { query, commonTables: binding.commonTables, relationCount: binding.relationCount };
}
