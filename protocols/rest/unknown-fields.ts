import { bodyShape } from '#protocols/http/requests/body-shape.ts';
import type { JsonSchema } from '#protocols/http/route.ts';
import type { RestRoute } from './rest-route.ts';

/** Makes routes with a `refuseMisplaced` run it before anything else. */
export function refusingMisplaced(routes: readonly RestRoute[]): readonly RestRoute[] {
  return routes.map((route) => {
    const { refuseMisplaced } = route;
    if (refuseMisplaced === undefined) return route;
    return {
      ...route,
      handler(request) {
        refuseMisplaced(request);
        return route.handler(request);
      },
    };
  });
}

/**
 * Makes every route refuse body fields that its documentation lacks, where the schema has
 * `additionalProperties: false`: a misspelt field would be ignored silently. If the body depends on the address, as
 * with node commands, the handler has its own shapes.
 *
 * @param schemas that the documentation refers to
 * @see docs/interface/conventions.md#requests
 */
export function refusingFields(
  routes: readonly RestRoute[],
  schemas: Readonly<Record<string, JsonSchema>>,
): readonly RestRoute[] {
  return routes.map((route) => {
    const { requestSchema } = route.docs;
    const isJson = route.body === 'json' || route.body === 'optional-json';
    const shape = isJson && requestSchema !== undefined ? bodyShape(requestSchema, schemas) : undefined;
    if (shape === undefined) return route;
    return {
      ...route,
      handler(request) {
        shape.refuseUnknown(request.body);
        return route.handler(request);
      },
    };
  });
}
