import type {
  BranchQuery,
  DefinitionKind,
  DefinitionWritten,
  DeleteDefinition,
  PublishDefinition,
  PutDefinition,
  ResolveDefinition,
  ValidateNode,
  Written,
} from '#actors/branch/messages.ts';
import type { ActorId } from '#runtime/actor/ports.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { bodyFields } from '#protocols/http/requests/body-fields.ts';
import type { HttpReply, ResponseDocs, SharedAddress } from '#protocols/http/route.ts';
import {
  askBranch,
  branchOf,
  likelyBranchOf,
  replyOf,
  revisionHeaders,
  sendCommand,
} from '../access/branch-access.ts';
import { requireTenantAdministrator } from '../access/permission.ts';
import { bareCommit, bareCommitSchema, optionalCommit } from '../commit-info.ts';
import { contentList, contentSchema } from '../content-schemas.ts';
import { callerOf, type RestContext } from '../rest-context.ts';
import type { RestRequest, RestRoute } from '../rest-route.ts';
import { afterwards, type Soon } from '#runtime/base/event-loop/soon.ts';

/** Dependencies of the definition routes. */
export interface DefinitionsContext extends RestContext {
  readonly jobs: {
    /** Resolves when the job that builds the pending property indexes of a branch is listed. Never rejects. */
    readonly indexBuildListed: (branch: ActorId) => Promise<void>;
  };
}

/** One family of definitions and the names in its routes. */
interface Family {
  readonly kind: DefinitionKind;
  /** Segment of the address. */
  readonly segment: string;
  /** Key that wraps the definition in the body of a write. */
  readonly wrapper: string;
  /** Name of its schema in the description. */
  readonly schema: string;
  /** For operation names: `NodeType`. */
  readonly operation: string;
  /** For texts: `node type`. */
  readonly label: string;
  readonly resolves?: ResolveDefinition['kind'];
}

const families: readonly Family[] = [
  {
    kind: 'node_type',
    segment: 'nodetypes',
    wrapper: 'node_type',
    schema: 'NodeType',
    operation: 'NodeType',
    label: 'node type',
    resolves: 'node_type',
  },
  {
    kind: 'archetype',
    segment: 'archetypes',
    wrapper: 'archetype',
    schema: 'Archetype',
    operation: 'Archetype',
    label: 'archetype',
    resolves: 'archetype',
  },
  {
    kind: 'element_type',
    segment: 'elementtypes',
    wrapper: 'element_type',
    schema: 'ElementType',
    operation: 'ElementType',
    label: 'element type',
    resolves: 'element_type',
  },
  {
    kind: 'mixin',
    segment: 'mixins',
    wrapper: 'node_type',
    schema: 'NodeType',
    operation: 'Mixin',
    label: 'mixin',
  },
];

const tag = 'Schema';

const missing: ResponseDocs = { description: 'There is no such repository, branch or definition.' };
const badDefinition: ResponseDocs = { description: 'The definition is not valid; the message says why.' };
const notAdministrator: ResponseDocs = {
  description: 'The caller does not administer the tenant.',
};
const refusedWrite: ResponseDocs = {
  description:
    'The caller does not administer the tenant, or it is a built-in node type and would be gone or lose what it is shipped with.',
};
const badBody: ResponseDocs = {
  description: 'The wrapper or another field is missing or of the wrong type; the text names it.',
};

/**
 * Node types, archetypes, element types and mixins of a branch.
 *
 * @see docs/interface/node-types.md#routes-of-definitions
 */
export function definitionRoutes(context: DefinitionsContext): readonly RestRoute[] {
  return families.flatMap((family) => [
    putByBodyRoute(context, family),
    listRoute(context, family, false),
    listRoute(context, family, true),
    readRoute(context, family),
    ...(family.resolves === undefined ? [] : [resolveRoute(context, family, family.resolves)]),
    replaceRoute(context, family),
    deleteRoute(context, family),
    publishRoute(context, family, true),
    publishRoute(context, family, false),
    validateRoute(context, family),
  ]);
}

function patternOf({ segment }: Family, rest = ''): string {
  return `/api/management/{repo}/{branch}/${segment}${rest}`;
}

/**
 * One address for all families. With separate ones the description has addresses of as many variables as those of
 * branches, `/api/management/repositories/{tenant}/{repo}/branches/{branch}`, and some texts match both patterns.
 */
function sharedAddress(family: Family, ending: string, operationId: string, summary: string): SharedAddress {
  return {
    pattern: `/api/management/{repo}/{branch}/{family}/{name}/${ending}`,
    variable: 'family',
    description: 'What kind of definition it is.',
    value: family.segment,
    operationId,
    summary,
  };
}

function ask(context: RestContext, request: RestRequest, query: BranchQuery): Soon<HttpReply> {
  return afterwards(likelyBranchOf(context, request, 'read'), (branch) =>
    askBranch<unknown>(context, request, branch, query, callerOf(request), replyOf),
  );
}

/** @param isNamed whether the address contains the name */
function writeSchema({ schema, wrapper }: Family, isNamed: boolean) {
  const definition = contentSchema(`${schema}Body`);
  return {
    type: 'object',
    required: [wrapper],
    properties: {
      [wrapper]: isNamed ? definition : { allOf: [definition, { required: ['name'] }] },
      commit: contentSchema('Commit'),
    },
    additionalProperties: false,
  };
}

function putByBodyRoute(context: DefinitionsContext, family: Family): RestRoute {
  const { label, operation, schema } = family;
  return {
    method: 'POST',
    pattern: patternOf(family),
    operationId: `put${operation}`,
    body: 'json',
    auth: 'required',
    permit: requireTenantAdministrator,
    docs: {
      summary: `Create ${article(label)} ${label}, or replace the one of this name`,
      tag,
      requestSchema: writeSchema(family, false),
      responses: {
        200: { description: 'It replaced one.', schema: contentSchema(schema) },
        201: { description: 'It is new.', schema: contentSchema(schema) },
        400: badDefinition,
        403: refusedWrite,
        404: missing,
        422: badBody,
      },
    },
    handler: (request) => put(context, request, family),
  };
}

function replaceRoute(context: DefinitionsContext, family: Family): RestRoute {
  const { label, operation, schema } = family;
  return {
    method: 'PUT',
    pattern: patternOf(family, '/{name}'),
    operationId: `replace${operation}`,
    body: 'json',
    auth: 'required',
    permit: requireTenantAdministrator,
    docs: {
      summary: `Replace ${article(label)} ${label}`,
      tag,
      requestSchema: writeSchema(family, true),
      responses: {
        200: { description: 'The new definition.', schema: contentSchema(schema) },
        400: badDefinition,
        403: refusedWrite,
        404: missing,
        422: badBody,
      },
    },
    handler: (request) => put(context, request, family, request.segment('name')),
  };
}

async function put(
  context: DefinitionsContext,
  request: RestRequest,
  { kind, wrapper }: Family,
  replaceName?: string,
): Promise<HttpReply> {
  const fields = bodyFields(request.body);
  const definition = fields.object(wrapper);
  const commit = optionalCommit(fields);
  const command: PutDefinition = {
    type: 'PutDefinition',
    kind,
    definition,
    ...(replaceName === undefined ? {} : { replaceName }),
    ...(commit === undefined ? {} : { commit }),
  };
  const branch = await likelyBranchOf(context, request, 'write');
  const written = await sendCommand<DefinitionWritten>(context, request, branch, command);
  await context.jobs.indexBuildListed(branch.actor);
  return {
    status: written.created ? 201 : 200,
    headers: revisionHeaders(written),
    json: written.definition,
  };
}

function listRoute(context: RestContext, family: Family, publishedOnly: boolean): RestRoute {
  const { kind, label, operation, schema } = family;
  return {
    method: 'GET',
    pattern: patternOf(family, publishedOnly ? '/published' : ''),
    operationId: `list${publishedOnly ? 'Published' : ''}${operation}s`,
    body: 'none',
    auth: 'required',
    docs: {
      summary: `Every ${publishedOnly ? 'published ' : ''}${label} of the branch`,
      tag,
      responses: {
        200: { description: 'Sorted by name.', schema: contentList(schema) },
        404: { description: 'There is no such repository or branch.' },
      },
    },
    handler: (request) => ask(context, request, { type: 'ListDefinitions', kind, publishedOnly }),
  };
}

function readRoute(context: RestContext, family: Family): RestRoute {
  const { kind, label, operation, schema } = family;
  return {
    method: 'GET',
    pattern: patternOf(family, '/{name}'),
    operationId: `read${operation}`,
    body: 'none',
    auth: 'required',
    docs: {
      summary: `One ${label}`,
      tag,
      responses: { 200: { description: 'The definition.', schema: contentSchema(schema) }, 404: missing },
    },
    handler: (request) =>
      ask(context, request, { type: 'ReadDefinition', kind, name: request.segment('name') }),
  };
}

function resolveRoute(context: RestContext, family: Family, kind: ResolveDefinition['kind']): RestRoute {
  const { label, operation } = family;
  return {
    method: 'GET',
    pattern: patternOf(family, '/{name}/resolved'),
    operationId: `resolve${operation}`,
    body: 'none',
    auth: 'required',
    docs: {
      summary: `One ${label} with everything it inherits`,
      tag,
      parameters: [
        {
          name: 'workspace',
          in: 'query',
          description: 'Resolves against the versions that this workspace pins.',
        },
      ],
      responses: {
        200: {
          description: 'The definition, what it resolves to, and its inheritance chain, itself first.',
          schema: {
            type: 'object',
            properties: { inheritance_chain: { type: 'array', items: { type: 'string' } } },
            additionalProperties: true,
          },
        },
        404: missing,
      },
      address: sharedAddress(
        family,
        'resolved',
        'resolveDefinition',
        'One definition with everything it inherits',
      ),
    },
    handler(request) {
      const workspace = request.query.get('workspace');
      const name = request.segment('name');
      return ask(context, request, {
        type: 'ResolveDefinition',
        kind,
        name,
        ...(workspace === undefined || workspace === '' ? {} : { workspace }),
      });
    },
  };
}

function deleteRoute(context: DefinitionsContext, family: Family): RestRoute {
  const { kind, label, operation } = family;
  return {
    method: 'DELETE',
    pattern: patternOf(family, '/{name}'),
    operationId: `delete${operation}`,
    body: 'optional-json',
    auth: 'required',
    permit: requireTenantAdministrator,
    docs: {
      summary: `Delete ${article(label)} ${label}`,
      description: 'Nodes that use it stay readable.',
      tag,
      requestSchema: bareCommitSchema,
      responses: { 204: { description: 'It is gone.' }, 403: refusedWrite, 404: missing },
    },
    async handler(request) {
      const commit = bareCommit(request.body);
      const command: DeleteDefinition = {
        type: 'DeleteDefinition',
        kind,
        name: request.segment('name'),
        ...(commit === undefined ? {} : { commit }),
      };
      const branch = await likelyBranchOf(context, request, 'write');
      const written = await sendCommand<Written>(context, request, branch, command);
      await context.jobs.indexBuildListed(branch.actor);
      return { status: 204, headers: revisionHeaders(written) };
    },
  };
}

function publishRoute(context: RestContext, family: Family, publish: boolean): RestRoute {
  const { kind, label, operation } = family;
  const verb = publish ? 'publish' : 'unpublish';
  return {
    method: 'POST',
    pattern: patternOf(family, `/{name}/${verb}`),
    operationId: `${verb}${operation}`,
    body: 'optional-json',
    auth: 'required',
    permit: requireTenantAdministrator,
    docs: {
      summary: `${publish ? 'Publish' : 'Unpublish'} ${article(label)} ${label}`,
      description: publish
        ? '`actor` of the body becomes `published_by`; without one it is `system`.'
        : 'Clears `published_at` and `published_by`.',
      tag,
      requestSchema: bareCommitSchema,
      responses: { 200: { description: 'Done; the body is empty.' }, 403: notAdministrator, 404: missing },
      address: sharedAddress(
        family,
        verb,
        `${verb}Definition`,
        `${publish ? 'Publish' : 'Unpublish'} a definition`,
      ),
    },
    async handler(request) {
      const commit = bareCommit(request.body);
      const command: PublishDefinition = {
        type: 'PublishDefinition',
        kind,
        name: request.segment('name'),
        publish,
        ...(commit === undefined ? {} : { commit }),
      };
      const branch = await likelyBranchOf(context, request, 'write');
      const written = await sendCommand<Written>(context, request, branch, command);
      return { status: 200, headers: revisionHeaders(written) };
    },
  };
}

function validateRoute(context: RestContext, family: Family): RestRoute {
  const { label, operation } = family;
  return {
    method: 'POST',
    pattern: patternOf(family, '/validate'),
    operationId: `validateAgainst${operation}s`,
    body: 'json',
    isRead: true,
    auth: 'required',
    docs: {
      summary: 'Run the checks of a write without storing anything',
      description: `Required, strict, unique, archetype and element rules of a node, whichever ${label}s it uses.`,
      tag,
      requestSchema: {
        type: 'object',
        required: ['workspace', 'node'],
        properties: { workspace: { type: 'string' }, node: contentSchema('NewNode') },
        additionalProperties: false,
      },
      responses: {
        200: { description: 'Also when the node is not valid.', schema: contentSchema('Validation') },
        404: { description: 'There is no such repository, branch or workspace.' },
        422: badBody,
      },
    },
    handler(request) {
      const query = parseValidateBody(request.body);
      return afterwards(branchOf(context, request), (branch) => {
        // A validation checks a write, and uniqueness is known for the head only.
        if (branch.taggedAt !== undefined) throw new ServiceError('READ_ONLY_REVISION');
        return askBranch<unknown>(context, request, branch, query, callerOf(request), replyOf);
      });
    },
  };
}

/**
 * Reads the body of a validation.
 *
 * @throws {ServiceError} `UNPROCESSABLE_BODY`
 */
function parseValidateBody(body: unknown): ValidateNode {
  const fields = bodyFields(body);
  const node = fields.fields('node');
  const archetype = node.optionalString('archetype');
  return {
    type: 'ValidateNode',
    workspace: fields.string('workspace'),
    node: {
      name: node.string('name'),
      nodeType: node.string('node_type'),
      properties: (node.optionalObject('properties') ?? {}) as JsonObject,
      ...(archetype === undefined ? {} : { archetype }),
    },
  };
}

function article(label: string): string {
  return /^[aeiou]/.test(label) ? 'an' : 'a';
}
