import type { Span } from './expression-nodes.ts';
import type { Query } from './query-nodes.ts';

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
