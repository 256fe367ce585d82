import type { BoundExpression } from '#runtime/sql-plan/bound/bound-statement.ts';
import type { NodeColumn } from '#runtime/sql-plan/node-columns.ts';
import type { RowSource } from './row-source.ts';

/** A way to find the nodes of a table. */
export interface AccessPath {
  /** As explanations name it. */
  readonly name: string;
  /** What is looked for, for explanations; empty: nothing. */
  readonly facts: string;
  /** The facts with `?` in place of every value of the statement, for logs. */
  readonly shape: string;
  /** Place among the names: what is chosen where nothing may be counted. The first is best. */
  readonly rank: number;
  readonly source: RowSource;
  /** Conditions that hold exactly for the nodes of the source. */
  readonly exact: readonly BoundExpression[];
  /** Conditions that find some of the nodes, where others are looked at besides; absent: those that are exact. */
  readonly partial?: readonly BoundExpression[];
  /** Whether the rows come in the order that was asked for. */
  readonly isOrdered: boolean;
  /** The column in whose ascending order the nodes come, whatever was asked for; absent: none is known. */
  readonly sortedBy?: NodeColumn | undefined;
  /** Most rows that it can have by the statement alone, which also may be told who may not know what is stored; absent: any. */
  readonly rowsMax?: number;
  /** About how many nodes the source has. Not called for a caller who may not know. */
  rows(most: number): Generator<undefined, number>;
  /**
   * Whether {@link rows} has told how many nodes are read for the first rows of an order, where there are more. Absent: it tells
   * how many there are.
   */
  readonly endsEarly?: () => boolean;
  /** Estimated nanoseconds for each node of the source. */
  readonly nodeWork: number;
  /** Estimated nanoseconds by which it is put behind others, whatever its size; absent: 0. */
  readonly handicap?: number;
}

/** Ranks of access paths. */
export const Rank = {
  id: 0,
  path: 1,
  compound: 2,
  unique: 3,
  children: 4,
  propertyEqual: 5,
  references: 6,
  descendants: 7,
  propertyRange: 8,
  pathRange: 9,
  nodeType: 10,
  order: 11,
  all: 12,
} as const;
