import { bodyShape } from '#protocols/http/body-shape.ts';
import type { JsonSchema } from '#protocols/http/route.ts';
import type { RestRoute } from './rest-route.ts';

/** Lets the routes that have a `refuseMisplaced` run it before anything else. */
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
 * Lets every route refuse the fields of a body that its documentation does not have, where this says
 * `additionalProperties: false`: a field that is misspelt would be left out, and nobody told. Where the body depends on
 * the address, as with the commands of nodes, the handler has its own shapes.
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
