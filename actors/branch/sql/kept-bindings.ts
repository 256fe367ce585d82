import { bindStatement } from '#runtime/sql-plan/bind/bind-statement.ts';
import { bindChange } from '#runtime/sql-plan/bind/data/bind-change.ts';
import { pointOf } from '#runtime/sql-plan/bind/data/point.ts';
import type { BoundChange, BoundReturning } from '#runtime/sql-plan/bound/bound-change.ts';
import type { BoundStatement } from '#runtime/sql-plan/bound/bound-statement.ts';
import { KeptStatements, type RunStatement } from '#runtime/sql-plan/kept/kept-statements.ts';
import { OtherValueSignal, type RunValues, withValues } from '#runtime/sql-plan/kept/with-values.ts';
import type { StatementScope } from '#runtime/sql-plan/ports.ts';
import type { DataStatement } from '#runtime/sql-syntax/nodes/data-nodes.ts';
import type { Query } from '#runtime/sql-syntax/nodes/syntax-nodes.ts';

/** Queries, and changes of rows, that this process has bound. */
const queries = new KeptStatements<BoundStatement>();
const changes = new KeptStatements<BoundChange>();

/**
 * A query, bound for a run: as it was bound before, where that fits.
 *
 * @param source the text that the places of the query refer to
 * @throws {ServiceError} as `bindStatement`
 */
export function keptQuery(query: Query, source: string, scope: StatementScope): RunStatement<BoundStatement> {
  return queries.of(query, source, scope, (noting) => bindStatement(query, source, noting));
}

/** As {@link keptQuery}, of a query that was bound before; undefined: it was not, or does not fit. */
export function knownQuery(query: Query, scope: StatementScope): RunStatement<BoundStatement> | undefined {
  return queries.known(query, scope);
}

/** The query with the values of its run. @param kept of {@link keptQuery}, of the same query. @throws {ServiceError} as there */
export function boundQuery(
  kept: RunStatement<BoundStatement>,
  query: Query,
  source: string,
  scope: StatementScope,
): BoundStatement {
  return orAnew(
    () => kept.bound(),
    () => bindStatement(query, source, scope),
  );
}

/**
 * A change of rows, bound for a run: as it was bound before, where that fits.
 *
 * @param source the text that the places of the statement refer to
 * @throws {ServiceError} as `bindChange`
 */
export function boundChange(statement: DataStatement, source: string, scope: StatementScope): BoundChange {
  const kept = changes.of(statement, source, scope, (noting) => bindChange(statement, source, noting));
  const { template, values } = kept;
  if (template === undefined) return kept.bound();
  return orAnew(
    () => filledChange(template, values, statement, source, scope),
    () => bindChange(statement, source, scope),
  );
}

/** Binds anew where values cannot take the place of others of their kind: that tells what is wrong with them. */
function orAnew<T>(again: () => T, anew: () => T): T {
  try {
    return again();
  } catch (error) {
    if (error instanceof OtherValueSignal) return anew();
    throw error;
  }
}

function filledChange(
  template: BoundChange,
  values: RunValues,
  statement: DataStatement,
  source: string,
  scope: StatementScope,
): BoundChange {
  const returning = template.returning && filledReturning(template.returning, values);
  if (template.kind === 'insert') return { ...template, rows: withValues(template.rows, values), returning };
  const { branch, kind, workspace } = template;
  const shared = {
    workspace,
    branch,
    point: statement.kind === 'insert' ? undefined : pointOf(statement, source, scope),
    matched: withValues(template.matched, values),
    matchedAmong: (ids: readonly string[]) => withValues(template.matchedAmong(ids), values),
    idsAfter: (id: string | undefined, limit: number) => withValues(template.idsAfter(id, limit), values),
    returning,
  };
  return kind === 'delete' ? { kind, ...shared } : { kind, ...shared, columns: template.columns };
}

function filledReturning(returning: BoundReturning, values: RunValues): BoundReturning {
  return {
    columns: returning.columns,
    output: withValues(returning.output, values),
    statementFor: (ids) => withValues(returning.statementFor(ids), values),
  };
}
