import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { invalid } from '#runtime/errors/service-error.ts';
import {
  type EmailSettings,
  type EmailSettingsChange,
  mergedEmailSettings,
  shownEmailSettings,
  withSealedPasswords,
} from './email-settings.ts';
import { defaultPasswordPolicy, type PasswordPolicy } from './password-policy.ts';

/** Whether people log in with passwords. */
export interface LocalAuth {
  readonly enabled: boolean;
}

/** Whether people log in with links sent by mail. */
export interface MagicLinkSettings {
  readonly enabled: boolean;
  readonly token_ttl_minutes: number;
}

/** Lifetimes and number of sessions. */
export interface SessionSettings {
  /** Lifetime of an access token. */
  readonly duration_hours: number;
  readonly refresh_token_duration_days: number;
  /** When a login would exceed it, the oldest session is revoked. */
  readonly max_sessions_per_user: number;
  /** Always whether {@link max_sessions_per_user} is 1. */
  readonly single_session_mode: boolean;
}

/** When failed logins lock an account. */
export interface LockoutSettings {
  readonly lockout_threshold: number;
  readonly lockout_duration_minutes: number;
}

/** How people get access to repositories. */
export interface AccessSettings {
  readonly allow_access_requests: boolean;
  readonly allow_invitations: boolean;
  readonly require_approval: boolean;
  readonly default_roles: readonly string[];
}

/** Names of the claims of a provider that an identity is made from. */
export interface AttributeMapping {
  readonly email: string;
  readonly name: string;
  readonly picture: string;
  readonly email_verified: string;
}

/** Most providers of a tenant. */
export const PROVIDERS_MAX = 32;

/** An OpenID Connect provider as stored. */
export interface OidcProvider {
  readonly provider_id: string;
  readonly display_name: string;
  readonly icon: string | null;
  readonly priority: number;
  readonly enabled: boolean;
  readonly issuer_url: string;
  readonly client_id: string;
  /** Encrypted; null for a public client. */
  readonly client_secret: string | null;
  readonly redirect_uri: string | null;
  readonly scopes: readonly string[];
  /** Lower-case domains; null: every domain. */
  readonly allowed_email_domains: readonly string[] | null;
  readonly attribute_mapping: AttributeMapping;
  readonly groups_claim: string | null;
  readonly authorization_url: string | null;
  readonly token_url: string | null;
  readonly userinfo_url: string | null;
  readonly jwks_url: string | null;
}

/** How people authenticate in a tenant. @see docs/decisions/0068-identities.md */
export interface AuthConfiguration {
  readonly local_auth: LocalAuth;
  readonly magic_link: MagicLinkSettings;
  readonly password_policy: PasswordPolicy;
  readonly session_settings: SessionSettings;
  readonly rate_limiting: LockoutSettings;
  readonly access_settings: AccessSettings;
  readonly oidc_providers: readonly OidcProvider[];
  /** null: as the server has it. */
  readonly anonymous_enabled: boolean | null;
  readonly cors_allowed_origins: readonly string[];
  /** null: as the server has it. */
  readonly email: EmailSettings | null;
}

/** A provider in a change. An absent secret keeps the stored one, null removes it. */
export interface OidcProviderChange extends Omit<OidcProvider, 'client_secret'> {
  readonly client_secret?: string | null;
}

/** A change of the configuration: parts that are present replace the stored ones as a whole. */
export interface AuthConfigurationChange
  extends Partial<Omit<AuthConfiguration, 'oidc_providers' | 'email'>> {
  readonly oidc_providers?: readonly OidcProviderChange[];
  readonly email?: EmailSettingsChange | null;
}

/** The configuration of a tenant that has stored none. */
export const defaultAuthConfiguration: AuthConfiguration = Object.freeze({
  local_auth: Object.freeze({ enabled: true }),
  magic_link: Object.freeze({ enabled: true, token_ttl_minutes: 15 }),
  password_policy: defaultPasswordPolicy,
  session_settings: Object.freeze({
    duration_hours: 1,
    refresh_token_duration_days: 30,
    max_sessions_per_user: 10,
    single_session_mode: false,
  }),
  rate_limiting: Object.freeze({ lockout_threshold: 5, lockout_duration_minutes: 15 }),
  access_settings: Object.freeze({
    allow_access_requests: true,
    allow_invitations: true,
    require_approval: true,
    default_roles: Object.freeze(['viewer']),
  }),
  oidc_providers: Object.freeze([]),
  anonymous_enabled: null,
  cors_allowed_origins: Object.freeze([]),
  email: null,
});

/** Claim names of OpenID Connect (Core section 5.1). */
export const defaultAttributeMapping: AttributeMapping = Object.freeze({
  email: 'email',
  name: 'name',
  picture: 'picture',
  email_verified: 'email_verified',
});

/** Scopes of a provider that names none. */
export const defaultScopes: readonly string[] = Object.freeze(['openid', 'email', 'profile']);

/**
 * Applies a change. A provider that the change does not name is removed. One that it names without a secret keeps its
 * own, as long as the secret is of the same client and goes to the same server: otherwise whoever may configure a tenant
 * could have it sent to a server of their own.
 *
 * @throws {ServiceError} `VALIDATION_FAILED` for a secret that has to be given again; as `mergedEmailSettings`
 */
export function mergedAuthConfiguration(
  stored: AuthConfiguration,
  change: AuthConfigurationChange,
): AuthConfiguration {
  const { oidc_providers: providers, email, ...parts } = change;
  const merged: AuthConfiguration = {
    ...stored,
    ...parts,
    oidc_providers:
      providers?.map((each, index) =>
        mergedProvider(providerOf(stored, each.provider_id), each, `oidc_providers.${index}.`),
      ) ?? stored.oidc_providers,
    email: email === undefined ? stored.email : mergedEmailSettings(stored.email, email),
  };
  return { ...merged, session_settings: consistent(merged.session_settings) };
}

/** A provider by its id; undefined: there is none. */
export function providerOf(
  { oidc_providers: providers }: AuthConfiguration,
  id: string,
): OidcProvider | undefined {
  return providers.find(({ provider_id: other }) => other === id);
}

/**
 * A provider as it is stored after a change, see {@link mergedAuthConfiguration}.
 *
 * @param known the stored one; undefined: it is new
 * @param at what names of its fields begin with in errors
 * @throws {ServiceError} `VALIDATION_FAILED` for a secret that has to be given again
 */
export function mergedProvider(
  known: OidcProvider | undefined,
  change: OidcProviderChange,
  at: string,
): OidcProvider {
  const { client_secret: secret, ...rest } = change;
  if (secret !== undefined) return { ...rest, client_secret: secret };
  if (known === undefined || known.client_secret === null) return { ...rest, client_secret: null };
  // The issuer names the token endpoint, unless there is an own one, and which keys sign what is answered for it.
  const isSame =
    known.issuer_url === change.issuer_url &&
    known.token_url === change.token_url &&
    known.client_id === change.client_id;
  if (isSame) return { ...rest, client_secret: known.client_secret };
  const field = `${at}client_secret`;
  throw invalid(
    `\`${field}\` is needed again when \`issuer_url\`, \`token_url\` or \`client_id\` of the provider changes; null removes it`,
    { field },
  );
}

function consistent(settings: SessionSettings): SessionSettings {
  const most = settings.single_session_mode ? 1 : settings.max_sessions_per_user;
  return { ...settings, max_sessions_per_user: most, single_session_mode: most === 1 };
}

/** Encrypts the passwords of mail servers of a change. @param seal bound to the name of its provider */
export function withSealedMailPasswords(
  change: AuthConfigurationChange,
  seal: (password: string, provider: string) => string,
): AuthConfigurationChange {
  return change.email === undefined ? change : { ...change, email: withSealedPasswords(change.email, seal) };
}

/**
 * Encrypts the secrets of a change, which arrive as plain text.
 *
 * @param seal encrypts a secret, bound to the id of its provider
 */
export function withSealedSecrets(
  change: AuthConfigurationChange,
  seal: (secret: string, providerId: string) => string,
): AuthConfigurationChange {
  if (change.oidc_providers === undefined) return change;
  const providers = change.oidc_providers.map((provider) => {
    const { client_secret: secret } = provider;
    return typeof secret === 'string'
      ? { ...provider, client_secret: seal(secret, provider.provider_id) }
      : provider;
  });
  return { ...change, oidc_providers: providers };
}

/** A provider as it is answered to an administrator. */
export function shownProvider({ client_secret: secret, ...provider }: OidcProvider): JsonObject {
  return { ...provider, has_client_secret: secret !== null } as unknown as JsonObject;
}

/** A configuration as it is answered to an administrator: of a secret only whether there is one. */
export function shownAuthConfiguration(configuration: AuthConfiguration, tenant: string): JsonObject {
  const { oidc_providers: providers, email, ...rest } = configuration;
  const shown = {
    tenant_id: tenant,
    ...rest,
    oidc_providers: providers.map(shownProvider),
    email: shownEmailSettings(email),
  };
  return shown as unknown as JsonObject;
}
