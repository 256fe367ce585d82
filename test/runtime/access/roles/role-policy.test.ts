import { describe, expect, it } from 'vitest';
import { isInScope, type Needs, noNeeds } from '#runtime/access/policy.ts';
import { grantsOfUser } from '#runtime/access/roles/grants.ts';
import { RolePolicy } from '#runtime/access/roles/role-policy.ts';
import type { JsonObject, JsonValue } from '#runtime/content/values/json-value.ts';
import { readableNode } from '#test/support/readable-node.ts';
import {
  everyOperation,
  type NodeSpec,
  policyFrom,
  policyOf,
  subjectOf,
  testRecords,
  testRole,
  testUser,
} from './access-fixture.ts';

const readAll = { path: '**', operations: ['read'] };

/** Whether the node may be read, by each way to ask. */
function reads(policy: RolePolicy, spec: NodeSpec): boolean {
  const subject = subjectOf(spec);
  const isAllowed = policy.allows('read', subject);
  expect(isInScope(policy.readScope(subject.workspace), readableNode(spec))).toBe(isAllowed);
  return isAllowed;
}

/** The properties among a, b and c that are shown. */
function shown(policy: RolePolicy, spec: NodeSpec): string {
  const subject = subjectOf(spec);
  const fields = policy.fields('read', subject);
  const names = [...'abc'].filter((name) => fields.has(name)).join('');
  const listed = policy.readScope(subject.workspace).fields?.(readableNode(spec));
  if (policy.allows('read', subject))
    expect([...'abc'].filter((name) => listed?.has(name) !== false).join('')).toBe(names);
  return names;
}

describe('RolePolicy', () => {
  it('permits nothing without permissions', () => {
    const policy = policyOf([]);
    for (const operation of everyOperation) expect(policy.allows(operation, subjectOf({}))).toBe(false);
    expect(policy.readScope('content')).toMatchObject({ isNone: true });
    expect(policy.fields('read', subjectOf({})).has('a')).toBe(false);
    expect(policy).toMatchObject({ unrestricted: false, administers: false, locks: false });
  });

  it('permits only the operations of a permission', () => {
    const policy = policyOf([{ path: '**', operations: ['read', 'RELATE'] }]);
    const allowed = everyOperation.filter((operation) => policy.allows(operation, subjectOf({})));
    expect(allowed).toEqual(['read', 'relate']);
  });

  it('may permit an operation in the workspaces where a permission may hold for some node', () => {
    const policy = policyOf([
      { path: '/a/*', operations: ['update'], workspace: 'content', condition: 'draft' },
      { path: '**', operations: ['delete'], workspace: 'other' },
      { path: '**', operations: ['relate'], workspace: 'content', condition: 'as editor' },
    ]);
    const allowed = everyOperation.filter((operation) => policy.mayAllow(operation, 'content'));
    expect(allowed).toEqual(['update']);
    expect(policy.mayAllow('delete', 'other')).toBe(true);
  });

  it.each<[string, JsonObject, NodeSpec, NodeSpec]>([
    ['paths', { path: '/blog/**' }, { path: '/blog/x' }, { path: '/blogs' }],
    ['workspaces', { workspace: 'con*' }, { workspace: 'content' }, { workspace: 'other' }],
    ['types', { node_types: ['test:A'] }, { nodeType: 'test:A' }, { nodeType: 'test:B' }],
    ['columns', { condition: 'own' }, { createdBy: 'me' }, { createdBy: 'you' }],
    ['properties', { condition: 'draft' }, { properties: { status: 'draft' } }, { properties: {} }],
    ['the workspace', { condition: 'in content' }, { workspace: 'content' }, { workspace: 'other' }],
    ['places', { condition: 'at home' }, { path: '/users/me/inbox' }, { path: '/users/me-2' }],
  ])('restricts by %s', (_, more, yes, no) => {
    const policy = policyOf([{ ...readAll, ...more }]);
    expect(reads(policy, yes)).toBe(true);
    expect(reads(policy, no)).toBe(false);
  });

  it('restricts by branches', () => {
    const permissions = [{ ...readAll, branch_pattern: 'feature/*' }];
    expect(reads(policyOf(permissions, 'feature/x'), {})).toBe(true);
    expect(reads(policyOf(permissions, 'main'), {})).toBe(false);
  });

  it('asks conditions that depend on the caller once', () => {
    const permissions = [{ ...readAll, condition: 'as editor' }];
    expect(reads(policyOf(permissions), {})).toBe(false);
    expect(policyOf(permissions).readScope('content').isNone).toBe(true);
    expect(reads(policyOf(permissions, 'main', ['editor']), {})).toBe(true);
    expect(policyOf(permissions, 'main', ['editor']).readScope('content').isAll).toBe(true);
  });

  it('takes no condition for true that looks at a node it is not given', () => {
    const { node: _, ...bare } = subjectOf({ path: '/a', createdBy: 'me', properties: { status: 'draft' } });
    for (const condition of ['own', 'draft', 'mine'])
      expect(policyOf([{ ...readAll, condition }]).allows('read', bare)).toBe(false);
    expect(policyOf([{ ...readAll, condition: 'in a or b' }]).allows('read', bare)).toBe(true);
    expect(policyOf([readAll]).allows('read', bare)).toBe(true);
    const policy = policyOf([{ ...readAll, fields: ['a'], condition: 'own' }]);
    expect(policy.fields('read', bare).has('a')).toBe(false);
  });

  it('permits what any permission permits whose condition holds', () => {
    const policy = policyOf([{ path: '/x/**', operations: ['read'], condition: 'own' }, readAll]);
    expect(reads(policy, { path: '/x/1', createdBy: 'you' })).toBe(true);
    expect(policy.readScope('content')).toMatchObject({ isAll: true });
  });

  it('permits everything with system_admin', () => {
    const records = testRecords([
      testRole('system_admin', [{ path: '/a', operations: ['read'], fields: [] }]),
    ]);
    const policy = policyFrom(grantsOfUser('me', testUser({ roles: ['system_admin'] }), records));
    for (const operation of everyOperation) expect(policy.allows(operation, subjectOf({}))).toBe(true);
    expect(policy.unrestricted).toBe(true);
    expect(policy.administers).toBe(false);
    expect(policy.readScope('svc:system').isAll).toBe(true);
    expect(policy.fields('read', subjectOf({})).isAll).toBe(true);
    expect(policy.needs('read', 'content')).toEqual(noNeeds);
  });

  it('has the capabilities it is given', () => {
    const grants = grantsOfUser('me', undefined, testRecords([]));
    const policy = new RolePolicy(grants, 'main', { administers: true, locks: true });
    expect(policy).toMatchObject({ unrestricted: false, administers: true, locks: true });
    expect(policy.allows('read', subjectOf({}))).toBe(false);
  });

  it('answers the same again after many workspaces', () => {
    const policy = policyOf([{ ...readAll, workspace: 'w7*' }]);
    for (let round = 0; round < 2; round += 1)
      for (let index = 0; index < 200; index += 1)
        expect(reads(policy, { workspace: `w${index}` })).toBe(`${index}`.startsWith('7'));
  });

  it('answers the same again after many types', () => {
    const policy = policyOf([{ ...readAll, node_types: ['t:7', 't:500'] }]);
    const found: number[] = [];
    for (let round = 0; round < 2; round += 1)
      for (let index = 0; index < 600; index += 1)
        if (reads(policy, { nodeType: `t:${index}` })) found.push(index);
    expect(found).toEqual([7, 500, 7, 500]);
  });
});

describe('fields of a RolePolicy', () => {
  const narrow = { path: '/x/**', operations: ['read'], fields: ['a'] };

  it.each<[string, readonly JsonObject[], NodeSpec, string]>([
    ['no lists', [readAll], {}, 'abc'],
    ['fields', [{ ...readAll, fields: ['a', 'c'] }], {}, 'ac'],
    ['except_fields', [{ ...readAll, except_fields: ['b'] }], {}, 'ac'],
    ['both', [{ ...readAll, fields: ['a'], except_fields: ['a'] }], {}, 'a'],
    ['no fields', [{ ...readAll, fields: [] }], {}, ''],
    ['a narrow permission', [readAll, narrow], { path: '/x/1' }, 'a'],
    ['a narrow permission elsewhere', [readAll, narrow], { path: '/y/1' }, 'abc'],
    [
      'a narrow permission that does not hold',
      [readAll, { ...narrow, condition: 'own' }],
      { path: '/x/1' },
      'abc',
    ],
    [
      'a narrow permission that holds',
      [readAll, { ...narrow, condition: 'own' }],
      { path: '/x/1', createdBy: 'me' },
      'a',
    ],
    [
      'a narrow permission for another type',
      [readAll, { ...narrow, node_types: ['t:A'] }],
      { path: '/x/1' },
      'abc',
    ],
    [
      'the first of two that are equally specific',
      [
        { ...readAll, fields: ['b'] },
        { ...readAll, fields: ['c'] },
      ],
      {},
      'b',
    ],
    [
      'the second where the first does not hold',
      [
        { ...readAll, fields: ['b'], condition: 'own' },
        { ...readAll, fields: ['c'] },
      ],
      {},
      'c',
    ],
    [
      'a permission for another operation',
      [readAll, { ...narrow, operations: ['update'] }],
      { path: '/x' },
      'abc',
    ],
    [
      'a permission for another workspace',
      [readAll, { ...narrow, workspace: 'other' }],
      { path: '/x' },
      'abc',
    ],
    ['none that holds', [narrow], { path: '/y' }, ''],
  ])('are decided by %s', (_, permissions, spec, expected) => {
    expect(shown(policyOf(permissions), spec)).toBe(expected);
  });

  it('are decided in the order of the roles', () => {
    const records = testRecords([
      testRole('one', [{ ...readAll, fields: ['a'] }], ['three']),
      testRole('two', [{ ...readAll, fields: ['b'] }]),
      testRole('three', [{ ...readAll, fields: ['c'] }]),
    ]);
    const shownTo = (...roles: string[]): string =>
      shown(policyFrom(grantsOfUser('me', testUser({ roles }), records)), {});
    expect(shownTo('one', 'two')).toBe('a');
    expect(shownTo('two', 'one')).toBe('b');
    expect(shownTo('three', 'one')).toBe('c');
  });

  it('are of each operation by itself', () => {
    const policy = policyOf([
      readAll,
      { path: '**', operations: ['create', 'update'], except_fields: ['b'] },
    ]);
    const names = (operation: 'create' | 'update' | 'translate'): string =>
      [...'abc'].filter((name) => policy.fields(operation, subjectOf({})).has(name)).join('');
    expect([names('create'), names('update'), names('translate')]).toEqual(['ac', 'ac', '']);
  });
});

describe('the read scope of a RolePolicy', () => {
  const scopeOf = (...permissions: JsonObject[]) =>
    policyOf(permissions.map((more) => ({ ...readAll, ...more }))).readScope('content');

  it('is whole where a permission has no restriction', () => {
    expect(scopeOf({}, { path: '/a', condition: 'own' })).toEqual({ isAll: true, isNone: false });
    expect(scopeOf({ path: '' }).isAll).toBe(true);
  });

  it('names types and paths alone where they decide', () => {
    expect(scopeOf({ path: '/a/**' }, { path: '/b/**' }, { path: '/a/x/**' })).toEqual({
      isAll: false,
      isNone: false,
      tops: ['/a', '/b'],
    });
    const types = { node_types: ['t:A', 't:B'] };
    expect(scopeOf(types)).toEqual({ isAll: false, isNone: false, nodeTypes: new Set(['t:A', 't:B']) });
    expect(scopeOf({ ...types, path: '/a/**' }, { ...types, path: '/b/**' })).toEqual({
      isAll: false,
      isNone: false,
      nodeTypes: new Set(['t:A', 't:B']),
      tops: ['/a', '/b'],
    });
  });

  it('has a condition where they do not', () => {
    expect(scopeOf({ path: '/a/*' })).toMatchObject({ tops: ['/a'], allows: expect.any(Function) });
    expect(scopeOf({ path: '/a/b' })).toMatchObject({ tops: ['/a/b'], allows: expect.any(Function) });
    expect(scopeOf({ path: '/a/**', condition: 'own' }).allows).toBeDefined();
    const mixed = scopeOf({ path: '/a/**', node_types: ['t:A'] }, { path: '/b/**', node_types: ['t:B'] });
    expect(mixed.nodeTypes).toEqual(new Set(['t:A', 't:B']));
    expect(mixed.allows).toBeDefined();
    expect(isInScope(mixed, readableNode({ path: '/a/x', nodeType: 't:B' }))).toBe(false);
  });

  it('takes the paths that conditions imply', () => {
    expect(scopeOf({ condition: 'at home' }).tops).toEqual(['/users/me']);
    expect(scopeOf({ path: 'users/**', condition: 'at home' }).tops).toEqual(['/users/me']);
    expect(scopeOf({ path: 'users/me/inbox/**', condition: 'at home' }).tops).toEqual(['/users/me/inbox']);
    expect(scopeOf({ path: 'blog/**', condition: 'at home' }).isNone).toBe(true);
    expect(scopeOf({ condition: 'in a or b' }).tops).toEqual(['/a', '/b']);
    expect(scopeOf({ path: '/b/**', condition: 'in a or b' }).tops).toEqual(['/b']);
  });

  it('looks at all paths where there are too many', () => {
    const many = Array.from({ length: 40 }, (_, index) => ({ path: `/p${index}/**` }));
    const scope = scopeOf(...many);
    expect(scope.tops).toBeUndefined();
    expect(isInScope(scope, readableNode({ path: '/p39/x' }))).toBe(true);
    expect(isInScope(scope, readableNode({ path: '/p40' }))).toBe(false);
  });

  it('reads properties only for a condition on them, and only where nothing else decides', () => {
    const policy = policyOf([
      { ...readAll, condition: 'draft' },
      { path: '/a/**', operations: ['read'] },
      { path: '/b/**', operations: ['read'], condition: 'own' },
    ]);
    const { allows } = policy.readScope('content');
    const asked: string[] = [];
    const look = (spec: NodeSpec): boolean | undefined =>
      allows?.({
        ...readableNode(spec),
        property: (name) => {
          asked.push(name);
          return 'draft';
        },
      });
    expect(look({ path: '/a/x' })).toBe(true);
    expect(look({ path: '/b/x', createdBy: 'me' })).toBe(true);
    expect(asked).toEqual([]);
    expect(look({ path: '/c' })).toBe(true);
    expect(asked).toEqual(['status']);
  });

  it('asks for fields only where a permission has a list', () => {
    expect(scopeOf({ path: '/a/**' }).fields).toBeUndefined();
    expect(scopeOf({}, { path: '/a/**', except_fields: [] }).fields).toBeUndefined();
    expect(scopeOf({}, { path: '/a/**', fields: ['a'] })).toMatchObject({
      isAll: true,
      fields: expect.any(Function),
    });
  });
});

describe('what a RolePolicy needs to know of a node', () => {
  const needsOf = (...permissions: JsonObject[]): Needs =>
    policyOf(permissions.map((more) => ({ ...readAll, ...more }))).needs('read', 'content');

  it.each<[string, readonly JsonObject[], Partial<Needs>]>([
    ['nothing for paths and types', [{ path: '/a/**' }, { node_types: ['t:A'] }], {}],
    ['columns', [{ condition: 'own' }], { columns: true }],
    [
      'columns and properties',
      [{ condition: 'own' }, { condition: 'draft' }],
      { columns: true, properties: true },
    ],
    ['nothing where everything may be read', [{ condition: 'own' }, {}], {}],
    [
      'what decides about fields',
      [{ path: '/a/**', condition: 'own', fields: ['a'] }, {}],
      { columns: true },
    ],
    ['nothing for what is decided before', [{ condition: 'always' }, { condition: 'never' }], {}],
  ])('is %s', (_, permissions, expected) => {
    expect(needsOf(...permissions)).toEqual({ ...noNeeds, ...expected });
  });

  it('is of each operation and workspace by itself', () => {
    const policy = policyOf([
      { path: '**', operations: ['update'], workspace: 'content', condition: 'draft' },
    ]);
    expect(policy.needs('update', 'content').properties).toBe(true);
    expect(policy.needs('update', 'other')).toEqual(noNeeds);
    expect(policy.needs('read', 'content')).toEqual(noNeeds);
  });
});

describe('nodes that decide what callers may do', () => {
  const access = { workspace: 'svc:access_control' };
  const user = subjectOf({ ...access, path: '/users/internal/ann', nodeType: 'svc:User' });
  const role = subjectOf({ ...access, path: '/roles/x', nodeType: 'svc:Role' });
  const settings = subjectOf({
    workspace: 'svc:system',
    path: '/config/repos/x',
    nodeType: 'svc:RepoAuthConfig',
  });
  const writes = ['create', 'update', 'delete', 'translate'] as const;

  it('are written only under permissions that name their type', () => {
    const broad = policyOf([{ path: '**', operations: ['read', ...writes] }]);
    for (const subject of [user, role, settings]) {
      expect(broad.allows('read', subject)).toBe(true);
      for (const operation of writes) {
        expect([operation, broad.allows(operation, subject)]).toEqual([operation, false]);
        const named = policyOf([{ path: '**', operations: writes, node_types: [subject.nodeType] }]);
        expect([operation, named.allows(operation, subject)]).toEqual([operation, true]);
      }
    }
    expect(broad.allows('create', subjectOf({ ...access, path: '/a', nodeType: 'svc:Folder' }))).toBe(true);
    expect(broad.allows('create', subjectOf({ path: '/roles/x', nodeType: 'svc:Role' }))).toBe(true);
  });

  it('have properties that a permission has to name', () => {
    const fieldsOf = (more: object, operation: 'create' | 'update' | 'read' = 'update') =>
      policyOf([
        { path: '**', operations: [operation], node_types: ['svc:User'], ...more },
      ] as JsonValue).fields(operation, user);
    for (const name of ['user_id', 'email', 'status', 'groups', 'roles', 'can_login']) {
      for (const operation of ['create', 'update'] as const) {
        expect(fieldsOf({}, operation).has(name)).toBe(false);
        expect(fieldsOf({ except_fields: ['x'] }, operation).has(name)).toBe(false);
        expect(fieldsOf({ fields: [name] }, operation).has(name)).toBe(true);
      }
      expect(fieldsOf({}, 'read').has(name)).toBe(true);
    }
    expect(fieldsOf({}).has('display_name')).toBe(true);
    expect(fieldsOf({ except_fields: ['x'] }).has('x')).toBe(false);
  });
});
