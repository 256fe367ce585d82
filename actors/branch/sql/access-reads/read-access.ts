import { DECIDING_BRANCH } from '#runtime/content/built-in/deciding-nodes.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { Moment } from '#runtime/scan/moment.ts';
import type { Execution } from '#runtime/sql-exec/execution.ts';
import type { Row } from '#runtime/sql-exec/operator.ts';
import { givenText } from '#runtime/sql-plan/given-values.ts';
import type { AccessReadStatement } from '#runtime/sql-syntax/nodes/access-nodes.ts';
import type { GivenText } from '#runtime/sql-syntax/nodes/given-nodes.ts';
import type { Statement } from '#runtime/sql-syntax/nodes/statement-nodes.ts';
import { AccessCatalog } from '../../access/access-catalog.ts';
import { ACCESS_WORKSPACE } from '../../access/user-places.ts';
import { NodeAccess } from '../../reads/node-access.ts';
import type { AccessAnswer, AccessReading, AccessResult, AccessSource } from './access-answer.ts';
import { describeAccess } from './describe-access.ts';
import { showAccess } from './show-access.ts';
import { showEffectiveRoles, showPermissions } from './show-effective.ts';
import { showSecurity } from './show-security.ts';

/** Estimated nanoseconds of a statement besides its nodes. */
const STATEMENT_WORK = 100_000;

/** Rows of a batch. */
const BATCH = 64;

const kinds: ReadonlySet<Statement['kind']> = new Set<AccessReadStatement['kind']>([
  'describe-access',
  'show-access',
  'show-security',
  'show-permissions',
  'show-effective-roles',
]);

/** Whether a statement is one of {@link readAccess}. */
export function isAccessRead(statement: Statement): statement is AccessReadStatement {
  return kinds.has(statement.kind);
}

/**
 * Runs a statement that reads roles, groups, users or settings of access, as branch `main` has them. What the caller may not read is not
 * there: nodes are left out, and hidden properties are absent.
 *
 * @returns the columns, then the rows in batches; undefined where the work may pause
 * @throws {ServiceError} `UNAUTHORIZED` for anonymous callers; `NOT_FOUND`; `CONFLICT`; `VALIDATION_FAILED`; `BRANCH_NOT_FOUND`;
 *   `REQUEST_TOO_EXPENSIVE`
 * @see docs/interface/sql-access.md#looking
 */
export function* readAccess(
  { execution, scope, source, tables }: AccessReading,
  statement: AccessReadStatement,
): Generator<AccessResult | undefined, void> {
  if (tables.context.caller.principal.kind === 'anonymous')
    throw new ServiceError('UNAUTHORIZED', 'Anonymous users cannot perform access control operations');
  execution.spend(STATEMENT_WORK);
  const { context, moment, reader, state } = yield* tables.other(DECIDING_BRANCH);
  const catalog = new AccessCatalog(
    new NodeAccess(context, reader),
    new Moment(reader, moment),
    context.budget,
  );
  const text = (given: GivenText): string => givenText(given, scope, source);
  const { columns, rows } = answerOf({ catalog, execution, text }, statement);
  yield { columns };
  // Without the workspace there is nobody.
  if (state.hasWorkspace(ACCESS_WORKSPACE)) yield* batches(rows, execution);
}

function answerOf(source: AccessSource, statement: AccessReadStatement): AccessAnswer {
  switch (statement.kind) {
    case 'show-access':
      return showAccess(source, statement);
    case 'describe-access':
      return describeAccess(source, statement);
    case 'show-security':
      return showSecurity(source, statement);
    case 'show-permissions':
      return showPermissions(source, statement);
    case 'show-effective-roles':
      return showEffectiveRoles(source, statement);
  }
}

function* batches(
  rows: Generator<Row | undefined, void>,
  execution: Execution,
): Generator<{ readonly rows: readonly Row[] } | undefined, void> {
  let batch: Row[] = [];
  for (const row of rows) {
    if (row === undefined) {
      execution.pausing();
      yield undefined;
      continue;
    }
    batch.push(row);
    if (batch.length < BATCH) continue;
    yield { rows: batch };
    batch = [];
  }
  if (batch.length > 0) yield { rows: batch };
}
