import type { WorkspaceName } from './given-nodes.ts';
import type { Expression, Query, SelectItem, Span } from './syntax-nodes.ts';

/** A column that a statement writes. */
export interface WrittenColumn {
  readonly name: string;
  readonly span: Span;
}
/** `RETURNING …`. */
export interface ReturningClause {
  readonly items: readonly SelectItem[];
  readonly span: Span;
}
/** `INSERT INTO ws (columns) VALUES … | query`, `UPSERT INTO …`. */
export interface InsertStatement {
  readonly kind: 'insert';
  readonly isUpsert: boolean;
  readonly table: WorkspaceName;
  readonly columns: readonly WrittenColumn[];
  readonly source: Query;
  readonly returning: ReturningClause | undefined;
  readonly span: Span;
}
/** `column = expression` of an UPDATE. */
export interface Assignment {
  readonly column: WrittenColumn;
  readonly value: Expression;
}
/** `UPDATE ws SET … WHERE …`. Without WHERE the binder refuses it. */
export interface UpdateStatement {
  readonly kind: 'update';
  readonly table: WorkspaceName;
  readonly assignments: readonly Assignment[];
  readonly where: Expression | undefined;
  readonly returning: ReturningClause | undefined;
  readonly span: Span;
}
/** `DELETE FROM ws WHERE …`. Without WHERE the binder refuses it. */
export interface DeleteStatement {
  readonly kind: 'delete';
  readonly table: WorkspaceName;
  readonly where: Expression | undefined;
  readonly returning: ReturningClause | undefined;
  readonly span: Span;
}
/** A statement that writes rows. */
export type DataStatement = InsertStatement | UpdateStatement | DeleteStatement;
