import type { InstallWorkspace, Written } from '#actors/branch/messages.ts';
import type {
  ListWorkspaces,
  PutWorkspace,
  PutWorkspaceConfig,
  ReadWorkspace,
  WorkspaceList,
  WorkspacePut,
} from '#actors/repository/messages.ts';
import { requireWorkspaceName } from '#runtime/content/names.ts';
import type { Workspace } from '#runtime/content/definitions/workspace-definition.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { repositoryOf } from '../access/branch-access.ts';
import { requireTenantAdministrator } from '../access/permission.ts';
import { clampedInteger } from '../reads/read-parameters.ts';
import { deliveryOf, readerOf, type RestContext } from '../rest-context.ts';
import type { RestRequest, RestRoute } from '../rest-route.ts';

const tag = 'Workspaces';
const notFound = { description: 'There is no such repository or workspace.' };

/** Maximum `limit` of a listing. */
const LIMIT_MAX = 1_000;

const typeList = { type: 'array', items: { type: 'string' } } as const;

const configSchema = {
  type: 'object',
  properties: {
    default_branch: { type: 'string', default: 'main' },
    node_type_pins: {
      type: 'object',
      description: 'Node type to the revision whose definition counts here; null is the newest.',
      additionalProperties: { type: ['string', 'null'] },
      'x-aliases': ['node_type_refs'],
    },
  },
} as const;

const configBodySchema = { ...configSchema, additionalProperties: false } as const;

const definitionProperties = {
  description: { type: ['string', 'null'] },
  allowed_node_types: { ...typeList, description: 'Empty or `*`: every type.' },
  allowed_root_node_types: { ...typeList, description: 'Empty or `*`: every type.' },
  depends_on: typeList,
  initial_structure: { type: ['object', 'null'] },
  config: configSchema,
} as const;

const workspaceSchema = {
  type: 'object',
  properties: {
    name: { type: 'string', readOnly: true },
    ...definitionProperties,
    created_at: { type: 'string', format: 'date-time', readOnly: true },
    updated_at: { type: 'string', format: 'date-time', readOnly: true },
  },
} as const;

/**
 * Workspaces of a repository and their configuration.
 *
 * @see docs/interface/repositories.md#workspaces
 */
export function workspaceRoutes(context: RestContext): readonly RestRoute[] {
  return [
    listRoute(context),
    readRoute(context),
    putRoute(context),
    readConfigRoute(context),
    putConfigRoute(context),
  ];
}

async function readWorkspace(context: RestContext, request: RestRequest): Promise<Workspace> {
  const { actor } = await repositoryOf(context, request);
  const name = request.segment('name');
  const query: ReadWorkspace = { type: 'ReadWorkspace', name };
  const workspace = (await context.router.query(actor, query, readerOf(request))) as Workspace | undefined;
  if (workspace === undefined) {
    throw new ServiceError('WORKSPACE_NOT_FOUND', `Workspace '${name}' not found`);
  }
  return workspace;
}

function listRoute(context: RestContext): RestRoute {
  return {
    method: 'GET',
    pattern: '/api/workspaces/{repo}',
    operationId: 'listWorkspaces',
    body: 'none',
    auth: 'required',
    docs: {
      summary: 'The workspaces of a repository',
      tag,
      parameters: [
        {
          name: 'limit',
          in: 'query',
          schema: { type: 'integer', minimum: 1, maximum: LIMIT_MAX },
          description: 'Default: all of them. Values beyond are clamped.',
        },
        { name: 'offset', in: 'query', schema: { type: 'integer', minimum: 0, default: 0 } },
      ],
      responses: {
        200: {
          description: 'Workspaces sorted by name.',
          schema: {
            type: 'object',
            properties: {
              items: { type: 'array', items: workspaceSchema },
              page: {
                type: 'object',
                properties: {
                  total: { type: 'integer' },
                  limit: { type: ['integer', 'null'] },
                  offset: { type: 'integer' },
                  nextOffset: { type: ['integer', 'null'] },
                },
              },
            },
          },
        },
        404: notFound,
      },
    },
    async handler(request) {
      const limit = clampedInteger(request.query, 'limit', { min: 1, max: LIMIT_MAX });
      const offset = clampedInteger(request.query, 'offset', { min: 0, max: Number.MAX_SAFE_INTEGER }) ?? 0;
      const { actor } = await repositoryOf(context, request);
      const query: ListWorkspaces = {
        type: 'ListWorkspaces',
        offset,
        ...(limit === undefined ? {} : { limit }),
      };
      const { items, total } = (await context.router.query(actor, query, readerOf(request))) as WorkspaceList;
      const next = offset + items.length;
      const nextOffset = items.length > 0 && next < total ? next : null;
      return { status: 200, json: { items, page: { total, limit: limit ?? null, offset, nextOffset } } };
    },
  };
}

function readRoute(context: RestContext): RestRoute {
  return {
    method: 'GET',
    pattern: '/api/workspaces/{repo}/{name}',
    operationId: 'readWorkspace',
    body: 'none',
    auth: 'required',
    docs: {
      summary: 'A workspace',
      tag,
      responses: { 200: { description: 'The workspace.', schema: workspaceSchema }, 404: notFound },
    },
    handler: async (request) => ({ status: 200, json: await readWorkspace(context, request) }),
  };
}

function putRoute(context: RestContext): RestRoute {
  return {
    method: 'PUT',
    pattern: '/api/workspaces/{repo}/{name}',
    operationId: 'putWorkspace',
    body: 'json',
    auth: 'required',
    permit: requireTenantAdministrator,
    docs: {
      summary: 'Create or replace a workspace',
      description:
        'The name in the address takes precedence over the name in the body. Existing nodes are kept. Missing nodes of the initial structure are created on the configured branch, as a separate revision. If that fails, the workspace is still stored, and the request can be repeated.',
      tag,
      requestSchema: {
        type: 'object',
        required: ['allowed_node_types', 'allowed_root_node_types'],
        properties: { ...workspaceSchema.properties, config: configBodySchema },
        additionalProperties: false,
      },
      responses: {
        204: { description: 'The workspace is stored.' },
        400: { description: 'A name or a value is not allowed.' },
        403: { description: 'The caller does not administer the tenant.' },
        404: notFound,
        422: { description: 'A list is missing.' },
      },
    },
    async handler(request) {
      const repository = await repositoryOf(context, request);
      const name = requireWorkspaceName(request.segment('name'));
      const delivery = deliveryOf(request);
      const put: PutWorkspace = { type: 'PutWorkspace', name, definition: request.body };
      const { branch } = (await context.router.command(repository.actor, put, delivery)) as WorkspacePut;
      const { actor } = await context.directory.branchOf(repository, branch, 'write');
      const install: InstallWorkspace = { type: 'InstallWorkspace', workspace: name };
      const { revision } = (await context.router.command(actor, install, delivery)) as Written;
      return revision === null ? { status: 204 } : { status: 204, headers: { 'X-Svc-Revision': revision } };
    },
  };
}

function readConfigRoute(context: RestContext): RestRoute {
  return {
    method: 'GET',
    pattern: '/api/workspaces/{repo}/{name}/config',
    operationId: 'readWorkspaceConfig',
    body: 'none',
    auth: 'required',
    docs: {
      summary: 'The configuration of a workspace',
      tag,
      responses: {
        200: { description: 'Default branch and type pins.', schema: configSchema },
        404: notFound,
      },
    },
    handler: async (request) => ({ status: 200, json: (await readWorkspace(context, request)).config }),
  };
}

function putConfigRoute(context: RestContext): RestRoute {
  return {
    method: 'PUT',
    pattern: '/api/workspaces/{repo}/{name}/config',
    operationId: 'putWorkspaceConfig',
    body: 'json',
    auth: 'required',
    permit: requireTenantAdministrator,
    docs: {
      summary: 'Replace the configuration of a workspace',
      description: '`node_type_refs` is an alias of `node_type_pins`.',
      tag,
      requestSchema: configBodySchema,
      responses: {
        204: { description: 'The configuration is stored.' },
        400: { description: 'A branch name or a revision is not one.' },
        403: { description: 'The caller does not administer the tenant.' },
        404: notFound,
      },
    },
    async handler(request) {
      const { actor } = await repositoryOf(context, request);
      const command: PutWorkspaceConfig = {
        type: 'PutWorkspaceConfig',
        name: request.segment('name'),
        config: request.body,
      };
      await context.router.command(actor, command, deliveryOf(request));
      return { status: 204 };
    },
  };
}
