import {
  ACTIVE_KEYS_MAX,
  type CreateApiKey,
  ENDED_KEYS_MAX,
  type ListRepositories,
  type RepositoryEntry,
  type RevokeApiKey,
  type ShownApiKey,
} from '#actors/tenant/messages.ts';
import type { AdminTokens } from '#runtime/access/admin-tokens.ts';
import { newApiKey } from '#runtime/access/api-key.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import type { Random } from '#runtime/base/random.ts';
import { invalid } from '#runtime/errors/service-error.ts';
import { bodyFields } from '#protocols/http/requests/body-fields.ts';
import { callerOf, deliveryOf, type RestContext } from '../rest-context.ts';
import type { RestRequest, RestRoute } from '../rest-route.ts';
import { withIdempotency } from '../write-headers.ts';
import { ACCOUNT_BODY_BYTES_MAX, ownAccount } from './admin-auth.ts';

/** Dependencies of the routes of the own keys. */
export interface ApiKeysContext extends RestContext {
  readonly tokens: AdminTokens;
  readonly random: Random;
}

const tag = 'Admin';

/** Names of keys: one line of visible text. */
const nameShape = /^[^\p{C}]{1,128}$/u;

const keySchema = {
  type: 'object',
  properties: {
    key_id: { type: 'string' },
    name: { type: 'string' },
    key_prefix: { type: 'string', description: 'The first 16 characters of the token.' },
    created_at: { type: 'string', format: 'date-time' },
    last_used_at: {
      type: ['string', 'null'],
      format: 'date-time',
      description: 'Exact to five minutes; null: never.',
    },
    is_active: { type: 'boolean' },
  },
} as const;

const unauthorized = { description: 'There is no valid login.' };
const forbidden = { description: 'The token is no login of an administrator.' };

/**
 * The keys of the own account, and the repositories that it reaches. All of it needs a login: a key makes no keys.
 *
 * @see docs/interface/accounts.md#api-keys
 */
export function apiKeyRoutes(context: ApiKeysContext): readonly RestRoute[] {
  return [
    createRoute(context),
    listRoute(context),
    ...withIdempotency([revokeRoute(context)]),
    repositoriesRoute(context),
  ];
}

function createRoute(context: ApiKeysContext): RestRoute {
  return {
    method: 'POST',
    pattern: '/api/svc/me/api-keys',
    operationId: 'createApiKey',
    body: 'json',
    bodyBytesMax: ACCOUNT_BODY_BYTES_MAX,
    auth: 'required',
    docs: {
      summary: 'Create an API key',
      description: `The token is answered once, and only its hash is stored. A key acts with the account and does not expire. An account has at most ${ACTIVE_KEYS_MAX} active keys.`,
      tag,
      requestSchema: {
        type: 'object',
        required: ['name'],
        properties: { name: { type: 'string', minLength: 1, maxLength: 128 } },
        additionalProperties: false,
      },
      responses: {
        201: {
          description: 'The key, with its token.',
          schema: { type: 'object', properties: { key: keySchema, token: { type: 'string' } } },
        },
        400: { description: 'The name is not allowed, or there are too many keys.' },
        401: unauthorized,
        403: { description: 'The account has no `api_access`, or the token is no login.' },
      },
    },
    async handler(request) {
      const name = bodyFields(request.body).string('name').trim();
      if (!nameShape.test(name))
        throw invalid('A name has 1 to 128 characters, without control characters', { field: 'name' });
      const { keyPrefix, token, tokenHash } = newApiKey(request.principal.tenant, context.random);
      const command: CreateApiKey = { type: 'CreateApiKey', name, keyPrefix, tokenHash };
      // Without an idempotency key: a repetition could not be answered with the token, which is not stored.
      const caller = callerOf(request);
      const key = (await context.router.command(tenantActor(request), command, { caller })) as ShownApiKey;
      return { status: 201, headers: { 'Cache-Control': 'no-store' }, json: { key, token } };
    },
  };
}

function listRoute(context: ApiKeysContext): RestRoute {
  return {
    method: 'GET',
    pattern: '/api/svc/me/api-keys',
    operationId: 'listApiKeys',
    body: 'none',
    auth: 'required',
    docs: {
      summary: 'The own API keys',
      description: `Oldest first. Of revoked keys the last ${ENDED_KEYS_MAX} are listed.`,
      tag,
      responses: {
        200: { description: 'The keys, without tokens.', schema: { type: 'array', items: keySchema } },
        401: unauthorized,
        403: forbidden,
      },
    },
    async handler(request) {
      const { account } = await ownAccount(context, request);
      const keys = account.api_keys ?? [];
      return { status: 200, json: keys.map(({ token_hash: _hash, ...shown }) => shown) };
    },
  };
}

function revokeRoute(context: ApiKeysContext): RestRoute {
  return {
    method: 'DELETE',
    pattern: '/api/svc/me/api-keys/{key_id}',
    operationId: 'revokeApiKey',
    body: 'none',
    auth: 'required',
    docs: {
      summary: 'Revoke an API key',
      description: 'The key is refused from then on, and stays in the list.',
      tag,
      responses: {
        204: { description: 'The key is revoked; also when it was before.' },
        401: unauthorized,
        403: forbidden,
        404: { description: 'The account has no such key.' },
      },
    },
    async handler(request) {
      const command: RevokeApiKey = { type: 'RevokeApiKey', keyId: request.segment('key_id') };
      await context.router.command(tenantActor(request), command, deliveryOf(request));
      return { status: 204 };
    },
  };
}

function repositoriesRoute(context: ApiKeysContext): RestRoute {
  return {
    method: 'GET',
    pattern: '/api/svc/me/repositories',
    operationId: 'listOwnRepositories',
    body: 'none',
    auth: 'required',
    docs: {
      summary: 'The repositories that the account reaches',
      tag,
      responses: {
        200: {
          description: 'Names of all repositories of the tenant, sorted.',
          schema: { type: 'array', items: { type: 'string' } },
        },
        401: unauthorized,
        403: forbidden,
      },
    },
    async handler(request) {
      const query: ListRepositories = { type: 'ListRepositories' };
      const found = await context.router.query(tenantActor(request), query, callerOf(request));
      return {
        status: 200,
        json: (found as readonly RepositoryEntry[]).map(({ repositoryId }) => repositoryId),
      };
    },
  };
}

function tenantActor({ principal }: RestRequest): string {
  return actorId(principal.tenant, 'tenant');
}
