import { assert } from '#runtime/base/assert.ts';
import { parsePattern } from '../path-router.ts';
import type { BodyKind, JsonSchema, ParameterDocs, ResponseDocs, Route, RouteDocs } from '../route.ts';

/** A route without the fields that only the server needs. */
export type DescribedRoute = Omit<Route<unknown>, 'handler'>;

/** One operation of the description: a route, one of its further operations, or several routes at a shared address. */
export interface DescribedOperation {
  readonly method: string;
  /** In OpenAPI's notation: the rest of a path is one variable. */
  readonly path: string;
  readonly operationId: string;
  readonly body: BodyKind;
  readonly auth: DescribedRoute['auth'];
  readonly errorShape: NonNullable<DescribedRoute['errorShape']>;
  readonly docs: RouteDocs;
}

const tailDocs = {
  in: 'path',
  description: 'The rest of the path; it may hold slashes, which stay as they are, and may be empty.',
} as const;

function operationOf(route: DescribedRoute): DescribedOperation {
  const { method, operationId, body, auth, docs } = route;
  const parts = parsePattern(route.pattern);
  const pieces = parts.map((part) => (part.kind === 'literal' ? part.text : `{${part.name}}`));
  const tail = parts.at(-1);
  const own = docs.parameters ?? [];
  const isDocumented =
    tail?.kind !== 'tail' || own.some((one) => one.in === 'path' && one.name === tail.name);
  const parameters = isDocumented ? own : [{ name: tail.name, ...tailDocs }, ...own];
  return {
    method,
    path: `/${pieces.join('/')}`,
    operationId,
    body,
    auth,
    errorShape: route.errorShape ?? 'standard',
    docs: { ...docs, parameters },
  };
}

function furtherOf(route: DescribedRoute): readonly DescribedOperation[] {
  const own = operationOf(route);
  return (route.docs.further ?? []).map(({ pattern, operationId, body, docs }) => ({
    ...own,
    path: pattern,
    operationId,
    body,
    docs,
  }));
}

/** One of several schemas; equal ones are written once. */
function oneOf(schemas: readonly JsonSchema[]): JsonSchema | undefined {
  const different = [...new Map(schemas.map((schema) => [JSON.stringify(schema), schema])).values()];
  return different.length < 2 ? different[0] : { anyOf: different };
}

function sharedResponse(responses: readonly ResponseDocs[]): ResponseDocs {
  const [first] = responses as readonly [ResponseDocs];
  const schema = oneOf(
    responses.flatMap((one): readonly JsonSchema[] => (one.schema === undefined ? [] : [one.schema])),
  );
  return schema === undefined ? first : { ...first, schema };
}

/** The routes at one shared address as one operation. */
function sharedOperation(routes: readonly DescribedRoute[]): DescribedOperation {
  const [first] = routes as readonly [DescribedRoute];
  const address = first.docs.address;
  assert(address !== undefined, `${first.operationId} has a shared address`);
  const values = routes.map((route) => route.docs.address?.value as string);
  for (const route of routes) {
    const { pattern, value } = route.docs.address ?? address;
    assert(
      pattern.replace(`{${address.variable}}`, value) === route.pattern && route.body === first.body,
      `the shared address of ${route.operationId} is that of its pattern`,
    );
  }
  const statuses = new Set(routes.flatMap((route) => Object.keys(route.docs.responses).map(Number)));
  const variable: ParameterDocs = {
    name: address.variable,
    in: 'path',
    description: address.description,
    schema: { type: 'string', enum: values },
  };
  const requestSchema = oneOf(
    routes.flatMap(({ docs }): readonly JsonSchema[] =>
      docs.requestSchema === undefined ? [] : [docs.requestSchema],
    ),
  );
  return {
    ...operationOf(first),
    path: address.pattern,
    operationId: address.operationId,
    docs: {
      ...first.docs,
      summary: address.summary,
      parameters: [variable, ...(first.docs.parameters ?? [])],
      ...(requestSchema === undefined ? {} : { requestSchema }),
      responses: Object.fromEntries(
        [...statuses].map((status) => [
          status,
          sharedResponse(routes.flatMap((route) => route.docs.responses[status] ?? [])),
        ]),
      ),
    },
  };
}

/** The operations of the description, in the order of the routes. A shared address is placed at its first route. */
export function operationsOf(routes: readonly DescribedRoute[]): readonly DescribedOperation[] {
  const shared = Map.groupBy(routes, ({ method, docs }) =>
    docs.address === undefined ? undefined : `${method} ${docs.address.pattern}`,
  );
  return routes.flatMap((route) => {
    const { address } = route.docs;
    if (address === undefined) return [operationOf(route), ...furtherOf(route)];
    const together = shared.get(`${route.method} ${address.pattern}`) as readonly DescribedRoute[];
    return together[0] === route ? [sharedOperation(together)] : [];
  });
}
