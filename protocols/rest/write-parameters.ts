import { invalid, ServiceError } from '#runtime/errors/service-error.ts';
import type { Route } from '#protocols/http/route.ts';
import { isRead } from './read-consistency.ts';
import type { RestRequest, RestRoute } from './rest-context.ts';

/**
 * Lets every route that writes refuse the query parameters of reads, but for those it has itself. Somebody who deletes
 * at an address with `?revision=` means that revision, and somebody who sends a node back that was read with `?lang=`
 * means its translation; what would be done is neither.
 */
export function refusingReadParameters(routes: readonly RestRoute[]): readonly RestRoute[] {
  const ofReads = new Set(routes.filter(isRead).flatMap(queryParametersOf));
  return routes.map((route) => {
    if (isRead(route)) return route;
    const own = new Set(queryParametersOf(route));
    const refused = [...ofReads].filter((name) => !own.has(name));
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
 * Refuses query parameters that a write takes no notice of.
 *
 * @throws {ServiceError} `READ_ONLY_REVISION` for `revision`, else `VALIDATION_FAILED`
 */
export function refuseParameters({ query }: RestRequest, names: readonly string[]): void {
  const name = query.names.find((each) => names.includes(each) || names.includes(snakeCaseOf(each)));
  if (name === undefined) return;
  const message = `A write does not take the query parameter '${name}'`;
  if (name === 'revision') {
    throw new ServiceError('READ_ONLY_REVISION', `${message}: it goes to the head`, { field: name });
  }
  throw invalid(message, { field: name });
}

function queryParametersOf({ docs }: Pick<Route<unknown>, 'docs'>): string[] {
  return (docs.parameters ?? []).flatMap((parameter) => (parameter.in === 'query' ? [parameter.name] : []));
}

function snakeCaseOf(camelCase: string): string {
  return camelCase.replace(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`);
}
