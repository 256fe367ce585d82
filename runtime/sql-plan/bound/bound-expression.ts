import type { AggregateFunction, ScalarFunction } from '#runtime/sql-values/scalar-function.ts';
import type { SqlType } from '#runtime/sql-values/sql-type.ts';
import type { SqlValue } from '#runtime/sql-values/sql-value.ts';
import type { BoundQuery } from './logical-plan.ts';

/** A value known while planning: a literal, a parameter, or a call of functions on such. */
export interface BoundConstant {
  readonly kind: 'constant';
  readonly type: SqlType;
  readonly value: SqlValue;
  /** Whether it is a parameter of type `unknown`: its text may become anything. */
  readonly isParameter?: true;
}
/** A column of a relation, see {@link LogicalPlan}. */
export interface BoundColumn {
  readonly kind: 'column';
  readonly type: SqlType;
  /** Number of the relation, unique in the statement. */
  readonly relation: number;
  /** Position among the columns of the relation. */
  readonly column: number;
}
/** A call; operators and casts are calls too. The arguments have the types of the function. */
export interface BoundCall {
  readonly kind: 'call';
  readonly type: SqlType;
  readonly function: ScalarFunction;
  readonly args: readonly BoundExpression[];
}
/** Three-valued logic; two operands or more, evaluated from left to right until the result is known. */
export interface BoundLogic {
  readonly kind: 'and' | 'or';
  readonly type: SqlType;
  readonly operands: readonly BoundExpression[];
}
/** `NOT x`. */
export interface BoundNot {
  readonly kind: 'not';
  readonly type: SqlType;
  readonly operand: BoundExpression;
}
/** `x IS NULL`, `x IS TRUE`, `x IS FALSE`; IS UNKNOWN is bound as `null`, negations as a {@link BoundNot} around it. */
export interface BoundIs {
  readonly kind: 'is';
  readonly type: SqlType;
  readonly test: 'null' | 'true' | 'false';
  readonly operand: BoundExpression;
}
/** The first branch whose condition is TRUE. A simple CASE is bound as a searched one. Only the chosen branch is evaluated. */
export interface BoundCase {
  readonly kind: 'case';
  readonly type: SqlType;
  readonly branches: readonly { readonly when: BoundExpression; readonly then: BoundExpression }[];
  readonly otherwise: BoundExpression;
}
/** The first operand that is not NULL. */
export interface BoundCoalesce {
  readonly kind: 'coalesce';
  readonly type: SqlType;
  readonly operands: readonly BoundExpression[];
}
/** `x IN (a, b)` where all have one type; NULLs give three-valued results. */
export interface BoundIn {
  readonly kind: 'in';
  readonly type: SqlType;
  readonly operand: BoundExpression;
  readonly items: readonly BoundExpression[];
}
/** `ARRAY[…]`. */
export interface BoundArray {
  readonly kind: 'array';
  readonly type: SqlType;
  readonly items: readonly BoundExpression[];
}
/** `x op ANY(array)`, `x op ALL(array)` over a value of type array; the function compares `x` with an element. */
export interface BoundQuantified {
  readonly kind: 'quantified';
  readonly type: SqlType;
  readonly quantifier: 'any' | 'all';
  readonly function: ScalarFunction;
  readonly left: BoundExpression;
  readonly array: BoundExpression;
}
/** A query as a value. Subqueries are independent, so each is run once, when its value is first wanted. */
export interface BoundSubquery {
  readonly kind: 'scalar-subquery' | 'exists-subquery';
  readonly type: SqlType;
  readonly query: BoundQuery;
}
/** `x IN (query)`, and `x op ANY|ALL (query)`; the function compares `x` with a value of the only column. `IN` is `= ANY`. */
export interface BoundQuantifiedQuery {
  readonly kind: 'quantified-subquery';
  readonly type: SqlType;
  readonly quantifier: 'any' | 'all';
  readonly function: ScalarFunction;
  readonly left: BoundExpression;
  readonly query: BoundQuery;
}

/** An expression whose names are resolved and whose types are known. */
export type BoundExpression =
  | BoundConstant
  | BoundColumn
  | BoundCall
  | BoundLogic
  | BoundNot
  | BoundIs
  | BoundCase
  | BoundCoalesce
  | BoundIn
  | BoundArray
  | BoundQuantified
  | BoundSubquery
  | BoundQuantifiedQuery;

/** A key of an order. */
export interface BoundSort {
  readonly expression: BoundExpression;
  readonly isDescending: boolean;
  readonly nullsFirst: boolean;
}

/** An aggregate of a group. */
export interface BoundAggregate {
  readonly function: AggregateFunction;
  readonly args: readonly BoundExpression[];
  readonly isDistinct: boolean;
  readonly orderBy: readonly BoundSort[];
  readonly filter: BoundExpression | undefined;
}

/** The edge of a frame; the distance is a constant. */
export type BoundFrameEdge =
  | { readonly kind: 'unbounded-preceding' | 'unbounded-following' | 'current-row' }
  | { readonly kind: 'preceding' | 'following'; readonly distance: number };

/** A call of a window function, or of an aggregate over a window. */
export interface BoundWindow {
  readonly function:
    | { readonly kind: 'aggregate'; readonly aggregate: BoundAggregate }
    | {
        readonly kind: 'window';
        readonly name:
          | 'ROW_NUMBER'
          | 'RANK'
          | 'DENSE_RANK'
          | 'PERCENT_RANK'
          | 'CUME_DIST'
          | 'NTILE'
          | 'LAG'
          | 'LEAD'
          | 'FIRST_VALUE'
          | 'LAST_VALUE'
          | 'NTH_VALUE';
        readonly args: readonly BoundExpression[];
      };
  readonly type: SqlType;
  readonly partitionBy: readonly BoundExpression[];
  readonly orderBy: readonly BoundSort[];
  /** Always there: without one in the statement, `RANGE` from the start of the partition to the current row. */
  readonly frame: {
    readonly unit: 'rows' | 'range';
    readonly start: BoundFrameEdge;
    readonly end: BoundFrameEdge;
  };
}
