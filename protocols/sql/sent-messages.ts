import type { ChangeBySql, RunSql } from '#actors/branch/sql-messages.ts';
import type { CommitInfo } from '#actors/branch/commit-messages.ts';
import { SQL_CHANGES_SINCE, SQL_SINCE } from '#runtime/actor/message-version.ts';
import type { Statement } from '#runtime/sql-syntax/nodes/statement-nodes.ts';
import type { StatementText } from './session-ports.ts';
import type { TextPart } from './text-part.ts';

/** The query that runs reads. */
export function readQuery({ parameters, sql, statements }: TextPart): RunSql {
  const isOld = statements.every(({ statement }) => isOldRead(statement));
  return { type: 'RunSql', sql, parameters, since: isOld ? SQL_SINCE : SQL_CHANGES_SINCE };
}

/** Whether the first version that knew SQL can read a statement. */
function isOldRead(statement: Statement): boolean {
  if (statement.kind === 'query-statement') return true;
  return statement.kind === 'explain' && statement.statement.kind === 'query';
}

/** The command of a statement that stands for itself. */
export function changeCommand({ parameters, sql }: StatementText): ChangeBySql {
  return { type: 'ChangeBySql', sql, parameters, isTransaction: false, since: SQL_CHANGES_SINCE };
}

/** How a transaction ends: with a revision that is described so, or undone. */
export type TransactionEnd = { readonly commit: CommitInfo } | 'undone';

/** The command of all statements of a transaction. */
export function transactionCommand(part: TextPart, end: TransactionEnd): ChangeBySql {
  const command = { ...changeCommand(part), isTransaction: true };
  if (end === 'undone') return { ...command, dryRun: true };
  return Object.keys(end.commit).length === 0 ? command : { ...command, commit: end.commit };
}
