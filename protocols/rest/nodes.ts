import type { ResponseDocs } from '#protocols/http/route.ts';
import { minRevisionParameter } from './branch-access.ts';
import { contentList, contentSchema } from './content-schemas.ts';
import { lockParameter, lockSchema } from './lock-precondition.ts';
import { AUDIT_LIMIT_MAX, commandNames } from './node-commands.ts';
import { readAtHead, readAtRevision } from './node-reads.ts';
import { deleteNode, postNode, putNode, refuseRevisionWrite } from './node-writes.ts';
import { readParameters, revisionParameter } from './read-parameters.ts';
import type { RestContext, RestRoute } from './rest-context.ts';

const tag = 'Nodes';

const headPattern = '/api/repository/{repo}/{branch}/head/{workspace}/{path*}';
const revisionPattern = '/api/repository/{repo}/{branch}/rev/{revision}/{workspace}/{path*}';

const pathParameter = {
  name: 'path',
  in: 'path',
  description:
    'Path of the node, percent-encoded segment by segment; empty or `/` for the root. `$ref/{id}` names a node by id; `…@{property}` one of its properties, dots stepping into objects; `…/svc:version` and `…/svc:version/{n}` its manual versions; `…/svc:{command}` and `…/svc:cmd/{command}` a command on it. With a trailing slash: its children.',
} as const;

const idempotencyParameter = {
  name: 'Idempotency-Key',
  in: 'header',
  description:
    'Up to 255 characters of the caller. A repetition with the same key answers the first outcome and takes effect once.',
} as const;

const missing: ResponseDocs = { description: 'There is no such repository, branch, workspace or node.' };
const badValue: ResponseDocs = { description: 'A value is not allowed; the message names it.' };
const readParameter: ResponseDocs = {
  description:
    'The address does not take the method; or `?revision=` names a revision, which cannot be written (`READ_ONLY_REVISION`). Other parameters of reads are 400.',
};
const badBody: ResponseDocs = {
  description: 'A field is missing or of the wrong type; the text names it.',
  schema: { type: 'string' },
  contentType: 'text/plain',
};

const readResponses = {
  200: {
    description:
      'The node; or its children as an array, page or tree; or the value of the property; or the versions. A path ending in `.yaml` or `.yml` that no node has answers the node without the ending as `text/yaml`.',
    schema: {
      anyOf: [
        contentSchema('Node'),
        contentList('Node'),
        contentSchema('NodePage'),
        contentSchema('NodeTree'),
        {},
      ],
    },
  },
  400: badValue,
  404: missing,
} as const;

/**
 * Nodes of a workspace: reading, writing and commands, at the head of a branch and at a revision.
 *
 * @see Content, Query, Functions and Versioning Interface: Endpoints, Nodes; Supplement 5, 6
 */
export function nodeRoutes(context: RestContext): readonly RestRoute[] {
  return [
    readRoute(context),
    postRoute(context),
    putRoute(context),
    deleteRoute(context),
    readAtRevisionRoute(context),
    refusalRoute('POST', 'refuseCreateAtRevision'),
    refusalRoute('PUT', 'refuseUpdateAtRevision'),
    refusalRoute('DELETE', 'refuseDeleteAtRevision'),
  ];
}

function readRoute(context: RestContext): RestRoute {
  return {
    method: 'GET',
    pattern: headPattern,
    operationId: 'readNode',
    body: 'none',
    auth: 'optional',
    docs: {
      summary: 'Read a node, its children, a property or its versions',
      description:
        '`?command=` and the command addresses answer `relations` and `list-translations`. `X-Svc-Revision` says which revision was read.',
      tag,
      parameters: [pathParameter, ...readParameters, revisionParameter, minRevisionParameter],
      responses: readResponses,
    },
    handler: (request) => readAtHead(context, request),
  };
}

function readAtRevisionRoute(context: RestContext): RestRoute {
  return {
    method: 'GET',
    pattern: revisionPattern,
    operationId: 'readNodeAtRevision',
    body: 'none',
    auth: 'optional',
    docs: {
      summary: 'Read a node, its children or a property as they were at a revision',
      description:
        'A moment between two revisions of the branch shows the earlier one, which `X-Svc-Revision` names. A revision that the branch does not have otherwise is 404 `REVISION_NOT_FOUND`: a future one, one of another branch, one before its first.',
      tag,
      parameters: [pathParameter, ...readParameters],
      responses: readResponses,
    },
    handler: (request) => readAtRevision(context, request),
  };
}

function postRoute(context: RestContext): RestRoute {
  return {
    method: 'POST',
    pattern: headPattern,
    operationId: 'createNode',
    body: 'optional-json',
    auth: 'required',
    docs: {
      summary: 'Create a node, or run a command on one',
      description: `Creates a node below the address; or, at \`svc:{command}\`, \`svc:cmd/{command}\` or with \`?command=\`, runs ${commandNames.join(', ')}. Commands answer 200, \`delete-translation\` and \`unhide-in-locale\` 204.`,
      tag,
      parameters: [
        pathParameter,
        {
          name: 'deep',
          in: 'query',
          schema: { type: 'boolean' },
          description: 'Makes missing parents, as `svc:Folder`.',
        },
        {
          name: 'command',
          in: 'query',
          schema: { type: 'string', enum: commandNames },
          description: 'Runs this command instead.',
        },
        {
          name: 'limit',
          in: 'query',
          schema: { type: 'integer', minimum: 1, maximum: AUDIT_LIMIT_MAX },
          description: 'Entries that `audit_log` answers at most.',
        },
        idempotencyParameter,
        lockParameter,
      ],
      requestSchema: {
        anyOf: [
          {
            allOf: [
              contentSchema('NewNode'),
              { type: 'object', properties: { commit: contentSchema('Commit'), lock: lockSchema } },
            ],
          },
          {
            type: 'object',
            required: ['node'],
            properties: { node: contentSchema('NewNode'), commit: contentSchema('Commit'), lock: lockSchema },
          },
          { type: 'object', description: 'The fields of a command.' },
        ],
      },
      responses: {
        200: { description: 'The command ran.', schema: {} },
        201: {
          description: 'The node alone at the root without `commit`, else with its revision.',
          schema: { anyOf: [contentSchema('Node'), contentSchema('NodeWritten')] },
        },
        204: { description: 'The command ran and has nothing to say.' },
        400: badValue,
        404: missing,
        405: readParameter,
        409: { description: 'A node is there already, or the lock the write names is not held.' },
        422: badBody,
        501: { description: 'There is no such command.' },
      },
    },
    handler: (request) => postNode(context, request),
  };
}

function putRoute(context: RestContext): RestRoute {
  return {
    method: 'PUT',
    pattern: headPattern,
    operationId: 'updateNode',
    body: 'json',
    auth: 'required',
    docs: {
      summary: 'Replace the properties of a node, or set one property',
      description:
        '`properties` replaces the stored set; a node that was read can be sent back. At `…@{property}` the body is the new value.',
      tag,
      parameters: [pathParameter, idempotencyParameter, lockParameter],
      requestSchema: {
        anyOf: [
          {
            type: 'object',
            required: ['properties'],
            properties: {
              properties: { type: 'object', additionalProperties: true },
              translations: { type: ['object', 'null'], additionalProperties: true },
              archetype: { type: ['string', 'null'] },
              owner_id: { type: ['string', 'null'] },
              commit: contentSchema('Commit'),
              lock: lockSchema,
            },
          },
          {},
        ],
      },
      responses: {
        200: {
          description:
            'The node, with its revision when `commit` was given; `{status: "property updated"}` for a property.',
          schema: {
            anyOf: [
              contentSchema('Node'),
              contentSchema('NodeWritten'),
              { type: 'object', properties: { status: { const: 'property updated' } } },
            ],
          },
        },
        400: badValue,
        404: missing,
        405: readParameter,
        422: badBody,
      },
    },
    handler: (request) => putNode(context, request),
  };
}

function deleteRoute(context: RestContext): RestRoute {
  return {
    method: 'DELETE',
    pattern: headPattern,
    operationId: 'deleteNode',
    body: 'optional-json',
    auth: 'required',
    docs: {
      summary: 'Delete a node with everything below it',
      tag,
      parameters: [pathParameter, idempotencyParameter, lockParameter],
      requestSchema: { type: 'object', properties: { commit: contentSchema('Commit'), lock: lockSchema } },
      responses: {
        200: {
          description: 'It is gone; `node_id`, `revision` and `committed` are there when `commit` was given.',
          schema: {
            type: 'object',
            required: ['deleted'],
            properties: {
              deleted: { const: true },
              node_id: { type: 'string' },
              revision: { type: 'string' },
              committed: { const: true },
            },
          },
        },
        400: { description: 'It, or something below it, is published.' },
        404: missing,
        405: readParameter,
        422: badBody,
      },
    },
    handler: (request) => deleteNode(context, request),
  };
}

function refusalRoute(method: 'POST' | 'PUT' | 'DELETE', operationId: string): RestRoute {
  return {
    method,
    pattern: revisionPattern,
    operationId,
    body: 'none',
    auth: 'none',
    docs: {
      summary: 'Refused: an earlier revision cannot be written',
      tag,
      // Refused whatever they ask for.
      parameters: [pathParameter, ...readParameters],
      responses: { 405: { description: 'Always, with code `READ_ONLY_REVISION`.' } },
    },
    handler: refuseRevisionWrite,
  };
}
