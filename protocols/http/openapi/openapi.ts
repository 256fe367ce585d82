import { assert } from '#runtime/base/assert.ts';
import { atOnce } from '#runtime/base/event-loop/at-once.ts';
import { type Exchange, Examples, type ParameterValue } from './openapi-examples.ts';
import { type DescribedOperation, type DescribedRoute, operationsOf } from './openapi-operations.ts';
import { errorSchemas, Responses } from './openapi-responses.ts';
import { parsePattern } from '../path-router.ts';
import { takesBody } from '../requests/body-head.ts';
import type { JsonSchema, ParameterDocs } from '../route.ts';

/** Contents of the description besides the routes. */
export interface OpenApiOptions {
  readonly title: string;
  /** Version of the interface. */
  readonly version: string;
  readonly description?: string;
  /** SPDX identifier. */
  readonly license: string;
  /** Description of each tag, by name. Every tag of the routes has one. */
  readonly tags: Readonly<Record<string, string>>;
  readonly routes: readonly DescribedRoute[];
  /** Named schemas that routes refer to as `{ $ref: '#/components/schemas/<name>' }`. */
  readonly schemas?: Readonly<Record<string, JsonSchema>>;
  /** Examples of operations; each names a described operation. */
  readonly examples?: readonly Exchange[];
  /** Path parameters of every example that does not set them. */
  readonly exampleParameters?: Readonly<Record<string, ParameterValue>>;
}

/** An OpenAPI 3.1 document as plain JSON. */
export interface OpenApiDocument {
  readonly openapi: '3.1.0';
  readonly info: Readonly<Record<string, unknown>>;
  readonly servers: readonly { readonly url: string; readonly description: string }[];
  readonly tags: readonly { readonly name: string; readonly description: string }[];
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

function parameterOf(docs: ParameterDocs): Readonly<Record<string, unknown>> {
  return {
    name: docs.name,
    in: docs.in,
    required: docs.in === 'path' || docs.isRequired === true,
    ...(docs.description === undefined ? {} : { description: docs.description }),
    schema: docs.schema ?? { type: 'string' },
  };
}

function parametersOf(
  { path, operationId, docs }: DescribedOperation,
  examples: Examples,
): readonly Readonly<Record<string, unknown>>[] {
  const documented = (docs.parameters ?? []).filter(({ isUndescribed }) => isUndescribed !== true);
  const inPath = parsePattern(path).flatMap((part): ParameterDocs[] => {
    if (part.kind === 'literal') return [];
    const own = documented.find((one) => one.in === 'path' && one.name === part.name);
    return [own ?? { name: part.name, in: 'path' }];
  });
  const others = documented.filter((one) => one.in !== 'path');
  assert(
    documented.length - others.length <= inPath.length,
    `${operationId} documents path parameters of its pattern only`,
  );
  return [...inPath, ...others].map((one) => {
    const own = one.in === 'header' ? undefined : examples.ofParameter(operationId, one.name);
    return { ...parameterOf(one), ...(own === undefined ? {} : { examples: own }) };
  });
}

function requestBodyOf(
  { body, docs, operationId }: DescribedOperation,
  examples: Examples,
): Readonly<Record<string, unknown>> | undefined {
  if (!takesBody({ body })) return undefined;
  const isJson = body === 'json' || body === 'optional-json';
  const contentTypes = isJson
    ? (docs.jsonTypes ?? ['application/json'])
    : [docs.requestContentType ?? 'application/octet-stream'];
  const schema = docs.requestSchema ?? (isJson ? {} : { type: 'string', format: 'binary' });
  const own = examples.ofBody(operationId);
  const one = { schema, ...(own === undefined ? {} : { examples: own }) };
  const content = Object.fromEntries(contentTypes.map((contentType) => [contentType, one]));
  return { required: body !== 'optional-json', content };
}

/** Components that operations refer to, so that each is written once. */
class Shared {
  readonly responses: Responses;
  readonly parameters: Record<string, Readonly<Record<string, unknown>>> = {};

  constructor(examples: Examples) {
    this.responses = new Responses(examples);
  }

  /** A header is shared if all routes describe it alike; one with another description is written inline. */
  parameter(one: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
    const name = String(one.name);
    if (one.in !== 'header') return one;
    this.parameters[name] ??= one;
    const isSame = JSON.stringify(this.parameters[name]) === JSON.stringify(one);
    return isSame ? { $ref: `#/components/parameters/${name}` } : one;
  }
}

const securityOf = {
  required: [{ bearer: [] }],
  optional: [{ bearer: [] }, {}],
  none: [],
} as const;

function describe(operation: DescribedOperation, examples: Examples, shared: Shared): OpenApiOperation {
  const { auth, docs, operationId } = operation;
  const requestBody = requestBodyOf(operation, examples);
  return {
    operationId,
    summary: docs.summary,
    ...(docs.description === undefined ? {} : { description: docs.description }),
    tags: [docs.tag],
    security: securityOf[auth],
    parameters: parametersOf(operation, examples).map((one) => shared.parameter(one)),
    ...(requestBody === undefined ? {} : { requestBody }),
    responses: shared.responses.of(operation),
  };
}

/** Every local `$ref` in a JSON value, except in examples. */
function* referencesIn(value: unknown): Generator<string> {
  if (typeof value !== 'object' || value === null) return;
  for (const [key, inner] of Object.entries(value)) {
    if (key === '$ref' && typeof inner === 'string') yield inner;
    else if (key !== 'examples') yield* referencesIn(inner);
  }
}

type Components = Readonly<Record<'schemas' | 'parameters' | 'responses', Readonly<Record<string, unknown>>>>;

function requireReferences(value: unknown, components: Components): void {
  for (const reference of referencesIn(value)) {
    const [, kind, name] = /^#\/components\/(schemas|parameters|responses)\/(.+)$/.exec(reference) ?? [];
    const isThere = kind !== undefined && Object.hasOwn(components[kind as keyof Components], name ?? '');
    assert(isThere, `${reference} names a component of the document`);
  }
}

function tagsOf(
  operations: readonly DescribedOperation[],
  descriptions: Readonly<Record<string, string>>,
): OpenApiDocument['tags'] {
  return [...new Set(operations.map(({ docs }) => docs.tag))].map((name) => {
    const description = descriptions[name];
    assert(description !== undefined, `tag ${name} is described`);
    return { name, description };
  });
}

/** Describes operations one by one. A duplicate operation or path is a bug in the table. */
function* pathsOf(
  operations: readonly DescribedOperation[],
  examples: Examples,
  shared: Shared,
): Generator<undefined, OpenApiDocument['paths']> {
  const paths: Record<string, Record<string, OpenApiOperation>> = {};
  const operationIds = new Set<string>();
  for (const operation of operations) {
    const { method, operationId, path } = operation;
    assert(!operationIds.has(operationId), `operation ${operationId} is described once`);
    operationIds.add(operationId);
    paths[path] ??= {};
    const atPath = paths[path] as Record<string, OpenApiOperation>;
    assert(atPath[method.toLowerCase()] === undefined, `${method} ${path} is described once`);
    atPath[method.toLowerCase()] = describe(operation, examples, shared);
    yield;
  }
  for (const operation of examples.operations) {
    assert(operationIds.has(operation), `the examples of ${operation} are of an operation`);
  }
  return paths;
}

/**
 * Describes a route table as an OpenAPI 3.1 document; yields where the work may be suspended. A duplicate operation
 * or path, or a reference to a missing schema, is a bug in the table.
 */
export function* describeRoutes(options: OpenApiOptions): Generator<undefined, OpenApiDocument> {
  const operations = operationsOf(options.routes);
  yield;
  const schemas = { ...errorSchemas, ...options.schemas };
  const examples = new Examples(options.examples ?? [], options.exampleParameters ?? {});
  const shared = new Shared(examples);
  const paths = yield* pathsOf(operations, examples, shared);
  const components = { schemas, parameters: shared.parameters, responses: shared.responses.components };
  for (const one of [...Object.values(paths), components]) {
    requireReferences(one, components);
    yield;
  }
  const { description, license, tags, title, version } = options;
  return {
    openapi: '3.1.0',
    info: {
      title,
      version,
      ...(description === undefined ? {} : { description }),
      license: { name: license, identifier: license },
    },
    servers: [{ url: '/', description: 'The server that this description was read from.' }],
    tags: tagsOf(operations, tags),
    paths,
    components: {
      ...components,
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', description: 'A login token or an API key (`svc_…`).' },
      },
    },
  };
}

/** As {@link describeRoutes}, in one go. */
export function buildOpenApi(options: OpenApiOptions): OpenApiDocument {
  return atOnce(describeRoutes(options));
}
