import type { Query, Span } from './syntax-nodes.ts';

/** A query as a statement. */
export interface QueryStatement {
  readonly kind: 'query-statement';
  readonly query: Query;
  readonly span: Span;
}
/** `EXPLAIN [ANALYZE] [VERBOSE] query`. */
export interface ExplainStatement {
  readonly kind: 'explain';
  readonly isAnalyze: boolean;
  readonly isVerbose: boolean;
  readonly query: Query;
  readonly span: Span;
}
/** One statement. */
export type Statement = QueryStatement | ExplainStatement;
