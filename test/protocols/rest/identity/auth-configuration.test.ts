import { afterAll, beforeAll, expect, it } from 'vitest';
import { IdentityClient, PASSWORD } from '#test/support/identity-client.ts';
import { ADMIN_PASSWORD, startServer, type TestServer } from '#test/support/server.ts';

const defaults = {
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
};

const google = {
  provider_id: 'google',
  issuer_url: 'https://accounts.example.org',
  client_id: 'client',
  client_secret: 'the secret of the client',
};

let server: TestServer;
let people: IdentityClient;

beforeAll(async () => {
  server = await startServer();
  people = new IdentityClient(server);
});

afterAll(() => server.close());

/** A tenant with an administrator. @returns the token */
async function newTenant(tenant: string): Promise<string> {
  const made = await server.admin('POST', '/api/management/registry/tenants', {
    tenant_id: tenant,
    admin: { password: ADMIN_PASSWORD, must_change_password: false },
  });
  expect(made.status).toBe(201);
  const { json } = await server.request('POST', `/api/svc/sys/${tenant}/auth`, {
    body: { username: 'admin', password: ADMIN_PASSWORD },
  });
  return json.token;
}

const configOf = (tenant: string) => `/api/tenants/${tenant}/auth/config`;

it('answers the defaults, and then what was stored [AUTHCONF-001, AUTHCONF-002]', async () => {
  const token = await newTenant('shows');
  const read = () => server.request('GET', configOf('shows'), { token });
  expect((await read()).json).toEqual({ tenant_id: 'shows', ...defaults });
  const change = { magic_link: { enabled: false, token_ttl_minutes: 5 }, anonymous_enabled: true };
  const changed = await server.request('PUT', configOf('shows'), { token, body: change });
  expect(changed.status).toBe(200);
  expect(changed.json).toEqual({ tenant_id: 'shows', ...defaults, ...change });
  expect((await read()).json).toEqual(changed.json);
  // What was read may be sent back.
  const again = await server.request('PUT', configOf('shows'), { token, body: changed.json });
  expect(again.json).toEqual(changed.json);
  const reset = await server.request('PUT', configOf('shows'), { token, body: { anonymous_enabled: null } });
  expect(reset.json).toEqual({ ...changed.json, anonymous_enabled: null });
});

it('keeps parts that are not given, and takes only complete ones [AUTHCONF-003, AUTHCONF-004, AUTHCONF-011]', async () => {
  const token = await newTenant('merges');
  const put = (body: object) => server.request('PUT', configOf('merges'), { token, body });
  await put({ rate_limiting: { lockout_threshold: 3, lockout_duration_minutes: 1 } });
  const second = await put({ cors_allowed_origins: ['https://app.example.org'] });
  expect(second.json).toMatchObject({
    rate_limiting: { lockout_threshold: 3, lockout_duration_minutes: 1 },
    cors_allowed_origins: ['https://app.example.org'],
  });
  const incomplete = await put({ rate_limiting: { lockout_threshold: 4 } });
  expect(incomplete.status).toBe(422);
  const outOfBounds = await put({ rate_limiting: { lockout_threshold: 0, lockout_duration_minutes: 1 } });
  expect(outOfBounds.json).toMatchObject({
    code: 'VALIDATION_FAILED',
    field: 'rate_limiting.lockout_threshold',
  });
  const misspelt = await put({ local_auht: { enabled: false } });
  expect([misspelt.status, misspelt.json.code]).toEqual([400, 'VALIDATION_FAILED']);
  expect((await put({})).json).toEqual(second.json);
});

it('replaces the providers, keeps their secrets and shows none [AUTHCONF-005, AUTHCONF-006, OIDC-021, OIDC-024]', async () => {
  const token = await newTenant('providers');
  const put = (body: object) => server.request('PUT', configOf('providers'), { token, body });
  const other = { ...google, provider_id: 'other', client_secret: undefined };
  const stored = await put({ oidc_providers: [google, other] });
  expect(stored.status).toBe(200);
  expect(stored.text).not.toContain('the secret');
  const secrets = (answer: typeof stored) =>
    answer.json.oidc_providers.map((each: { has_client_secret: boolean }) => each.has_client_secret);
  expect(secrets(stored)).toEqual([true, false]);
  expect(stored.json.oidc_providers[0].scopes).toEqual(['openid', 'email', 'profile']);
  const { client_secret: _secret, ...withoutSecret } = google;
  expect(secrets(await put({ oidc_providers: [withoutSecret] }))).toEqual([true]);
  expect(secrets(await put({ oidc_providers: [{ ...google, client_secret: null }] }))).toEqual([false]);
  const removed = await put({ oidc_providers: [] });
  expect(removed.json).toEqual({ tenant_id: 'providers', ...defaults });
  const named = await put({ oidc_providers: [{ ...google, provider_id: 'Not OK' }] });
  expect([named.status, named.json.code]).toEqual([400, 'VALIDATION_FAILED']);
  const read = await server.request('GET', configOf('providers'), { token });
  expect(read.text).not.toContain('client_secret"');
});

it('is for administrators of the tenant [AUTHCONF-001]', async () => {
  await newTenant('mine');
  const { access } = await people.person('/auth', { tenant: 'mine' });
  const body = { local_auth: { enabled: false } };
  for (const method of ['GET', 'PUT']) {
    const more = method === 'PUT' ? { body } : {};
    const nobody = await server.request(method, configOf('mine'), more);
    expect([method, nobody.status]).toEqual([method, 401]);
    const person = await server.request(method, configOf('mine'), { token: access, ...more });
    expect([method, person.status]).toEqual([method, 403]);
    // Not even the administrators of the system.
    const stranger = await server.request(method, configOf('mine'), { token: server.adminToken, ...more });
    expect([method, stranger.status, stranger.json.code]).toEqual([method, 403, 'TENANT_MISMATCH']);
    const missing = await server.request(method, configOf('not-there'), {
      token: server.adminToken,
      ...more,
    });
    expect({ ...missing.json, timestamp: '' }).toEqual({ ...stranger.json, timestamp: '' });
  }
});

it('records each change with who made it and which fields, and no values [AUTHCONF-012]', async () => {
  const token = await newTenant('audited');
  const { access, id } = await people.person('/auth', { tenant: 'audited' });
  const put = (body: object, by = token) => server.request('PUT', configOf('audited'), { token: by, body });
  const entries = async () => {
    const { json } = await server.request('GET', '/api/svc/sys/audited/audit', { token });
    return json.items.filter(({ action }: { action: string }) => action === 'authentication_configured');
  };
  await put({ oidc_providers: [google], anonymous_enabled: true });
  const promoted = await server.request('PATCH', `/api/svc/sys/audited/identity-users/${id}`, {
    token,
    body: { is_tenant_admin: true },
  });
  expect(promoted.status).toBe(200);
  expect((await put({ anonymous_enabled: null }, access)).status).toBe(200);
  // Refused changes, and none at all, leave no entry.
  const moved = { ...google, client_secret: undefined, issuer_url: 'https://other.example.org' };
  const refused = await put({ oidc_providers: [moved] });
  expect([refused.status, refused.json.field]).toEqual([400, 'oidc_providers.0.client_secret']);
  await put({});
  const [second, first, ...others] = await entries();
  expect(others).toEqual([]);
  expect(first).toMatchObject({
    actor: { user_id: expect.any(String), username: 'admin' },
    subject: 'audited',
    details: {
      parts: ['oidc_providers', 'anonymous_enabled'],
      changed: ['anonymous_enabled', 'oidc_providers.google'],
    },
  });
  expect(second).toMatchObject({
    actor: { user_id: id, username: id },
    details: { parts: ['anonymous_enabled'], changed: ['anonymous_enabled'], identity_id: id },
  });
  expect(JSON.stringify([first, second])).not.toContain('the secret');
});

it('stores nothing of a body with secrets for an Idempotency-Key', async () => {
  const token = await newTenant('once');
  const put = (enabled: boolean) =>
    server.request('PUT', configOf('once'), {
      token,
      body: { local_auth: { enabled } },
      headers: { 'idempotency-key': 'k' },
    });
  await put(false);
  // A stored hash of the first body would refuse the second one, or answer the first one again.
  const second = await put(true);
  expect([second.status, second.json.local_auth]).toEqual([200, { enabled: true }]);
  expect((await put(false)).json.local_auth).toEqual({ enabled: false });
});

it('decides on the next registration and login, at every member [ID-017, SESS-006, SESS-008, SESS-011, AUTHCONF-010]', async () => {
  const tenant = 'decides';
  const token = await newTenant(tenant);
  const put = async (body: object) =>
    expect((await server.request('PUT', configOf(tenant), { token, body })).status).toBe(200);
  await put({
    password_policy: { ...defaults.password_policy, min_length: 12, require_numbers: true },
    session_settings: {
      duration_hours: 2,
      refresh_token_duration_days: 3,
      max_sessions_per_user: 2,
      single_session_mode: false,
    },
    rate_limiting: { lockout_threshold: 2, lockout_duration_minutes: 1 },
  });
  const email = people.newEmail();
  const weak = await people.register(email, '/auth', { tenant });
  expect(weak.json).toMatchObject({ code: 'WEAK_PASSWORD', details: { unmet: ['a digit'] } });
  const password = 'a good password 1';
  const registered = await people.send('POST', '/auth/register', { tenant, body: { email, password } });
  expect(registered.status).toBe(200);
  const claims = (text: string) =>
    JSON.parse(Buffer.from(text.split('.')[1] as string, 'base64url').toString());
  const access = claims(registered.json.access_token);
  const refresh = claims(registered.json.refresh_token);
  expect([access.exp - access.iat, refresh.exp - refresh.iat]).toEqual([2 * 3_600, 3 * 24 * 3_600]);
  const short = await people.send('POST', '/auth/change-password', {
    token: registered.json.access_token,
    body: { old_password: password, new_password: 'no digit at all' },
  });
  expect(short.json).toMatchObject({ code: 'WEAK_PASSWORD', details: { unmet: ['a digit'] } });
  const second = await people.logIn(email, password, '/auth', { tenant });
  await people.logIn(email, password, '/auth', { tenant });
  expect((await people.refresh(registered.json.refresh_token)).json.code).toBe('SESSION_REVOKED');
  expect((await people.refresh(second.json.refresh_token)).status).toBe(200);
  await put({
    session_settings: {
      duration_hours: 1,
      refresh_token_duration_days: 30,
      max_sessions_per_user: 5,
      single_session_mode: true,
    },
  });
  const alone = await people.logIn(email, password, '/auth', { tenant });
  const { json } = await people.send('GET', '/auth/sessions', { token: alone.json.access_token });
  expect(json.sessions).toHaveLength(1);
  for (let index = 0; index < 2; index += 1)
    expect((await people.logIn(email, 'wrong', '/auth', { tenant })).status).toBe(401);
  expect((await people.logIn(email, PASSWORD, '/auth', { tenant })).status).toBe(429);
});

it('lists the ways to log in, in order and without what is switched off [OIDC-001, OIDC-020]', async () => {
  const tenant = 'offers';
  const token = await newTenant(tenant);
  const ways = (place = '/auth', of = tenant) => people.send('GET', `${place}/providers`, { tenant: of });
  const plain = { providers: [], local_enabled: true, magic_link_enabled: true };
  for (const answer of [await ways(), await ways('/auth', 'nowhere'), await ways('/auth/not-there')])
    expect(answer.json).toEqual(plain);
  const provider = (id: string, priority: number, more: object = {}) => ({
    ...google,
    provider_id: id,
    display_name: id.toUpperCase(),
    priority,
    ...more,
  });
  await server.request('PUT', configOf(tenant), {
    token,
    body: {
      oidc_providers: [
        provider('last', 9, { icon: 'https://icons.example.org/last.svg' }),
        provider('off', 1, { enabled: false }),
        provider('first', 2),
      ],
      local_auth: { enabled: false },
      magic_link: { enabled: false, token_ttl_minutes: 15 },
    },
  });
  const answer = await ways();
  expect(answer.json).toEqual({
    providers: [
      { id: 'first', display_name: 'FIRST', icon: null, auth_url: '/auth/oidc/first?tenant=offers' },
      {
        id: 'last',
        display_name: 'LAST',
        icon: 'https://icons.example.org/last.svg',
        auth_url: '/auth/oidc/last?tenant=offers',
      },
    ],
    local_enabled: false,
    magic_link_enabled: false,
  });
  const scoped = await ways('/auth/site');
  expect(scoped.json.providers[0].auth_url).toBe('/auth/oidc/first?tenant=offers&repo=site');
  expect(scoped.text).not.toContain('secret');
});
