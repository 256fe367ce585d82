// biome-ignore-all format: one row a line, so that a row is one line in searches, in diffs and in `gate.ts --write`
import type { Requirement } from '../requirement.ts';

/** Requirement rows: statements of SQL about access. */
export const sqlAccessRows: readonly Requirement[] = [
  { id: 'SQLACC-001', section: 'docs/interface/sql-access.md#roles-and-groups', status: 'verified', theme: 'sql', behaviour: 'CREATE, ALTER and DROP ROLE write the node below `/roles`; a role that is there already is 409, one that is not there 404' },
  { id: 'SQLACC-002', section: 'docs/interface/sql-access.md#roles-and-groups', status: 'verified', theme: 'sql', behaviour: 'CREATE, ALTER and DROP GROUP write the node below `/groups`; GRANT and REVOKE change its roles' },
  { id: 'SQLACC-003', section: 'docs/interface/sql-access.md#users', status: 'verified', theme: 'sql', behaviour: 'CREATE USER makes a node with an address and without an identity, and its home; ALTER USER, GRANT, REVOKE and DROP USER find it by path, identity, address or name' },
  { id: 'SQLACC-004', section: 'docs/interface/sql-access.md#settings-of-workspaces', status: 'verified', theme: 'sql', behaviour: 'ALTER SECURITY CONFIG changes the settings of a pattern, which are made when there are none' },
  { id: 'SQLACC-005', section: 'docs/interface/sql-access.md#looking', status: 'verified', theme: 'sql', behaviour: 'SHOW ROLES, GROUPS and USERS list with LIKE, IN GROUP and WITH ROLE' },
  { id: 'SQLACC-006', section: 'docs/interface/sql-access.md#looking', status: 'verified', theme: 'sql', behaviour: 'DESCRIBE answers the properties of a role, group or user as `property, value`' },
  { id: 'SQLACC-007', section: 'docs/interface/sql-access.md#looking', status: 'verified', theme: 'sql', behaviour: 'SHOW EFFECTIVE ROLES answers each role that counts for a user once, with `direct`, `group` or `inherited` and through what' },
  { id: 'SQLACC-008', section: 'docs/interface/sql-access.md#looking', status: 'verified', theme: 'sql', behaviour: 'SHOW PERMISSIONS answers the permissions of the effective roles of a user, of all workspaces or of one' },
  { id: 'SQLACC-009', section: 'docs/interface/sql-access.md#looking', status: 'verified', theme: 'sql', behaviour: 'Nodes and properties of access control that the caller may not read are in no row, match no condition and find nobody; anonymous callers see nothing' },
  { id: 'SQLACC-010', section: 'docs/interface/sql-access.md#who-may-change', status: 'verified', theme: 'sql', behaviour: 'A statement that changes access needs an administrator or the role `system_admin`, alone and in transactions; everything else is 403 and changes nothing' },
  { id: 'SQLACC-011', section: 'docs/interface/sql-access.md#grants', status: 'verified', theme: 'sql', behaviour: 'A role that SQL has made decides exactly as the same role that REST has made' },
  { id: 'SQLACC-012', section: 'docs/interface/sql-access.md#functions', status: 'verified', theme: 'sql', behaviour: '`SVC_AUTH_CURRENT_USER`, `SVC_CURRENT_USER` and `SVC_AUTH_HAS_PERMISSION` answer for the caller of the statement' },
  { id: 'SQLACC-013', section: 'docs/interface/sql-access.md#settings-of-the-tenant', status: 'verified', theme: 'sql', behaviour: '`SVC_AUTH_GET_SETTINGS` answers the configuration of the tenant without secrets, and `SVC_AUTH_UPDATE_SETTINGS` changes it as the route does, with an entry in the audit trail' },
  { id: 'SQLACC-014', section: 'docs/interface/sql-access.md#settings-of-the-tenant', status: 'verified', theme: 'sql', behaviour: '`SVC_AUTH_ADD_PROVIDER`, `SVC_AUTH_UPDATE_PROVIDER` and `SVC_AUTH_REMOVE_PROVIDER` change one provider, and `SVC_AUTH_PROVIDERS` lists them' },
  { id: 'SQLACC-015', section: 'docs/interface/sql-access.md#settings-of-the-tenant', status: 'verified', theme: 'sql', behaviour: 'A function that changes settings stands alone in its statement, outside transactions and without `Idempotency-Key`' },
  { id: 'SQLACC-016', section: 'docs/interface/sql-access.md#settings-of-the-tenant', status: 'verified', theme: 'sql', behaviour: '`SVC_AUTH_IDENTITIES`, `SVC_AUTH_SESSIONS` and `SVC_AUTH_ACCESS_REQUESTS` in FROM answer what the routes answer, in queries only' },
  { id: 'SQLACC-017', section: 'docs/interface/sql-access.md#settings-of-the-tenant', status: 'verified', theme: 'sql', behaviour: 'The functions about settings, people, sessions and access requests are for the callers of the routes; everybody reads their own sessions' },
  { id: 'SQLACC-018', section: 'docs/interface/sql-access.md#roles-and-groups', status: 'verified', theme: 'sql', behaviour: 'CREATE ROLE, GROUP and USER and ALTER SECURITY CONFIG make the folder of the new node where it is missing' },
];
