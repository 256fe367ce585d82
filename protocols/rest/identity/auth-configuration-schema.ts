import type { JsonSchema } from '#protocols/http/route.ts';
import { emailSettingsSchema } from './email-settings-body.ts';

/** A part of a configuration, which a change must have completely or not at all. */
function whole(
  properties: Readonly<Record<string, JsonSchema>>,
  optional: readonly string[] = [],
): JsonSchema {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return { type: 'object', additionalProperties: false, required, properties };
}

const flag: JsonSchema = { type: 'boolean' };
const texts: JsonSchema = { type: 'array', items: { type: 'string' } };

function count(description: string): JsonSchema {
  return { type: 'integer', minimum: 1, description };
}

function optionalText(description: string): JsonSchema {
  return { type: ['string', 'null'], description };
}

/** A provider of a configuration. */
export const providerSchema: JsonSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['provider_id', 'issuer_url', 'client_id'],
  properties: {
    provider_id: { type: 'string', pattern: '^[a-z0-9_-]{1,63}$' },
    display_name: optionalText('Default: the id.'),
    icon: optionalText('For a login page.'),
    priority: { type: 'integer', default: 0, description: 'Lower ones come first.' },
    enabled: { type: 'boolean', default: true },
    issuer_url: { type: 'string', format: 'uri' },
    client_id: { type: 'string' },
    client_secret: {
      type: ['string', 'null'],
      writeOnly: true,
      description: 'Absent: the stored one stays. `null`: there is none, as for a public client.',
    },
    has_client_secret: { type: 'boolean', readOnly: true },
    redirect_uri: optionalText('Exactly `{server}/auth/oidc/{provider_id}/callback`.'),
    scopes: {
      type: 'array',
      items: { type: 'string' },
      default: ['openid', 'email', 'profile'],
      description: 'A text with spaces between them is accepted too.',
    },
    allowed_email_domains: { type: ['array', 'null'], items: { type: 'string' } },
    attribute_mapping: {
      type: 'object',
      additionalProperties: false,
      description: 'Names of claims.',
      properties: {
        email: { type: 'string' },
        name: { type: 'string' },
        picture: { type: 'string' },
        email_verified: { type: 'string' },
      },
    },
    groups_claim: optionalText('The claim with the groups of the person.'),
    authorization_url: optionalText('Only without a discovery document, like the other three.'),
    token_url: optionalText('As `authorization_url`.'),
    userinfo_url: optionalText('As `authorization_url`.'),
    jwks_url: optionalText('As `authorization_url`.'),
  },
};

/** Schema of the configuration of how people authenticate, as it is read and as it is changed. */
export const configurationSchema: JsonSchema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    tenant_id: { type: 'string' },
    local_auth: whole({ enabled: flag }),
    magic_link: whole({ enabled: flag, token_ttl_minutes: count('Minutes that a link is good for.') }),
    password_policy: whole(
      {
        min_length: count('Characters at least.'),
        require_uppercase: flag,
        require_lowercase: flag,
        require_numbers: flag,
        require_special: flag,
        max_age_days: {
          type: ['integer', 'null'],
          minimum: 0,
          description: 'Days after which a password has to be changed; `null` or 0: never.',
        },
      },
      ['max_age_days'],
    ),
    session_settings: whole({
      duration_hours: count('Hours that an access token is good for.'),
      refresh_token_duration_days: count('Days that a refresh token is good for.'),
      max_sessions_per_user: count('A further login ends the oldest one.'),
      single_session_mode: { type: 'boolean', description: 'One session; the same as a maximum of 1.' },
    }),
    rate_limiting: whole({
      lockout_threshold: count('Failed logins that lock an account.'),
      lockout_duration_minutes: count('Minutes that it stays locked.'),
    }),
    access_settings: whole({
      allow_access_requests: flag,
      allow_invitations: flag,
      require_approval: flag,
      default_roles: { ...texts, description: 'Roles of a new node of a person.' },
    }),
    oidc_providers: { type: 'array', items: providerSchema },
    anonymous_enabled: { type: ['boolean', 'null'], description: '`null`: as the server has it.' },
    cors_allowed_origins: texts,
    email: emailSettingsSchema,
  },
};
