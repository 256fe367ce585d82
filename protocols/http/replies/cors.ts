import type { HttpRequest } from '../route.ts';

/** What decides, besides the origin, which origins may call an address. */
export interface CorsTarget {
  /** A header of the request; a preflight has few of those that the request after it has. */
  readonly header: HttpRequest<unknown>['header'];
  /**
   * The raw text of a named part of the address, of a preflight that of the request it asks about; undefined where the
   * route has no such part, or there is no route.
   */
  param(name: string): string | undefined;
}

/**
 * Returns the origins that may call an address from a browser: exact origins (`https://app.example`) or `*`. Requests
 * without an `Origin` header are not asked about.
 *
 * @param origin the caller's `Origin` header
 * @see docs/interface/conventions.md#pages-from-other-origins
 */
export type CorsPolicy = (
  origin: string,
  target: CorsTarget,
) => readonly string[] | Promise<readonly string[]>;

/** The access granted to one origin. */
export type CorsGrant = 'none' | 'any' | 'credentialed';

const preflightSecondsMax = 86_400;

const allowedMethods = 'GET, POST, PUT, DELETE, OPTIONS, PATCH';
const allowedHeaders = [
  'Content-Type',
  'Authorization',
  'Accept',
  'Content-Range',
  'X-Tenant-Id',
  'X-Svc-Impersonate',
  'Cache-Control',
  'Idempotency-Key',
  'If-Match',
  'If-None-Match',
  'Range',
  'X-Request-Id',
  'X-Svc-Consistency',
  'X-Svc-Lock',
  'X-Svc-Min-Revision',
].join(', ');
const exposedHeaders = [
  'Content-Range',
  'Accept-Ranges',
  'ETag',
  'Retry-After',
  'X-Request-Id',
  'X-Svc-Revision',
].join(', ');

/** The grant of a list of allowed origins: an exact match wins over `*`. */
export function corsGrantOf(origin: string, allowedOrigins: readonly string[]): CorsGrant {
  if (allowedOrigins.includes(origin)) return origin === '*' ? 'none' : 'credentialed';
  return allowedOrigins.includes('*') ? 'any' : 'none';
}

/**
 * CORS headers of a response: an explicitly listed origin is reflected with credentials, `*` is sent without; none
 * for `none`. Every response of a server with a policy has `Vary: Origin`; it is not set here.
 *
 * @see docs/interface/conventions.md#pages-from-other-origins
 */
export function corsHeaders(grant: CorsGrant, origin: string): Record<string, string> {
  if (grant === 'none') return {};
  const shared = { 'Access-Control-Expose-Headers': exposedHeaders };
  if (grant === 'any') return { 'Access-Control-Allow-Origin': '*', ...shared };
  return {
    'Access-Control-Allow-Origin': origin,
    'Access-Control-Allow-Credentials': 'true',
    ...shared,
  };
}

/** Headers of a preflight response besides `corsHeaders`; none for `none`. */
export function preflightHeaders(grant: CorsGrant): Record<string, string> {
  if (grant === 'none') return {};
  return {
    'Access-Control-Allow-Methods': allowedMethods,
    'Access-Control-Allow-Headers': allowedHeaders,
    'Access-Control-Max-Age': String(preflightSecondsMax),
  };
}
