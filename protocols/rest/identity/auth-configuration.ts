import type {
  ChangeProvider,
  ConfigureAuthentication,
  ProviderChanged,
} from '#actors/identities/messages.ts';
import type { RecordAdminAction } from '#actors/tenant/messages.ts';
import type { IdentitiesProvisioning } from '#protocols/identity/ports.ts';
import type { HttpReply } from '#protocols/http/route.ts';
import {
  type AuthConfiguration,
  mergedAuthConfiguration,
  shownAuthConfiguration,
  withSealedMailPasswords,
  withSealedSecrets,
} from '#runtime/access/identity/auth-configuration.ts';
import {
  type ProviderChange,
  withChangedProvider,
  withSealedSecret,
} from '#runtime/access/identity/provider-changes.ts';
import { changedFields } from '#runtime/access/identity/configuration-changes.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { administrativeCaller, identityDetails } from '../access/admin-actions.ts';
import { requireTenantAdministrator } from '../access/permission.ts';
import type { RestRequest, RestRoute } from '../rest-route.ts';
import { readAuthConfigurationChange } from './auth-configuration-body.ts';
import { configurationSchema } from './auth-configuration-schema.ts';
import type { IdentityContext } from './identity-context.ts';

/** Dependencies of the configuration of how people authenticate. */
export interface AuthConfigurationContext extends IdentityContext {
  readonly identities: IdentitiesProvisioning;
  /** Encrypts the secret of a client of a provider. */
  readonly sealClientSecret: (tenant: string, providerId: string, secret: string) => string;
  /** Encrypts the password of a mail server. */
  readonly sealMailPassword: (tenant: string, provider: string, password: string) => string;
}

const PATTERN = '/api/tenants/{tenant}/auth/config';

/** Maximum bytes of a configuration: 32 providers with keys in PEM. */
const CONFIGURATION_BYTES_MAX = 512 * 1024;

/**
 * How people authenticate in a tenant, for its administrators.
 *
 * @see docs/interface/identities.md#configuring-a-tenant
 */
export function authConfigurationRoutes(context: AuthConfigurationContext): readonly RestRoute[] {
  return [readRoute(context), changeRoute(context)];
}

function readRoute(context: AuthConfigurationContext): RestRoute {
  return {
    method: 'GET',
    pattern: PATTERN,
    operationId: 'readAuthConfiguration',
    body: 'none',
    auth: 'required',
    audience: 'tenant',
    admit: (request) => requireTenantAdministration(context, request),
    docs: {
      summary: 'How people authenticate in a tenant',
      description: 'Where nothing is stored, the defaults. Of a secret only whether there is one.',
      tag: 'Identities',
      responses: {
        200: { description: 'The configuration.', schema: configurationSchema },
        401: { description: 'There is no valid login.' },
        403: { description: 'The caller is not an administrator of the tenant.' },
      },
    },
    async handler(request): Promise<HttpReply> {
      const { tenant } = request.principal;
      return answered(tenant, await context.logins.configuration(tenant));
    },
  };
}

function changeRoute(context: AuthConfigurationContext): RestRoute {
  return {
    method: 'PUT',
    pattern: PATTERN,
    operationId: 'changeAuthConfiguration',
    body: 'json',
    bodyBytesMax: CONFIGURATION_BYTES_MAX,
    auth: 'required',
    audience: 'tenant',
    admit: (request) => requireTenantAdministration(context, request),
    docs: {
      summary: 'Change how people authenticate in a tenant',
      description:
        'Parts that are absent keep their values; a part that is present must be complete and replaces the stored one. `oidc_providers` replaces the list: a provider that is not in it is removed. A provider without `client_secret` keeps its stored secret, and `null` removes it; it is needed again when `issuer_url`, `token_url` or `client_id` changes. `email` is replaced as a whole, and a mail server without `password` keeps its own. What a read answered may be sent back.',
      tag: 'Identities',
      requestSchema: configurationSchema,
      responses: {
        200: { description: 'The new configuration.', schema: configurationSchema },
        400: { description: 'A value is out of bounds.' },
        401: { description: 'There is no valid login.' },
        403: { description: 'The caller is not an administrator of the tenant.' },
      },
    },
    handler: async (request) => ({
      status: 200,
      json: await changeAuthConfiguration(context, request, request.body),
    }),
  };
}

/**
 * Changes the configuration for a caller whom {@link requireTenantAdministration} has let through.
 *
 * @param body see {@link readAuthConfigurationChange}
 * @returns the new configuration, as it is shown
 * @throws {ServiceError} `VALIDATION_FAILED`, `UNPROCESSABLE_BODY`; the errors of the audit trail
 */
export async function changeAuthConfiguration(
  context: AuthConfigurationContext,
  request: RestRequest,
  body: unknown,
): Promise<JsonObject> {
  const { tenant } = request.principal;
  const given = readAuthConfigurationChange(body, tenant);
  const change = withSealedMailPasswords(
    withSealedSecrets(given, (secret, providerId) => context.sealClientSecret(tenant, providerId, secret)),
    (password, provider) => context.sealMailPassword(tenant, provider, password),
  );
  const command: ConfigureAuthentication = { type: 'ConfigureAuthentication', change };
  const actor = await context.identities.createIdentities(tenant);
  const parts = Object.keys(change);
  if (parts.length > 0)
    await recordChange(context, request, parts, (stored) => mergedAuthConfiguration(stored, change));
  // Without an idempotency key: the hash of the request would be one of its secrets that is quick to compute.
  const caller = administrativeCaller(request);
  const changed = (await context.router.command(actor, command, { caller })) as AuthConfiguration;
  return shownAuthConfiguration(changed, tenant);
}

/**
 * Changes one provider of the configuration, as {@link changeAuthConfiguration} does: the others may be changed at the same time.
 *
 * @param change with its secret in plain text
 * @throws {ServiceError} as `withChangedProvider`; the errors of the audit trail
 */
export async function changeProvider(
  context: AuthConfigurationContext,
  request: RestRequest,
  change: ProviderChange,
): Promise<ProviderChanged> {
  const { tenant } = request.principal;
  const sealed = withSealedSecret(change, (secret, id) => context.sealClientSecret(tenant, id, secret));
  const actor = await context.identities.createIdentities(tenant);
  await recordChange(context, request, ['oidc_providers'], (stored) => withChangedProvider(stored, sealed));
  const command: ChangeProvider = { type: 'ChangeProvider', change: sealed };
  const caller = administrativeCaller(request);
  return (await context.router.command(actor, command, { caller })) as ProviderChanged;
}

function answered(tenant: string, configuration: AuthConfiguration): HttpReply {
  return { status: 200, json: shownAuthConfiguration(configuration, tenant) };
}

/**
 * Records in the audit trail who is about to change which fields. It is done before the change, and must succeed: there
 * may be an entry of a change that failed, but no change without its entry. What the change sets is named whether or not it
 * differs, because somebody else may change the same at the same time.
 *
 * @param parts names of the parts that are set
 * @param changedOf the configuration after the change
 * @throws {ServiceError} `VALIDATION_FAILED` for a change that would be refused; the errors of the trail
 */
async function recordChange(
  { logins, router }: AuthConfigurationContext,
  request: RestRequest,
  parts: readonly string[],
  changedOf: (stored: AuthConfiguration) => AuthConfiguration,
): Promise<void> {
  const { principal } = request;
  const { tenant } = principal;
  const stored = await logins.configuration(tenant);
  const { changed, more } = changedFields(stored, changedOf(stored));
  const command: RecordAdminAction = {
    type: 'RecordAdminAction',
    action: 'authentication_configured',
    subject: tenant,
    details: {
      parts,
      changed,
      ...(more === 0 ? {} : { more }),
      ...identityDetails(principal),
    },
    ...(principal.kind === 'identity' ? { identityId: principal.identityId } : {}),
  };
  await router.command(actorId(tenant, 'tenant'), command, { caller: administrativeCaller(request) });
}

/**
 * Requires an administrator of the caller's tenant: with an admin account, or with an identity that is one at present.
 *
 * @throws {ServiceError} `UNAUTHORIZED`, `FORBIDDEN`
 */
export function requireTenantAdministration(
  { callers }: Pick<IdentityContext, 'callers'>,
  request: RestRequest,
): void | Promise<void> {
  const { principal } = request;
  if (principal.kind !== 'identity') return requireTenantAdministrator(request);
  return callers.isTenantAdministrator(principal).then((isAdministrator) => {
    if (!isAdministrator) requireTenantAdministrator(request);
  });
}
