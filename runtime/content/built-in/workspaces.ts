import type { JsonObject } from '../values/json-value.ts';
import { accessControlNodes } from './access-content.ts';
import { aiTypeNames } from './ai-types.ts';
import { svc } from './define-type.ts';

/** A built-in workspace. */
export interface BuiltInWorkspace {
  /** Rises with every change: a repository with an older one receives this one. */
  readonly version: number;
  readonly name: string;
  /** The body a caller would PUT; its `initial_structure` holds the initial nodes. */
  readonly definition: JsonObject;
}

function shippedWorkspace(
  name: string,
  version: number,
  description: string,
  types: readonly string[],
  rootTypes: readonly string[],
  children: readonly JsonObject[] = [],
  dependsOn: readonly string[] = [],
): BuiltInWorkspace {
  return Object.freeze({
    version,
    name,
    definition: {
      description,
      allowed_node_types: types,
      allowed_root_node_types: rootTypes,
      depends_on: dependsOn,
      ...(children.length === 0 ? {} : { initial_structure: { children } }),
    },
  });
}

function folder(name: string, ...children: readonly JsonObject[]): JsonObject {
  return { name, node_type: 'svc:Folder', ...(children.length === 0 ? {} : { children }) };
}

const aclRootTypes = svc(
  'User',
  'Role',
  'Group',
  'AclFolder',
  'SecurityConfig',
  'StewardshipConfig',
  'RelationType',
  'EntityCircle',
  'StewardshipOverride',
  'GraphAlgorithmConfig',
);

/**
 * All built-in workspaces. `svc:access_control` also allows the types of nodes in a user's folders (notifications,
 * conversations, tasks, agents and the nodes they create).
 *
 * @see docs/interface/built-ins.md#built-in-workspaces
 */
export const builtInWorkspaces: readonly BuiltInWorkspace[] = Object.freeze([
  shippedWorkspace(
    'default',
    1,
    'Ordinary content.',
    svc('Folder', 'Page', 'Asset', 'Node', 'StaticSiteFolder'),
    svc('Folder', 'StaticSiteFolder'),
  ),
  shippedWorkspace(
    'functions',
    1,
    'Functions, triggers and flows.',
    svc('Folder', 'Function', 'Trigger', 'Asset', 'Flow', 'Node', 'AIAgent'),
    svc('Folder'),
    [folder('lib', folder('svc')), folder('apps'), folder('triggers')],
    ['default'],
  ),
  shippedWorkspace(
    'packages',
    1,
    'Packages, installed and available.',
    svc('Package', 'Folder', 'Asset', 'Node'),
    svc('Package', 'Folder'),
    [folder('installed'), folder('available'), folder('builtin')],
    ['default'],
  ),
  shippedWorkspace(
    'svc:access_control',
    1,
    'Users, roles and groups.',
    [
      ...aclRootTypes,
      ...svc('Profile', 'ProfileData', 'MessageFolder', 'Message', 'Folder'),
      ...svc('Conversation', 'Notification', 'InboxTask', 'MessagingConfig'),
      ...aiTypeNames,
    ],
    aclRootTypes,
    accessControlNodes,
  ),
  shippedWorkspace(
    'svc:system',
    1,
    'Settings of the repository.',
    svc(
      'AuthConfig',
      'RepoAuthConfig',
      'ProviderConfig',
      'Identity',
      'Session',
      'OneTimeToken',
      'WorkspaceAccess',
      'AclFolder',
      'Folder',
      'FlowInstance',
      'FlowStepExecution',
      'McpConnection',
      'Node',
    ),
    svc('AuthConfig', 'ProviderConfig', 'AclFolder', 'Folder'),
    [
      folder('config', { name: 'auth', node_type: 'svc:AuthConfig' }, folder('repos')),
      folder('providers'),
      folder('identities'),
      folder('sessions'),
      folder('tokens'),
      folder('access'),
      folder('flows', folder('instances')),
      folder('mcp-connections'),
    ],
  ),
  shippedWorkspace(
    'ai',
    1,
    'Agents and their conversations.',
    [...aiTypeNames, ...svc('Folder')],
    svc('Folder'),
  ),
  shippedWorkspace('mcp', 1, 'MCP endpoints.', svc('McpServer', 'Folder'), svc('McpServer', 'Folder')),
]);
