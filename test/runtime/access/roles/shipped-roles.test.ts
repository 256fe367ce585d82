import { describe, expect, it } from 'vitest';
import { authorizeFields, noNeeds, type Subject } from '#runtime/access/policy.ts';
import { type Role, roleOf } from '#runtime/access/roles/access-nodes.ts';
import { compileRule } from '#runtime/access/roles/compile-rule.ts';
import { grantsOfAnonymous, grantsOfUser } from '#runtime/access/roles/grants.ts';
import type { RolePolicy } from '#runtime/access/roles/role-policy.ts';
import { atOnce } from '#runtime/base/event-loop/at-once.ts';
import { builtInRoles } from '#runtime/content/built-in/access-content.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import {
  everyOperation,
  type NodeSpec,
  policyFrom,
  subjectOf,
  testRecords,
  testUser,
} from './access-fixture.ts';

const roles = builtInRoles.map(({ name, properties }) => {
  const node = { id: name as string, path: `/roles/${String(name)}`, properties: properties as JsonObject };
  return atOnce(roleOf(node, compileRule)) as Role;
});

function policyWith(...names: string[]): RolePolicy {
  return policyFrom(grantsOfUser('me', testUser({ roles: names }), testRecords(roles)));
}

const access = (path: string, nodeType: string, more: NodeSpec = {}): Subject =>
  subjectOf({ workspace: 'svc:access_control', path, nodeType, ...more });

/** The operations that are permitted on a node. */
function operations(policy: RolePolicy, subject: Subject): string {
  return everyOperation.filter((operation) => policy.allows(operation, subject)).join(' ');
}

/** Whether the caller may change a property. */
function changes(policy: RolePolicy, subject: Subject, name: string): boolean {
  try {
    authorizeFields(policy, 'update', subject, [name]);
    return true;
  } catch {
    return false;
  }
}

describe('the shipped roles', () => {
  it('have nothing that is ignored', () => {
    expect(roles.map(({ id }) => id)).toEqual([
      'system_admin',
      'anonymous',
      'authenticated_user',
      'viewer',
      'editor',
      'author',
    ]);
    expect(roles.flatMap(({ notices }) => notices)).toEqual([]);
  });

  it.each([
    ['system_admin', everyOperation.join(' '), everyOperation.join(' ')],
    ['viewer', 'read', 'read'],
    ['editor', 'create read update delete translate', 'create read update delete translate'],
    ['author', 'create read update delete', 'create read'],
    ['authenticated_user', '', ''],
    ['anonymous', '', ''],
  ])('permit a %s on content of their own %j, of others %j', (role, ofOwn, ofOthers) => {
    const policy = policyWith(role);
    expect(operations(policy, subjectOf({ createdBy: 'me' }))).toBe(ofOwn);
    expect(operations(policy, subjectOf({ createdBy: 'you' }))).toBe(ofOthers);
  });

  it.each(['viewer', 'editor', 'author'])('let no %s write what decides about permissions', (role) => {
    const policy = policyWith(role, 'authenticated_user');
    for (const [path, nodeType] of [
      ['/roles/mine', 'svc:Role'],
      ['/groups/mine', 'svc:Group'],
      ['/config/mine', 'svc:SecurityConfig'],
      ['/users/mine', 'svc:User'],
    ] as const)
      expect(operations(policy, access(path, nodeType, { createdBy: 'me' }))).toBe('read');
    const system = subjectOf({ workspace: 'svc:system', createdBy: 'me' });
    expect(operations(policy, system)).toBe('read');
  });

  it('grant nothing to anonymous callers', () => {
    const policy = policyFrom(grantsOfAnonymous(undefined, testRecords(roles), 'rest'));
    for (const workspace of ['content', 'svc:access_control']) {
      expect(policy.readScope(workspace).isNone).toBe(true);
      expect(operations(policy, subjectOf({ workspace }))).toBe('');
    }
  });

  it('let users read their own node, and change what does not decide about their permissions', () => {
    const policy = policyWith('authenticated_user');
    const own = access('/users/me', 'svc:User', { id: 'my-node' });
    expect(operations(policy, own)).toBe('read update');
    expect(['email', 'roles', 'display_name'].every((name) => policy.fields('read', own).has(name))).toBe(
      true,
    );
    const changed = [
      'display_name',
      'metadata',
      'birth_date',
      'roles',
      'groups',
      'status',
      'can_login',
      'user_id',
      'email',
    ];
    expect(changed.filter((name) => changes(policy, own, name))).toEqual([
      'display_name',
      'metadata',
      'birth_date',
    ]);
  });

  it('let users see the names of others', () => {
    const policy = policyWith('authenticated_user', 'viewer');
    const other = access('/users/you', 'svc:User', { id: 'your-node' });
    expect(operations(policy, other)).toBe('read');
    const shown = ['display_name', 'email', 'roles'].filter((name) => policy.fields('read', other).has(name));
    expect(shown).toEqual(['display_name']);
  });

  it.each([
    ['/users/me/profile', 'svc:Profile', 'read update'],
    ['/users/me/profile/private', 'svc:ProfileData', 'read update'],
    ['/users/me/inbox', 'svc:MessageFolder', 'read update delete'],
    ['/users/me/inbox/1', 'svc:Message', 'read update delete'],
    ['/users/me/outbox/1', 'svc:Message', 'create read update delete'],
    ['/users/me/sent/1', 'svc:Message', 'read'],
    ['/users/me/notifications/1', 'svc:Notification', 'read update delete'],
    ['/users/me-2/inbox/1', 'svc:Message', ''],
    ['/users/you/inbox/1', 'svc:Message', ''],
    ['/users/you/profile/private', 'svc:ProfileData', ''],
    ['/roles/viewer', 'svc:Role', ''],
    ['/config/default', 'svc:SecurityConfig', ''],
  ])('permit users at %s what is theirs', (path, nodeType, expected) => {
    expect(operations(policyWith('authenticated_user'), access(path, nodeType))).toBe(expected);
  });

  it('read nothing of a node where everything may be read', () => {
    const policy = policyWith('viewer', 'authenticated_user');
    expect(policy.readScope('content')).toEqual({ isAll: true, isNone: false });
    expect(policy.needs('read', 'content')).toEqual(noNeeds);
  });
});
