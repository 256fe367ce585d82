import type { AggregateFunction, ScalarFunction } from '#runtime/sql-values/scalar-function.ts';
import type { SqlType } from '#runtime/sql-values/sql-type.ts';
import type { SqlValue } from '#runtime/sql-values/sql-value.ts';
import type { OpenValue } from './open-value.ts';

// Expressions and plans are in one file, because they are made of each other: a query may be a value of an expression.

/** A value known while planning: a literal, a parameter, or a call of functions on such. */
export interface BoundConstant {
  readonly kind: 'constant';
  readonly type: SqlType;
  readonly value: SqlValue;
  /** Whether it is a parameter of type `unknown`: its text may become anything. */
  readonly isParameter?: true;
  /** While a statement is bound that is to be kept: the value that binding does not look at. */
  readonly open?: OpenValue;
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

/**
 * The edge of a frame; the distance is a constant. Of ROWS it is a number of rows. Of RANGE it is what is added to the only
 * key: a bigint to whole numbers, or as microseconds to times; a number to numbers, in binary64.
 */
export type BoundFrameEdge =
  | { readonly kind: 'unbounded-preceding' | 'unbounded-following' | 'current-row' }
  | { readonly kind: 'preceding' | 'following'; readonly distance: number | bigint };

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

/** A column of a relation. */
export interface RelationColumn {
  readonly name: string;
  readonly type: SqlType;
}

/** All nodes of a workspace. Relation: the columns of `nodeColumns`, in their order. */
export interface NodesPlan {
  readonly kind: 'nodes';
  readonly relation: number;
  readonly columns: readonly RelationColumn[];
  readonly workspace: string;
  /** How it is named in the statement, for explanations. */
  readonly alias: string;
  /** Another branch than that of the statement, from `__branch = …`. */
  readonly branch: string | undefined;
  /** `<milliseconds>-<counter>`, from `__revision = …`; absent: the head. */
  readonly revision: string | undefined;
  /**
   * From `locale = …` or `locale IN (…)`: one row for each node and locale, with the translated values. Absent: one row with
   * the values as they are stored, which are those of the default language. Statements that write read no others.
   */
  readonly locales: readonly string[] | undefined;
}
/** A table of the schema. Relation: its columns. */
export interface SchemaPlan {
  readonly kind: 'schema';
  readonly relation: number;
  readonly columns: readonly RelationColumn[];
  readonly table: 'NodeTypes' | 'Archetypes' | 'ElementTypes' | 'Workspaces';
  readonly alias: string;
  readonly branch: string | undefined;
  readonly revision: string | undefined;
}
/** Rows of expressions without columns. `SELECT 1` reads from one row without columns. */
export interface ValuesPlan {
  readonly kind: 'values';
  readonly relation: number;
  readonly columns: readonly RelationColumn[];
  readonly rows: readonly (readonly BoundExpression[])[];
  /** Of a workspace that does not exist and therefore has no rows: its name, for explanations. */
  readonly missing?: string;
}
/**
 * Numbers or times from a start, in steps, as long as the stop is not passed: GENERATE_SERIES. The expressions have no columns;
 * the step of times is an interval. Relation: the one column.
 */
export interface SeriesPlan {
  readonly kind: 'series';
  readonly relation: number;
  readonly columns: readonly RelationColumn[];
  readonly start: BoundExpression;
  readonly stop: BoundExpression;
  readonly step: BoundExpression;
}
/** The rows of a common table, which is run once. */
export interface CommonTablePlan {
  readonly kind: 'common-table';
  readonly relation: number;
  readonly columns: readonly RelationColumn[];
  /** Position in `commonTables` of the statement. */
  readonly table: number;
  readonly alias: string;
}
/** Relations: those of both sides. Without a condition: all pairs. */
export interface JoinPlan {
  readonly kind: 'join';
  readonly type: 'inner' | 'left' | 'right' | 'full';
  readonly left: LogicalPlan;
  readonly right: LogicalPlan;
  readonly on: BoundExpression | undefined;
}
/** Relations: those of the input. Only rows for which it is TRUE. */
export interface FilterPlan {
  readonly kind: 'filter';
  readonly input: LogicalPlan;
  readonly predicate: BoundExpression;
}
/** A new relation with one column for each expression; those of the input are not visible above it. */
export interface ProjectPlan {
  readonly kind: 'project';
  readonly relation: number;
  readonly columns: readonly RelationColumn[];
  readonly input: LogicalPlan;
  readonly expressions: readonly BoundExpression[];
}
/**
 * One row for each group. A new relation: the keys, then the aggregates. Without keys there is one row, also for an input
 * without rows.
 */
export interface AggregatePlan {
  readonly kind: 'aggregate';
  readonly relation: number;
  readonly columns: readonly RelationColumn[];
  readonly input: LogicalPlan;
  readonly keys: readonly BoundExpression[];
  readonly aggregates: readonly BoundAggregate[];
}
/** Relations: those of the input, and a new one with one column for each window. The order of the input may change. */
export interface WindowPlan {
  readonly kind: 'window';
  readonly relation: number;
  readonly columns: readonly RelationColumn[];
  readonly input: LogicalPlan;
  readonly windows: readonly BoundWindow[];
}
/** Relations: those of the input. The first row of each group of equal `on`; absent: of equal visible columns. */
export interface DistinctPlan {
  readonly kind: 'distinct';
  readonly input: LogicalPlan;
  readonly on: readonly BoundExpression[] | undefined;
}
/** Relations: those of the input. Rows that compare equal keep the order that they came in. */
export interface SortPlan {
  readonly kind: 'sort';
  readonly input: LogicalPlan;
  readonly keys: readonly BoundSort[];
}
/** Relations: those of the input. */
export interface LimitPlan {
  readonly kind: 'limit';
  readonly input: LogicalPlan;
  /** Undefined: no limit. */
  readonly limit: number | undefined;
  readonly offset: number;
}
/** A new relation. Both sides are projections with columns of the same types. */
export interface SetOperationPlan {
  readonly kind: 'set-operation';
  readonly relation: number;
  readonly columns: readonly RelationColumn[];
  readonly operator: 'union' | 'intersect' | 'except';
  readonly isAll: boolean;
  readonly left: BoundQuery;
  readonly right: BoundQuery;
}

/**
 * What a query does, before it is decided how. Each plan makes rows of one or several relations, which have numbers that are
 * unique in the statement; expressions above it name columns by relation and position.
 */
export type LogicalPlan =
  | NodesPlan
  | SchemaPlan
  | ValuesPlan
  | SeriesPlan
  | CommonTablePlan
  | JoinPlan
  | FilterPlan
  | ProjectPlan
  | AggregatePlan
  | WindowPlan
  | DistinctPlan
  | SortPlan
  | LimitPlan
  | SetOperationPlan;

/** A column of the answer of a query. */
export interface OutputColumn {
  readonly name: string;
  readonly expression: BoundExpression;
}

/** A query that is bound. */
export interface BoundQuery {
  readonly plan: LogicalPlan;
  /** The columns of the answer, over the relations of the plan. */
  readonly output: readonly OutputColumn[];
}

/** A common table. */
export interface BoundCommonTable {
  readonly name: string;
  readonly query: BoundQuery;
  /**
   * Of a recursive one: `query` is the part that does not refer to the table, `step` the other. In `step` the table has the
   * rows of the round before.
   */
  readonly step: BoundQuery | undefined;
  /** Whether rows that were there before are left out (`UNION`). Only of a recursive one. */
  readonly isDistinct: boolean;
}

/** A statement that is bound. */
export interface BoundStatement {
  readonly query: BoundQuery;
  /** Of all parts of the statement, each behind those that it uses. */
  readonly commonTables: readonly BoundCommonTable[];
  /** Number of relations. */
  readonly relationCount: number;
}
