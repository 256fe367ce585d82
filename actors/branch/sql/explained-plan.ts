import type { Execution } from '#runtime/sql-exec/execution.ts';
import { explainChange } from '#runtime/sql-exec/explain-change.ts';
import { explainStatement } from '#runtime/sql-exec/explain-statement.ts';
import type { Tables } from '#runtime/sql-exec/ports.ts';
import { bindChange } from '#runtime/sql-plan/bind/data/bind-change.ts';
import { bindStatement } from '#runtime/sql-plan/bind/bind-statement.ts';
import type { StatementScope } from '#runtime/sql-plan/ports.ts';
import type { ExplainStatement } from '#runtime/sql-syntax/nodes/statement-nodes.ts';

/** What a statement is explained with. */
export interface ExplainMeans {
  readonly scope: StatementScope;
  readonly tables: Tables;
  readonly execution: Execution;
  /** The time in milliseconds, for measured plans. */
  clock(): number;
}

/**
 * The text of an EXPLAIN. What is explained does not run, unless it is a query that is to be measured.
 *
 * @param source the text that the places of the statement refer to, for messages
 * @throws {ServiceError} as binding it and finding its rows do
 */
export function* explainedPlan(
  explain: ExplainStatement,
  source: string,
  { clock, execution, scope, tables }: ExplainMeans,
): Generator<undefined, string> {
  const { statement } = explain;
  if (statement.kind === 'query') {
    const bound = bindStatement(statement, source, scope);
    yield undefined;
    return yield* explainStatement(explain, bound, tables, execution, clock);
  }
  const change = bindChange(statement, source, scope);
  yield undefined;
  return yield* explainChange(explain, change, tables, execution);
}
