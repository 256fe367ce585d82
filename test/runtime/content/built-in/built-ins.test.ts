import { describe, expect, it } from 'vitest';
import {
  requireAllowedInWorkspace,
  requireAllowedUnder,
} from '#runtime/content/validation/allowed-children.ts';
import { builtInRoles } from '#runtime/content/built-in/access-content.ts';
import { builtInNodeTypes } from '#runtime/content/built-in/node-types.ts';
import { builtInWorkspaces } from '#runtime/content/built-in/workspaces.ts';
import {
  type InitialNode,
  planInitialChildren,
  planInitialStructure,
  requireInitialTypes,
} from '#runtime/content/validation/plan-initial-structure.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { parseNodeTypeDefinition } from '#runtime/content/definitions/node-type.ts';
import { newSchemaRecord } from '#runtime/content/definitions/schema-record.ts';
import { SchemaResolver } from '#runtime/content/resolution/schema-resolver.ts';
import type { ResolvedNodeType } from '#runtime/content/resolution/type-resolver.ts';
import { prepareProperties } from '#runtime/content/validation/validate-node.ts';
import {
  parseWorkspaceDefinition,
  type Workspace,
} from '#runtime/content/definitions/workspace-definition.ts';

const records = new Map(
  builtInNodeTypes.map(
    ({ definition }) => [definition.name, newSchemaRecord(definition, 'id', 't')] as const,
  ),
);
const source = {
  nodeType: (name: string) => records.get(name),
  archetype: () => undefined,
  elementType: () => undefined,
};
const resolver = new SchemaResolver(source);
const workspaces = new Map(
  builtInWorkspaces.map(
    ({ name, definition }) => [name, parseWorkspaceDefinition(name, definition, null, 't')] as const,
  ),
);

/** Every node of a plan, with its path and the type of its parent. */
function* nodesOf(
  nodes: readonly InitialNode[],
  at = '',
  parent: ResolvedNodeType | null = null,
): Generator<{
  readonly path: string;
  readonly node: InitialNode;
  readonly parent: ResolvedNodeType | null;
}> {
  for (const node of nodes) {
    const path = `${at}/${node.name}`;
    yield { path, node, parent };
    yield* nodesOf(node.children, path, resolver.nodeType(node.node_type)!);
  }
}

function initialNodes(workspace: Workspace) {
  return [...nodesOf(planInitialStructure(workspace.initial_structure, resolver))];
}

function pathsOf(name: string): string[] {
  return initialNodes(workspaces.get(name)!).map(({ path }) => path);
}

describe('built-in node types', () => {
  it('have all the types of the interface', () => {
    const names =
      `Folder Page Node Asset Function Trigger Flow Package User Profile ProfileData MessageFolder Message
      Conversation Notification Role Group AclFolder SecurityConfig RepoAuthConfig RelationType EntityCircle
      GraphAlgorithmConfig AuthConfig ProviderConfig Identity Session OneTimeToken WorkspaceAccess FlowInstance
      FlowStepExecution InboxTask Actor AIActor HumanActor ActorTask Agent StewardshipConfig StewardshipOverride
      MessagingConfig AIAgent AIConversation AIMessage AIThought AIPlan AITask AIToolCall AIToolResult
      AIToolSingleCallResult AIToolResultAggregator AICostRecord AIModel AIPrompt AICompaction AgentUserContext
      McpServer McpConnection StaticSiteFolder`
        .split(/\s+/)
        .map((name) => `svc:${name}`);
    expect([...records.keys()].sort()).toEqual(names.sort());
    expect(records.size).toBe(builtInNodeTypes.length);
  });

  it.each(builtInNodeTypes.map(({ definition, version }) => [definition.name, definition, version] as const))(
    '%s is valid, resolves, and names only types that exist',
    (name, definition, version) => {
      expect(version).toBeGreaterThanOrEqual(1);
      expect(parseNodeTypeDefinition(JSON.parse(JSON.stringify(definition)))).toEqual(definition);
      const resolved = resolver.nodeType(name)!;
      for (const child of definition.allowed_children) expect(records.has(child), child).toBe(true);
      requireInitialTypes(definition.initial_structure, name, source);
      const defaults = Object.fromEntries(resolved.defaults);
      const absent = resolved.required.filter((property) => !(property in defaults));
      const given = Object.fromEntries(absent.map((property) => [property, null]));
      expect(prepareProperties(resolved, null, given, resolver, 'create')).toEqual({ ...given, ...defaults });
    },
  );

  it('come with parents before children', () => {
    const seen = new Set<string>();
    for (const { definition } of builtInNodeTypes) {
      if (definition.extends !== null) expect(seen.has(definition.extends), definition.name).toBe(true);
      seen.add(definition.name);
    }
  });

  it('demand a title of a page, found by full text and by meaning', () => {
    const page = resolver.nodeType('svc:Page')!;
    expect(page.required).toEqual(['title']);
    expect(page.indexed).toEqual([
      { name: 'content', kinds: ['Fulltext', 'Vector'] },
      { name: 'title', kinds: ['Fulltext', 'Vector'] },
    ]);
    expect(page).toMatchObject({ versionable: true, publishable: true, auditable: true, strict: false });
  });

  it('give a new user its five children, the profile with two parts', () => {
    const paths = [...nodesOf(planInitialChildren(resolver.nodeType('svc:User')!, resolver))].map(
      ({ path }) => path,
    );
    expect(paths).toEqual([
      '/profile',
      '/profile/private',
      '/profile/public',
      '/inbox',
      '/outbox',
      '/sent',
      '/notifications',
    ]);
  });

  it('let a static site folder carry only a well-formed serving configuration [BUILT-016]', () => {
    const site = resolver.nodeType('svc:StaticSiteFolder')!;
    expect(site.supertypes).toEqual(['svc:Folder']);
    const serving_config = { frame_ancestors: ['https://a.b'], index_document: 'index.html' };
    expect(prepareProperties(site, null, { serving_config }, resolver, 'create')).toEqual({ serving_config });
    expect(() =>
      prepareProperties(site, null, { serving_config: { cache_control: 1 } }, resolver, 'create'),
    ).toThrowError(/serving_config.cache_control/);
  });
});

describe('built-in workspaces', () => {
  it('are those of the interface', () => {
    expect([...workspaces.keys()].sort()).toEqual(
      ['ai', 'default', 'functions', 'mcp', 'packages', 'svc:access_control', 'svc:system'].sort(),
    );
  });

  it.each([...workspaces.values()].map((workspace) => [workspace.name, workspace] as const))(
    '%s allows types that exist, and its own initial nodes are valid at their paths',
    (_name, workspace) => {
      for (const type of [...workspace.allowed_node_types, ...workspace.allowed_root_node_types]) {
        expect(records.has(type), type).toBe(true);
      }
      for (const type of workspace.allowed_root_node_types)
        expect(workspace.allowed_node_types).toContain(type);
      for (const { path, node, parent } of initialNodes(workspace)) {
        requireAllowedInWorkspace(workspace, node.node_type, parent === null);
        if (parent !== null) requireAllowedUnder(parent, node.node_type);
        const type = resolver.nodeType(node.node_type)!;
        expect(() => prepareProperties(type, null, node.properties, resolver, 'create'), path).not.toThrow();
      }
    },
  );

  it('start with the nodes of the interface', () => {
    expect(pathsOf('default')).toEqual([]);
    expect(pathsOf('functions')).toEqual(['/lib', '/lib/svc', '/apps', '/triggers']);
    expect(pathsOf('packages')).toEqual(['/installed', '/available', '/builtin']);
    expect(pathsOf('svc:system')).toEqual([
      '/config',
      '/config/auth',
      '/config/repos',
      '/providers',
      '/identities',
      '/sessions',
      '/tokens',
      '/access',
      '/flows',
      '/flows/instances',
      '/mcp-connections',
    ]);
    expect(pathsOf('svc:access_control')).toEqual(
      expect.arrayContaining([
        '/config/default',
        '/users/system/anonymous',
        '/users/internal',
        '/roles/system_admin',
        '/roles/anonymous',
        '/roles/authenticated_user',
        '/roles/viewer',
        '/roles/editor',
        '/roles/author',
        '/groups',
        '/relation-types',
        '/circles',
        '/graph-config',
      ]),
    );
  });

  it('let what their folders are for be created there', () => {
    const places: readonly [string, string, string][] = [
      ['svc:access_control', 'svc:AclFolder', 'svc:RelationType'],
      ['svc:access_control', 'svc:AclFolder', 'svc:User'],
      ['svc:access_control', 'svc:Folder', 'svc:Notification'],
      ['svc:access_control', 'svc:MessageFolder', 'svc:Conversation'],
      ['svc:system', 'svc:Folder', 'svc:McpConnection'],
      ['svc:system', 'svc:Folder', 'svc:RepoAuthConfig'],
      ['svc:system', 'svc:Folder', 'svc:FlowInstance'],
      ['default', 'svc:Folder', 'svc:StaticSiteFolder'],
    ];
    for (const [workspace, parent, type] of places) {
      requireAllowedInWorkspace(workspaces.get(workspace)!, type, false);
      requireAllowedUnder(resolver.nodeType(parent)!, type);
    }
    requireAllowedInWorkspace(workspaces.get('mcp')!, 'svc:McpServer', true);
    requireAllowedInWorkspace(workspaces.get('default')!, 'svc:StaticSiteFolder', true);
  });
});

describe('built-in roles', () => {
  const permissionsOf = (id: string) => {
    const role = builtInRoles.find((each) => each.name === id)!;
    return (role.properties as JsonObject).permissions as readonly JsonObject[];
  };

  it('grant nothing to anonymous callers', () => {
    expect(permissionsOf('anonymous')).toEqual([]);
  });

  it('let an author change only what they created', () => {
    const ofContent = "!node.workspace.startsWith('svc:')";
    expect(permissionsOf('author')).toEqual([
      { path: '**', operations: ['read'] },
      { path: '**', operations: ['create'], condition: ofContent },
      {
        path: '**',
        operations: ['update', 'delete'],
        condition: `node.created_by == auth.user_id && ${ofContent}`,
      },
    ]);
  });

  it('keep what every user may do within the access control workspace', () => {
    const permissions = permissionsOf('authenticated_user');
    expect(permissions).toHaveLength(11);
    for (const permission of permissions) expect(permission.workspace).toBe('svc:access_control');
  });

  it('use only operations there are, and always name a path', () => {
    const known = ['create', 'read', 'update', 'delete', 'translate', 'relate', 'unrelate'];
    for (const role of builtInRoles) {
      for (const permission of permissionsOf(role.name as string)) {
        expect(permission.path).toMatch(/\S/);
        for (const operation of permission.operations as string[]) expect(known).toContain(operation);
      }
    }
    expect(permissionsOf('system_admin')).toEqual([{ path: '**', operations: known }]);
  });
});
