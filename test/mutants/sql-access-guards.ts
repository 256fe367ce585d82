import type { GuardMutant } from './guard-mutant.ts';

const escalationTests = ['test/protocols/rest/sql/access-escalation.test.ts'];
const statementTests = ['test/protocols/rest/sql/access.test.ts'];
const readTests = ['test/protocols/rest/sql/access-reads.test.ts'];
const branchTests = ['test/actors/branch/sql/changes/access/change-access.test.ts'];

/** The safety guards of statements of SQL about roles, groups, users and settings. */
export const sqlAccessGuards: readonly GuardMutant[] = [
  {
    guard: 'access is changed only by who may do everything',
    file: 'actors/branch/sql/changes/access/require-system-admin.ts',
    from: '  if (policy.unrestricted) return;',
    to: '  if (policy !== undefined) return;',
    tests: escalationTests,
  },
  {
    guard: 'access is changed only on the branch that decides',
    file: 'actors/branch/sql/changes/access/change-access.ts',
    from: 'if (change.edit.state.name !== DECIDING_BRANCH)',
    to: 'if (false)',
    tests: branchTests,
  },
  {
    guard: 'a grant that is not understood is refused',
    file: 'actors/branch/sql/changes/access/stored-permission.ts',
    from: 'if (notice !== undefined) throw',
    to: 'if (notice === null) throw',
    tests: statementTests,
  },
  {
    guard: 'a grant of a role that does not exist is refused',
    file: 'actors/branch/sql/changes/access/access-edit.ts',
    from: 'if (found === undefined) throw accessNotFound(noun, id);\n    }',
    to: '}',
    tests: statementTests,
  },
  {
    guard: 'a role has no more permissions than count',
    file: 'actors/branch/sql/changes/access/role-changes.ts',
    from: 'if (count <= PERMISSIONS_MAX) return;',
    to: 'if (count >= 0) return;',
    tests: branchTests,
  },
  {
    guard: 'a list has no more ids than count',
    file: 'actors/branch/sql/changes/access/access-edit.ts',
    from: 'if (after.length > NAMES_MAX && after.length > before.length)',
    to: 'if (false)',
    tests: branchTests,
  },
  {
    guard: 'a user has an address that no other one has',
    file: 'actors/branch/sql/changes/access/user-changes.ts',
    from: 'if (holder !== undefined && holder.id !== userId)',
    to: 'if (false)',
    tests: statementTests,
  },
  {
    guard: 'no user is made in the home of another one',
    file: 'actors/branch/sql/changes/access/user-changes.ts',
    from: 'else if (!isUserFolder(edit, existing.id, below))',
    to: 'else if (false)',
    tests: statementTests,
  },
  {
    guard: 'a name of several users is refused',
    file: 'actors/branch/access/access-catalog.ts',
    from: 'if (found.length <= 1) return found[0];',
    to: 'if (found.length <= 9) return found[0];',
    tests: statementTests,
  },
  {
    guard: 'a user in the home of another one is nobody',
    file: 'actors/branch/access/access-catalog.ts',
    from: 'if (record?.nodeType !== USER_TYPE || !this.#counts(record, USER_TYPE)) return;',
    to: 'if (record?.nodeType !== USER_TYPE) return;',
    tests: branchTests,
  },
  {
    guard: 'roles below /users have no effect, and are not granted',
    file: 'actors/branch/access/access-catalog.ts',
    from: ': !record.path.startsWith(USERS);',
    to: ': true;',
    tests: readTests,
  },
  {
    guard: 'a user that may not be read is found by no path',
    file: 'actors/branch/access/access-catalog.ts',
    from: 'if (this.#access.mayRead(ACCESS_WORKSPACE, record)) yield',
    to: 'if (this.#access !== undefined) yield',
    tests: readTests,
  },
  {
    guard: 'hidden properties are absent in what is shown of access',
    file: 'actors/branch/access/access-catalog.ts',
    from: 'const { record: shown } = yield* this.#access.shown(ACCESS_WORKSPACE, record);',
    to: 'const shown = record;',
    tests: readTests,
  },
  {
    guard: 'what is looked at of access counts as work',
    file: 'actors/branch/access/access-catalog.ts',
    from: 'if (row !== undefined) this.#budget.spend(NODE_WORK',
    to: 'if (row === null) this.#budget.spend(NODE_WORK',
    tests: branchTests,
  },
  {
    guard: 'anonymous callers see nothing of access',
    file: 'actors/branch/sql/access-reads/read-access.ts',
    from: "if (tables.context.caller.principal.kind === 'anonymous')",
    to: 'if (false)',
    tests: readTests,
  },
  {
    guard: 'a permission on a hidden node is none',
    file: 'actors/branch/sql/statement-caller.ts',
    from: 'if (!this.#access.mayRead(workspace, record)) return false;',
    to: '',
    tests: readTests,
  },
  {
    guard: 'the node of the caller shows what the caller may read',
    file: 'actors/branch/sql/statement-caller.ts',
    from: 'const { record: shown } = yield* access.shown(ACCESS_WORKSPACE, record);',
    to: 'const shown = record;',
    tests: readTests,
  },
];
