import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import type { TestResponse } from '#test/support/http-client.ts';
import { startServer, type TestServer } from '#test/support/server.ts';
import { ScriptedProvider, type SigningKey, signingKey } from '../../identity/oidc/scripted-provider.ts';

let key: SigningKey;
let server: TestServer;
let site: string;
let provider: ScriptedProvider;

beforeAll(async () => {
  key = await signingKey('key-1');
  server = await startServer({
    env: { SVC_BASE_URL: 'https://grove.example.org' },
    config: '[egress]\noidc_allow_private = true\n',
  });
  site = await server.createRepository();
});

afterAll(() => server.close());

beforeEach(async () => {
  provider = await ScriptedProvider.start(key);
});

afterEach(() => provider.stop());

/** Stores the provider, which has no address of its own for the callback. */
const configure = async (more: object = {}): Promise<TestResponse> =>
  await server.admin('PUT', '/api/tenants/default/auth/config', {
    oidc_providers: [
      { provider_id: 'acme', issuer_url: provider.issuer, client_id: 'grove', client_secret: 'the secret' },
    ],
    ...more,
  });

/** Logs in, at another member of a cluster each time. */
const logIn = async (query: string): Promise<TestResponse> => {
  const started = await server.request('GET', `/auth/oidc/acme${query}`);
  expect(started.status).toBe(302);
  const back = provider.logIn(new URL(started.headers.location as string));
  return await server.request('GET', `/auth/oidc/acme/callback?${new URLSearchParams(back)}`);
};

it('a person logs in, and gets a node in the repository [OIDC-002, OIDC-003, OIDC-004, OIDC-022]', async () => {
  expect((await configure()).status).toBe(200);
  const { json, status } = await logIn(`?repo=${site}`);
  expect(status).toBe(200);
  expect(json.identity).toMatchObject({
    email: 'ann@example.org',
    email_verified: true,
    linked_providers: ['oidc:acme'],
    home: '/users/internal/ann-at-example-org',
  });
  const me = await server.request('GET', `/auth/${site}/me`, { token: json.access_token });
  expect(me.json).toMatchObject({
    email: 'ann@example.org',
    roles: ['viewer', 'authenticated_user'],
    home: '/users/internal/ann-at-example-org',
  });
  const sessions = await server.request('GET', '/auth/sessions', { token: json.access_token });
  expect(sessions.json.sessions).toMatchObject([{ auth_strategy: 'oidc:acme', is_current: true }]);
  const redeemed = provider.seen.find(({ path }) => path === '/token');
  expect(redeemed?.form.redirect_uri).toBe('https://grove.example.org/auth/oidc/acme/callback');
});

it('the secret is used, and never answered [OIDC-017]', async () => {
  const stored = await configure();
  expect(stored.text).not.toContain('the secret');
  expect(stored.json.oidc_providers).toMatchObject([{ provider_id: 'acme', has_client_secret: true }]);
  // A later change keeps it.
  await server.admin('PUT', '/api/tenants/default/auth/config', {
    oidc_providers: [{ provider_id: 'acme', issuer_url: provider.issuer, client_id: 'grove' }],
  });
  expect((await logIn('')).status).toBe(200);
  const redeemed = provider.seen.find(({ path }) => path === '/token');
  const basic = Buffer.from('grove:the+secret').toString('base64');
  expect(redeemed?.headers.authorization).toBe(`Basic ${basic}`);
});

it('the tokens go to an allowed page in the fragment, and nowhere else [OIDC-004, OIDC-008]', async () => {
  await configure({ cors_allowed_origins: ['https://app.example.org'] });
  const landed = await logIn('?redirect_uri=https://app.example.org/done');
  expect(landed.status).toBe(302);
  expect(landed.headers.location).toMatch(/^https:\/\/app\.example\.org\/done#access_token=/);
  expect(landed.headers['cache-control']).toBe('no-store');
  const refused = await server.request('GET', '/auth/oidc/acme?redirect_uri=//app.example.org/done');
  expect([refused.status, refused.json.field]).toEqual([400, 'redirect_uri']);
});

it('a tenant of its own is named in the address, because links have no headers [OIDC-028]', async () => {
  await server.admin('POST', '/api/management/registry/tenants', {
    tenant_id: 'club',
    metadata: {},
    admin: { password: 'Correct-Horse-9-Battery', must_change_password: false },
  });
  const login = await server.request('POST', '/api/svc/sys/club/auth', {
    body: { username: 'admin', password: 'Correct-Horse-9-Battery' },
  });
  await server.request('PUT', '/api/tenants/club/auth/config', {
    token: login.json.token,
    body: { oidc_providers: [{ provider_id: 'acme', issuer_url: provider.issuer, client_id: 'grove' }] },
  });
  const ways = await server.request('GET', '/auth/site/providers', { headers: { 'x-tenant-id': 'club' } });
  const [{ auth_url: address }] = ways.json.providers;
  expect(address).toBe('/auth/oidc/acme?tenant=club&repo=site');
  const { json } = await logIn('?tenant=club');
  const claims = JSON.parse(Buffer.from(json.access_token.split('.')[1], 'base64url').toString());
  expect(claims).toMatchObject({ tenant_id: 'club', auth_strategy: 'oidc:acme' });
});
