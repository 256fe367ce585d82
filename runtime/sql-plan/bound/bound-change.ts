import type { BoundExpression, BoundStatement, OutputColumn } from './bound-statement.ts';

/** A column that INSERT or UPSERT may write. */
export type InsertedColumn =
  | 'id'
  | 'path'
  | 'name'
  | 'node_type'
  | 'archetype'
  | 'properties'
  | 'translations'
  | 'owner_id';

/** A column that UPDATE may write. */
export type UpdatedColumn = 'path' | 'name' | 'archetype' | 'properties' | 'translations' | 'owner_id';

/** The one node that a point statement names: exactly `id = …` or `path = …`, with a literal or a parameter. */
export interface BoundPoint {
  readonly by: 'id' | 'path';
  /** Null: NULL, which no node has. */
  readonly value: string | null;
}

/**
 * `RETURNING …`, evaluated by a query of its own over the written nodes, because a row is projected after the statement has
 * been applied (of a deletion: before).
 */
export interface BoundReturning {
  /** Names and types of the answer. */
  readonly columns: readonly Pick<OutputColumn, 'name'>[];
  /**
   * The query over nodes with these ids. Its first column is the id (text), the others are those of RETURNING. A node that its
   * reader may not read gives no row. The order of its rows is not told.
   */
  statementFor(ids: readonly string[]): BoundStatement;
  readonly output: readonly { readonly name: string; readonly expression: BoundExpression }[];
}

/** INSERT and UPSERT. */
export interface BoundInsert {
  readonly kind: 'insert';
  readonly isUpsert: boolean;
  readonly workspace: string;
  /** What the columns of `rows` are written to, in their order; `path` and `node_type` are among them. */
  readonly columns: readonly InsertedColumn[];
  /** The rows, with texts for texts and paths, jsonb for `properties` and `translations`. */
  readonly rows: BoundStatement;
  readonly returning: BoundReturning | undefined;
}

/** UPDATE. */
export interface BoundUpdate {
  readonly kind: 'update';
  readonly workspace: string;
  /** From `__branch = …`; undefined: that of the statement. */
  readonly branch: string | undefined;
  /** Undefined: the statement is done in bulk. */
  readonly point: BoundPoint | undefined;
  readonly columns: readonly UpdatedColumn[];
  /**
   * The matched nodes as they are stored, without translations rendered into them: the id (text), then the new value of each
   * of `columns`.
   */
  readonly matched: BoundStatement;
  /** As `matched`, of nodes with these ids only: the condition is evaluated again, so a node that has changed may be gone. */
  matchedAmong(ids: readonly string[]): BoundStatement;
  /** The ids of matched nodes greater than an id in the order of their code units, in that order, at most so many. */
  idsAfter(id: string | undefined, limit: number): BoundStatement;
  readonly returning: BoundReturning | undefined;
}

/** DELETE. */
export interface BoundDelete {
  readonly kind: 'delete';
  readonly workspace: string;
  readonly branch: string | undefined;
  readonly point: BoundPoint | undefined;
  /** The ids (text) of the matched nodes. */
  readonly matched: BoundStatement;
  matchedAmong(ids: readonly string[]): BoundStatement;
  idsAfter(id: string | undefined, limit: number): BoundStatement;
  readonly returning: BoundReturning | undefined;
}

/** A statement that writes rows, bound. */
export type BoundChange = BoundInsert | BoundUpdate | BoundDelete;
