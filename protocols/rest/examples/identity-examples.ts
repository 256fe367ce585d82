import type { Exchange } from '#protocols/http/openapi/openapi-examples.ts';

const token = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhZGEifQ.c2lnbmF0dXJl';

const ada = {
  id: '01a44700-0000-7000-8000-0000000000e1',
  email: 'ada@example.org',
  display_name: 'Ada',
  avatar_url: null,
  email_verified: false,
  linked_providers: [],
} as const;

const bo = {
  id: '01a44700-0000-7000-8000-0000000000e2',
  email: 'bo@example.org',
  display_name: 'Bo',
  avatar_url: null,
  email_verified: false,
  linked_providers: [],
  home: '/users/internal/bo-at-example-org',
} as const;

function pair(identity: object): object {
  return {
    access_token: token,
    refresh_token: token,
    token_type: 'Bearer',
    expires_at: 1805040599,
    identity,
  };
}

const inMagazine = {
  id: bo.id,
  email: bo.email,
  roles: ['viewer', 'authenticated_user'],
  anonymous: false,
  home: bo.home,
} as const;

const session = {
  id: '01a44700-0000-7000-8000-0000000000e3',
  auth_strategy: 'local',
  user_agent: null,
  ip_address: '127.0.0.1',
  created_at: '2027-03-14T15:09:26.000Z',
  last_active_at: '2027-03-14T15:09:26.000Z',
  is_current: true,
} as const;

const earlier = { ...session, id: '01a44700-0000-7000-8000-0000000000e4', is_current: false } as const;

const ways = {
  providers: [
    { id: 'example', display_name: 'Example', icon: null, auth_url: '/auth/oidc/example' },
  ] as readonly object[],
  local_enabled: true,
  magic_link_enabled: true,
};

const configuration = {
  tenant_id: 'default',
  local_auth: { enabled: true },
  magic_link: { enabled: true, token_ttl_minutes: 15 },
  password_policy: {
    min_length: 8,
    require_uppercase: false,
    require_lowercase: false,
    require_numbers: false,
    require_special: false,
    max_age_days: null,
  },
  session_settings: {
    duration_hours: 1,
    refresh_token_duration_days: 30,
    max_sessions_per_user: 10,
    single_session_mode: false,
  },
  rate_limiting: { lockout_threshold: 5, lockout_duration_minutes: 15 },
  access_settings: {
    allow_access_requests: true,
    allow_invitations: true,
    require_approval: true,
    default_roles: ['viewer'],
  },
  oidc_providers: [],
  anonymous_enabled: null,
  cors_allowed_origins: [],
  email: null,
} as const;

const provider = {
  provider_id: 'example',
  display_name: 'Example',
  icon: null,
  priority: 0,
  enabled: true,
  issuer_url: 'https://login.example.org',
  client_id: 'magazine',
  redirect_uri: null,
  scopes: ['openid', 'email', 'profile'],
  allowed_email_domains: ['example.org'],
  attribute_mapping: {
    email: 'email',
    name: 'name',
    picture: 'picture',
    email_verified: 'email_verified',
  },
  groups_claim: null,
  authorization_url: null,
  token_url: null,
  userinfo_url: null,
  jwks_url: null,
} as const;

/** People who log in. The access token is that of the latest login, the refresh token that of the latest answer. */
export const identityExamples: readonly Exchange[] = [
  {
    operation: 'readAuthConfiguration',
    summary: 'Nothing is stored: the defaults.',
    status: 200,
    answer: configuration,
  },
  {
    operation: 'changeAuthConfiguration',
    summary: 'A provider; everything else stays.',
    body: {
      oidc_providers: [
        {
          provider_id: 'example',
          display_name: 'Example',
          issuer_url: 'https://login.example.org',
          client_id: 'magazine',
          client_secret: 'the-secret-of-the-client',
          allowed_email_domains: ['example.org'],
        },
      ],
    },
    status: 200,
    answer: { ...configuration, oidc_providers: [{ ...provider, has_client_secret: true }] },
  },
  {
    operation: 'listLoginProviders',
    summary: 'What a login page may offer.',
    status: 200,
    answer: ways,
  },
  {
    operation: 'listLoginProvidersInRepository',
    summary: 'The same, for logins in a repository.',
    status: 200,
    answer: {
      ...ways,
      providers: [
        { id: 'example', display_name: 'Example', icon: null, auth_url: '/auth/oidc/example?repo=magazine' },
      ],
    },
  },
  {
    operation: 'startOidcLogin',
    summary: 'The browser is sent on to the provider.',
    parameters: { provider: 'example', repo: 'magazine', redirect_uri: '/app' },
    status: 302,
  },
  {
    operation: 'finishOidcLogin',
    summary: 'The provider has sent the browser back, for a login without a landing URL.',
    parameters: { provider: 'example', code: 'c2VjcmV0', state: 'v1.c2VhbGVk' },
    status: 200,
    answer: pair({ ...ada, email_verified: true, linked_providers: ['oidc:example'] }),
  },
  {
    operation: 'registerIdentity',
    summary: 'For the tenant: there is no home.',
    body: { email: 'ada@example.org', password: 'Walks-in-march', display_name: 'Ada' },
    status: 200,
    answer: pair(ada),
  },
  {
    operation: 'registerIdentityInRepository',
    summary: 'In a repository, which gets a node of the person.',
    body: { email: 'bo@example.org', password: 'Rivers-in-flood', display_name: 'Bo' },
    status: 200,
    answer: pair(bo),
  },
  {
    operation: 'logInIdentity',
    summary: 'For the tenant.',
    body: { email: 'ada@example.org', password: 'Walks-in-march' },
    status: 200,
    answer: pair(ada),
  },
  {
    operation: 'refreshSession',
    summary: 'The next token pair of the session.',
    body: { refresh_token: token },
    status: 200,
    answer: pair(ada),
  },
  {
    operation: 'changeIdentityPassword',
    summary: 'The own password.',
    body: { old_password: 'Walks-in-march', new_password: 'Walks-in-april' },
    status: 204,
  },
  { operation: 'logOutIdentity', summary: 'Ends the session of the token.', status: 204 },
  {
    operation: 'logInIdentityInRepository',
    summary: 'In a repository; the session lasts for 30 days.',
    body: { email: 'bo@example.org', password: 'Rivers-in-flood', remember_me: true },
    status: 200,
    answer: pair(bo),
  },
  {
    operation: 'refreshSessionInRepository',
    summary: 'The next token pair of the session.',
    body: { refresh_token: token },
    status: 200,
    answer: pair(bo),
  },
  {
    operation: 'readOwnIdentity',
    summary: 'With a token of a login in a repository.',
    status: 200,
    answer: inMagazine,
  },
  {
    operation: 'readOwnIdentityInRepository',
    summary: 'With the node of the person there.',
    status: 200,
    answer: {
      ...inMagazine,
      user_node: {
        id: '01a44700-0000-7000-8000-0000000000e5',
        name: 'bo-at-example-org',
        path: bo.home,
        node_type: 'svc:User',
        workspace: 'svc:access_control',
        properties: {
          user_id: bo.id,
          email: bo.email,
          display_name: 'Bo',
          status: 'active',
          roles: ['viewer', 'authenticated_user'],
          groups: [],
        },
      },
    },
  },
  {
    operation: 'listOwnSessions',
    summary: 'Two of them.',
    status: 200,
    answer: { sessions: [session, earlier] },
  },
  {
    operation: 'revokeOwnSession',
    summary: 'The earlier one.',
    parameters: { list: 'sessions', session_id: earlier.id },
    status: 204,
  },
  {
    operation: 'changeIdentityPasswordInRepository',
    summary: 'The own password.',
    body: { old_password: 'Rivers-in-flood', new_password: 'Rivers-in-march' },
    status: 204,
  },
];
