import type { Query } from './query-nodes.ts';

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
export interface UnaryNode {
  readonly kind: 'unary';
  readonly operator: '-' | '+' | 'NOT';
  readonly operand: Expression;
  readonly span: Span;
}
/** A binary operator, as in spec section 1.7; `!=` is read as `<>`. */
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
export interface LikeNode {
  readonly kind: 'like';
  readonly operand: Expression;
  readonly pattern: Expression;
  readonly ignoresCase: boolean;
  readonly isNegated: boolean;
  readonly span: Span;
}
export interface BetweenNode {
  readonly kind: 'between';
  readonly operand: Expression;
  readonly low: Expression;
  readonly high: Expression;
  readonly isNegated: boolean;
  readonly span: Span;
}
export interface InListNode {
  readonly kind: 'in-list';
  readonly operand: Expression;
  readonly items: readonly Expression[];
  readonly isNegated: boolean;
  readonly span: Span;
}
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
