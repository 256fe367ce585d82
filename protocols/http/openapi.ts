import { assert } from '#runtime/base/assert.ts';
import { parsePattern } from './path-router.ts';
import type { JsonSchema, ParameterDocs, ResponseDocs, Route } from './route.ts';

/** A route without what only the server needs. */
export type DescribedRoute = Omit<Route<unknown>, 'handler'>;

/** What the description says of the whole interface. */
export interface OpenApiOptions {
  readonly title: string;
  /** Version of the interface. */
  readonly version: string;
  readonly description?: string;
  readonly routes: readonly DescribedRoute[];
  /** Named schemas that routes refer to as `{ $ref: '#/components/schemas/<name>' }`. */
  readonly schemas?: Readonly<Record<string, JsonSchema>>;
}

/** An OpenAPI 3.1 document as plain JSON. */
export interface OpenApiDocument {
  readonly openapi: '3.1.0';
  readonly info: Readonly<Record<string, unknown>>;
  readonly tags: readonly { readonly name: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, OpenApiOperation>>>>;
  readonly components: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

/** One operation of the document. */
export interface OpenApiOperation {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly tags: readonly string[];
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly parameters: readonly Readonly<Record<string, unknown>>[];
  readonly requestBody?: Readonly<Record<string, unknown>>;
  readonly responses: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

const errorSchemas: Readonly<Record<string, JsonSchema>> = {
  Error: {
    type: 'object',
    required: ['code', 'message', 'timestamp'],
    properties: {
      code: { type: 'string' },
      message: { type: 'string' },
      field: { type: 'string' },
      details: { type: 'object' },
      timestamp: { type: 'string', format: 'date-time' },
    },
  },
  QueryError: {
    type: 'object',
    required: ['error', 'message'],
    properties: { error: { type: 'string' }, message: { type: 'string' } },
  },
  ManagementError: {
    type: 'object',
    required: ['success', 'data', 'error'],
    properties: { success: { const: false }, data: { type: 'null' }, error: { type: 'string' } },
  },
};

const errorSchemaNames = { standard: 'Error', query: 'QueryError', management: 'ManagementError' } as const;

/** The pattern as OpenAPI writes it: a tail is one parameter, its leading slash part of the path. */
function pathOf(route: DescribedRoute): string {
  const pieces = parsePattern(route.pattern).map((part) =>
    part.kind === 'literal' ? part.text : `{${part.name}}`,
  );
  return `/${pieces.join('/')}`;
}

function parameterOf(docs: ParameterDocs): Readonly<Record<string, unknown>> {
  return {
    name: docs.name,
    in: docs.in,
    required: docs.in === 'path' || docs.isRequired === true,
    ...(docs.description === undefined ? {} : { description: docs.description }),
    schema: docs.schema ?? { type: 'string' },
  };
}

function parametersOf(route: DescribedRoute): readonly Readonly<Record<string, unknown>>[] {
  const documented = route.docs.parameters ?? [];
  const inPath: ParameterDocs[] = [];
  for (const part of parsePattern(route.pattern)) {
    if (part.kind === 'literal') continue;
    const own = documented.find((one) => one.in === 'path' && one.name === part.name);
    const rest: ParameterDocs = {
      name: part.name,
      in: 'path',
      description: 'The rest of the path; it may hold slashes and may be empty.',
    };
    inPath.push(own ?? (part.kind === 'tail' ? rest : { name: part.name, in: 'path' }));
  }
  const others = documented.filter((one) => one.in !== 'path');
  assert(
    documented.length - others.length <= inPath.length,
    `${route.operationId} documents path parameters of its pattern only`,
  );
  return [...inPath, ...others].map(parameterOf);
}

function requestBodyOf(route: DescribedRoute): Readonly<Record<string, unknown>> | undefined {
  const { body, docs } = route;
  if (body === 'none') return undefined;
  const isJson = body === 'json' || body === 'optional-json';
  const contentType = isJson ? 'application/json' : (docs.requestContentType ?? 'application/octet-stream');
  const schema = docs.requestSchema ?? (isJson ? {} : { type: 'string', format: 'binary' });
  return { required: body !== 'optional-json', content: { [contentType]: { schema } } };
}

function responseOf(docs: ResponseDocs): Readonly<Record<string, unknown>> {
  if (docs.schema === undefined) return { description: docs.description };
  const contentType = docs.contentType ?? 'application/json';
  return { description: docs.description, content: { [contentType]: { schema: docs.schema } } };
}

function responsesOf(route: DescribedRoute): Readonly<Record<string, Readonly<Record<string, unknown>>>> {
  const responses: Record<string, Readonly<Record<string, unknown>>> = {};
  for (const [status, docs] of Object.entries(route.docs.responses)) responses[status] = responseOf(docs);
  const schema = { $ref: `#/components/schemas/${errorSchemaNames[route.errorShape ?? 'standard']}` };
  responses.default = { description: 'An error', content: { 'application/json': { schema } } };
  return responses;
}

const securityOf = {
  required: [{ bearer: [] }],
  optional: [{ bearer: [] }, {}],
  none: [],
} as const;

function operationOf(route: DescribedRoute): OpenApiOperation {
  const { docs } = route;
  const requestBody = requestBodyOf(route);
  return {
    operationId: route.operationId,
    summary: docs.summary,
    ...(docs.description === undefined ? {} : { description: docs.description }),
    tags: [docs.tag],
    security: securityOf[route.auth],
    parameters: parametersOf(route),
    ...(requestBody === undefined ? {} : { requestBody }),
    responses: responsesOf(route),
  };
}

/** Every local `$ref` in a JSON value. */
function* referencesIn(value: unknown): Generator<string> {
  if (typeof value !== 'object' || value === null) return;
  for (const [key, inner] of Object.entries(value)) {
    if (key === '$ref' && typeof inner === 'string') yield inner;
    else yield* referencesIn(inner);
  }
}

/**
 * Describes a route table as an OpenAPI 3.1 document.
 * A doubled operation or path, or a reference to a schema that is not there, is a bug of the table.
 */
export function buildOpenApi(options: OpenApiOptions): OpenApiDocument {
  const { routes } = options;
  const schemas = { ...errorSchemas, ...options.schemas };
  const paths: Record<string, Record<string, OpenApiOperation>> = {};
  const operationIds = new Set<string>();
  for (const route of routes) {
    assert(!operationIds.has(route.operationId), `operation ${route.operationId} is described once`);
    operationIds.add(route.operationId);
    const path = pathOf(route);
    paths[path] ??= {};
    const operations = paths[path] as Record<string, OpenApiOperation>;
    const method = route.method.toLowerCase();
    assert(operations[method] === undefined, `${route.method} ${path} is described once`);
    operations[method] = operationOf(route);
  }
  for (const reference of referencesIn([paths, schemas])) {
    const name = reference.replace('#/components/schemas/', '');
    assert(Object.hasOwn(schemas, name), `${reference} names a schema of the document`);
  }
  return {
    openapi: '3.1.0',
    info: {
      title: options.title,
      version: options.version,
      ...(options.description === undefined ? {} : { description: options.description }),
    },
    tags: [...new Set(routes.map((route) => route.docs.tag))].map((name) => ({ name })),
    paths,
    components: {
      schemas,
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', description: 'A login token or an API key (`svc_…`).' },
      },
    },
  };
}
