import type { Operation, Subject } from '#runtime/access/policy.ts';
import {
  type Group,
  groupOf,
  type Role,
  roleOf,
  type SecurityConfig,
  securityConfigOf,
  type User,
  userOf,
} from '#runtime/access/roles/access-nodes.ts';
import { type AccessRecords, byId, type Grants, grantsOfUser } from '#runtime/access/roles/grants.ts';
import { RolePolicy } from '#runtime/access/roles/role-policy.ts';
import { atOnce } from '#runtime/base/event-loop/at-once.ts';
import type { JsonObject, JsonValue } from '#runtime/content/values/json-value.ts';
import { readableNode } from '#test/support/readable-node.ts';
import { compileForTest } from './test-conditions.ts';

/** A role of a test, by its stored permissions. */
export function testRole(id: string, permissions: JsonValue, inherits: readonly string[] = []): Role {
  const properties = { role_id: id, name: id, inherits, permissions };
  return atOnce(roleOf({ id, path: `/roles/${id}`, properties }, compileForTest)) as Role;
}

/** A group of a test. */
export function testGroup(id: string, roles: readonly string[]): Group {
  return groupOf({ id, path: `/groups/${id}`, properties: { group_id: id, roles } }) as Group;
}

/** The user node of identity `me` at `/users/me`, with id `my-node`. */
export function testUser(properties: JsonObject): User {
  return userOf({ id: 'my-node', path: '/users/me', properties });
}

/** Settings of workspaces. */
export function testConfig(properties: JsonObject, path = '/config/default'): SecurityConfig {
  return securityConfigOf({ id: path, path, properties }) as SecurityConfig;
}

/** Roles, groups and settings of a test. */
export function testRecords(
  roles: readonly Role[],
  groups: readonly Group[] = [],
  configs: readonly SecurityConfig[] = [],
): AccessRecords {
  return {
    roles: byId(roles.map((each) => [each.id, each] as const)),
    groups: byId(groups.map((each) => [each.id, each] as const)),
    configs,
  };
}

/** A policy from grants. */
export function policyFrom(grants: Grants, branch = 'main'): RolePolicy {
  const policy = new RolePolicy(grants, branch, { administers: false, locks: false });
  atOnce(policy.prepare());
  return policy;
}

/** The policy of identity `me` with one role that has some permissions. */
export function policyOf(permissions: JsonValue, branch?: string, more: readonly string[] = []): RolePolicy {
  const records = testRecords([testRole('mine', permissions), ...more.map((id) => testRole(id, []))]);
  return policyFrom(grantsOfUser('me', testUser({ roles: ['mine', ...more] }), records), branch);
}

/** What a test says of a node. */
export interface NodeSpec {
  readonly workspace?: string;
  readonly path?: string;
  readonly nodeType?: string;
  readonly id?: string;
  readonly createdBy?: string;
  readonly properties?: JsonObject;
}

/** A node as the subject of an operation. */
export function subjectOf({ workspace = 'content', ...spec }: NodeSpec): Subject {
  const node = readableNode(spec);
  return { workspace, path: node.path, nodeType: node.nodeType, node };
}

/** All operations. */
export const everyOperation: readonly Operation[] = [
  'create',
  'read',
  'update',
  'delete',
  'translate',
  'relate',
  'unrelate',
];
