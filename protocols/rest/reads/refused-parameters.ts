import { KnownNames, unknownName } from '#runtime/errors/known-names.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { otherSpelling } from '#protocols/http/other-spelling.ts';
import { isRead } from './read-consistency.ts';
import type { RestRequest, RestRoute } from '../rest-route.ts';

/**
 * Lets every route refuse the query parameters that its documentation does not have, but for the routes that take any.
 * Somebody who deletes at an address with `?revision=` means that revision, somebody who sends a node back that was read
 * with `?lang=` means its translation, and somebody who asks for `?limt=10` means ten: what would be done is neither.
 *
 * @see docs/interface/conventions.md#query-parameters
 */
export function refusingParameters(routes: readonly RestRoute[]): readonly RestRoute[] {
  return routes.map((route) => {
    if (route.takesAnyParameter === true) return route;
    const known = queryParametersOf(route);
    return {
      ...route,
      handler(request) {
        if (request.queryString !== '') refuseUnknown(request, known);
        return route.handler(request);
      },
    };
  });
}

/** The query parameters a route is documented to take, in both spellings. */
function queryParametersOf({ docs }: RestRoute): KnownNames {
  const names = (docs.parameters ?? []).flatMap(({ in: place, name }) => (place === 'query' ? [name] : []));
  return new KnownNames(names, names.map(otherSpelling));
}

function refuseUnknown({ query, route }: RestRequest, known: KnownNames): void {
  const name = query.findName((each) => !known.has(each));
  if (name === undefined) return;
  if (name === 'revision' && !isRead(route)) {
    const message = "This does not take the query parameter 'revision': a write goes to the head";
    throw new ServiceError('READ_ONLY_REVISION', message, { field: name });
  }
  throw unknownName('query parameter', name, known.names);
}

/**
 * Refuses query parameters that a route has and the command or address it is asked for takes no notice of.
 *
 * @throws {ServiceError} `VALIDATION_FAILED`
 */
export function refuseParameters({ query, route }: RestRequest, names: readonly string[]): void {
  const name = query.findName((each) => names.includes(each));
  if (name === undefined) return;
  const others = queryParametersOf(route).names.filter((each) => !names.includes(each));
  throw unknownName('query parameter', name, others);
}
