import { unreachable } from '#runtime/base/assert.ts';
import type {
  ExplainStatement,
  QueryStatement,
  Statement,
} from '#runtime/sql-syntax/nodes/statement-nodes.ts';
import { sqlError } from '#runtime/sql-syntax/sql-error.ts';
import { textType } from '#runtime/sql-values/types/basic-types.ts';
import { boundQuery, keptQuery } from '../kept-bindings.ts';
import { changeAccess } from './access/change-access.ts';
import type { StatementResult } from './change-context.ts';
import { changeData } from './data/change-data.ts';
import { type DataChange, isLongText } from './data/data-change.ts';
import { changeSchema } from './schema/change-schema.ts';
import { changeTree } from './tree/change-tree.ts';

/**
 * Runs one of the statements of a command.
 *
 * @param isLast whether its rows are the answer; those of other queries are made and forgotten
 * @throws {ServiceError} those of the statement; `VALIDATION_FAILED` for one that is not run by a branch
 */
export function* runChange(
  change: DataChange,
  statement: Statement,
  isLast: boolean,
): Generator<undefined, StatementResult> {
  switch (statement.kind) {
    case 'query-statement':
      return yield* query(change, statement, isLast);
    case 'explain':
      return yield* explained(change, statement);
    case 'describe-access':
    case 'show-access':
    case 'show-security':
    case 'show-permissions':
    case 'show-effective-roles': {
      const read = yield* change.queries.accessRows(statement, change.source, change.scope);
      return { ...read, message: '' };
    }
    case 'insert':
    case 'update':
    case 'delete':
      return yield* changeData(change, statement);
    case 'move':
    case 'copy':
    case 'order':
    case 'relate':
    case 'unrelate':
    case 'restore':
    case 'translate':
      return yield* changeTree(change, statement);
    case 'create-definition':
    case 'alter-definition':
    case 'drop-definition':
      return yield* changeSchema(change, statement);
    case 'create-role':
    case 'alter-role':
    case 'create-group':
    case 'alter-group':
    case 'create-user':
    case 'alter-user':
    case 'drop-access':
    case 'grant':
    case 'revoke':
    case 'alter-security':
      return yield* changeAccess(change, statement);
    case 'create-branch':
    case 'alter-branch':
    case 'drop-branch':
    case 'merge-branch':
    case 'show-branches':
    case 'show-current-branch':
    case 'describe-branch':
    case 'show-divergence':
    case 'show-conflicts':
    case 'use-branch':
    case 'begin':
    case 'commit':
    case 'rollback':
    case 'set-variable':
    case 'show-variable':
      throw sqlError(
        'This statement cannot be part of a change of one branch',
        change.source,
        statement.span,
      );
    default:
      return unreachable(statement);
  }
}

function* query(
  { queries, scope, source }: DataChange,
  statement: QueryStatement,
  isLast: boolean,
): Generator<undefined, StatementResult> {
  const bound = boundQuery(keptQuery(statement.query, source, scope), statement.query, source, scope);
  if (isLongText(source)) yield;
  if (isLast) return { ...(yield* queries.rows(bound)), message: '' };
  yield* queries.unseen(bound);
  return { columns: [], rows: [], message: '' };
}

function* explained(
  { queries, scope, source }: DataChange,
  statement: ExplainStatement,
): Generator<undefined, StatementResult> {
  const plan = yield* queries.explained(statement, source, scope);
  return { columns: [{ name: 'QUERY PLAN', type: textType }], rows: [[plan]], message: '' };
}
