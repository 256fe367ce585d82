/**
 * Says which origins may call a path from a browser: exact origins (`https://app.example`) or `*`.
 * The list is resolved folder, repository, tenant, server by whoever implements it.
 *
 * @param origin the caller's `Origin` header
 * @param path the raw path
 * @see docs/interface/conventions.md#pages-from-other-origins
 */
export type CorsPolicy = (origin: string, path: string) => readonly string[] | Promise<readonly string[]>;

/** What one origin is granted. */
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

/** What a list of allowed origins grants: an origin it names wins over `*`. */
export function corsGrantOf(origin: string, allowedOrigins: readonly string[]): CorsGrant {
  if (allowedOrigins.includes(origin)) return origin === '*' ? 'none' : 'credentialed';
  return allowedOrigins.includes('*') ? 'any' : 'none';
}

/**
 * Headers an answer carries for a granted origin: an explicit origin is reflected with credentials, `*` goes
 * without; nothing for `none`. `Vary: Origin` is on every answer of a server that has a policy, not here.
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

/** What the answer to a preflight carries beside `corsHeaders`; nothing for `none`. */
export function preflightHeaders(grant: CorsGrant): Record<string, string> {
  if (grant === 'none') return {};
  return {
    'Access-Control-Allow-Methods': allowedMethods,
    'Access-Control-Allow-Headers': allowedHeaders,
    'Access-Control-Max-Age': String(preflightSecondsMax),
  };
}
