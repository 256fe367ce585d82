import type { ParameterDocs, ResponseDocs } from '#protocols/http/route.ts';
import { minRevisionParameter } from '../access/branch-access.ts';
import { contentList, contentSchema } from '../content-schemas.ts';
import { lockSchema } from '../lock-precondition.ts';
import { preconditionParameters, readConditionParameters, versionSchema } from './conditions.ts';
import { readCommandNames } from './node-commands.ts';
import { commandOperations, partsAtHead, partsAtRevision } from './command-docs.ts';
import { readAtHead, readAtRevision } from './node-reads.ts';
import { createSchema, updateSchema, wrappedCreateSchema } from './node-shapes.ts';
import { deleteNode, patchNode, postNode, putNode, refuseRevisionWrite } from './node-writes.ts';
import { readParameters, revisionParameter } from '../reads/read-parameters.ts';
import type { RestContext } from '../rest-context.ts';
import type { RestRoute } from '../rest-route.ts';

const tag = 'Nodes';

const headPattern = '/api/repository/{repo}/{branch}/head/{workspace}/{path*}';
const revisionPattern = '/api/repository/{repo}/{branch}/rev/{revision}/{workspace}/{path*}';

const pathParameter = {
  name: 'path',
  in: 'path',
  description:
    'Path of the node, percent-encoded segment by segment; empty or `/` for the root. `/` between segments and `@` before a property are not encoded, which generated clients must be configured for. `$ref/{id}` names a node by its id. `…@{property}` names a property; dots lead into objects. A trailing slash names the children.',
} as const;

const readCommandParameter: ParameterDocs = {
  name: 'command',
  in: 'query',
  schema: { type: 'string', enum: readCommandNames },
  description: 'Answers what this command reads instead.',
  isFor: 'the address of a node',
  // These have addresses of their own in the description.
  isUndescribed: true,
};

const missing: ResponseDocs = { description: 'There is no such repository, branch, workspace or node.' };
const badValue: ResponseDocs = { description: 'A value is not allowed; the message names it.' };
const readParameter: ResponseDocs = {
  description:
    'The address does not support the method, or `?revision=` names a revision, which cannot be written (`READ_ONLY_REVISION`). Other parameters of reads are answered 400.',
};
const preconditionFailed: ResponseDocs = {
  description:
    'The node is not in the state that `If-Match`, `If-None-Match` or `version` of the body requires (`PRECONDITION_FAILED`); nothing was written. `details` has its current `version` and `etag`.',
};

const readResponses = {
  200: {
    description:
      'The node; or its children as an array, page or tree; or the value of the property. Nodes and properties have an `ETag`. If a path ends in `.yaml` or `.yml` and no node has it, the node without the ending is answered as `text/yaml`.',
    schema: {
      anyOf: [
        contentSchema('Node'),
        contentList('Node'),
        contentSchema('NodePage'),
        contentSchema('NodeTree'),
        { description: 'The value of a property: any JSON.' },
      ],
    },
    alternatives: { 'text/yaml': { type: 'string', description: 'The node as YAML.' } },
  },
  304: { description: '`If-None-Match` names the entity tag of the answer.' },
  400: badValue,
  404: missing,
  412: { description: 'The node has none of the entity tags of `If-Match`.' },
} as const;

/**
 * Nodes of a workspace: reading, writing and commands, at the head of a branch and at a revision.
 *
 * @see docs/interface/nodes.md
 */
export function nodeRoutes(context: RestContext): readonly RestRoute[] {
  return [
    readRoute(context),
    postRoute(context),
    putRoute(context),
    patchRoute(context),
    deleteRoute(context),
    readAtRevisionRoute(context),
    refusalRoute('POST', 'refuseCreateAtRevision'),
    refusalRoute('PUT', 'refuseUpdateAtRevision'),
    refusalRoute('PATCH', 'refusePatchAtRevision'),
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
      summary: 'Read a node, its children or a property',
      description:
        '`X-Svc-Revision` says which revision was read. `?command=relations`, `?command=list-translations` and `?command=incoming-references` answer what the addresses `…/svc:{command}` do.',
      tag,
      parameters: [
        pathParameter,
        ...readParameters,
        readCommandParameter,
        revisionParameter,
        minRevisionParameter,
        ...readConditionParameters,
      ],
      responses: readResponses,
      further: partsAtHead([revisionParameter, minRevisionParameter]),
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
        'A time between two revisions of the branch reads the earlier one; `X-Svc-Revision` names it. Any other revision that the branch does not have is answered 404 `REVISION_NOT_FOUND`: a future one, one of another branch, or one before its first.',
      tag,
      parameters: [pathParameter, ...readParameters, readCommandParameter, ...readConditionParameters],
      responses: readResponses,
      further: partsAtRevision,
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
      summary: 'Create a node below the address',
      description:
        'Commands on nodes have their own addresses, `…/svc:{command}`. `…/svc:cmd/{command}` and `?command={command}` at the node are accepted too, with names written with `-` or `_`.',
      tag,
      parameters: [
        pathParameter,
        {
          name: 'deep',
          in: 'query',
          schema: { type: 'boolean' },
          description: 'Makes missing parents, as `svc:Folder`.',
          isFor: 'the creation of a node',
        },
        { name: 'command', in: 'query', isUndescribed: true, isFor: 'the address of a node' },
        { name: 'limit', in: 'query', isUndescribed: true, isFor: "the command 'audit_log'" },
        ...preconditionParameters,
      ],
      requestSchema: {
        anyOf: [createSchema, wrappedCreateSchema],
      },
      responses: {
        201: {
          description: 'The node alone at the root without `commit`, else with its revision.',
          schema: { anyOf: [contentSchema('Node'), contentSchema('NodeWritten')] },
        },
        400: badValue,
        404: missing,
        405: readParameter,
        409: { description: 'A node is there already, or the lock the write names is not held.' },
        412: preconditionFailed,
        501: { description: 'The address or `?command=` names a command that does not exist.' },
      },
      further: commandOperations,
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
        '`properties` replaces the stored set; a node that was read can be sent back, and is refused when somebody changed it meanwhile, because its `version` is in it. `translations` replaces all translations: values that are not stored already must be ones the properties may have, in a supported language. At `…@{property}` the body is the new value.',
      tag,
      parameters: [pathParameter, ...preconditionParameters],
      requestSchema: {
        anyOf: [updateSchema, { description: 'The value of a property: any JSON.' }],
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
        412: preconditionFailed,
      },
    },
    handler: (request) => putNode(context, request),
  };
}

function patchRoute(context: RestContext): RestRoute {
  return {
    method: 'PATCH',
    pattern: headPattern,
    operationId: 'patchNode',
    body: 'json',
    auth: 'required',
    docs: {
      summary: 'Change parts of a node',
      description:
        'A JSON merge patch (RFC 7396) of the node: what is absent stays, null removes, objects are merged, arrays are replaced. In `translations` a locale of null removes that translation, `{"type": "hidden"}` hides the node in it.',
      tag,
      parameters: [pathParameter, ...preconditionParameters],
      jsonTypes: ['application/merge-patch+json', 'application/json'],
      requestSchema: {
        type: 'object',
        properties: {
          properties: { type: 'object', additionalProperties: true },
          translations: { type: ['object', 'null'], additionalProperties: true },
          archetype: { type: ['string', 'null'] },
          owner_id: { type: ['string', 'null'] },
          version: versionSchema,
          commit: contentSchema('Commit'),
          lock: lockSchema,
        },
        additionalProperties: false,
      },
      responses: {
        200: {
          description: 'The node with its `ETag`, and with its revision when `commit` was given.',
          schema: { anyOf: [contentSchema('Node'), contentSchema('NodeWritten')] },
        },
        400: badValue,
        404: missing,
        405: readParameter,
        412: preconditionFailed,
      },
    },
    handler: (request) => patchNode(context, request),
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
      summary: 'Delete a node with everything below it, or one property',
      description:
        'At `…@{property}` only that property is removed. If it is an item of an array, later items move up.',
      tag,
      parameters: [pathParameter, ...preconditionParameters],
      requestSchema: {
        type: 'object',
        properties: { commit: contentSchema('Commit'), lock: lockSchema, version: versionSchema },
        additionalProperties: false,
      },
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
        400: {
          description:
            'The node, or a node below it, is published; or the property is required, or is set by the node type.',
        },
        404: missing,
        405: readParameter,
        412: preconditionFailed,
      },
    },
    handler: (request) => deleteNode(context, request),
  };
}

function refusalRoute(method: 'POST' | 'PUT' | 'PATCH' | 'DELETE', operationId: string): RestRoute {
  return {
    method,
    pattern: revisionPattern,
    operationId,
    takesAnyParameter: true,
    body: 'ignored',
    auth: 'none',
    docs: {
      summary: 'Refused: an earlier revision cannot be written',
      tag,
      parameters: [pathParameter],
      responses: { 405: { description: 'Always, with code `READ_ONLY_REVISION`.' } },
    },
    handler: refuseRevisionWrite,
  };
}
