import type { GuardMutant } from './guard-mutant.ts';

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
    from: 'if (!record.path.startsWith(USERS)) continue;',
    to: '',
    tests,
  },
  {
    guard: 'an administrator acts as users only',
    file: 'actors/branch/access/branch-access.ts',
    from: "if (record === undefined || record.nodeType !== 'svc:User' || !record.path.startsWith(USERS))",
    to: 'if (record === undefined)',
    tests,
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
];
