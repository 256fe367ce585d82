import type { AccessChangeStatement, AccessReadStatement } from './access-nodes.ts';
import type { BranchStatement, SessionStatement } from './branch-nodes.ts';
import type { DataStatement } from './data-nodes.ts';
import type { SchemaStatement } from './schema-nodes.ts';
import type { Query, Span } from './syntax-nodes.ts';
import type { TreeStatement } from './tree-nodes.ts';

/** A query as a statement. */
export interface QueryStatement {
  readonly kind: 'query-statement';
  readonly query: Query;
  readonly span: Span;
}
/** `EXPLAIN [ANALYZE] [VERBOSE] statement`. */
export interface ExplainStatement {
  readonly kind: 'explain';
  readonly isAnalyze: boolean;
  readonly isVerbose: boolean;
  /** A change is explained without being run; ANALYZE refuses one. */
  readonly statement: Query | DataStatement;
  readonly span: Span;
}
/** One statement. */
export type Statement =
  | QueryStatement
  | ExplainStatement
  | DataStatement
  | TreeStatement
  | SchemaStatement
  | BranchStatement
  | SessionStatement
  | AccessChangeStatement
  | AccessReadStatement;
