import type {
  AccessSettings,
  AttributeMapping,
  AuthConfigurationChange,
  LockoutSettings,
  MagicLinkSettings,
  OidcProviderChange,
  SessionSettings,
} from '#runtime/access/identity/auth-configuration.ts';
import {
  defaultAttributeMapping,
  defaultScopes,
  PROVIDERS_MAX,
} from '#runtime/access/identity/auth-configuration.ts';
import { ACCESS_TOKEN_HOURS_MAX, REFRESH_TOKEN_DAYS_MAX } from '#runtime/access/identity/identity-tokens.ts';
import { type PasswordPolicy, POLICY_CHARACTERS_MAX } from '#runtime/access/identity/password-policy.ts';
import { OptionError } from '#runtime/config/option.ts';
import { checkOriginOrAny } from '#runtime/config/text-checks.ts';
import { invalid, ServiceError } from '#runtime/errors/service-error.ts';
import { type BodyFields, bodyFields } from '#protocols/http/requests/body-fields.ts';
import { readEmailSettings } from './email-settings-body.ts';

/** Most sessions of a person; each login reads them. */
const SESSIONS_MAX = 100;

/** Most entries of each list of texts. */
const TEXTS_MAX = 100;

const URL_CHARACTERS_MAX = 2_048;
const NAME_CHARACTERS_MAX = 256;

/** Longest secret of a client: some providers give keys in PEM. */
const SECRET_CHARACTERS_MAX = 4_096;

const DAY_MINUTES = 24 * 60;
const TEN_YEARS_DAYS = 3_650;

const providerIdShape = /^[a-z0-9_-]{1,63}$/;

/** Printable ASCII without spaces, quotes and backslashes (RFC 6749 section 3.3). */
const scopeShape = /^[\x21\x23-\x5b\x5d-\x7e]{1,128}$/;

const domainShape = /^(?=.{1,253}$)[\p{L}\p{N}](?:[\p{L}\p{N}.-]*[\p{L}\p{N}])?$/u;

/**
 * Reads a change of the configuration of how people authenticate. Secrets of providers are as they were given. What
 * reads add to a configuration may be sent back: `tenant_id` of the tenant, and `has_client_secret`.
 *
 * @param tenant that is configured
 * @throws {ServiceError} `UNPROCESSABLE_BODY` for a nested object that is not complete, or of the wrong type;
 *   `VALIDATION_FAILED` for a value that is out of bounds
 */
export function readAuthConfigurationChange(body: unknown, tenant: string): AuthConfigurationChange {
  const fields = bodyFields(body);
  const given = fields.optionalString('tenant_id');
  if (given !== undefined && given !== tenant)
    throw new ServiceError('TENANT_MISMATCH', 'The configuration is of another tenant', {
      field: 'tenant_id',
    });
  const local = fields.optionalFields('local_auth');
  const link = fields.optionalFields('magic_link');
  const policy = fields.optionalFields('password_policy');
  const sessions = fields.optionalFields('session_settings');
  const lockout = fields.optionalFields('rate_limiting');
  const access = fields.optionalFields('access_settings');
  const providers = fields.optionalList('oidc_providers');
  const anonymous = nullableBoolean(fields, 'anonymous_enabled');
  const origins = fields.optionalStrings('cors_allowed_origins');
  const email = readEmailSettings(fields);
  return {
    ...(local === undefined ? {} : { local_auth: { enabled: local.boolean('enabled') } }),
    ...(link === undefined ? {} : { magic_link: magicLink(link) }),
    ...(policy === undefined ? {} : { password_policy: passwordPolicy(policy) }),
    ...(sessions === undefined ? {} : { session_settings: sessionSettings(sessions) }),
    ...(lockout === undefined ? {} : { rate_limiting: lockoutSettings(lockout) }),
    ...(access === undefined ? {} : { access_settings: accessSettings(access) }),
    ...(providers === undefined ? {} : { oidc_providers: providerList(providers) }),
    ...(anonymous === undefined ? {} : { anonymous_enabled: anonymous }),
    ...(origins === undefined ? {} : { cors_allowed_origins: originList(origins) }),
    ...(email === undefined ? {} : { email }),
  };
}

/** `null` is kept: it takes back what was stored. */
function nullableBoolean(fields: BodyFields, name: string): boolean | null | undefined {
  return fields.optionalValue(name) === null ? null : fields.optionalBoolean(name);
}

function magicLink(fields: BodyFields): MagicLinkSettings {
  return {
    enabled: fields.boolean('enabled'),
    token_ttl_minutes: integer(fields, 'token_ttl_minutes', 1, DAY_MINUTES),
  };
}

function passwordPolicy(fields: BodyFields): PasswordPolicy {
  const days = fields.has('max_age_days') ? integer(fields, 'max_age_days', 0, TEN_YEARS_DAYS) : 0;
  return {
    min_length: integer(fields, 'min_length', 1, POLICY_CHARACTERS_MAX),
    require_uppercase: fields.boolean('require_uppercase'),
    require_lowercase: fields.boolean('require_lowercase'),
    require_numbers: fields.boolean('require_numbers'),
    require_special: fields.boolean('require_special'),
    max_age_days: days === 0 ? null : days,
  };
}

function sessionSettings(fields: BodyFields): SessionSettings {
  return {
    duration_hours: integer(fields, 'duration_hours', 1, ACCESS_TOKEN_HOURS_MAX),
    refresh_token_duration_days: integer(fields, 'refresh_token_duration_days', 1, REFRESH_TOKEN_DAYS_MAX),
    max_sessions_per_user: integer(fields, 'max_sessions_per_user', 1, SESSIONS_MAX),
    single_session_mode: fields.boolean('single_session_mode'),
  };
}

function lockoutSettings(fields: BodyFields): LockoutSettings {
  return {
    lockout_threshold: integer(fields, 'lockout_threshold', 1, 100),
    lockout_duration_minutes: integer(fields, 'lockout_duration_minutes', 1, DAY_MINUTES),
  };
}

function accessSettings(fields: BodyFields): AccessSettings {
  return {
    allow_access_requests: fields.boolean('allow_access_requests'),
    allow_invitations: fields.boolean('allow_invitations'),
    require_approval: fields.boolean('require_approval'),
    default_roles: texts(fields, 'default_roles', fields.strings('default_roles'), (role) =>
      role.length > 0 && role.length <= NAME_CHARACTERS_MAX ? undefined : 'is no name of a role',
    ),
  };
}

function originList(origins: readonly string[]): readonly string[] {
  if (origins.length > TEXTS_MAX) throw tooMany('cors_allowed_origins', TEXTS_MAX);
  return origins.map((origin, index) => {
    try {
      return checkOriginOrAny(origin);
    } catch (error) {
      if (!(error instanceof OptionError)) throw error;
      const field = `cors_allowed_origins.${index}`;
      throw invalid(`\`${field}\` ${error.problems.join('; ')}`, { field });
    }
  });
}

function providerList(providers: readonly BodyFields[]): readonly OidcProviderChange[] {
  if (providers.length > PROVIDERS_MAX) throw tooMany('oidc_providers', PROVIDERS_MAX);
  const read = providers.map(provider);
  for (const [index, { provider_id: id }] of read.entries()) {
    if (read.findIndex(({ provider_id: other }) => other === id) === index) continue;
    const field = `oidc_providers.${index}.provider_id`;
    throw invalid(`\`${field}\`: there are two providers '${id}'`, { field });
  }
  return read;
}

/**
 * Reads a provider that is changed alone.
 *
 * @throws {ServiceError} as {@link readAuthConfigurationChange}, with the names of its own fields
 */
export function readProvider(body: unknown): OidcProviderChange {
  return provider(bodyFields(body));
}

function provider(fields: BodyFields): OidcProviderChange {
  const id = fields.string('provider_id');
  if (!providerIdShape.test(id)) throw refused(fields, 'provider_id', 'must be 1 to 63 of a-z, 0-9, - and _');
  // A boolean that reads add.
  fields.optionalBoolean('has_client_secret');
  const mapping = fields.optionalFields('attribute_mapping');
  return {
    provider_id: id,
    display_name: optionalText(fields, 'display_name', NAME_CHARACTERS_MAX) ?? id,
    icon: optionalText(fields, 'icon', URL_CHARACTERS_MAX),
    priority: fields.has('priority') ? integer(fields, 'priority', -1_000_000, 1_000_000) : 0,
    enabled: fields.optionalBoolean('enabled') ?? true,
    issuer_url: httpUrl(fields, 'issuer_url', fields.string('issuer_url')),
    client_id: text(fields, 'client_id', fields.string('client_id'), NAME_CHARACTERS_MAX),
    ...clientSecret(fields),
    redirect_uri: redirectUri(fields, id),
    scopes: scopesOf(fields),
    allowed_email_domains: domainsOf(fields),
    attribute_mapping: mapping === undefined ? defaultAttributeMapping : attributeMapping(mapping),
    groups_claim: optionalText(fields, 'groups_claim', NAME_CHARACTERS_MAX),
    authorization_url: optionalUrl(fields, 'authorization_url'),
    token_url: optionalUrl(fields, 'token_url'),
    userinfo_url: optionalUrl(fields, 'userinfo_url'),
    jwks_url: optionalUrl(fields, 'jwks_url'),
  };
}

/** An absent secret keeps the stored one; `null` removes it, for a client without one. */
function clientSecret(fields: BodyFields): Pick<OidcProviderChange, 'client_secret'> {
  if (fields.optionalValue('client_secret') === null) return { client_secret: null };
  const secret = fields.optionalString('client_secret');
  return secret === undefined
    ? {}
    : { client_secret: text(fields, 'client_secret', secret, SECRET_CHARACTERS_MAX) };
}

/**
 * The provider sends people to this address, so it must be the one that answers here. It is sent as it is spelled, twice,
 * and the provider compares it character by character: only one spelling is taken.
 */
function redirectUri(fields: BodyFields, id: string): string | null {
  const url = optionalUrl(fields, 'redirect_uri');
  const path = `/auth/oidc/${id}/callback`;
  if (url === null || url === new URL(url).origin + path) return url;
  throw refused(fields, 'redirect_uri', `must be the origin of the server in lower case followed by ${path}`);
}

/** A list of scopes, or one text with spaces between them. */
function scopesOf(fields: BodyFields): readonly string[] {
  const given = fields.optionalValue('scopes');
  if (given === undefined || given === null) return defaultScopes;
  const scopes =
    typeof given === 'string' ? given.split(' ').filter((scope) => scope !== '') : fields.strings('scopes');
  if (!scopes.includes('openid')) throw refused(fields, 'scopes', 'must have the scope openid');
  return texts(fields, 'scopes', scopes, (scope) => (scopeShape.test(scope) ? undefined : 'is no scope'));
}

function domainsOf(fields: BodyFields): readonly string[] | null {
  const domains = fields.optionalStrings('allowed_email_domains');
  if (domains === undefined) return null;
  const lower = domains.map((domain) => domain.toLowerCase());
  return texts(fields, 'allowed_email_domains', lower, (domain) =>
    domainShape.test(domain) ? undefined : 'is no domain',
  );
}

function attributeMapping(fields: BodyFields): AttributeMapping {
  const claim = (name: keyof AttributeMapping): string =>
    optionalText(fields, name, NAME_CHARACTERS_MAX) ?? defaultAttributeMapping[name];
  return {
    email: claim('email'),
    name: claim('name'),
    picture: claim('picture'),
    email_verified: claim('email_verified'),
  };
}

function integer(fields: BodyFields, name: string, least: number, most: number): number {
  const value = fields.integer(name);
  if (value >= least && value <= most) return value;
  throw refused(fields, name, `must be from ${least} to ${most}`);
}

function text(fields: BodyFields, name: string, value: string, most: number): string {
  if (value === '' || value.length > most) throw refused(fields, name, `must have 1 to ${most} characters`);
  // A control character would end a header or a line of a log.
  if (/[\p{Cc}\p{Cs}]/u.test(value) && name !== 'client_secret')
    throw refused(fields, name, 'has a control character');
  return value;
}

/** An absent text and an empty one are none: forms send empty ones. */
function optionalText(fields: BodyFields, name: string, most: number): string | null {
  const value = fields.optionalString(name);
  return value === undefined || value === '' ? null : text(fields, name, value, most);
}

function optionalUrl(fields: BodyFields, name: string): string | null {
  const value = optionalText(fields, name, URL_CHARACTERS_MAX);
  return value === null ? null : httpUrl(fields, name, value);
}

/** An address of a provider. Whether it may be called is decided when it is. */
function httpUrl(fields: BodyFields, name: string, value: string): string {
  const bounded = text(fields, name, value, URL_CHARACTERS_MAX);
  const url = URL.parse(bounded) ?? undefined;
  const isPlain =
    url !== undefined &&
    (url.protocol === 'https:' || url.protocol === 'http:') &&
    url.username === '' &&
    url.password === '' &&
    url.hash === '';
  // The text is not repeated: an address with a password would appear in the log.
  if (!isPlain) throw refused(fields, name, 'must be an http or https address without user and fragment');
  return bounded;
}

function texts(
  fields: BodyFields,
  name: string,
  values: readonly string[],
  problemOf: (value: string) => string | undefined,
): readonly string[] {
  if (values.length > TEXTS_MAX) throw tooMany(fields.nameOf(name), TEXTS_MAX);
  for (const [index, value] of values.entries()) {
    const problem = problemOf(value);
    if (problem !== undefined) throw refused(fields, `${name}.${index}`, problem);
  }
  return [...new Set(values)];
}

function refused(fields: BodyFields, name: string, rule: string): ServiceError {
  const field = fields.nameOf(name);
  return invalid(`\`${field}\` ${rule}`, { field });
}

function tooMany(field: string, most: number): ServiceError {
  return invalid(`\`${field}\` may have ${most} entries`, { field });
}
