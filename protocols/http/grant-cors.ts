import type { HttpExchange } from './exchange.ts';
import type { PathRouter } from './path-router.ts';
import { type CorsPolicy, type CorsTarget, corsGrantOf } from './replies/cors.ts';

/**
 * Decides whether the page that sent a request may read its answer. It is done before the caller is authenticated, so
 * that pages can read refusals.
 *
 * @returns undefined when the policy answers at once
 */
export function grantCors<Principal>(
  exchange: HttpExchange<Principal>,
  policy: CorsPolicy,
  router: PathRouter<Principal>,
): Promise<void> | undefined {
  const origin = exchange.header('origin');
  if (origin === undefined) return undefined;
  const allowed = policy(origin, targetOf(exchange, router));
  if (!(allowed instanceof Promise)) {
    exchange.corsGrant = corsGrantOf(origin, allowed);
    return undefined;
  }
  return allowed.then((origins) => {
    exchange.corsGrant = corsGrantOf(origin, origins);
  });
}

/** A preflight is about the request that it announces, which has another method and hence a route of its own. */
function targetOf<Principal>(exchange: HttpExchange<Principal>, router: PathRouter<Principal>): CorsTarget {
  const announced =
    exchange.method === 'OPTIONS' ? exchange.header('access-control-request-method') : undefined;
  const { captures, compiled } =
    (announced === undefined ? undefined : router.match(announced, exchange.path)) ?? exchange;
  return {
    header: (name) => exchange.header(name),
    param: (name) => captures[compiled.names.indexOf(name)],
  };
}
