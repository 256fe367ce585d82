import type { HttpReply } from '#protocols/http/route.ts';
import type { AuthConfiguration, OidcProvider } from '#runtime/access/identity/auth-configuration.ts';
import { SYSTEM_TENANT } from '#runtime/access/system-tenant.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { requireRepositoryName } from '#runtime/content/names.ts';
import { compareTexts } from '#runtime/base/text/text-order.ts';
import type { RestRequest, RestRoute } from '../rest-route.ts';
import { type IdentityContext, namedTenant } from './identity-context.ts';
import { tenantParameter } from './token-answer.ts';

/**
 * The ways to log in, for a page that offers them.
 *
 * @see docs/interface/identities.md#ways-to-log-in
 */
export function providerRoutes(context: Pick<IdentityContext, 'logins'>): readonly RestRoute[] {
  return [
    providersRoute(context, '/auth/providers', 'listLoginProviders', () => undefined),
    providersRoute(context, '/auth/{repo}/providers', 'listLoginProvidersInRepository', (request) =>
      requireRepositoryName(request.segment('repo')),
    ),
  ];
}

function providersRoute(
  { logins }: Pick<IdentityContext, 'logins'>,
  pattern: string,
  operationId: string,
  repositoryOf: (request: RestRequest) => string | undefined,
): RestRoute {
  return {
    method: 'GET',
    pattern,
    operationId,
    body: 'none',
    auth: 'none',
    docs: {
      summary: 'The ways to log in',
      description:
        'Providers in the order of their `priority`, without those that are switched off. A tenant or a repository that does not exist is answered like one without a configuration.',
      tag: 'Identities',
      parameters: [tenantParameter],
      responses: {
        200: {
          description: 'What a login page may offer.',
          schema: {
            type: 'object',
            properties: {
              providers: {
                type: 'array',
                items: {
                  type: 'object',
                  properties: {
                    id: { type: 'string' },
                    display_name: { type: 'string' },
                    icon: { type: ['string', 'null'] },
                    auth_url: { type: 'string', description: 'Address of this server that begins a login.' },
                  },
                },
              },
              local_enabled: { type: 'boolean' },
              magic_link_enabled: { type: 'boolean' },
            },
          },
        },
      },
    },
    async handler(request): Promise<HttpReply> {
      const repository = repositoryOf(request);
      const tenant = namedTenant(request);
      const configuration = await logins.configuration(tenant);
      return { status: 200, json: waysToLogIn(configuration, tenant, repository) };
    },
  };
}

/** @param repository in which people get a node; undefined: none */
function waysToLogIn(
  { local_auth: local, magic_link: link, oidc_providers: providers }: AuthConfiguration,
  tenant: string,
  repository: string | undefined,
): JsonObject {
  // A browser that follows the address sends no header that names the tenant.
  const named = tenant === SYSTEM_TENANT ? {} : { tenant };
  const parameters = new URLSearchParams({
    ...named,
    ...(repository === undefined ? {} : { repo: repository }),
  });
  const query = parameters.size === 0 ? '' : `?${parameters}`;
  return {
    providers: providers
      .filter(({ enabled }) => enabled)
      .sort(byPriority)
      .map(({ display_name: name, icon, provider_id: id }) => ({
        id,
        display_name: name,
        icon,
        auth_url: `/auth/oidc/${id}${query}`,
      })),
    local_enabled: local.enabled,
    magic_link_enabled: link.enabled,
  };
}

function byPriority(a: OidcProvider, b: OidcProvider): number {
  return a.priority - b.priority || compareTexts(a.display_name, b.display_name);
}
