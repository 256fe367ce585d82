import { KnownNames, unknownName } from '#runtime/errors/known-names.ts';
import { invalid, ServiceError } from '#runtime/errors/service-error.ts';
import { otherSpelling } from '#protocols/http/requests/other-spelling.ts';
import type { ParameterDocs } from '#protocols/http/route.ts';
import { mayRead } from './read-consistency.ts';
import type { RestRequest, RestRoute } from '../rest-route.ts';

/**
 * Makes every route refuse undocumented query parameters, and non-repeatable ones that are given twice with different
 * values, except for routes that take any parameter. Without this a request would do something else than its sender
 * intends: a delete with `?revision=` means that revision, sending back a node that was read with `?lang=` means its
 * translation, and `?limt=10` means ten items. `?limit=1&limit=2` is ambiguous.
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
  /** Repeatable parameters. */
  readonly lists: ReadonlySet<string>;
}

/** The documented query parameters of a route, in both spellings. */
function queryParametersOf({ docs }: RestRoute): RouteParameters {
  const parameters = (docs.parameters ?? []).filter(({ in: place }) => place === 'query');
  const names = parameters.map(({ name }) => name);
  const lists = parameters.flatMap(({ isRepeatable, name }) => (isRepeatable === true ? [name] : []));
  return { known: new KnownNames(names, names.map(otherSpelling)), lists: new Set(lists) };
}

function refuseUnknown({ query, route }: RestRequest, { known, lists }: RouteParameters): void {
  const name = query.findName((each) => !known.has(each));
  if (name !== undefined) {
    if (name === 'revision' && !mayRead(route)) {
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
 * Refuses query parameters that the route has but that the requested form ignores.
 *
 * @param here the requested form, as the subject of "takes"
 * @param taken names of the parameters it uses; names that the route lacks have no effect
 * @throws {ServiceError} `VALIDATION_FAILED`; the message states the parameter's purpose
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
