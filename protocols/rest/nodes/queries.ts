import type { JsonAnswer, RunDslQuery, RunQuery } from '#actors/branch/messages.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { parsePath } from '#runtime/content/path.ts';
import type { Revision } from '#runtime/content/revision.ts';
import { invalid, ServiceError } from '#runtime/errors/service-error.ts';
import { type BodyFields, bodyFields } from '#protocols/http/requests/body-fields.ts';
import type { HttpReply, ParameterDocs } from '#protocols/http/route.ts';
import { askBranch, likelyBranchOf, minRevisionParameter, replyOf } from '../access/branch-access.ts';
import { contentSchema } from '../content-schemas.ts';
import { expandParameter, fieldsParameter, partOf } from '../reads/property-names.ts';
import { headMoment, revisionMoment } from '../reads/read-moment.ts';
import { revisionParameter } from '../reads/read-parameters.ts';
import { callerOf, type RestContext } from '../rest-context.ts';
import type { RestRequest, RestRoute } from '../rest-route.ts';
import { afterwards, type Soon } from '#runtime/base/event-loop/soon.ts';

const tag = 'Queries';

const pageFields = {
  limit: { type: 'integer', minimum: 1, description: 'Default: everything. Values below count as 1.' },
  offset: { type: 'integer', minimum: 0, default: 0 },
} as const;

const responses = {
  200: {
    description: 'The nodes that match; `nextOffset` is null on the last page.',
    schema: contentSchema('QueryAnswer'),
  },
  400: { description: 'The query is not one; `{error: "BadRequest", message}`.' },
  404: { description: 'There is no such repository, branch or workspace.' },
  413: {
    description:
      'The query takes more work or memory than one request may, or its body is too large; `{error, message}` says what to change.',
  },
  422: {
    description: 'A field is of the wrong type; the text names it.',
  },
} as const;

/** The addresses and target revision of a query. */
interface QueryPlace {
  readonly prefix: string;
  /** Suffix of the operation names. */
  readonly suffix: string;
  /** Ends the summary. */
  readonly asOf: string;
  readonly parameters: readonly ParameterDocs[];
  /** Whether nodes are written at the same addresses. */
  readonly isWritable: boolean;
  moment(request: RestRequest): Revision | undefined;
}

const places: readonly QueryPlace[] = [
  {
    prefix: '/api/repository/{repo}/{branch}/head/{workspace}',
    suffix: '',
    asOf: '',
    isWritable: true,
    parameters: [fieldsParameter, expandParameter, revisionParameter, minRevisionParameter],
    moment: headMoment,
  },
  {
    prefix: '/api/repository/{repo}/{branch}/rev/{revision}/{workspace}',
    suffix: 'AtRevision',
    asOf: ', as it was at a revision',
    isWritable: false,
    parameters: [fieldsParameter, expandParameter],
    moment: revisionMoment,
  },
];

/**
 * The JSON query and the boolean query of a workspace, at the head and at a revision.
 *
 * @see docs/interface/queries.md
 */
export function queryRoutes(context: RestContext): readonly RestRoute[] {
  return places.flatMap((place) => {
    const routes = [queryRoute(context, place), dslRoute(context, place)];
    return place.isWritable ? routes.map((route) => ({ ...route, refuseMisplaced })) : routes;
  });
}

/** Maximum characters of a command quoted in its refusal. */
const COMMAND_LENGTH_MAX = 40;

/**
 * Refuses commands and creates for a node whose address is that of a query. They cannot be confused with a query: a
 * query has no `?command=`, and a query field called `name` or `node_type` is an object.
 *
 * @throws {ServiceError} `VALIDATION_FAILED`
 */
function refuseMisplaced({ body, path, query }: RestRequest): void {
  const command = query.get('command');
  if (command !== undefined) {
    const address = `${path}/svc:cmd/${command.slice(0, COMMAND_LENGTH_MAX)}`;
    throw invalid(`This is the address of a query; a command on the node is posted to '${address}'`, {
      field: 'command',
    });
  }
  if (!isCreation(body)) return;
  throw invalid(`This is the address of a query; a child of the node is created with POST '${path}/'`);
}

function isCreation(body: unknown): boolean {
  if (typeof body !== 'object' || body === null) return false;
  const { name, node, node_type: type, nodeType = type } = body as Readonly<Record<string, unknown>>;
  if (typeof node === 'object' && node !== null) return isCreation(node);
  return typeof name === 'string' && typeof nodeType === 'string';
}

function queryRoute(context: RestContext, place: QueryPlace): RestRoute {
  return {
    method: 'POST',
    pattern: `${place.prefix}/query`,
    operationId: `queryNodes${place.suffix}`,
    body: 'json',
    isRead: true,
    auth: 'optional',
    errorShape: 'query',
    docs: {
      summary: `Nodes of a type, children of a node, or the node at a path${place.asOf}`,
      description:
        'Give exactly one selector; `path` takes precedence over the others. The result is sorted by path, then by id. At a revision, a query by type reads the whole workspace.',
      tag,
      parameters: place.parameters,
      requestSchema: {
        type: 'object',
        properties: {
          nodeType: { type: 'string' },
          parent: { type: 'string', description: 'Id or path.' },
          path: { type: 'string' },
          ...pageFields,
        },
        additionalProperties: false,
      },
      responses,
    },
    handler: (request) =>
      run(context, request, parseQueryBody(request.segment('workspace'), request.body), place),
  };
}

function dslRoute(context: RestContext, place: QueryPlace): RestRoute {
  return {
    method: 'POST',
    pattern: `${place.prefix}/query/dsl`,
    operationId: `queryNodesByDsl${place.suffix}`,
    body: 'optional-json',
    isRead: true,
    auth: 'optional',
    errorShape: 'query',
    docs: {
      summary: `Root-level nodes by a boolean tree of conditions${place.asOf}`,
      description:
        '`and`, `or`, `not` and fields (`id`, `name`, `path`, `node_type`, `parent`, `properties.<key>`) with `eq`, `ne`, `like`, `contains`, `in`, `exists`, `gt`, `lt`, `gte`, `lte`; everything at one level must hold. Without conditions: every root-level node.',
      tag,
      parameters: place.parameters,
      requestSchema: {
        allOf: [
          contentSchema('Condition'),
          {
            type: 'object',
            properties: {
              order_by: {
                type: 'object',
                additionalProperties: { type: 'string', enum: ['asc', 'desc'] },
                description: 'Texts are compared by their first 4096 characters.',
              },
              ...pageFields,
            },
          },
        ],
      },
      responses,
    },
    handler: (request) =>
      run(context, request, parseDslBody(request.segment('workspace'), request.body), place),
  };
}

function run(
  context: RestContext,
  request: RestRequest,
  query: RunQuery | RunDslQuery,
  place: QueryPlace,
): Soon<HttpReply> {
  const at = place.moment(request);
  const asked = { ...query, ...partOf(request) };
  const dated = at === undefined ? asked : { ...asked, at };
  return afterwards(likelyBranchOf(context, request, 'read'), (branch) =>
    askBranch<JsonAnswer>(context, request, branch, dated, callerOf(request), replyOf, at),
  );
}

/**
 * Reads the body of a JSON query.
 *
 * @throws {ServiceError} `VALIDATION_FAILED` without a selector or with two, `UNPROCESSABLE_BODY`
 */
export function parseQueryBody(workspace: string, body: unknown): RunQuery {
  const fields = bodyFields(body);
  return { type: 'RunQuery', workspace, selector: selectorOf(fields), ...pageOf(fields) };
}

function selectorOf(fields: BodyFields): RunQuery['selector'] {
  const nodeType = fields.optionalString('nodeType');
  const parent = fields.optionalString('parent');
  const path = fields.optionalString('path');
  if (path !== undefined) return { path: parsePath(path) };
  if (nodeType !== undefined && parent !== undefined) {
    throw invalid('A query has exactly one selector, not nodeType and parent');
  }
  if (nodeType !== undefined) return { nodeType };
  if (parent !== undefined) return { parent };
  throw new ServiceError('VALIDATION_FAILED', 'A query has exactly one of nodeType, parent and path');
}

/**
 * Reads the body of a DSL query. The branch validates all of it, including `order_by` and page.
 *
 * @param body undefined for an empty body: every root-level node
 * @throws {ServiceError} `UNPROCESSABLE_BODY` unless it is an object
 */
export function parseDslBody(workspace: string, body: unknown): RunDslQuery {
  const filter = bodyFields(body ?? {}).raw as JsonObject;
  return { type: 'RunDslQuery', workspace, filter };
}

function pageOf(fields: BodyFields): { readonly limit?: number; readonly offset?: number } {
  const limit = fields.optionalInteger('limit');
  const offset = fields.optionalInteger('offset');
  return { ...(limit === undefined ? {} : { limit }), ...(offset === undefined ? {} : { offset }) };
}
