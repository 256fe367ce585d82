/**
 * The text of an answer behind its rows.
 *
 * @param elapsedMs since the request came, in milliseconds
 * @param plan of an EXPLAIN
 */
export function endOfAnswer(rowCount: number, elapsedMs: number, plan?: string): string {
  const time = Math.round(elapsedMs * 1_000) / 1_000;
  const explained = plan === undefined ? '' : `,"explain_plan":${JSON.stringify(plan)}`;
  return `],"row_count":${rowCount},"execution_time_ms":${time}${explained}}`;
}
