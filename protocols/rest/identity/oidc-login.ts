import type { OidcLogins, ProviderAnswer } from '#protocols/identity/oidc/oidc-logins.ts';
import type { TokenPair } from '#protocols/identity/identity-logins.ts';
import type { HttpReply, ReplyHeaders } from '#protocols/http/route.ts';
import { SYSTEM_TENANT } from '#runtime/access/system-tenant.ts';
import { requireRepositoryName, requireTenantName } from '#runtime/content/names.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { RestRequest, RestRoute } from '../rest-route.ts';
import { clientOf } from './identity-context.ts';
import { tenantParameter, tokenPairSchema } from './token-answer.ts';
import { singleParameter } from './single-parameter.ts';

/** Dependencies of the routes of logins at OpenID providers. */
export interface OidcLoginContext {
  readonly oidc: OidcLogins;
}

/**
 * Time for a login, in milliseconds. The provider is asked up to four things, each within the time of an outgoing
 * request.
 */
const LOGIN_MS_MAX = 45_000;

/** Neither a cache nor the next page may have the tokens or the code. */
const privateHeaders: ReplyHeaders = { 'Cache-Control': 'no-store' };

/** What a provider sends back beside the state; other parameters are ignored. */
const answerParameters = ['code', 'error', 'iss'] as const;

/**
 * Logins at OpenID providers.
 *
 * @see docs/interface/identities-oidc.md
 */
export function oidcLoginRoutes(context: OidcLoginContext): readonly RestRoute[] {
  return [startRoute(context), callbackRoute(context)];
}

function startRoute({ oidc }: OidcLoginContext): RestRoute {
  return {
    method: 'GET',
    pattern: '/auth/oidc/{provider}',
    operationId: 'startOidcLogin',
    body: 'none',
    auth: 'none',
    requestMsMax: LOGIN_MS_MAX,
    docs: {
      summary: 'Log in at an OpenID provider',
      description:
        'For a browser, which is sent on to the provider. The login has to be finished within ten minutes.',
      tag: 'Identities',
      parameters: [
        { name: 'provider', in: 'path', description: '`provider_id` of the provider.' },
        {
          name: 'repo',
          in: 'query',
          description: 'Repository in which the person gets a node; default: none.',
        },
        {
          name: 'redirect_uri',
          in: 'query',
          description:
            'Where the person goes with the tokens: a path of this server, or an URL that begins with an origin in `cors_allowed_origins`. Without it the callback answers the tokens as JSON.',
        },
        {
          name: 'tenant',
          in: 'query',
          description: 'The tenant, for links, which cannot set `X-Tenant-Id`; default: `default`.',
        },
        tenantParameter,
      ],
      responses: {
        302: { description: 'On to the provider.' },
        400: { description: 'The landing URL is not allowed.' },
        403: { description: 'The provider is disabled.' },
        404: { description: 'There is no such provider.' },
        ...upstreamResponses,
      },
    },
    async handler(request) {
      const repository = request.query.get('repo');
      const location = await oidc.start({
        tenant: tenantOf(request),
        providerId: request.segment('provider'),
        repository: repository === undefined ? undefined : requireRepositoryName(repository),
        landing: request.query.get('redirect_uri'),
      });
      return onTo(location);
    },
  };
}

function callbackRoute({ oidc }: OidcLoginContext): RestRoute {
  return {
    method: 'GET',
    pattern: '/auth/oidc/{provider}/callback',
    operationId: 'finishOidcLogin',
    // Providers add parameters of their own.
    takesAnyParameter: true,
    body: 'none',
    auth: 'none',
    isRead: false,
    requestMsMax: LOGIN_MS_MAX,
    docs: {
      summary: 'Finish a login at an OpenID provider',
      description:
        'The provider sends the browser here. The tenant, the repository and the landing URL are those of the login that was started.',
      tag: 'Identities',
      parameters: [
        { name: 'provider', in: 'path', description: '`provider_id` of the provider.' },
        { name: 'state', in: 'query', isRequired: true, description: 'As it was sent to the provider.' },
        { name: 'code', in: 'query', description: 'The code of the provider.' },
        { name: 'error', in: 'query', description: 'The error of the provider, instead of a code.' },
        { name: 'iss', in: 'query', description: 'The issuer of the provider (RFC 9207).' },
      ],
      responses: {
        200: { description: 'The tokens, when the login has no landing URL.', schema: tokenPairSchema },
        302: {
          description:
            'To the landing URL, with `access_token`, `refresh_token` and `expires_at` in its fragment.',
        },
        400: { description: 'The state is unknown, used or older than ten minutes.' },
        401: { description: 'The code is not that of the login.' },
        403: {
          description:
            'The provider refused the login, or it may not vouch for the person: the email address is not verified, of another domain, or linked to another person; or the account is deactivated.',
        },
        404: { description: 'There is no such provider any more.' },
        ...upstreamResponses,
      },
    },
    async handler(request) {
      // A program that only asks whether the address is there must not use the state and the code up.
      if (request.method === 'HEAD') return { status: 200, headers: privateHeaders };
      const { landing, pair } = await oidc.finish(answerOf(request), clientOf(request), request.signal);
      if (landing !== null) return onTo(`${landing}#${fragmentOf(pair)}`);
      return { status: 200, headers: privateHeaders, json: pair };
    },
  };
}

const upstreamResponses = {
  429: { description: 'The tenant has too many requests to providers at once.' },
  502: { description: 'The provider cannot be reached, or its response is not accepted.' },
  503: { description: 'The provider is not configured completely, or there are too many requests at once.' },
  504: { description: 'The provider did not answer in time.' },
} as const;

/** @throws {ServiceError} `VALIDATION_FAILED`; `TENANT_MISMATCH` when header and parameter name two tenants */
function tenantOf(request: RestRequest): string {
  const inHeader = request.header('x-tenant-id');
  const inQuery = request.query.get('tenant');
  if (inHeader !== undefined && inQuery !== undefined && inHeader !== inQuery)
    throw new ServiceError('TENANT_MISMATCH', "The header X-Tenant-Id and 'tenant' name different tenants", {
      field: 'tenant',
    });
  return requireTenantName(inQuery ?? inHeader ?? SYSTEM_TENANT);
}

function answerOf(request: RestRequest): ProviderAnswer {
  const parameters: Record<string, string> = {};
  for (const name of answerParameters) {
    const value = singleParameter(request, name);
    if (value !== undefined) parameters[name] = value;
  }
  const state = singleParameter(request, 'state') ?? '';
  return { providerId: request.segment('provider'), state, parameters };
}

function fragmentOf({ access_token, expires_at, refresh_token }: TokenPair): string {
  return new URLSearchParams({ access_token, refresh_token, expires_at: String(expires_at) }).toString();
}

function onTo(location: string): HttpReply {
  return { status: 302, headers: { ...privateHeaders, Location: location } };
}
