import type { GuardMutant } from './guard-mutant.ts';

/** The safety guards of merges and of what a read shows. */
export const branchGuards: readonly GuardMutant[] = [
  {
    guard: 'a node is given up for another one with its value only if a resolution says so',
    file: 'actors/branch/merge/settle-conflicts.ts',
    from: "if (decided?.origin !== 'given') return;",
    to: 'if (decided === undefined) return;',
    tests: ['test/actors/branch/merge/unique-violations.test.ts'],
  },
  {
    guard: 'only a node with the same value follows the resolution for another one',
    file: 'actors/branch/merge/settle-conflicts.ts',
    from: "if (type !== 'DuplicateValue' || isDefinition(subject)) return;",
    to: 'if (isDefinition(subject)) return;',
    tests: ['test/actors/branch/merge/path-violations.test.ts'],
  },
  {
    guard: 'a node that a resolution keeps is not removed with the one above it',
    file: 'actors/branch/merge/merge-decisions.ts',
    from: "if (this.tree.decisionOf(child)?.origin === 'given') throw yield* this.#keptBelow(child, node);",
    to: '',
    tests: ['test/actors/branch/merge/contradictory-resolutions.test.ts'],
  },
  {
    guard: 'a node that a resolution keeps does not give way to another one at its path',
    file: 'actors/branch/merge/merge-decisions.ts',
    from: 'if (this.tree.decisionOf(rival) !== undefined || this.tree.sideOf(rival) === way) continue;',
    to: 'if (this.tree.sideOf(rival) === way) continue;',
    tests: ['test/actors/branch/merge/contradictory-resolutions.test.ts'],
  },
  {
    guard: 'a node is not removed because another one takes its path and its former folder is gone',
    file: 'actors/branch/merge/merge-decisions.ts',
    from: "if (decided?.origin === 'follows') throw yield* this.#keptBelow(node, parent);",
    to: '',
    tests: ['test/actors/branch/merge/contradictory-resolutions.test.ts'],
  },
  {
    guard: 'a merge records its nodes at their paths on the target, by which readers are judged',
    file: 'actors/branch/merge/planned-writes.ts',
    from: 'path: content === undefined ? path : yield* this.pathOf(workspace, id),',
    to: 'path,',
    tests: ['test/actors/branch/merge/merge-branch.test.ts'],
  },
  {
    guard: 'a reference to no valid id does not expand to the node with the same bytes in a key',
    file: 'actors/branch/reads/visible-nodes.ts',
    from: 'const peer = isNodeId(ref) ? this.#peer(workspace ?? this.workspace) : undefined;',
    to: 'const peer = this.#peer(workspace ?? this.workspace);',
    tests: ['test/scenarios/expand-references.test.ts'],
  },
  {
    guard: 'what branches ask each other is not answered to users',
    file: 'actors/branch/pair/pair-queries.ts',
    from: "  if (caller.principal.kind !== 'system') throw new ServiceError('FORBIDDEN');\n",
    to: '',
    tests: ['test/actors/branch/pair/pair-queries.test.ts'],
  },
  {
    guard: 'a reference to no workspace does not expand to a node of another workspace',
    file: 'actors/branch/reads/visible-nodes.ts',
    from: 'const peer = this.#state.hasWorkspace(workspace)',
    to: "const peer = workspace !== ''",
    tests: ['test/scenarios/expand-references.test.ts'],
  },
  {
    guard: 'a branch or tag is looked up by its name for administrators only',
    file: 'protocols/rest/versioning/branches.ts',
    from: '  requireAdministrator(policy, principal);\n',
    to: '',
    tests: ['test/protocols/rest/versioning/one-name.test.ts'],
  },
  {
    guard: 'every comparison of a filter counts as work of the request',
    file: 'actors/branch/query/dsl-match.ts',
    from: 'terms * TERM_WORK',
    to: '0 * terms',
    tests: ['test/actors/branch/query/dsl-match.test.ts'],
  },
];
