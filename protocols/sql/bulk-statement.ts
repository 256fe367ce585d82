import { SQL_CHANGES_SINCE } from '#runtime/actor/message-version.ts';
import { assert } from '#runtime/base/assert.ts';
import type { RestoreStatement } from '#runtime/sql-syntax/nodes/tree-nodes.ts';
import type { JsonValue } from '#runtime/content/values/json-value.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { printStatement } from '#runtime/sql-syntax/print-statement.ts';
import { placeIn, sqlError } from '#runtime/sql-syntax/sql-error.ts';
import { changeCommand } from './sent-messages.ts';
import type { BulkStatement, EnqueuedStatement, RestoredRoot, SqlSurface } from './session-ports.ts';
import { oneRow, type SessionRows } from './session-rows.ts';
import type { NumberedStatement, SqlText } from './sql-text.ts';
import type { TextPart } from './text-part.ts';

type Surface = Pick<SqlSurface<unknown>, 'change' | 'enqueue' | 'match' | 'refuse'>;

/**
 * Puts a statement that is done in the background into the queue, after it was found to be valid for its caller: what is wrong with
 * it is an error at once.
 *
 * @param part the text of the statement alone
 * @returns the row that names the job
 * @throws {ServiceError} as the statement itself; the errors of the queue
 */
export async function enqueueStatement(
  surface: Surface,
  text: SqlText,
  part: TextPart,
  { index, statement }: NumberedStatement,
  branch: string,
): Promise<SessionRows> {
  if (statement.kind === 'restore') return await enqueueRestore(surface, text, statement, index, branch);
  assert(statement.kind === 'update' || statement.kind === 'delete', 'only these are done in bulk');
  const { kind, table } = statement;
  const given = { sql: part.sql, parameters: text.parameters };
  const query = { type: 'MatchBySql', ...given, limit: 0, since: SQL_CHANGES_SINCE } as const;
  const { jobId } = await enqueueChecked(surface, branch, index, async () => {
    const { revision: at } = await surface.match(branch, query);
    return { kind, workspace: table.name, ...given, at };
  });
  return oneRow({
    job_id: jobId,
    status: 'accepted',
    message: `Bulk operation started. Poll /api/jobs/${jobId} for status.`,
  });
}

/**
 * Enqueues a statement that was checked. A repetition of a request is answered with the first one's job, also where the check
 * fails because of what has changed since.
 */
async function enqueueChecked(
  surface: Surface,
  branch: string,
  index: number,
  check: () => Promise<BulkStatement>,
): Promise<EnqueuedStatement> {
  let checked: BulkStatement;
  try {
    checked = await check();
  } catch (error) {
    return await surface.refuse(error, index);
  }
  return await surface.enqueue(branch, checked, index);
}

/**
 * The root of the tree is restored and undone, which finds what is wrong, and the revision that is meant: `HEAD~1` would be another
 * one when the job runs.
 */
async function enqueueRestore(
  surface: Surface,
  text: SqlText,
  statement: RestoreStatement,
  index: number,
  branch: string,
): Promise<SessionRows> {
  const { jobId, restored } = await enqueueChecked(surface, branch, index, async () => {
    const found = await checkRestore(surface, text, statement, index, branch);
    const fixed = isOfOther(statement, branch) ? statement : atRevision(statement, found.revision);
    return {
      kind: 'restore-tree',
      workspace: workspaceOf(statement, text.parameters),
      sql: printStatement(fixed),
      parameters: text.parameters,
      restored: found,
    };
  });
  if (restored === undefined)
    throw new ServiceError('NOT_FOUND', `Job '${jobId}' of this request has been removed since`);
  const { path, revision } = restored;
  const result = `Restoration of the tree at '${path}' queued`;
  return oneRow({ result, job_id: jobId, status: 'queued', path, revision });
}

/** Whether the state of another branch is meant, or of a tag: its revision means nothing on this branch. */
function isOfOther({ revision }: RestoreStatement, branch: string): boolean {
  return revision.kind === 'relative' && revision.branch !== undefined && revision.branch !== branch;
}

function atRevision(statement: RestoreStatement, revision: string): RestoreStatement {
  const { span } = statement;
  return {
    ...statement,
    revision: { kind: 'revision', revision: { kind: 'literal', type: 'text', value: revision, span } },
  };
}

async function checkRestore(
  surface: Surface,
  text: SqlText,
  statement: RestoreStatement,
  index: number,
  branch: string,
): Promise<RestoredRoot> {
  const sql = printStatement({ ...statement, isTree: false });
  const command = { ...changeCommand({ sql, parameters: text.parameters }), dryRun: true };
  try {
    const { rows } = await surface.change(branch, command, index);
    const [row] = JSON.parse(rows) as RestoredRoot[];
    assert(row !== undefined, 'a restored node has a row');
    return { path: row.path, revision: row.revision };
  } catch (error) {
    throw asWritten(error, text, statement);
  }
}

/** An error whose place is one in the printed statement, with the place of the statement as it was written. */
function asWritten(error: unknown, { source }: SqlText, { span }: RestoreStatement): unknown {
  if (!(error instanceof ServiceError) || placeIn(error) === undefined) return error;
  const [message = ''] = error.message.split(/ \(line \d+, column \d+\)\n/);
  const { code, details, field } = error;
  const placed = sqlError(message, source, span);
  return new ServiceError(code, placed.message, {
    details: { ...details, ...placed.details },
    ...(field === undefined ? {} : { field }),
    cause: error,
  });
}

function workspaceOf(
  { node: { workspace } }: RestoreStatement,
  parameters: readonly JsonValue[],
): string | null {
  if (workspace === undefined) return null;
  const value = workspace.kind === 'literal' ? workspace.value : parameters[workspace.index - 1];
  return typeof value === 'string' ? value : null;
}
