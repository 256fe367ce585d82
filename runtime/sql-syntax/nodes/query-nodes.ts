import type { Expression, SortItem, Span } from './expression-nodes.ts';

/** One entry of a select list. */
export type SelectItem =
  | { readonly kind: 'star'; readonly table: string | undefined; readonly span: Span }
  | { readonly kind: 'item'; readonly expression: Expression; readonly alias: string | undefined };

/** The name of a workspace, of a table of the schema or of a CTE; quoted in any way, or bare. */
export interface TableNode {
  readonly kind: 'table';
  readonly name: string;
  /** Whether it was written bare, so that it may be the alias of a workspace in CamelCase. */
  readonly isBare: boolean;
  readonly alias: string | undefined;
  readonly columnAliases: readonly string[];
  readonly span: Span;
}
/** `(query) AS a`. Without an alias the binder refuses it. */
export interface DerivedTableNode {
  readonly kind: 'derived-table';
  readonly query: Query;
  readonly alias: string | undefined;
  readonly columnAliases: readonly string[];
  readonly isLateral: boolean;
  readonly span: Span;
}
/** A function in FROM. */
export interface FunctionTableNode {
  readonly kind: 'function-table';
  /** In upper case. */
  readonly name: string;
  readonly args: readonly Expression[];
  readonly alias: string | undefined;
  readonly columnAliases: readonly string[];
  readonly isLateral: boolean;
  readonly span: Span;
}
export interface JoinNode {
  readonly kind: 'join';
  readonly type: 'inner' | 'left' | 'right' | 'full' | 'cross';
  readonly left: Source;
  readonly right: Source;
  /** Absent for a cross join only. */
  readonly on: Expression | undefined;
  readonly span: Span;
}
/** An entry of FROM. */
export type Source = TableNode | DerivedTableNode | FunctionTableNode | JoinNode;

/** `SELECT …` without ORDER BY and LIMIT. */
export interface SelectNode {
  readonly kind: 'select';
  /** `DISTINCT`; a list: `DISTINCT ON (…)`. */
  readonly distinct: 'all' | readonly Expression[] | undefined;
  readonly items: readonly SelectItem[];
  /** Several are joined crosswise. */
  readonly from: readonly Source[];
  readonly where: Expression | undefined;
  readonly groupBy: readonly Expression[];
  readonly having: Expression | undefined;
  readonly span: Span;
}
/** `VALUES (…), (…)`. */
export interface ValuesNode {
  readonly kind: 'values';
  readonly rows: readonly (readonly Expression[])[];
  readonly span: Span;
}
export interface SetOperationNode {
  readonly kind: 'set-operation';
  readonly operator: 'union' | 'intersect' | 'except';
  readonly isAll: boolean;
  readonly left: QueryBody;
  readonly right: QueryBody;
  readonly span: Span;
}
/** What a query is made of; a query in parentheses is one too. */
export type QueryBody = SelectNode | ValuesNode | SetOperationNode | Query;

/** `name [(columns)] AS (query)`. */
export interface CommonTable {
  readonly name: string;
  readonly columns: readonly string[];
  readonly query: Query;
  readonly span: Span;
}

/** A whole query. */
export interface Query {
  readonly kind: 'query';
  readonly isRecursive: boolean;
  readonly commonTables: readonly CommonTable[];
  readonly body: QueryBody;
  readonly orderBy: readonly SortItem[];
  /** A literal or parameter is asked for by the binder; `LIMIT ALL` is no limit. */
  readonly limit: Expression | undefined;
  readonly offset: Expression | undefined;
  readonly span: Span;
}
