import { KnownNames, unknownName } from '#runtime/errors/known-names.ts';
import { invalid, ServiceError } from '#runtime/errors/service-error.ts';
import { otherSpelling } from '#protocols/http/other-spelling.ts';
import type { ParameterDocs } from '#protocols/http/route.ts';
import { isRead } from './read-consistency.ts';
import type { RestRequest, RestRoute } from '../rest-route.ts';

/**
 * Lets every route refuse the query parameters that its documentation does not have, and those that it has once and are
 * given twice with different values; but for the routes that take any. Somebody who deletes at an address with
 * `?revision=` means that revision, somebody who sends a node back that was read with `?lang=` means its translation, and
 * somebody who asks for `?limt=10` means ten: what would be done is neither. Of `?limit=1&limit=2` nobody knows.
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

/** The query parameters of a route. */
interface RouteParameters {
  readonly known: KnownNames;
  /** Those of which several count. */
  readonly lists: ReadonlySet<string>;
}

/** The query parameters a route is documented to take, in both spellings. */
function queryParametersOf({ docs }: RestRoute): RouteParameters {
  const parameters = (docs.parameters ?? []).filter(({ in: place }) => place === 'query');
  const names = parameters.map(({ name }) => name);
  const lists = parameters.flatMap(({ isRepeatable, name }) => (isRepeatable === true ? [name] : []));
  return { known: new KnownNames(names, names.map(otherSpelling)), lists: new Set(lists) };
}

function refuseUnknown({ query, route }: RestRequest, { known, lists }: RouteParameters): void {
  const name = query.findName((each) => !known.has(each));
  if (name !== undefined) {
    if (name === 'revision' && !isRead(route)) {
      const message = "This does not take the query parameter 'revision': a write goes to the head";
      throw new ServiceError('READ_ONLY_REVISION', message, { field: name });
    }
    throw unknownName('query parameter', name, known.names);
  }
  const twice = query.findConflict((each) => lists.has(each));
  if (twice === undefined) return;
  throw invalid(`The query parameter '${twice}' is given twice, with different values`, { field: twice });
}

/**
 * Refuses query parameters that a route has and what is asked of it takes no notice of.
 *
 * @param here what is asked, as the subject of "takes"
 * @param taken names of the parameters that it takes notice of; those that the route does not have do not matter
 * @throws {ServiceError} `VALIDATION_FAILED`; the message says what the parameter is for
 */
export function refuseParametersBut(
  { query, route }: RestRequest,
  here: string,
  taken: readonly string[],
): void {
  const name = query.findName((each) => !taken.includes(each));
  if (name === undefined) return;
  const documented = (route.docs.parameters ?? []).filter(({ in: place }) => place === 'query');
  const purpose = documented.find((parameter) => parameter.name === name)?.isFor ?? 'something else';
  throw invalid(
    `The query parameter '${name}' is for ${purpose}; ${here} takes ${listOf(taken, documented)}`,
    {
      field: name,
    },
  );
}

function listOf(taken: readonly string[], documented: readonly ParameterDocs[]): string {
  const names = taken.filter((name) => documented.some((parameter) => parameter.name === name));
  return names.length === 0 ? 'no query parameter' : names.join(', ');
}
