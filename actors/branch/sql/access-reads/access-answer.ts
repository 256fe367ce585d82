import type { Execution } from '#runtime/sql-exec/execution.ts';
import type { Row } from '#runtime/sql-exec/operator.ts';
import type { RelationColumn } from '#runtime/sql-plan/bound/bound-statement.ts';
import type { StatementScope } from '#runtime/sql-plan/ports.ts';
import type { GivenText } from '#runtime/sql-syntax/nodes/given-nodes.ts';
import type { AccessCatalog } from '../../access/access-catalog.ts';
import type { BranchTables } from '../branch-tables.ts';

/** What a statement of access that reads is run with. */
export interface AccessReading {
  /** Of the branch that runs the statement; branch `main` is read. */
  readonly tables: BranchTables;
  readonly execution: Execution;
  readonly scope: StatementScope;
  /** The text that the places of the statement refer to, for messages. */
  readonly source: string;
}

/** The columns of a statement, then its rows in batches. */
export type AccessResult =
  | { readonly columns: readonly RelationColumn[] }
  | { readonly rows: readonly Row[] };

/** The columns of a statement, and what makes its rows: undefined where the work may pause. */
export interface AccessAnswer {
  readonly columns: readonly RelationColumn[];
  readonly rows: Generator<Row | undefined, void>;
}

/** What the rows of an answer are made of. */
export interface AccessSource {
  readonly catalog: AccessCatalog;
  readonly execution: Execution;
  /** A text of the statement. @throws {ServiceError} `VALIDATION_FAILED` */
  text(given: GivenText): string;
}
