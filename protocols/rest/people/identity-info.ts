import type { Identity, Session } from '#actors/identities/messages.ts';
import type { StatusChange } from '#actors/identities/people-messages.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import type { JsonSchema } from '#protocols/http/route.ts';

const text = { type: 'string' } as const;
const optionalText = { type: ['string', 'null'] } as const;
const flag = { type: 'boolean' } as const;
const time = { type: 'string', format: 'date-time' } as const;

/** Schema of {@link identityInfo}. */
export const identityInfoSchema: JsonSchema = {
  type: 'object',
  properties: {
    id: { type: 'string', format: 'uuid' },
    email: text,
    display_name: text,
    avatar_url: optionalText,
    email_verified: flag,
    is_active: flag,
    is_tenant_admin: { ...flag, description: 'Whether the person decides on access to every repository.' },
    has_password: flag,
    must_change_password: flag,
    linked_providers: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          strategy_id: { type: 'string', description: '`oidc:{provider}`' },
          external_id: text,
          linked_at: time,
          last_auth_at: time,
        },
      },
    },
    created_at: time,
    updated_at: time,
    last_login_at: { type: ['string', 'null'], format: 'date-time' },
  },
};

/** An identity as administrators see it. */
export function identityInfo(identity: Identity): JsonObject {
  return {
    id: identity.identity_id,
    email: identity.email,
    display_name: identity.display_name,
    avatar_url: identity.avatar_url,
    email_verified: identity.email_verified,
    is_active: identity.is_active,
    is_tenant_admin: identity.is_tenant_admin,
    has_password: identity.has_password,
    must_change_password: identity.must_change_password,
    linked_providers: identity.linked_providers.map((linked) => ({
      strategy_id: linked.strategy_id,
      external_id: linked.external_id,
      linked_at: linked.linked_at,
      last_auth_at: linked.last_auth_at,
    })),
    created_at: identity.created_at,
    updated_at: identity.updated_at,
    last_login_at: identity.last_login_at,
  };
}

/** Schema of {@link sessionInfo}. */
export const sessionInfoSchema: JsonSchema = {
  type: 'object',
  properties: {
    id: { type: 'string', format: 'uuid' },
    auth_strategy: text,
    repository: optionalText,
    user_agent: optionalText,
    ip_address: optionalText,
    created_at: time,
    last_active_at: time,
    expires_at: time,
  },
};

/** A session of another person, as administrators see it. */
export function sessionInfo(session: Session): JsonObject {
  return {
    id: session.session_id,
    auth_strategy: session.auth_strategy,
    repository: session.repository,
    user_agent: session.user_agent,
    ip_address: session.ip_address,
    created_at: new Date(session.created_ms).toISOString(),
    last_active_at: new Date(session.last_active_ms).toISOString(),
    expires_at: new Date(session.expires_ms).toISOString(),
  };
}

/** Schema of {@link statusChangeInfo}. */
export const statusChangeSchema: JsonSchema = {
  type: ['object', 'null'],
  properties: {
    status: { enum: ['active', 'inactive', 'deleted'] },
    repositories_done: { type: 'integer', minimum: 0 },
  },
};

/** How far a change of the status of user nodes has come; null when every repository was reached. */
export function statusChangeInfo(change: StatusChange | undefined): JsonObject | null {
  return change === undefined ? null : { status: change.status, repositories_done: change.done };
}
