import type { Policy } from '#runtime/access/policy.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { AccessChangeStatement } from '#runtime/sql-syntax/nodes/access-nodes.ts';

/** What the statements are called in messages. */
const names = {
  'create-role': 'CREATE ROLE',
  'alter-role': 'ALTER ROLE',
  'create-group': 'CREATE GROUP',
  'alter-group': 'ALTER GROUP',
  'create-user': 'CREATE USER',
  'alter-user': 'ALTER USER',
  grant: 'GRANT',
  revoke: 'REVOKE',
  'alter-security': 'ALTER SECURITY CONFIG',
} as const;

/**
 * Refuses a statement of a caller who may not do everything in the repository: that are administrators of the tenant, and users
 * with the role `system_admin`. Permissions to write single nodes of access control do not suffice, and anonymous callers
 * never may, whatever their roles are.
 *
 * @throws {ServiceError} `FORBIDDEN`
 */
export function requireSystemAdmin(
  policy: Pick<Policy, 'unrestricted'>,
  statement: AccessChangeStatement,
): void {
  if (policy.unrestricted) return;
  const name =
    statement.kind === 'drop-access' ? `DROP ${statement.target.toUpperCase()}` : names[statement.kind];
  throw new ServiceError('FORBIDDEN', `Insufficient permissions: ${name} requires the system_admin role`);
}
