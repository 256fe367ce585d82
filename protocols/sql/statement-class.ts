import { DECIDING_BRANCH } from '#runtime/content/built-in/deciding-nodes.ts';
import { givenText } from '#runtime/sql-plan/given-values.ts';
import type { JsonValue } from '#runtime/content/values/json-value.ts';
import type { Statement } from '#runtime/sql-syntax/nodes/statement-nodes.ts';
import { settingsCallOf } from './settings-change.ts';
import { isPoint, routedBranch } from '#runtime/sql-plan/bind/data/point.ts';

/**
 * Where a statement belongs:
 *
 * - `read`: to a branch, as a query; `read-access`: to the branch of users and roles.
 * - `change`: to a branch, as a command; `change-access`: as above.
 * - `show-branches`: to the repository, and it writes nothing; `change-branches`: it may write.
 * - `change-settings`: to the tenant.
 * - `session`: to the session itself.
 */
export type StatementClass =
  | 'read'
  | 'read-access'
  | 'change'
  | 'change-access'
  | 'show-branches'
  | 'change-branches'
  | 'change-settings'
  | 'session';

const classes: Readonly<Record<Statement['kind'], StatementClass>> = {
  'query-statement': 'read',
  explain: 'read',
  'describe-access': 'read-access',
  'show-access': 'read-access',
  'show-security': 'read-access',
  'show-permissions': 'read-access',
  'show-effective-roles': 'read-access',
  insert: 'change',
  update: 'change',
  delete: 'change',
  move: 'change',
  copy: 'change',
  order: 'change',
  relate: 'change',
  unrelate: 'change',
  restore: 'change',
  translate: 'change',
  'create-definition': 'change',
  'alter-definition': 'change',
  'drop-definition': 'change',
  'create-role': 'change-access',
  'alter-role': 'change-access',
  'create-group': 'change-access',
  'alter-group': 'change-access',
  'create-user': 'change-access',
  'alter-user': 'change-access',
  'drop-access': 'change-access',
  grant: 'change-access',
  revoke: 'change-access',
  'alter-security': 'change-access',
  'create-branch': 'change-branches',
  'alter-branch': 'change-branches',
  'drop-branch': 'change-branches',
  'merge-branch': 'change-branches',
  'show-branches': 'show-branches',
  'describe-branch': 'show-branches',
  'show-divergence': 'show-branches',
  'show-conflicts': 'show-branches',
  'show-current-branch': 'session',
  'use-branch': 'session',
  begin: 'session',
  commit: 'session',
  rollback: 'session',
  'set-variable': 'session',
  'show-variable': 'session',
};

/** Where a statement belongs. */
export function classOf(statement: Statement): StatementClass {
  if (settingsCallOf(statement) !== undefined) return 'change-settings';
  return classes[statement.kind];
}

/** Whether a statement only reads a branch. */
export function isRead(statement: Statement): boolean {
  const found = classOf(statement);
  return found === 'read' || found === 'read-access';
}

/** Whether a statement writes, or may write. */
export function isWrite(statement: Statement): boolean {
  const found = classOf(statement);
  return (
    found === 'change' ||
    found === 'change-access' ||
    found === 'change-branches' ||
    found === 'change-settings'
  );
}

/** Whether a statement is done in the background where it stands outside a transaction. */
export function isBulk(statement: Statement): boolean {
  if (statement.kind === 'restore') return statement.isTree;
  return (statement.kind === 'update' || statement.kind === 'delete') && !isPoint(statement);
}

/**
 * The branch that a statement names itself, with `IN BRANCH` or `__branch = …`, or that statements of its kind always
 * belong to.
 *
 * @param parameters values of `$1`, `$2` and so on
 * @param source the text that the places of the statement refer to, for messages
 * @returns undefined: the branch of the session. What a query names is the query's own business
 * @throws {ServiceError} `VALIDATION_FAILED` for a parameter that is missing or no text
 */
export function ownBranch(
  statement: Statement,
  parameters: readonly JsonValue[],
  source: string,
): string | undefined {
  switch (statement.kind) {
    case 'move':
    case 'copy':
    case 'order':
    case 'relate':
    case 'unrelate':
    case 'restore':
    case 'translate':
      return statement.branch && givenText(statement.branch, { parameters }, source);
    case 'update':
    case 'delete':
      return routedBranch(statement, source, { parameters });
    default: {
      const found = classOf(statement);
      return found === 'read-access' || found === 'change-access' ? DECIDING_BRANCH : undefined;
    }
  }
}
