import { describe, expect, it } from 'vitest';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import {
  type AccessRecords,
  byId,
  type Grants,
  grantsOfAnonymous,
  grantsOfUser,
  type Interface,
  PERMISSIONS_OF_CALLER_MAX,
  ROLES_MAX,
} from '#runtime/access/roles/grants.ts';
import { PERMISSIONS_MAX } from '#runtime/access/roles/permission.ts';
import { testConfig, testGroup, testRecords, testRole, testUser } from './access-fixture.ts';

const read = (path: string): JsonObject => ({ path, operations: ['read'] });

function granted(user: JsonObject, records: AccessRecords): Grants {
  return grantsOfUser('me', testUser(user), records);
}

function paths({ permissions }: Pick<Grants, 'permissions'>): string[] {
  return permissions.map(({ path }) => path.text);
}

describe('grantsOfUser', () => {
  it('takes the roles of the user, then those of its groups, then the inherited ones, in their order', () => {
    const records = testRecords(
      [
        testRole('own', [read('/own/1'), read('/own/2')], ['base']),
        testRole('late', [read('/late')]),
        testRole('of-group', [read('/of-group')], ['deep', 'own']),
        testRole('base', [read('/base')], ['root']),
        testRole('deep', [read('/deep')]),
        testRole('root', [read('/root')]),
        testRole('unused', [read('/unused')]),
      ],
      [testGroup('g', ['of-group', 'own'])],
    );
    const grants = granted({ roles: ['late', '/roles/own'], groups: ['/groups/g'] }, records);
    expect(grants.caller.roles).toEqual(['late', 'own', 'of-group', 'base', 'deep', 'root']);
    expect(paths(grants)).toEqual(['/late', '/own/1', '/own/2', '/of-group', '/base', '/deep', '/root']);
  });

  it('tells conditions who the caller is', () => {
    const records = testRecords([testRole('a', [])], [testGroup('g', [])]);
    const user = { roles: ['a', 'none'], groups: ['g', 'none'], email: 'me@example.org' };
    expect(granted(user, records).caller).toEqual({
      userId: 'me',
      localUserId: 'my-node',
      email: 'me@example.org',
      isAnonymous: false,
      isSystem: false,
      roles: ['a'],
      groups: ['g'],
      home: '/users/me',
      actingAsWard: null,
      activeStewardshipSource: null,
    });
  });

  it('tolerates roles that inherit each other and themselves', () => {
    const records = testRecords([
      testRole('a', [read('/a')], ['b', 'a']),
      testRole('b', [read('/b')], ['a', 'c']),
      testRole('c', [read('/c')], ['b']),
    ]);
    expect(paths(granted({ roles: ['b'] }, records))).toEqual(['/b', '/a', '/c']);
  });

  it('ignores roles and groups that do not exist, also those named like members of objects', () => {
    const names = ['none', 'constructor', '__proto__', 'toString', ''];
    const records = testRecords([testRole('a', [read('/a')], names)], [testGroup('g', names)]);
    const grants = granted({ roles: [...names, 'a'], groups: [...names, 'g'] }, records);
    expect(grants.caller).toMatchObject({ roles: ['a'], groups: ['g'] });
    expect(paths(grants)).toEqual(['/a']);
  });

  it('grants nothing without a user node, and nothing to a user who is not active', () => {
    const records = testRecords(
      [testRole('system_admin', [read('**')])],
      [],
      [testConfig({ workspace: '*', default_policy: 'allow' })],
    );
    const denied = [
      grantsOfUser('me', undefined, records),
      granted({ roles: ['system_admin'], status: 'inactive' }, records),
      granted({ roles: ['system_admin'], can_login: false }, records),
    ];
    for (const grants of denied) {
      expect(grants).toMatchObject({ isBypass: false, permissions: [] });
      expect(grants.caller.roles).toEqual([]);
      expect(grants.addedIn('content')).toEqual([]);
    }
  });

  it('permits everything with an effective role system_admin that exists', () => {
    const admin = testRole('system_admin', []);
    const records = testRecords(
      [admin, testRole('chief', [], ['system_admin'])],
      [testGroup('admins', ['/roles/system_admin'])],
    );
    expect(granted({ roles: ['system_admin'] }, records).isBypass).toBe(true);
    expect(granted({ roles: ['chief'] }, records).isBypass).toBe(true);
    expect(granted({ groups: ['admins'] }, records).isBypass).toBe(true);
    expect(granted({ roles: [] }, records).isBypass).toBe(false);
    expect(granted({ roles: ['system_admin'] }, testRecords([])).isBypass).toBe(false);
  });

  it('bounds roles and permissions', () => {
    const names = Array.from({ length: ROLES_MAX + 50 }, (_, index) => `r${index}`);
    const permissions = Array(PERMISSIONS_MAX).fill(read('/a'));
    const records = testRecords(names.map((id) => testRole(id, id < 'r11' ? permissions : [])));
    const grants = granted({ roles: names }, records);
    expect(grants.caller.roles).toEqual(names.slice(0, ROLES_MAX));
    expect(grants.permissions).toHaveLength(PERMISSIONS_OF_CALLER_MAX);
  });

  it('lets every user read where the settings of a workspace allow it', () => {
    const configs = [
      testConfig({ workspace: '*', default_policy: 'deny' }),
      testConfig({ workspace: 'con*', default_policy: 'allow' }, '/config/a'),
      testConfig({ workspace: 'conte*', default_policy: 'deny' }, '/config/b'),
      testConfig({ workspace: 'contents', default_policy: 'allow' }, '/config/c'),
      testConfig({ workspace: 'cont*t?', default_policy: 'deny' }, '/config/d'),
    ];
    const grants = granted({ roles: [] }, testRecords([], [], configs));
    const isReadable = (workspace: string): boolean =>
      grants.addedIn(workspace).some(({ operations, path }) => operations.has('read') && path.isEverything);
    expect(['contents', 'content', 'control', 'other', 'svc:system'].filter(isReadable)).toEqual([
      'contents',
      'control',
    ]);
    expect(grants.addedIn('contents').flatMap(({ operations }) => [...operations])).toEqual(['read']);
    expect(grants.permissions).toEqual([]);
  });
});

describe('grantsOfAnonymous', () => {
  const roles = [
    testRole('anonymous', [read('/public')]),
    testRole('guest', [read('/guest')], ['base']),
    testRole('base', [read('/base')]),
    testRole('system_admin', [read('/admin')]),
  ];

  it('takes the roles of the anonymous user node, else the role anonymous alone', () => {
    const records = testRecords(roles, [testGroup('g', ['guest'])]);
    expect(paths(grantsOfAnonymous(undefined, records, 'rest'))).toEqual(['/public']);
    const user = testUser({ roles: ['anonymous'], groups: ['g'] });
    const grants = grantsOfAnonymous(user, records, 'rest');
    expect(paths(grants)).toEqual(['/public', '/guest', '/base']);
    expect(grants.caller).toMatchObject({ userId: 'anonymous', isAnonymous: true, localUserId: 'my-node' });
    expect(paths(grantsOfAnonymous(undefined, testRecords([]), 'rest'))).toEqual([]);
  });

  it('never permits everything at once', () => {
    const user = testUser({ roles: ['system_admin'] });
    const grants = grantsOfAnonymous(user, testRecords(roles), 'rest');
    expect(grants.isBypass).toBe(false);
    expect(paths(grants)).toEqual(['/admin']);
  });

  it('grants nothing where the anonymous user is not active', () => {
    const configs = [testConfig({ workspace: '*', anonymous_enabled: true, anonymous_role: 'guest' })];
    const user = testUser({ roles: ['anonymous'], status: 'inactive' });
    const grants = grantsOfAnonymous(user, testRecords(roles, [], configs), 'rest');
    expect(grants.permissions).toEqual([]);
    expect(grants.addedIn('content')).toEqual([]);
    expect(grants.caller.isAnonymous).toBe(true);
  });

  it.each<[JsonObject, Interface, readonly string[]]>([
    [{ anonymous_enabled: true, anonymous_role: 'guest' }, 'rest', ['/guest', '/base']],
    [{ anonymous_enabled: true, anonymous_role: '/roles/guest' }, 'other', ['/guest', '/base']],
    [{ anonymous_enabled: false, anonymous_role: 'guest' }, 'rest', []],
    [{ anonymous_enabled: true }, 'rest', []],
    [{ anonymous_enabled: true, anonymous_role: 'none' }, 'rest', []],
    [{ default_policy: 'allow' }, 'rest', []],
    [
      {
        anonymous_enabled: true,
        anonymous_role: 'guest',
        interfaces: { pgwire: { anonymous_enabled: false } },
      },
      'pgwire',
      [],
    ],
    [
      { anonymous_role: 'guest', interfaces: { websocket: { anonymous_enabled: true } } },
      'websocket',
      ['/guest', '/base'],
    ],
    [{ anonymous_role: 'guest', interfaces: { websocket: { anonymous_enabled: true } } }, 'rest', []],
  ])('adds the role that a workspace has for them: %j over %s', (settings, through, expected) => {
    const configs = [testConfig({ workspace: 'content', ...settings })];
    const grants = grantsOfAnonymous(undefined, testRecords(roles, [], configs), through);
    expect(grants.addedIn('content').map(({ path }) => path.text)).toEqual(expected);
    expect(grants.addedIn('other')).toEqual([]);
  });
});

describe('byId', () => {
  it('keeps the record with the first path, in whatever order they come', () => {
    const pairs: readonly (readonly [string, { readonly id: string; readonly place: string }])[] = [
      ['/b', { id: 'x', place: 'b' }],
      ['/a', { id: 'x', place: 'a' }],
      ['/c', { id: '__proto__', place: 'c' }],
    ];
    for (const records of [pairs, [...pairs].reverse()])
      expect([...byId(records).values()].map(({ place }) => place)).toEqual(['a', 'c']);
  });
});
