import { DECIDING_BRANCH } from '#runtime/content/built-in/deciding-nodes.ts';
import type { AccessChangeStatement } from '#runtime/sql-syntax/nodes/access-nodes.ts';
import { invalid } from '#runtime/errors/service-error.ts';
import { type ChangeContext, type StatementResult, succeeded } from '../change-context.ts';
import { AccessEdit } from './access-edit.ts';
import { dropAccess } from './drop-access.ts';
import { alterGroup, createGroup } from './group-changes.ts';
import { grant } from './grant-changes.ts';
import { requireSystemAdmin } from './require-system-admin.ts';
import { alterRole, createRole } from './role-changes.ts';
import { alterSecurity } from './security-changes.ts';
import { alterUser, createUser } from './user-changes.ts';

/**
 * Runs a statement that changes roles, groups, users or settings of access. These are nodes of workspace `svc:access_control`, which
 * are written as every other command writes them: with the same checks, the same permissions and the same audit.
 *
 * @throws {ServiceError} `FORBIDDEN` unless the caller may do everything in the repository; `NOT_FOUND`, `ALREADY_EXISTS`,
 *   `CONFLICT`, `VALIDATION_FAILED`, and what the commands of nodes throw
 * @see docs/interface/sql-access.md
 */
export function* changeAccess(
  change: ChangeContext,
  statement: AccessChangeStatement,
): Generator<undefined, StatementResult> {
  requireSystemAdmin(change.edit.access.policy, statement);
  if (change.edit.state.name !== DECIDING_BRANCH)
    throw invalid(`Statements of access control run on branch '${DECIDING_BRANCH}', which decides for all`);
  const result = yield* changed(new AccessEdit(change), statement);
  return succeeded(result, result);
}

/** @returns what was done, as the answer says it */
function changed(edit: AccessEdit, statement: AccessChangeStatement): Generator<undefined, string> {
  switch (statement.kind) {
    case 'create-role':
      return createRole(edit, statement);
    case 'alter-role':
      return alterRole(edit, statement);
    case 'create-group':
      return createGroup(edit, statement);
    case 'alter-group':
      return alterGroup(edit, statement);
    case 'create-user':
      return createUser(edit, statement);
    case 'alter-user':
      return alterUser(edit, statement);
    case 'drop-access':
      return dropAccess(edit, statement);
    case 'grant':
    case 'revoke':
      return grant(edit, statement);
    case 'alter-security':
      return alterSecurity(edit, statement);
  }
}
