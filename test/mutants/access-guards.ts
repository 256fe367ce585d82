import type { GuardMutant } from './guard-mutant.ts';

const globTests = ['test/runtime/access/roles/globs.test.ts'];
const permissionTests = ['test/runtime/access/roles/permission.test.ts'];
const nodeTests = ['test/runtime/access/roles/access-nodes.test.ts'];
const grantTests = ['test/runtime/access/roles/grants.test.ts'];
const policyTests = ['test/runtime/access/roles/role-policy.test.ts'];
const authorizeTests = ['test/runtime/access/policy.test.ts'];

/** The safety guards of roles and permissions. */
export const accessGuards: readonly GuardMutant[] = [
  {
    guard: 'a pattern for a subtree ends at a segment',
    file: 'runtime/access/roles/path-glob.ts',
    from: 'return path.startsWith(prefix) && path.charCodeAt(prefix.length) === SLASH;',
    to: 'return path.startsWith(prefix);',
    tests: globTests,
  },
  {
    guard: 'an asterisk in a path stays in its segment',
    file: 'runtime/access/roles/glob-matcher.ts',
    from: 'const stays = loopsCrossing | (code === SLASH ? 0 : loopsInSegment);',
    to: 'const stays = loopsCrossing | loopsInSegment;',
    tests: globTests,
  },
  {
    guard: 'states of a long pattern lead from one word to the next',
    file: 'runtime/access/roles/glob-matcher.ts',
    from: 'carried = stepped >>> 31;',
    to: '',
    tests: globTests,
  },
  {
    guard: 'a pattern for names that is not understood matches none',
    file: 'runtime/access/roles/name-glob.ts',
    from: 'const hasMatcher = this.isUnderstood && !this.isName && !this.isEverything;',
    to: 'const hasMatcher = !this.isName && !this.isEverything;',
    tests: globTests,
  },
  {
    guard: 'a permission with a key that is not known grants nothing',
    file: 'runtime/access/roles/permission.ts',
    from: 'if (!readKeys.has(key) && !describingKeys.has(key))',
    to: 'if (key === undefined)',
    tests: permissionTests,
  },
  {
    guard: 'a permission with conditions of the old form grants nothing',
    file: 'runtime/access/roles/permission.ts',
    from: 'if (legacy !== undefined && !isEmpty(legacy))',
    to: 'if (legacy === 0)',
    tests: permissionTests,
  },
  {
    guard: 'a permission of which no type is a name is not one for all types',
    file: 'runtime/access/roles/permission.ts',
    from: 'return names.length === 0 ? this.#refuse("none of its \'node_types\' is a name") : new Set(names);',
    to: "return names.length === 0 ? 'all' : new Set(names);",
    tests: permissionTests,
  },
  {
    guard: 'a list of hidden properties that is not understood hides all',
    file: 'runtime/access/roles/permission.ts',
    from: 'if (!hidden.every(isName)) return this.#hideAll("some of its \'except_fields\' are no names");',
    to: '',
    tests: permissionTests,
  },
  {
    guard: 'a user whose status is not active has no permission',
    file: 'runtime/access/roles/access-nodes.ts',
    from: "(ownValue(properties, 'status') ?? 'active') === 'active' &&",
    to: '',
    tests: nodeTests,
  },
  {
    guard: 'a user who may not log in has no permission',
    file: 'runtime/access/roles/access-nodes.ts',
    from: "(ownValue(properties, 'can_login') ?? true) === true,",
    to: 'true,',
    tests: nodeTests,
  },
  {
    guard: 'roles among the nodes of users have no effect',
    file: 'runtime/access/roles/access-nodes.ts',
    from: "const id = ownValue(properties, 'role_id');\n  if (!isId(id) || path.startsWith(USERS)) return undefined;",
    to: "const id = ownValue(properties, 'role_id');\n  if (!isId(id)) return undefined;",
    tests: nodeTests,
  },
  {
    guard: 'an identity without an active user node has no permission',
    file: 'runtime/access/roles/grants.ts',
    from: 'if (user?.isActive !== true) return',
    to: 'if (user === undefined) return',
    tests: grantTests,
  },
  {
    guard: 'anonymous callers are not permitted everything at once',
    file: 'runtime/access/roles/grants.ts',
    from: '    isBypass: false,\n    permissions: permissionsOf(roles, records),',
    to: '    isBypass: roles.includes(SYSTEM_ADMIN),\n    permissions: permissionsOf(roles, records),',
    tests: grantTests,
  },
  {
    guard: 'a permission counts only in the workspaces that it matches',
    file: 'runtime/access/roles/bound-rule.ts',
    from: '.filter(({ workspace }) => workspace.matches(scope.workspace))',
    to: '',
    tests: policyTests,
  },
  {
    guard: 'a permission counts only in the branches that it matches',
    file: 'runtime/access/roles/role-policy.ts',
    from: 'return branches.every((glob) => glob.matches(this.#branch));',
    to: 'return branches !== undefined;',
    tests: policyTests,
  },
  {
    guard: 'a permission counts only for the types that it names',
    file: 'runtime/access/roles/rule-list.ts',
    from: 'this.rules.filter(({ nodeTypes }) => nodeTypes?.has(nodeType) !== false)',
    to: 'this.rules',
    tests: policyTests,
  },
  {
    guard: 'a condition that looks at a node does not hold without it',
    file: 'runtime/access/roles/bound-rule.ts',
    from: 'return !columns && !properties && !relations && condition.holds(new PlaceOfNode(at, nodeType));',
    to: 'return columns || properties || relations || condition.holds(new PlaceOfNode(at, nodeType));',
    tests: policyTests,
  },
  {
    guard: 'a scan asks the condition where types and paths do not decide',
    file: 'runtime/access/roles/read-scope.ts',
    from: 'condition === undefined && path.isSubtree && isSameSet(nodeTypes, first?.nodeTypes),',
    to: 'path.isSubtree,',
    tests: policyTests,
  },
  {
    guard: 'a scan that looks at all paths because there are too many asks the condition',
    file: 'runtime/access/roles/read-scope.ts',
    from: 'if (tops === undefined && !rules.some(({ path }) => path.isEverything)) return false;',
    to: '',
    tests: policyTests,
  },
  {
    guard: 'the most specific permission decides about properties',
    file: 'runtime/access/roles/bound-rule.ts',
    from: 'return rules.sort((a, b) => b.path.specificity - a.path.specificity);',
    to: 'return rules;',
    tests: policyTests,
  },
  {
    guard: 'a property that may not be read may not be changed',
    file: 'runtime/access/policy.ts',
    from: "if (operation !== 'create') filters.push(policy.fields('read', subject));",
    to: '',
    tests: authorizeTests,
  },
  {
    guard: 'a node is related only to one that may be read',
    file: 'runtime/access/policy.ts',
    from: "if (operation === 'relate') authorize(policy, 'read', target, namedTarget);",
    to: '',
    tests: authorizeTests,
  },
];
