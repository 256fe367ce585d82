import type { Query } from '#runtime/sql-syntax/nodes/syntax-nodes.ts';
import type { BoundStatement } from '../bound/bound-statement.ts';
import type { StatementScope } from '../ports.ts';
import { bindQuery } from './queries/query-binder.ts';
import { settledQuery, statementContext } from './queries/query-context.ts';
import { StatementBinding } from './statement-binding.ts';

/**
 * Binds a query: resolves its names, finds its functions, and brings every expression to the type that is wanted of it.
 * Nothing is decided about how it is run.
 *
 * @param source the text that the places of the query refer to, for messages
 * @throws {ServiceError} `VALIDATION_FAILED`, with line and column where they are known
 */
export function bindStatement(query: Query, source: string, scope: StatementScope): BoundStatement {
  const binding = new StatementBinding(source, scope);
  const context = statementContext(binding, bindQuery);
  const bound = settledQuery(bindQuery(query, context), query.span, context.typing);
  return { query: bound, commonTables: binding.commonTables, relationCount: binding.relationCount };
}
