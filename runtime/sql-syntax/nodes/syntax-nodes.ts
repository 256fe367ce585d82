/**
 * The nodes of syntax trees: expressions, then queries. They are in one file, because each contains the other.
 */

/** The part of the text of a statement that a node was read from: offsets in UTF-16 units, `end` behind it. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** The name of a type as it was written, in lower case: `int`, `double precision`, `text`. */
export interface TypeName {
  readonly name: string;
  /** Whether `[]` follows. */
  readonly isArray: boolean;
  readonly span: Span;
}

/** One key of an ORDER BY. */
export interface SortItem {
  readonly expression: Expression;
  readonly isDescending: boolean;
  /** Undefined: not written. */
  readonly nullsFirst: boolean | undefined;
}

/** The edge of a frame. */
export type FrameBound =
  | { readonly kind: 'unbounded-preceding' | 'unbounded-following' | 'current-row' }
  | { readonly kind: 'preceding' | 'following'; readonly distance: Expression };

/** `OVER (…)`. */
export interface WindowClause {
  readonly partitionBy: readonly Expression[];
  readonly orderBy: readonly SortItem[];
  readonly frame:
    | { readonly unit: 'rows' | 'range'; readonly start: FrameBound; readonly end: FrameBound }
    | undefined;
  readonly span: Span;
}

/** A number, text or truth value. A number is an int where it fits into 32 bits, a bigint where it fits into 64. */
export interface LiteralNode {
  readonly kind: 'literal';
  readonly type: 'int' | 'bigint' | 'double' | 'text' | 'boolean' | 'null';
  readonly value: number | bigint | string | boolean | null;
  readonly span: Span;
}
/** `INTERVAL '2 days'`. */
export interface IntervalNode {
  readonly kind: 'interval';
  readonly text: string;
  readonly span: Span;
}
/** `$1`; the index begins with 1, and 0 is refused by the binder. */
export interface ParameterNode {
  readonly kind: 'parameter';
  readonly index: number;
  readonly span: Span;
}
/** `name` or `table.name`. */
export interface ColumnNode {
  readonly kind: 'column';
  readonly table: string | undefined;
  readonly name: string;
  readonly span: Span;
}
/** `$.properties.a.b[0]`: the steps from the column on, the column first. */
export interface PropertyPathNode {
  readonly kind: 'property-path';
  readonly steps: readonly (string | number)[];
  readonly span: Span;
}
/** A sign or NOT. */
export interface UnaryNode {
  readonly kind: 'unary';
  readonly operator: '-' | '+' | 'NOT';
  readonly operand: Expression;
  readonly span: Span;
}
/** A binary operator; `!=` is read as `<>`. */
export interface BinaryNode {
  readonly kind: 'binary';
  readonly operator:
    | 'AND'
    | 'OR'
    | '='
    | '<>'
    | '<'
    | '<='
    | '>'
    | '>='
    | '+'
    | '-'
    | '*'
    | '/'
    | '%'
    | '||'
    | '->'
    | '->>'
    | '#>'
    | '#>>'
    | '@>'
    | '<@'
    | '?'
    | '?|'
    | '?&'
    | '#-'
    | '@?'
    | '@@';
  readonly left: Expression;
  readonly right: Expression;
  readonly span: Span;
}
/** `x [NOT] LIKE pattern`, `x [NOT] ILIKE pattern`. */
export interface LikeNode {
  readonly kind: 'like';
  readonly operand: Expression;
  readonly pattern: Expression;
  readonly ignoresCase: boolean;
  readonly isNegated: boolean;
  readonly span: Span;
}
/** `x [NOT] BETWEEN low AND high`; both are included. */
export interface BetweenNode {
  readonly kind: 'between';
  readonly operand: Expression;
  readonly low: Expression;
  readonly high: Expression;
  readonly isNegated: boolean;
  readonly span: Span;
}
/** `x [NOT] IN (a, b)`. */
export interface InListNode {
  readonly kind: 'in-list';
  readonly operand: Expression;
  readonly items: readonly Expression[];
  readonly isNegated: boolean;
  readonly span: Span;
}
/** `x [NOT] IN (SELECT …)`. */
export interface InQueryNode {
  readonly kind: 'in-query';
  readonly operand: Expression;
  readonly query: Query;
  readonly isNegated: boolean;
  readonly span: Span;
}
/** `x = ANY(array)`, `x > ALL(array)`; the right side may be a query. */
export interface QuantifiedNode {
  readonly kind: 'quantified';
  readonly operator: '=' | '<>' | '<' | '<=' | '>' | '>=';
  readonly quantifier: 'any' | 'all';
  readonly left: Expression;
  readonly right: Expression | Query;
  readonly span: Span;
}
/** `x IS [NOT] NULL`, `IS [NOT] TRUE`, `IS [NOT] FALSE`, `IS [NOT] UNKNOWN`. */
export interface IsNode {
  readonly kind: 'is';
  readonly operand: Expression;
  readonly test: 'null' | 'true' | 'false' | 'unknown';
  readonly isNegated: boolean;
  readonly span: Span;
}
/** `a IS [NOT] DISTINCT FROM b`. */
export interface DistinctFromNode {
  readonly kind: 'distinct-from';
  readonly left: Expression;
  readonly right: Expression;
  readonly isNegated: boolean;
  readonly span: Span;
}
/** `x::type`, `CAST(x AS type)`. */
export interface CastNode {
  readonly kind: 'cast';
  readonly operand: Expression;
  readonly type: TypeName;
  readonly span: Span;
}
/** `CASE [x] WHEN a THEN b … [ELSE c] END`. */
export interface CaseNode {
  readonly kind: 'case';
  /** Of a simple CASE. */
  readonly operand: Expression | undefined;
  readonly branches: readonly { readonly when: Expression; readonly then: Expression }[];
  readonly otherwise: Expression | undefined;
  readonly span: Span;
}
/** `ARRAY[a, b]`. */
export interface ArrayNode {
  readonly kind: 'array';
  readonly items: readonly Expression[];
  readonly span: Span;
}
/** `x[n]`. */
export interface SubscriptNode {
  readonly kind: 'subscript';
  readonly operand: Expression;
  readonly index: Expression;
  readonly span: Span;
}
/** A call of a function, an aggregate or a window function. Words without parentheses (`CURRENT_DATE`) have no arguments. */
export interface CallNode {
  readonly kind: 'call';
  /** In upper case. */
  readonly name: string;
  readonly args: readonly Expression[];
  /** `COUNT(*)`. */
  readonly isStar: boolean;
  readonly isDistinct: boolean;
  readonly orderBy: readonly SortItem[];
  readonly filter: Expression | undefined;
  readonly over: WindowClause | undefined;
  readonly span: Span;
}
/** `(a, b)`: read, so that the binder can refuse it with the text for it. */
export interface RowNode {
  readonly kind: 'row';
  readonly items: readonly Expression[];
  readonly span: Span;
}
/** `(SELECT …)` as a value. */
export interface SubqueryNode {
  readonly kind: 'subquery';
  readonly query: Query;
  readonly span: Span;
}
/** `EXISTS (SELECT …)`. */
export interface ExistsNode {
  readonly kind: 'exists';
  readonly query: Query;
  readonly span: Span;
}

/** An expression. */
export type Expression =
  | LiteralNode
  | IntervalNode
  | ParameterNode
  | ColumnNode
  | PropertyPathNode
  | UnaryNode
  | BinaryNode
  | LikeNode
  | BetweenNode
  | InListNode
  | InQueryNode
  | QuantifiedNode
  | IsNode
  | DistinctFromNode
  | CastNode
  | CaseNode
  | ArrayNode
  | SubscriptNode
  | CallNode
  | RowNode
  | SubqueryNode
  | ExistsNode;

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
/** Two sources joined; several are joined from the left. */
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
/** `a UNION b`, `a INTERSECT b`, `a EXCEPT b`, with or without ALL. */
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
