import type { Query, QueryBody } from '#runtime/sql-syntax/nodes/syntax-nodes.ts';

/** What is in parentheses that have nothing else around it. */
export function unwrapped(body: QueryBody): QueryBody {
  let inner = body;
  while (inner.kind === 'query' && isBare(inner)) inner = inner.body;
  return inner;
}

function isBare(query: Query): boolean {
  const { commonTables, orderBy, limit, offset } = query;
  return commonTables.length === 0 && orderBy.length === 0 && limit === undefined && offset === undefined;
}
