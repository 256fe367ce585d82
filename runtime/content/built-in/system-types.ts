import {
  type BuiltInNodeType,
  fulltext,
  indexed,
  property,
  required,
  several,
  shipped,
  typed,
  unique,
  va,
} from './define-type.ts';

/**
 * Types of `svc:system` and `mcp`: authentication settings and connections to and from MCP. Identities, sessions and
 * tokens are stored in the tenant's own storage; their types exist for code that reads them as nodes.
 *
 * The fields of a connection are not required: an incomplete node is listed as invalid, not refused.
 *
 * @see docs/interface/built-ins.md#node-types-of-the-system
 */
export const systemTypes: readonly BuiltInNodeType[] = [
  shipped('AuthConfig', 1, {
    description: 'Authentication settings.',
    properties: [
      ...several(
        'Object',
        'local_auth',
        'magic_link',
        'password_policy',
        'session_settings',
        'access_settings',
        'rate_limiting',
      ),
      typed('Boolean', 'anonymous_enabled'),
      typed('Array', 'cors_allowed_origins'),
    ],
    ...va,
  }),
  shipped('ProviderConfig', 1, {
    description: 'An external login provider.',
    properties: [
      property('provider_id', { ...required, ...unique }),
      property('strategy_type', { default: 'oidc' }),
      property('display_name'),
      property('icon'),
      typed('Number', 'priority', { default: 0 }),
      typed('Boolean', 'enabled', { default: true, ...indexed }),
      ...several(
        'URL',
        'issuer_url',
        'redirect_uri',
        'authorization_url',
        'token_url',
        'userinfo_url',
        'jwks_url',
      ),
      property('client_id'),
      ...several('Array', 'scopes', 'allowed_email_domains'),
      typed('Object', 'attribute_mapping'),
      property('groups_claim'),
    ],
    ...va,
  }),
  shipped('Identity', 1, {
    description: 'A person known to the tenant.',
    properties: [
      property('identity_id', { ...required, ...unique }),
      property('email', indexed),
      typed('Boolean', 'email_verified', { default: false }),
      property('display_name', fulltext),
      property('avatar_url'),
      typed('Boolean', 'is_active', { default: true, ...indexed }),
      typed('Array', 'linked_providers'),
      typed('Object', 'metadata'),
      ...several('Date', 'created_at', 'last_login_at'),
    ],
    ...va,
  }),
  shipped('Session', 1, {
    description: 'A login that can be renewed.',
    properties: [
      property('session_id', { ...required, ...unique }),
      property('identity_id', { ...required, ...indexed }),
      property('strategy_id'),
      ...several('Date', 'created_at', 'expires_at', 'last_activity_at', 'revoked_at'),
      typed('Object', 'client_info'),
      typed('Boolean', 'revoked', { default: false, ...indexed }),
      property('revoked_reason'),
    ],
  }),
  shipped('OneTimeToken', 1, {
    description: 'A token that works once.',
    properties: [
      property('purpose', { ...required, ...indexed }),
      property('token_hash', { ...required, ...unique }),
      property('identity_id', indexed),
      property('email'),
      ...several('Date', 'created_at', 'expires_at', 'used_at'),
      typed('Object', 'metadata'),
    ],
  }),
  shipped('WorkspaceAccess', 1, {
    description: 'What access an identity has to a repository, or has asked for.',
    properties: [
      property('identity_id', { ...required, ...indexed }),
      property('tenant_id'),
      property('repo_id', indexed),
      property('user_node_id'),
      property('status', {
        default: 'pending',
        ...indexed,
        constraints: { enum: ['active', 'pending', 'invited', 'denied', 'revoked', 'declined', 'suspended'] },
      }),
      ...several('Date', 'granted_at', 'requested_at', 'updated_at'),
      property('granted_by'),
      typed('Array', 'roles'),
      property('notes'),
    ],
    ...va,
  }),
  shipped('McpServer', 1, {
    description: 'An MCP endpoint of a branch.',
    icon: 'plug',
    properties: [
      property('slug', indexed),
      property('title', fulltext),
      property('description'),
      typed('Boolean', 'enabled', { default: true, ...indexed }),
      typed('Boolean', 'public', { default: false }),
      typed('Object', 'data'),
      ...several('Array', 'tools', 'prompts', 'resources', 'resource_templates'),
    ],
    ...va,
  }),
  shipped('McpConnection', 1, {
    description: 'A connection to a remote MCP server.',
    icon: 'link',
    properties: [
      property('slug', indexed),
      property('title', fulltext),
      property('url'),
      typed('Boolean', 'enabled', { default: false, ...indexed }),
      property('protocol_version'),
      property('auth_kind', { default: 'none' }),
      ...several('Object', 'static_auth', 'tool_filter', 'refresh_policy'),
      typed('Array', 'tools'),
      typed('Number', 'tool_count'),
    ],
    ...va,
  }),
];
