import { ServiceError } from '#runtime/errors/service-error.ts';
import { preflightHeaders } from './replies/cors.ts';
import type { HttpExchange } from './exchange.ts';
import type { PathRouter } from './path-router.ts';
import type { ErrorShape, HttpReply, HttpRequest, Route } from './route.ts';

/** The `Allow` header of a path: a GET route also serves HEAD, and the server itself serves OPTIONS. */
function allowOf(methods: readonly string[]): string {
  const all = methods.includes('GET') ? ['GET', 'HEAD', ...methods.filter((one) => one !== 'GET')] : methods;
  return [...all, 'OPTIONS'].join(', ');
}

/** The fields of an exchange that the unmatched route reads besides those of a handler's request. */
type Unmatched<Principal> = HttpRequest<Principal> & Pick<HttpExchange<Principal>, 'corsGrant'>;

/**
 * The route of requests that match no other: preflights and other OPTIONS (204), a path that is too long (414), a
 * known path with another method (405 with `Allow`), an unknown path (404).
 */
export function unmatchedRoute<Principal>(
  router: PathRouter<Principal>,
  pathBytesMax: number,
  errorShape: ErrorShape,
): Route<Principal> {
  return {
    method: 'GET',
    pattern: '/{path*}',
    operationId: 'unmatched',
    body: 'ignored',
    auth: 'none',
    errorShape,
    docs: { summary: 'What no other route takes', tag: 'server', responses: {} },
    handler(request): HttpReply {
      const { corsGrant } = request as Unmatched<Principal>;
      if (request.path.length > pathBytesMax) {
        throw new ServiceError('URI_TOO_LONG', `The path is longer than ${pathBytesMax} bytes.`);
      }
      const isOptions = request.method === 'OPTIONS';
      if (
        isOptions &&
        request.header('origin') !== undefined &&
        request.header('access-control-request-method') !== undefined
      ) {
        return { status: 204, headers: preflightHeaders(corsGrant) };
      }
      const methods = router.methodsAt(request.path);
      if (methods.length === 0) {
        throw new ServiceError('NOT_FOUND', `There is nothing at '${request.path}'.`);
      }
      const allow = allowOf(methods);
      if (isOptions) {
        const patch = router.match('PATCH', request.path)?.compiled.route.docs.jsonTypes;
        const headers = patch === undefined ? {} : { 'Accept-Patch': patch.join(', ') };
        return { status: 204, headers: { Allow: allow, ...headers } };
      }
      throw new ServiceError('METHOD_NOT_ALLOWED', `'${request.path}' does not take ${request.method}.`, {
        details: { allow },
      });
    },
  };
}
