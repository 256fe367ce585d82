import type { JsonObject } from '../values/json-value.ts';
import { decidingProperties } from './deciding-nodes.ts';

const everyOperation = ['create', 'read', 'update', 'delete', 'translate', 'relate', 'unrelate'];
const ownNode = 'node.id == auth.local_user_id';
const ofContent = "!node.workspace.startsWith('svc:')";
const ownHome = 'node.path.descendantOf(auth.home)';

function role(id: string, description: string, permissions: readonly JsonObject[]): JsonObject {
  return {
    name: id,
    node_type: 'svc:Role',
    properties: { role_id: id, name: id, description, inherits: [], permissions },
  };
}

function own(
  path: string,
  operations: readonly string[],
  condition: string,
  more: JsonObject = {},
): JsonObject {
  return { path, workspace: 'svc:access_control', operations, ...more, condition };
}

/**
 * The shipped roles. `anonymous` grants nothing. An `author` changes only nodes they created. Home folders are compared
 * by `descendantOf`, because a prefix would also match a sibling with a longer name. Users change their own node, but not
 * their roles. Editors and authors write nothing in workspaces of the system: who writes roles there has every permission.
 *
 * @see docs/interface/built-ins.md#shipped-roles
 */
export const builtInRoles: readonly JsonObject[] = [
  role('system_admin', 'May do everything.', [{ path: '**', operations: everyOperation }]),
  role('anonymous', 'Callers without a token.', []),
  role('authenticated_user', 'What every user may do with their own data.', [
    own('users/**', ['read'], ownNode, { node_types: ['svc:User'] }),
    own('users/**', ['update'], ownNode, { node_types: ['svc:User'], except_fields: decidingProperties }),
    own('users/**/profile/**', ['read', 'update'], ownHome),
    own('users/**/profile', ['read'], "node.created_by RELATES auth.local_user_id VIA 'FRIENDS_WITH'"),
    own(
      'users/**/profile',
      ['read'],
      "node.created_by RELATES auth.local_user_id VIA 'FRIENDS_WITH' DEPTH 1..2",
      {
        fields: ['display_name', 'avatar', 'bio'],
      },
    ),
    {
      path: 'users/**',
      workspace: 'svc:access_control',
      operations: ['read'],
      node_types: ['svc:User'],
      fields: ['display_name'],
    },
    own('users/**/inbox/**', ['read', 'update', 'delete'], ownHome),
    own('users/**/outbox/**', ['create'], ownHome, { node_types: ['svc:Message', 'svc:Conversation'] }),
    own('users/**/outbox/**', ['read', 'update', 'delete'], ownHome),
    own('users/**/sent/**', ['read'], ownHome),
    own('users/**/notifications/**', ['read', 'update', 'delete'], ownHome),
  ]),
  role('viewer', 'May read.', [{ path: '**', operations: ['read'] }]),
  role('editor', 'May read, and write content.', [
    { path: '**', operations: ['read'] },
    { path: '**', operations: ['create', 'update', 'delete', 'translate'], condition: ofContent },
  ]),
  role('author', 'May read, create content, and change what they created.', [
    { path: '**', operations: ['read'] },
    { path: '**', operations: ['create'], condition: ofContent },
    {
      path: '**',
      operations: ['update', 'delete'],
      condition: `node.created_by == auth.user_id && ${ofContent}`,
    },
  ]),
];

function folder(name: string, children: readonly JsonObject[] = []): JsonObject {
  return { name, node_type: 'svc:AclFolder', ...(children.length === 0 ? {} : { children }) };
}

/** The initial nodes of `svc:access_control`. @see docs/interface/built-ins.md#first-nodes-of-access-control */
export const accessControlNodes: readonly JsonObject[] = [
  folder('config', [
    {
      name: 'default',
      node_type: 'svc:SecurityConfig',
      properties: { workspace: '*', default_policy: 'deny', anonymous_enabled: false },
    },
  ]),
  folder('users', [
    folder('system', [
      {
        name: 'anonymous',
        node_type: 'svc:User',
        properties: { user_id: 'anonymous', email: null, display_name: 'Anonymous', roles: ['anonymous'] },
      },
    ]),
    folder('internal'),
  ]),
  folder('roles', builtInRoles),
  folder('groups'),
  folder('relation-types'),
  folder('circles'),
  folder('graph-config'),
];
