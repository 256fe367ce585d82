import { mapList, mapOptional } from './map-parts.ts';
import type {
  AccessChangeStatement,
  AccessReadStatement,
  AlterGroupStatement,
  AlterRoleStatement,
  AlterUserStatement,
  GrantNode,
  SecuritySetting,
} from './nodes/access-nodes.ts';
import type { MapChild, RebuildersOf } from './syntax-node.ts';

/** How statements of access are made anew from their children. */
export const accessRebuilders: RebuildersOf<(AccessChangeStatement | AccessReadStatement)['kind']> = {
  'create-role': (node, map) => ({
    ...node,
    name: map(node.name),
    description: mapOptional(node.description, map),
    inherits: node.inherits.map(map),
    permissions: node.permissions.map((grant) => mapGrant(grant, map)),
  }),
  'alter-role': (node, map) => ({ ...node, name: map(node.name), change: mapRoleChange(node.change, map) }),
  'create-group': (node, map) => ({
    ...node,
    name: map(node.name),
    description: mapOptional(node.description, map),
    roles: node.roles.map(map),
  }),
  'alter-group': (node, map) => ({ ...node, name: map(node.name), change: mapGroupChange(node.change, map) }),
  'create-user': (node, map) => ({
    ...node,
    name: map(node.name),
    email: mapOptional(node.email, map),
    displayName: mapOptional(node.displayName, map),
    roles: node.roles.map(map),
    groups: node.groups.map(map),
    birthDate: mapOptional(node.birthDate, map),
    folder: mapOptional(node.folder, map),
  }),
  'alter-user': (node, map) => ({ ...node, name: map(node.name), change: mapUserChange(node.change, map) }),
  'drop-access': (node, map) => ({ ...node, name: map(node.name) }),
  'describe-access': (node, map) => ({ ...node, name: map(node.name) }),
  'show-access': (node, map) => ({
    ...node,
    like: mapOptional(node.like, map),
    inGroup: mapOptional(node.inGroup, map),
    withRole: mapOptional(node.withRole, map),
  }),
  grant: (node, map) => ({ ...node, names: node.names.map(map), name: map(node.name) }),
  revoke: (node, map) => ({ ...node, names: node.names.map(map), name: map(node.name) }),
  'alter-security': (node, map) => ({
    ...node,
    pattern: map(node.pattern),
    settings: node.settings.map((setting) => mapSetting(setting, map)),
  }),
  'show-security': (node, map) => ({ ...node, workspace: mapOptional(node.workspace, map) }),
  'show-permissions': (node, map) => ({
    ...node,
    user: map(node.user),
    workspace: mapOptional(node.workspace, map),
  }),
  'show-effective-roles': (node, map) => ({ ...node, user: map(node.user) }),
};

function mapGrant(grant: GrantNode, map: MapChild): GrantNode {
  return {
    ...grant,
    workspace: mapOptional(grant.workspace, map),
    path: map(grant.path),
    branch: mapOptional(grant.branch, map),
    nodeTypes: mapList(grant.nodeTypes, map),
    fields: mapList(grant.fields, map),
    exceptFields: mapList(grant.exceptFields, map),
  };
}

function mapRoleChange(change: AlterRoleStatement['change'], map: MapChild): AlterRoleStatement['change'] {
  switch (change.kind) {
    case 'add-permission':
      return { ...change, grant: mapGrant(change.grant, map) };
    case 'drop-permission':
      return { ...change, number: map(change.number) };
    case 'add-inherits':
    case 'drop-inherits':
      return { ...change, roles: change.roles.map(map) };
    case 'set-description':
      return { ...change, text: map(change.text) };
  }
}

function mapGroupChange(change: AlterGroupStatement['change'], map: MapChild): AlterGroupStatement['change'] {
  return change.kind === 'set-description'
    ? { ...change, text: map(change.text) }
    : { ...change, roles: change.roles.map(map) };
}

function mapUserChange(change: AlterUserStatement['change'], map: MapChild): AlterUserStatement['change'] {
  return change.kind === 'set'
    ? { ...change, value: map(change.value) }
    : { ...change, names: change.names.map(map) };
}

function mapSetting(setting: SecuritySetting, map: MapChild): SecuritySetting {
  switch (setting.kind) {
    case 'default-policy':
      return { ...setting, policy: map(setting.policy) };
    case 'anonymous-role':
      return { ...setting, role: map(setting.role) };
    case 'interface':
      return { ...setting, value: map(setting.value) };
    case 'anonymous-enabled':
      return setting;
  }
}
