import type { RelationColumn } from '#runtime/sql-plan/bound/bound-statement.ts';
import type { StatementScope } from '#runtime/sql-plan/ports.ts';
import type { Row } from '#runtime/sql-exec/operator.ts';
import { bigintType, booleanType, textType } from '#runtime/sql-values/types/basic-types.ts';
import type { EditScope } from '../../edit-scope.ts';

/** What a statement that writes is run with. */
export interface ChangeContext {
  /** The edit that all statements of the command make together: one revision at its end, which the command records. */
  readonly edit: EditScope;
  readonly scope: StatementScope;
  /** The text that the places of the statement refer to, for messages. */
  readonly source: string;
}

/** What a statement has done. */
export interface StatementResult {
  readonly columns: readonly RelationColumn[];
  readonly rows: readonly Row[];
  /** The message of the revision, if the statement is the only one of it: `Updated node: <id>`. */
  readonly message: string;
  /** The nodes that the rows of a RETURNING are about. */
  readonly returned?: ReturnedNodes;
  /** Number of nodes that it has written, where its rows only tell that number. */
  readonly affected?: number;
}

/** Nodes that a statement has returned. */
export interface ReturnedNodes {
  readonly ids: readonly string[];
  /** Whether the rows are those before the statement: of a deletion. */
  readonly areBefore: boolean;
}

/** Runs a statement of one kind. Yields where the work may pause. It does not finish the edit. */
export type RunChange<S> = (change: ChangeContext, statement: S) => Generator<undefined, StatementResult>;

/** The only column of an answer that tells how many rows were written. */
export const AFFECTED_ROWS = 'affected_rows';

/** The result of a statement that tells how many rows it has written. */
export function affectedRows(count: number, message: string): StatementResult {
  return {
    columns: [{ name: AFFECTED_ROWS, type: bigintType }],
    rows: [[BigInt(count)]],
    message,
    affected: count,
  };
}

/** The result of a statement that tells that it has succeeded: `Role 'r' created`. */
export function succeeded(result: string, message: string): StatementResult {
  return {
    columns: [
      { name: 'result', type: textType },
      { name: 'success', type: booleanType },
    ],
    rows: [[result, true]],
    message,
  };
}
