import type { GuardMutant } from './guard-mutant.ts';

const policyTests = ['test/runtime/access/roles/role-policy.test.ts'];
const tests = ['test/actors/branch/access/caller-permissions.test.ts'];

/** The safety guards between a caller and its permissions. */
export const callerGuards: readonly GuardMutant[] = [
  {
    guard: 'a changed role, group or user ends what was known of it',
    file: 'actors/branch/access/branch-access.ts',
    from: 'if (accessStamp(reader) !== known.stamp) {',
    to: 'if (known.stamp === undefined) {',
    tests,
  },
  {
    guard: 'an added node of a user or role changes the stamp',
    file: 'runtime/tree/index-writer.ts',
    from: '    const { id, nodeType } = record;\n    noteDeciding(this.#turn, workspace, nodeType);\n',
    to: '    const { id, nodeType } = record;\n',
    tests,
  },
  {
    guard: 'a changed node of a user or role changes the stamp',
    file: 'runtime/tree/index-writer.ts',
    from: '    noteDeciding(this.#turn, workspace, next.nodeType);\n',
    to: '',
    tests,
  },
  {
    guard: 'a removed node of a user or role changes the stamp',
    file: 'runtime/tree/index-writer.ts',
    from: '    const { id, nodeType } = old;\n    noteDeciding(this.#turn, workspace, nodeType);\n',
    to: '    const { id, nodeType } = old;\n',
    tests,
  },
  {
    guard: 'two user nodes of one identity count for nobody',
    file: 'actors/branch/access/branch-access.ts',
    from: 'return users.length === 1 ? users[0] : undefined;',
    to: 'return users[0];',
    tests,
  },
  {
    guard: 'a user node outside of the users counts for nobody',
    file: 'actors/branch/access/branch-access.ts',
    from: 'if (!isAmongUsers(reader, record)) continue;',
    to: '',
    tests,
  },
  {
    guard: 'an administrator acts as users only',
    file: 'actors/branch/access/branch-access.ts',
    from: 'if (record === undefined || record.nodeType !== USER_TYPE || !isAmongUsers(reader, record))',
    to: 'if (record === undefined)',
    tests,
  },
  {
    guard: 'a user node in the home of another user counts for nobody',
    file: 'actors/branch/access/user-places.ts',
    from: ' || above.nodeType === USER_TYPE) return false;',
    to: ') return false;',
    tests,
  },
  {
    guard: 'nodes that decide are written under permissions that name their type',
    file: 'runtime/access/roles/role-policy.ts',
    from: 'writing.has(operation) ? decidingTypes(workspace) : undefined',
    to: 'writing.has(operation) ? undefined : undefined',
    tests: policyTests,
  },
  {
    guard: 'properties of users that decide have to be named',
    file: 'runtime/access/roles/settable-fields.ts',
    from: "if (nodeType !== 'svc:User' || fields.kind === 'only') return fields;",
    to: 'if (nodeType !== fields.kind) return fields;',
    tests: policyTests,
  },
  {
    guard: 'an identity has no permissions in another tenant',
    file: 'runtime/actor/caller-policies.ts',
    from: 'if (!isGrantedByContent(principal) || principal.tenant !== this.#tenant) return undefined;',
    to: 'if (!isGrantedByContent(principal)) return undefined;',
    tests,
  },
  {
    guard: 'anonymous callers without access find no branch',
    file: 'runtime/actor/caller-policies.ts',
    from: 'if (grants === undefined)\n',
    to: 'if (this.#branch === undefined)\n',
    tests,
  },
  {
    guard: 'a caller who lost access while it waited is told at once',
    file: 'protocols/rest/access/waiting-callers.ts',
    from: 'if (error !== undefined && checks.has(check)) aborter.abort(error);',
    to: '',
    tests: ['test/protocols/rest/access/waiting-callers.test.ts'],
  },
  {
    guard: 'a lock is not given to a caller who lost access while it waited',
    file: 'protocols/rest/locks/locks.ts',
    from: 'if (refusal === undefined) return acquireReply(result);',
    to: 'if (result !== undefined) return acquireReply(result);',
    tests: ['test/protocols/rest/access/waiting-callers.test.ts'],
  },
  {
    guard: 'a lock that was granted to a caller without access is passed on',
    file: 'protocols/rest/locks/locks.ts',
    from: 'if (result.acquired) await passOn(context, request, result);',
    to: '',
    tests: ['test/protocols/rest/access/waiting-callers.test.ts'],
  },
  {
    guard: 'what a statement decides about access is in the audit trail',
    file: 'protocols/sql/sql-session.ts',
    from: 'if (decisions.length > 0) await this.#surface.noteDecisions(decisions, branch, revision);',
    to: '',
    tests: ['test/protocols/sql/sql-session.test.ts'],
  },
  {
    guard: 'what a repeated statement has decided is in the audit trail once',
    file: 'protocols/rest/sql/rest-surface.ts',
    from: "isRepeatable ? ['revision', repository, branch, revision] : undefined",
    to: 'undefined',
    tests: ['test/protocols/rest/sql/access-decisions.test.ts'],
  },
  {
    guard: 'an account that must change its password gets no lock that it waited for',
    file: 'protocols/rest/access/waiting-callers.ts',
    from: "  'PASSWORD_CHANGE_REQUIRED',",
    to: '',
    tests: ['test/protocols/rest/access/waiting-callers.test.ts'],
  },
];
