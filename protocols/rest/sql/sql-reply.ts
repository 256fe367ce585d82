import type { HttpReply } from '#protocols/http/route.ts';
import type { StatementResult } from '#protocols/sql/session-ports.ts';
import type { SqlText } from '#protocols/sql/sql-text.ts';
import { isRead } from '#protocols/sql/statement-class.ts';
import { REVISION_HEADER } from '../access/branch-access.ts';

/**
 * The reply of a request: the result of its last statement.
 *
 * @param revision the newest revision that the request has written; undefined: none, then that of the branch that was read last
 * @param elapsedMs since the request came, in milliseconds
 */
export function replyOfResult(
  result: StatementResult<HttpReply>,
  revision: string | undefined,
  elapsedMs: number,
): HttpReply {
  const headers = revision === undefined ? {} : { [REVISION_HEADER]: revision };
  if (result.kind === 'read') {
    const { answer } = result;
    return revision === undefined ? answer : { ...answer, headers: { ...answer.headers, ...headers } };
  }
  const time = Math.round(elapsedMs * 1_000) / 1_000;
  if (result.kind === 'rows') {
    const { columns, rows } = result.rows;
    const json = { columns, rows, row_count: rows.length, execution_time_ms: time };
    return { status: 200, headers, json };
  }
  const { columns, rowCount, rows } = result.changed;
  // The rows are written already, in the order of their columns.
  const start = `{"columns":${JSON.stringify(columns)},"rows":`;
  const end = `,"row_count":${rowCount},"execution_time_ms":${time}}`;
  return { status: 200, headers, raw: start + rows + end };
}

/** Whether a text has only statements that read branches. */
export function onlyReads({ statements }: SqlText): boolean {
  return statements.every(({ statement }) => isRead(statement));
}

/** The reply to a text, marked where it may be refused for want of room: a text that writes has its effect already. */
export function markedReply(text: SqlText, reply: HttpReply): HttpReply {
  return onlyReads(text) ? { ...reply, isOfRead: true } : reply;
}
