import { decodeJwt } from 'jose';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { TestResponse } from '#test/support/http-client.ts';
import { OidcFixture } from './oidc-fixture.ts';
import { ScriptedProvider, type SigningKey, signingKey } from './scripted-provider.ts';

const ann = 'ann@example.org';
const client = { address: '10.0.0.1', userAgent: 'browser' };

let key: SigningKey;
let member: OidcFixture;
let provider: ScriptedProvider;

beforeAll(async () => {
  key = await signingKey('key-1');
  member = await OidcFixture.open();
});

afterAll(() => member.close());

beforeEach(async () => {
  provider = await ScriptedProvider.start(key);
  await member.configure([acme()]);
});

afterEach(async () => {
  member.clock.aheadMs = 0;
  member.homes.clear();
  await member.forget();
  await provider.stop();
});

const acme = (more: object = {}): { provider_id: string } & Record<string, unknown> => ({
  provider_id: 'acme',
  issuer_url: provider.issuer,
  client_secret: 'the client secret',
  ...more,
});

/** Logs in. @returns the answer of the callback */
const logIn = async (query = '', id = 'acme'): Promise<TestResponse> =>
  member.finish(id, provider.logIn(await member.start(id, query)));

const refusalOf = ({ json, status }: TestResponse): string => `${status} ${json.code}`;

describe('the start of a login', () => {
  it('sends the browser to the provider with a challenge, a nonce and a sealed state [OIDC-002, OIDC-022]', async () => {
    const { headers, status, text } = await member.get('/auth/oidc/acme?repo=site&redirect_uri=/app');
    expect(status).toBe(302);
    expect(text).toBe('');
    expect(headers).toMatchObject({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' });
    const url = new URL(headers.location as string);
    expect(url.origin + url.pathname).toBe(`${provider.issuer}/authorize`);
    const { code_challenge: challenge, nonce, state, ...asked } = Object.fromEntries(url.searchParams);
    expect(asked).toEqual({
      client_id: 'grove',
      response_type: 'code',
      redirect_uri: `${member.origin}/auth/oidc/acme/callback`,
      scope: 'openid email profile',
      code_challenge_method: 'S256',
    });
    expect(challenge).toMatch(/^[\w-]{43}$/);
    expect(nonce).toMatch(/^[\w-]{43}$/);
    expect(state).toMatch(/^v1\.[\w-]{100,}$/);
    const next = await member.start('acme');
    for (const name of ['code_challenge', 'nonce', 'state'])
      expect(next.searchParams.get(name)).not.toBe(url.searchParams.get(name));
  });

  it('asks for the scopes of the configuration', async () => {
    await member.configure([acme({ scopes: ['openid', 'email', 'groups'] })]);
    expect((await member.start('acme')).searchParams.get('scope')).toBe('openid email groups');
  });

  it('is refused for a provider that is unknown or disabled [OIDC-009]', async () => {
    await member.configure([acme({ enabled: false })]);
    expect(refusalOf(await member.get('/auth/oidc/acme'))).toBe('403 FORBIDDEN');
    expect(refusalOf(await member.get('/auth/oidc/other'))).toBe('404 PROVIDER_NOT_FOUND');
    // A tenant that is not there looks like one without providers.
    expect(refusalOf(await member.get('/auth/oidc/acme', { 'x-tenant-id': 'nobody' }))).toBe(
      '404 PROVIDER_NOT_FOUND',
    );
    expect(provider.seen).toEqual([]);
  });

  it('is refused for a landing URL that is not allowed [OIDC-008]', async () => {
    await member.configure([acme()], { cors_allowed_origins: ['https://app.example.org', '*'] });
    const startTo = (landing: string): Promise<TestResponse> =>
      member.get(`/auth/oidc/acme?redirect_uri=${encodeURIComponent(landing)}`);
    for (const landing of ['//evil.example.net', '/\\evil.example.net', 'https://evil.example.net', '']) {
      const refused = await startTo(landing);
      expect(refusalOf(refused)).toBe('400 VALIDATION_FAILED');
      expect(refused.json.field).toBe('redirect_uri');
    }
    for (const landing of ['/app', 'https://app.example.org/done'])
      expect((await startTo(landing)).status).toBe(302);
  });

  it('uses the origins of the server for a tenant without its own', async () => {
    const landing = encodeURIComponent('https://server.example.org/');
    await member.serve(undefined, ['https://server.example.org']);
    try {
      expect((await member.get(`/auth/oidc/acme?redirect_uri=${landing}`)).status).toBe(302);
      await member.configure([acme()], { cors_allowed_origins: ['https://app.example.org'] });
      expect((await member.get(`/auth/oidc/acme?redirect_uri=${landing}`)).status).toBe(400);
    } finally {
      await member.serve(undefined);
    }
  });

  it('refuses names that are none, parameters it does not know, and two tenants at once [OIDC-028]', async () => {
    const refused = async (query: string, headers = {}): Promise<string> =>
      refusalOf(await member.get(`/auth/oidc/acme${query}`, headers));
    expect(await refused('?repo=Not%20a%20name')).toBe('400 VALIDATION_FAILED');
    expect(await refused('?tenant=Not%20a%20name')).toBe('400 VALIDATION_FAILED');
    expect(await refused('?landing=/app')).toBe('400 VALIDATION_FAILED');
    expect(await refused('?tenant=default', { 'x-tenant-id': 'other' })).toBe('403 TENANT_MISMATCH');
    expect(await refused('?tenant=other')).toBe('404 PROVIDER_NOT_FOUND');
    expect((await member.get('/auth/oidc/acme?tenant=default')).status).toBe(302);
  });

  it('takes the callback from SVC_BASE_URL when the provider has none, and never from the request [OIDC-022, OIDC-029]', async () => {
    await member.configure([acme({ redirect_uri: null })]);
    const refused = await member.get('/auth/oidc/acme', { host: 'evil.example.net' });
    expect(refusalOf(refused)).toBe('503 OIDC_NOT_CONFIGURED');
    expect(refused.json.message).toContain('SVC_BASE_URL');
    await member.serve('https://content.example.org');
    try {
      const { searchParams: asked } = await member.start('acme');
      expect(asked.get('redirect_uri')).toBe('https://content.example.org/auth/oidc/acme/callback');
    } finally {
      await member.serve(undefined);
    }
  });
});

describe('the end of a login', () => {
  it('answers the tokens as JSON without a landing URL [OIDC-004]', async () => {
    const { headers, json, status } = await logIn();
    expect(status).toBe(200);
    expect(headers).toMatchObject({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' });
    expect(json).toMatchObject({
      token_type: 'Bearer',
      identity: {
        email: ann,
        email_verified: true,
        display_name: 'Ann',
        linked_providers: ['oidc:acme'],
      },
    });
    const access = await member.tokens.verifyAccess(json.access_token);
    expect(access).toMatchObject({ tenant: 'default', email: ann, strategy: 'oidc:acme' });
    expect(access).not.toHaveProperty('repository');
    expect(json.expires_at).toBe(decodeJwt(json.access_token).exp);
    expect(await member.logins.refresh(json.refresh_token, 'default')).toMatchObject({
      token_type: 'Bearer',
    });
  });

  it('sends the browser to the landing URL with the tokens in the fragment [OIDC-004]', async () => {
    const { headers, status, text } = await logIn('?redirect_uri=/app?tab=1');
    expect([status, text]).toEqual([302, '']);
    expect(headers).toMatchObject({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' });
    const [landing, fragment] = (headers.location as string).split('#');
    expect(landing).toBe('/app?tab=1');
    const told = Object.fromEntries(new URLSearchParams(fragment));
    expect(Object.keys(told)).toEqual(['access_token', 'refresh_token', 'expires_at']);
    expect(await member.tokens.verifyAccess(told.access_token as string)).toMatchObject({ email: ann });
    expect(told.expires_at).toBe(String(decodeJwt(told.access_token as string).exp));
  });

  it('is not brought about by a HEAD, which only asks whether the address is there', async () => {
    const back = provider.logIn(await member.start('acme'));
    const asked = await member.head(`/auth/oidc/acme/callback?${new URLSearchParams(back)}`);
    expect([asked.status, asked.text, asked.headers.location]).toEqual([200, '', undefined]);
    expect(provider.asked('/token')).toBe(0);
    expect((await member.finish('acme', back)).status).toBe(200);
  });

  it('is in the repository of the login, where the person has a home', async () => {
    member.homes.set('default/site', '/users/internal/ann-at-example-org');
    const { json } = await logIn('?repo=site');
    expect(json.identity.home).toBe('/users/internal/ann-at-example-org');
    expect(await member.tokens.verifyAccess(json.access_token)).toMatchObject({
      repository: 'site',
      home: '/users/internal/ann-at-example-org',
    });
  });

  it('refuses a landing URL that is not allowed any more', async () => {
    await member.configure([acme()], { cors_allowed_origins: ['https://app.example.org'] });
    const back = provider.logIn(await member.start('acme', '?redirect_uri=https://app.example.org/'));
    await member.configure([acme()], { cors_allowed_origins: [] });
    expect(refusalOf(await member.finish('acme', back))).toBe('400 VALIDATION_FAILED');
    expect(provider.asked('/token')).toBe(0);
  });

  it('redeems the code with the verifier, and with the secret as the provider wants it', async () => {
    await logIn();
    const [first] = provider.seen.filter(({ path }) => path === '/token');
    expect(first?.form).toMatchObject({
      grant_type: 'authorization_code',
      redirect_uri: `${member.origin}/auth/oidc/acme/callback`,
    });
    expect(first?.form).not.toHaveProperty('client_secret');
    const basic = Buffer.from('grove:the+client+secret').toString('base64');
    expect(first?.headers.authorization).toBe(`Basic ${basic}`);

    provider.metadata = { token_endpoint_auth_methods_supported: ['private_key_jwt', 'client_secret_post'] };
    await member.configure([acme({ client_id: 'other' })]);
    provider.changeClaims = (claims) => ({ ...claims, aud: 'other' });
    expect((await logIn()).status).toBe(200);
    const posted = provider.seen.findLast(({ path }) => path === '/token');
    expect(posted?.form).toMatchObject({ client_id: 'other', client_secret: 'the client secret' });
    expect(posted?.headers.authorization).toBeUndefined();
  });

  it('needs no secret for a public client', async () => {
    await member.configure([acme({ client_secret: null })]);
    expect((await logIn()).status).toBe(200);
    const redeemed = provider.seen.find(({ path }) => path === '/token');
    expect(redeemed?.form.client_id).toBe('grove');
    expect(redeemed?.form).not.toHaveProperty('client_secret');
    expect(redeemed?.headers.authorization).toBeUndefined();
    expect(redeemed?.form.code_verifier).toMatch(/^[\w-]{43}$/);
  });

  it('stores the secret sealed, and says so when it cannot be opened [OIDC-017, OIDC-029]', async () => {
    const stored = await member.logins.configuration('default');
    const [sealed] = stored.oidc_providers.map(({ client_secret: secret }) => secret);
    expect(sealed).toMatch(/^v1\./);
    expect(JSON.stringify(stored)).not.toContain('the client secret');
    // As after a restore under another master key, and as the secret of another provider.
    await member.configure([acme(), { ...acme(), provider_id: 'other', client_secret: null }]);
    const moved = stored.oidc_providers.map((each) => ({ ...each, provider_id: 'other' }));
    await member.store({ oidc_providers: moved });
    const refused = await member.get('/auth/oidc/other');
    expect(refusalOf(refused)).toBe('503 OIDC_NOT_CONFIGURED');
    expect(refused.json.message).toContain('another master key');
  });
});

describe('what is cached', () => {
  const documents = (): number => provider.asked('/.well-known/openid-configuration');

  it('is the discovery document, for an hour [OIDC-016]', async () => {
    provider.changeClaims = (claims) => ({ ...claims, exp: (claims.exp as number) + 86_400 });
    await logIn();
    await member.start('acme');
    member.clock.aheadMs = 3_599_000;
    await logIn();
    expect(documents()).toBe(1);
    member.clock.aheadMs = 3_601_000;
    await logIn();
    expect(documents()).toBe(2);
  });

  it('is fetched once for logins at the same time', async () => {
    await Promise.all(Array.from({ length: 20 }, () => member.start('acme')));
    expect(documents()).toBe(1);
  });

  it('is dropped when the configuration of the provider changes', async () => {
    await member.start('acme');
    await member.configure([acme({ display_name: 'Another name' })]);
    await member.start('acme');
    expect(documents()).toBe(1);
    await member.configure([acme({ client_id: 'other' })]);
    await member.start('acme');
    expect(documents()).toBe(2);
  });

  it('is not a failure', async () => {
    provider.scripts.set('/.well-known/openid-configuration', () => ({ status: 500, body: {} }));
    expect(refusalOf(await member.get('/auth/oidc/acme'))).toBe('502 UPSTREAM_INVALID');
    provider.scripts.clear();
    expect((await member.get('/auth/oidc/acme')).status).toBe(302);
  });

  it('are the keys, which are fetched once more for a key that is not among them [OIDC-006]', async () => {
    await logIn();
    await logIn();
    expect(provider.asked('/jwks')).toBe(1);
    const next = await signingKey('key-2');
    provider.sign = (claims) => provider.signedWith(next, claims);
    provider.shownKeys = [key.publicJwk, next.publicJwk];
    expect((await logIn()).status).toBe(200);
    expect(provider.asked('/jwks')).toBe(2);

    const unknown = await signingKey('key-3');
    provider.sign = (claims) => provider.signedWith(unknown, claims);
    for (let count = 0; count < 3; count += 1) expect(refusalOf(await logIn())).toBe('502 UPSTREAM_INVALID');
    // Anybody with an account there can name keys.
    expect(provider.asked('/jwks')).toBe(2);
    provider.changeClaims = (claims) => ({ ...claims, exp: (claims.exp as number) + 86_400 });
    member.clock.aheadMs = 31_000;
    expect(refusalOf(await logIn())).toBe('502 UPSTREAM_INVALID');
    expect(provider.asked('/jwks')).toBe(3);
  });

  it('are the keys, for ten minutes: a key that was withdrawn ends then', async () => {
    provider.changeClaims = (claims) => ({ ...claims, exp: (claims.exp as number) + 86_400 });
    await logIn();
    const next = await signingKey('key-2');
    provider.shownKeys = [next.publicJwk];
    expect((await logIn()).status).toBe(200);
    member.clock.aheadMs = 601_000;
    expect(refusalOf(await logIn())).toBe('502 UPSTREAM_INVALID');
  });
});

describe('a provider without a discovery document', () => {
  it('works with its endpoints in the configuration [OIDC-018]', async () => {
    const { issuer } = provider;
    provider.scripts.set('/.well-known/openid-configuration', () => ({ status: 404, body: {} }));
    await member.configure([
      acme({
        authorization_url: `${issuer}/login?via=grove`,
        token_url: `${issuer}/token`,
        jwks_url: `${issuer}/jwks`,
        userinfo_url: `${issuer}/userinfo`,
      }),
    ]);
    provider.claims = { sub: 'sub-1' };
    provider.userinfo = { sub: 'sub-1', email: ann, email_verified: true };
    const url = await member.start('acme');
    expect(url.pathname).toBe('/login');
    expect(url.searchParams.get('via')).toBe('grove');
    const { json } = await member.finish('acme', provider.logIn(url));
    expect(json.identity).toMatchObject({ email: ann, email_verified: true });
    expect(provider.asked('/.well-known/openid-configuration')).toBe(0);
  });

  it('uses endpoints of the configuration instead of those of the document', async () => {
    await member.configure([acme({ jwks_url: `${provider.issuer}/other-keys` })]);
    provider.scripts.set('/other-keys', () => ({ body: { keys: provider.shownKeys } }));
    expect((await logIn()).status).toBe(200);
    expect([provider.asked('/jwks'), provider.asked('/other-keys')]).toEqual([0, 1]);
  });
});

describe('who is logged in', () => {
  it('has an account without a password after the first login [OIDC-010]', async () => {
    await logIn();
    expect(member.identity(ann)).toMatchObject({ has_password: false, email_verified: true });
    const password = { email: ann, password: '', rememberMe: false };
    await expect(member.logins.logIn({ tenant: 'default' }, password, client)).rejects.toMatchObject({
      code: 'INVALID_CREDENTIALS',
    });
  });

  it('keeps name and picture of an account that was there, and blanks are filled [OIDC-011]', async () => {
    const person = { email: ann, password: 'the password', displayName: 'Ann Before' };
    await member.logins.register({ tenant: 'default' }, person, client);
    provider.claims = { ...provider.claims, name: 'Ann After', picture: 'https://acme.example.org/a.png' };
    const { json } = await logIn();
    expect(json.identity).toMatchObject({
      email: ann,
      display_name: 'Ann Before',
      avatar_url: 'https://acme.example.org/a.png',
      linked_providers: ['oidc:acme'],
    });
  });

  it('is the person with this sub, whatever the address is by then [OIDC-012]', async () => {
    const first = await logIn();
    provider.claims = { ...provider.claims, email: 'ann.married@example.org' };
    const again = await logIn();
    expect(again.json.identity).toMatchObject({ id: first.json.identity.id, email: ann });
  });

  it('is not another person with the same address [OIDC-012]', async () => {
    await logIn();
    provider.claims = { ...provider.claims, sub: 'sub-2' };
    expect(refusalOf(await logIn())).toBe('403 FORBIDDEN');
  });

  it('is nobody whose address is not verified, with or without an account [OIDC-013]', async () => {
    provider.claims = { ...provider.claims, email_verified: false };
    const without = await logIn();
    expect(refusalOf(without)).toBe('403 FORBIDDEN');
    expect(member.identity(ann)).toBeUndefined();
    const person = { email: ann, password: 'the password', displayName: 'Ann' };
    await member.logins.register({ tenant: 'default' }, person, client);
    const having = await logIn();
    expect(refusalOf(having)).toBe('403 FORBIDDEN');
    expect(having.json.message).toBe(without.json.message);
    expect(member.identity(ann)?.linked_providers).toEqual([]);
  });

  it('is of an allowed domain [OIDC-014]', async () => {
    await member.configure([acme({ allowed_email_domains: ['example.com', 'EXAMPLE.net'] })]);
    expect(refusalOf(await logIn())).toBe('403 FORBIDDEN');
    expect(member.identity(ann)).toBeUndefined();
    for (const email of ['ann@sub.example.com', 'ann@example.com.evil.org', '"ann@example.com"@evil.org']) {
      provider.claims = { ...provider.claims, email };
      expect((await logIn()).status).not.toBe(200);
    }
    provider.claims = { ...provider.claims, email: 'Ann@Example.NET' };
    expect((await logIn()).status).toBe(200);
  });

  it('has the groups of the provider [OIDC-015]', async () => {
    await member.configure([acme({ groups_claim: 'roles' })]);
    provider.claims = { ...provider.claims, roles: ['staff', 'press'] };
    await logIn();
    expect(member.identity(ann)?.linked_providers).toMatchObject([
      { strategy_id: 'oidc:acme', external_id: 'sub-1', groups: ['staff', 'press'] },
    ]);
  });

  it('has what userinfo adds, and nothing that it overrides [OIDC-007]', async () => {
    provider.claims = { sub: 'sub-1', email: ann, email_verified: true };
    provider.userinfo = { sub: 'sub-1', email: 'eve@example.net', name: 'Ann of userinfo', picture: null };
    const { json } = await logIn();
    expect(json.identity).toMatchObject({ email: ann, display_name: 'Ann of userinfo' });
    const asked = provider.seen.find(({ path }) => path === '/userinfo');
    expect(asked?.headers.authorization).toBe('Bearer access');
    // Nothing is asked when the token has it all.
    provider.claims = { ...provider.claims, name: 'Ann', picture: null };
    await logIn();
    expect(provider.asked('/userinfo')).toBe(1);
  });
});
