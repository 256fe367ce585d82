import { invalid, ServiceError } from '#runtime/errors/service-error.ts';
import type { Route } from '#protocols/http/route.ts';
import { isRead } from './read-consistency.ts';
import type { RestRequest, RestRoute } from './rest-context.ts';

/**
 * Lets every route that writes refuse the query parameters of reads, but for those it has itself, and reads refuse
 * `revision` where they do not take it. Somebody who deletes
 * at an address with `?revision=` means that revision, and somebody who sends a node back that was read with `?lang=`
 * means its translation; what would be done is neither.
 */
export function refusingParameters(routes: readonly RestRoute[]): readonly RestRoute[] {
  const ofReads = new Set(routes.filter(isRead).flatMap(queryParametersOf));
  return routes.map((route) => {
    const own = new Set(queryParametersOf(route));
    // A read that takes no revision would answer with some other state than the one that is asked for.
    const candidates = isRead(route) ? ['revision'] : [...ofReads];
    const refused = candidates.filter((name) => !own.has(name));
    if (refused.length === 0) return route;
    return {
      ...route,
      handler(request) {
        if (request.queryString !== '') refuseParameters(request, refused);
        return route.handler(request);
      },
    };
  });
}

/**
 * Refuses query parameters that a route takes no notice of.
 *
 * @throws {ServiceError} `READ_ONLY_REVISION` for `revision` with a write, else `VALIDATION_FAILED`
 */
export function refuseParameters({ query, route }: RestRequest, names: readonly string[]): void {
  const name = query.names.find((each) => names.includes(each) || names.includes(snakeCaseOf(each)));
  if (name === undefined) return;
  const message = `This does not take the query parameter '${name}'`;
  if (name === 'revision' && !isRead(route)) {
    throw new ServiceError('READ_ONLY_REVISION', `${message}: a write goes to the head`, { field: name });
  }
  throw invalid(message, { field: name });
}

function queryParametersOf({ docs }: Pick<Route<unknown>, 'docs'>): string[] {
  return (docs.parameters ?? []).flatMap((parameter) => (parameter.in === 'query' ? [parameter.name] : []));
}

function snakeCaseOf(camelCase: string): string {
  return camelCase.replace(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`);
}
