import type { HttpReply } from '#protocols/http/route.ts';
import type { StatementResult } from '#protocols/sql/session-ports.ts';
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
