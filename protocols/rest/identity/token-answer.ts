import type { TokenPair } from '#protocols/identity/identity-logins.ts';
import type { HttpReply, JsonSchema, ParameterDocs } from '#protocols/http/route.ts';
import { invalid } from '#runtime/errors/service-error.ts';
import type { RestRequest, RestRoute } from '../rest-route.ts';

/** The identity in a token pair. */
const identitySchema: JsonSchema = {
  type: 'object',
  properties: {
    id: { type: 'string', format: 'uuid' },
    email: { type: 'string' },
    display_name: { type: 'string' },
    avatar_url: { type: ['string', 'null'] },
    email_verified: { type: 'boolean' },
    linked_providers: { type: 'array', items: { type: 'string' } },
    home: { type: 'string', description: 'Path of the node of the person in the repository.' },
  },
};

/** Schema of a token pair. */
export const tokenPairSchema: JsonSchema = {
  type: 'object',
  properties: {
    access_token: { type: 'string' },
    refresh_token: { type: 'string' },
    token_type: { type: 'string', enum: ['Bearer'] },
    expires_at: { type: 'integer', description: 'End of the access token, Unix timestamp in seconds' },
    identity: identitySchema,
  },
};

/** Description of the header that names the tenant of a request without a token. */
export const tenantParameter: ParameterDocs = {
  name: 'X-Tenant-Id',
  in: 'header',
  description: 'The tenant; default: `default`.',
};

/** Answers a token pair, which no cache may keep. */
export function tokenAnswer(pair: TokenPair): HttpReply {
  return { status: 200, headers: { 'Cache-Control': 'no-store' }, json: pair };
}

/**
 * Makes routes that answer tokens refuse `Idempotency-Key`: a kept answer would be a stored token, and whoever knows the
 * key would get it.
 *
 * @throws {ServiceError} `VALIDATION_FAILED`, from the routes
 */
export function refusingIdempotencyKey(routes: readonly RestRoute[]): readonly RestRoute[] {
  return routes.map((route) => ({
    ...route,
    admit(request) {
      requireNoKey(request);
      return route.admit?.(request);
    },
  }));
}

function requireNoKey(request: RestRequest): void {
  if (request.headerList('idempotency-key') === undefined) return;
  throw invalid('Idempotency-Key is not for answers with tokens: log in again after a lost answer', {
    field: 'Idempotency-Key',
  });
}
