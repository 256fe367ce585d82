import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type AccessNode,
  groupOf,
  isAnonymousEnabled,
  roleOf,
  securityConfigOf,
  userOf,
} from '#runtime/access/roles/access-nodes.ts';
import { atOnce } from '#runtime/base/event-loop/at-once.ts';
import type { JsonObject, JsonValue } from '#runtime/content/values/json-value.ts';
import { workloadCount } from '#test/support/workload-count.ts';
import { compileForTest } from './test-conditions.ts';

function node(properties: JsonObject, path = '/folder/node'): AccessNode {
  return { id: 'n', path, properties };
}

const role = (properties: JsonObject, path?: string) =>
  atOnce(roleOf(node(properties, path), compileForTest));

describe('roleOf', () => {
  it('reads a role', () => {
    const read = role({
      role_id: 'writer',
      name: 'Writer',
      inherits: ['reader', '/roles/guest', 'reader', 5],
      permissions: [{ path: '**', operations: ['read'] }, 5],
    });
    expect(read).toMatchObject({ id: 'writer', inherits: ['reader', 'guest'], notices: [{ index: 1 }] });
    expect(read?.permissions).toHaveLength(1);
  });

  it.each<JsonObject>([{}, { role_id: null }, { role_id: '' }, { role_id: 5 }, { role_id: ['a'] }])(
    'ignores a role with %j',
    (properties) => expect(role({ name: 'a', ...properties })).toBeUndefined(),
  );

  it('ignores roles, groups and settings among the nodes of users', () => {
    const place = '/users/internal/eve/outbox/x';
    expect(role({ role_id: 'writer' }, place)).toBeUndefined();
    expect(groupOf(node({ group_id: 'g' }, place))).toBeUndefined();
    expect(securityConfigOf(node({ workspace: '*', default_policy: 'allow' }, place))).toBeUndefined();
    expect(role({ role_id: 'writer' }, '/users-of-old/x')).toBeDefined();
  });
});

describe('groupOf', () => {
  it('reads a group', () => {
    expect(groupOf(node({ group_id: 'g', roles: ['/roles/a', 'b', '', null] }))).toEqual({
      id: 'g',
      roles: ['a', 'b'],
    });
    expect(groupOf(node({ group_id: 'g', roles: 'a' }))).toEqual({ id: 'g', roles: [] });
    expect(groupOf(node({ name: 'g' }))).toBeUndefined();
  });
});

describe('userOf', () => {
  it('reads a user', () => {
    const read = userOf(
      node({ email: 'a@b.c', groups: ['/groups/g', 'h'], roles: ['r', '/roles/s', '/groups/t'] }, '/users/a'),
    );
    expect(read).toEqual({
      id: 'n',
      path: '/users/a',
      email: 'a@b.c',
      isActive: true,
      groups: ['g', 'h'],
      roles: ['r', 's', '/groups/t'],
    });
  });

  it.each<[JsonObject, boolean]>([
    [{}, true],
    [{ status: null, can_login: null }, true],
    [{ status: 'active', can_login: true }, true],
    [{ status: 'inactive' }, false],
    [{ status: 'deleted' }, false],
    [{ status: 'Active' }, false],
    [{ status: '' }, false],
    [{ status: true }, false],
    [{ status: ['active'] }, false],
    [{ can_login: false }, false],
    [{ can_login: 'false' }, false],
    [{ can_login: 'true' }, false],
    [{ can_login: 1 }, false],
    [{ status: 'inactive', can_login: true }, false],
  ])('knows of %j whether the user is active', (properties, isActive) => {
    expect(userOf(node(properties)).isActive).toBe(isActive);
  });
});

describe('securityConfigOf', () => {
  it('reads settings', () => {
    const read = securityConfigOf(
      node({
        workspace: 'con*',
        default_policy: 'allow',
        anonymous_enabled: true,
        anonymous_role: '/roles/guest',
        interfaces: {
          rest: { anonymous_enabled: false },
          pgwire: {},
          websocket: 5,
          other: { anonymous_enabled: true },
        },
      }),
    );
    expect(read).toMatchObject({
      literalLength: 3,
      readByDefault: true,
      isAnonymousEnabled: true,
      anonymousRole: 'guest',
      interfaces: new Map([['rest', false]]),
    });
    expect(read?.workspace.matches('content')).toBe(true);
  });

  it.each<JsonObject>([{}, { workspace: null }, { workspace: '' }, { workspace: 5 }, { workspace: '[a' }])(
    'ignores settings with %j',
    (properties) => expect(securityConfigOf(node(properties))).toBeUndefined(),
  );

  it.each<JsonObject>([
    {},
    { default_policy: 'deny' },
    { default_policy: 'Allow' },
    { default_policy: true, anonymous_enabled: 'true', anonymous_role: ['a'] },
    { default_policy: ['allow'], anonymous_enabled: 1, anonymous_role: '', interfaces: { rest: true } },
    { interfaces: { rest: { anonymous_enabled: 'true' } } },
  ])('grants nothing by %j', (properties) => {
    const read = securityConfigOf(node({ workspace: '*', ...properties }));
    expect(read).toMatchObject({ readByDefault: false, isAnonymousEnabled: false, anonymousRole: null });
    expect(read?.interfaces.get('rest')).not.toBe(true);
  });
});

describe('isAnonymousEnabled', () => {
  it.each<[JsonValue | undefined, JsonValue | undefined, JsonValue | undefined, boolean]>([
    [undefined, undefined, undefined, false],
    [undefined, undefined, true, true],
    [undefined, true, false, true],
    [true, false, false, true],
    [false, true, true, false],
    [undefined, false, true, false],
    [null, null, true, true],
    ['true', true, true, false],
    [0, true, true, false],
  ])('takes the first value that is set: %j, %j, %j', (repository, tenant, server, expected) => {
    expect(isAnonymousEnabled(repository, tenant, server)).toBe(expected);
  });
});

describe('nodes of any shape', () => {
  it('are read without an error, and grant nothing by accident', () => {
    const keys = ['role_id', 'group_id', 'inherits', 'permissions', 'roles', 'groups', 'status', 'can_login'];
    const more = [
      'workspace',
      'default_policy',
      'anonymous_enabled',
      'anonymous_role',
      'interfaces',
      'email',
    ];
    const properties = fc.dictionary(fc.constantFrom(...keys, ...more, '__proto__', 'x'), fc.jsonValue());
    fc.assert(
      fc.property(properties, (found) => {
        const made = node(found as JsonObject);
        expect(atOnce(roleOf(made, compileForTest))?.permissions ?? []).toEqual([]);
        groupOf(made);
        userOf(made);
        securityConfigOf(made);
      }),
      { numRuns: workloadCount(1_000) },
    );
  });
});
