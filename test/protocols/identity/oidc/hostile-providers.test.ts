import { type CryptoKey, exportSPKI, importJWK, SignJWT } from 'jose';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { TestResponse } from '#test/support/http-client.ts';
import { until } from '#test/support/until.ts';
import { OidcFixture } from './oidc-fixture.ts';
import {
  ScriptedProvider,
  type SeenRequest,
  signedWithPublicKey,
  type SigningKey,
  signingKey,
  unsecured,
} from './scripted-provider.ts';

const ann = 'ann@example.org';

let key: SigningKey;
let otherKey: SigningKey;
let member: OidcFixture;
let provider: ScriptedProvider;
/** Another provider of the same tenant, which its owner uses against the first one. */
let evil: ScriptedProvider;

beforeAll(async () => {
  [key, otherKey] = await Promise.all([signingKey('key-1'), signingKey('key-1')]);
  member = await OidcFixture.open();
});

afterAll(() => member.close());

beforeEach(async () => {
  [provider, evil] = await Promise.all([ScriptedProvider.start(key), ScriptedProvider.start(otherKey)]);
  await member.configure([
    { provider_id: 'acme', issuer_url: provider.issuer, client_secret: 'secret of acme' },
    { provider_id: 'evil', issuer_url: evil.issuer, client_secret: 'secret of evil' },
  ]);
});

afterEach(async () => {
  member.clock.aheadMs = 0;
  await member.forget();
  await Promise.all([provider.stop(), evil.stop()]);
});

const logIn = async (id = 'acme'): Promise<TestResponse> => {
  const from = id === 'acme' ? provider : evil;
  return await member.finish(id, from.logIn(await member.start(id)));
};

const refusalOf = ({ json, status }: TestResponse): string => `${status} ${json.code}`;

/** Everything that a refusal may say: no identity was made, and nothing of what was sent is repeated. */
const expectRefused = (answer: TestResponse, refusal: string, message: RegExp): void => {
  expect(refusalOf(answer)).toBe(refusal);
  expect(answer.json.message).toMatch(message);
  expect(answer.text).not.toContain('<script>');
  expect(answer.headers['content-type']).toContain('application/json');
  expect(member.identity(ann)).toBeUndefined();
};

describe('an ID token is refused [OIDC-005]', () => {
  const later = (seconds: number): number => Math.floor(Date.now() / 1000) + seconds;

  it.each([
    ['of another issuer', { iss: 'https://evil.example.net' }, /'iss'/],
    ['without issuer', { iss: undefined }, /refused/],
    ['for another audience', { aud: 'other' }, /'aud'/],
    ['for a list without this client', { aud: ['other', 'more'] }, /'aud'/],
    ['without audience', { aud: undefined }, /refused/],
    ['for several audiences without saying whose it is', { aud: ['grove', 'other'] }, /refused/],
    ['for several audiences, given to another one', { aud: ['grove', 'other'], azp: 'other' }, /'azp'/],
    ['given to another client', { azp: 'other' }, /'azp'/],
    ['that has expired', { exp: later(-60) }, /expired/],
    ['without end', { exp: undefined }, /refused/],
    ['with an end that is no number', { exp: 'tomorrow' }, /refused/],
    ['that is not valid yet', { nbf: later(600) }, /not valid yet/],
    ['without the time of its issue', { iat: undefined }, /refused/],
    ['without a person', { sub: undefined }, /refused/],
    ['with a person that is no text', { sub: 7 }, /refused/],
  ])('%s', async (_what, change, message) => {
    provider.changeClaims = (claims) => ({ ...claims, ...change });
    expectRefused(await logIn(), '502 UPSTREAM_INVALID', message);
  });

  it.each([
    ['of another login', { nonce: 'another' }],
    ['of a login with the beginning of the nonce', { nonce: '' }],
  ])('%s', async (_what, change) => {
    provider.changeClaims = (claims) => ({ ...claims, ...change });
    const answer = await logIn();
    expect([401, 502]).toContain(answer.status);
    expect(member.identity(ann)).toBeUndefined();
  });

  it('without nonce', async () => {
    provider.changeClaims = (claims) => ({ ...claims, nonce: undefined });
    expectRefused(await logIn(), '502 UPSTREAM_INVALID', /refused/);
  });

  it('signed with a key that is not one of the provider', async () => {
    provider.sign = (claims) => provider.signedWith(otherKey, claims);
    expectRefused(await logIn(), '502 UPSTREAM_INVALID', /signature/);
  });

  it('with claims that were changed after it was signed', async () => {
    provider.sign = async (claims) => {
      const [head, , signature] = (await provider.signedWith(key, claims)).split('.');
      const payload = Buffer.from(JSON.stringify({ ...claims, email: 'admin@example.org' }));
      return `${head}.${payload.toString('base64url')}.${signature}`;
    };
    expectRefused(await logIn(), '502 UPSTREAM_INVALID', /signature/);
  });

  it('without a signature', async () => {
    provider.sign = unsecured;
    provider.metadata = { id_token_signing_alg_values_supported: ['none', 'RS256'] };
    expectRefused(await logIn(), '502 UPSTREAM_INVALID', /refused/);
  });

  it('signed with the public key as a secret', async () => {
    const pem = await exportSPKI((await importJWK(key.publicJwk, 'RS256')) as CryptoKey);
    provider.metadata = { id_token_signing_alg_values_supported: ['HS256', 'RS256'] };
    provider.sign = (claims) => signedWithPublicKey(pem, claims, key.kid);
    expectRefused(await logIn(), '502 UPSTREAM_INVALID', /refused/);
  });

  it('signed with the client secret', async () => {
    provider.metadata = { id_token_signing_alg_values_supported: ['HS256'] };
    provider.sign = (claims) => signedWithPublicKey('secret of acme', claims, key.kid);
    expectRefused(await logIn(), '502 UPSTREAM_INVALID', /refused/);
  });

  it('with a key of its own in its header', async () => {
    provider.sign = async (claims) => {
      const header = { alg: 'RS256', kid: 'mine', jwk: otherKey.publicJwk, jku: `${evil.issuer}/jwks` };
      return await new SignJWT(claims).setProtectedHeader(header).sign(otherKey.privateKey);
    };
    expectRefused(await logIn(), '502 UPSTREAM_INVALID', /not among the keys/);
    expect(evil.seen).toEqual([]);
  });

  it('when there is none, or something else', async () => {
    for (const token of ['', 'text', 'a.b.c', 'a.b.c.d.e', `${'x'.repeat(100_000)}.b.c`]) {
      provider.sign = () => token;
      expectRefused(await logIn(), '502 UPSTREAM_INVALID', /refused/);
    }
    provider.scripts.set('/token', () => ({ body: { access_token: 'a', token_type: 'Bearer' } }));
    expectRefused(await logIn(), '502 UPSTREAM_INVALID', /refused/);
  });

  it('that is longer than any needs to be', async () => {
    provider.claims = { ...provider.claims, padding: 'x'.repeat(100_000) };
    expectRefused(await logIn(), '502 UPSTREAM_INVALID', /too long/);
  });
});

describe('keys of a provider', () => {
  it.each([
    ['none', () => ({ body: { keys: [] } })],
    ['no list', () => ({ body: { keys: 'all' } })],
    ['no object', () => ({ body: '[]' })],
    ['no JSON', () => ({ body: '<script>' })],
    ['an error', () => ({ status: 500, body: '<script>' })],
    ['nothing', () => ({ status: 204, body: '' })],
  ])('that are %s let nobody in', async (_what, script) => {
    provider.scripts.set('/jwks', script);
    expectRefused(await logIn(), '502 UPSTREAM_INVALID', /refused/);
  });

  it('that are not for RS256, or too large, are not used', async () => {
    const { publicJwk } = key;
    const shown: object[] = [
      { ...publicJwk, use: 'enc' },
      { ...publicJwk, alg: 'RS512' },
      { kty: 'oct', k: 'c2VjcmV0', kid: 'key-1', alg: 'HS256' },
      { ...publicJwk, n: 'A'.repeat(2_000) },
      { ...publicJwk, e: 'A'.repeat(7) },
      { ...publicJwk, kid: 'k'.repeat(2_000) },
      { ...publicJwk, n: 7 },
    ];
    provider.shownKeys = shown as never;
    expectRefused(await logIn(), '502 UPSTREAM_INVALID', /not among the keys/);
  });

  it('that are too small let nobody in', async () => {
    provider.shownKeys = [{ ...key.publicJwk, n: 'A'.repeat(171) }];
    expectRefused(await logIn(), '502 UPSTREAM_INVALID', /refused/);
  });
});

describe('a state', () => {
  it('is used once, also by requests at the same time [OIDC-025]', async () => {
    provider.scripts.set('/token', () => {
      provider.scripts.delete('/token');
      return { status: 400, body: { error: 'invalid_grant' } };
    });
    const back = provider.logIn(await member.start('acme'));
    const answers = await Promise.all(Array.from({ length: 5 }, () => member.finish('acme', back)));
    expect(answers.map(refusalOf).sort()).toEqual([
      ...Array.from({ length: 4 }, () => '400 VALIDATION_FAILED'),
      '401 UNAUTHORIZED',
    ]);
    const complete = provider.logIn(await member.start('acme'));
    expect((await member.finish('acme', complete)).status).toBe(200);
    expect(refusalOf(await member.finish('acme', complete))).toBe('400 VALIDATION_FAILED');
    expect(provider.asked('/token')).toBe(2);
  });

  it('is refused after ten minutes [OIDC-003, OIDC-025]', async () => {
    const back = provider.logIn(await member.start('acme'));
    member.clock.aheadMs = 600_001;
    expectRefused(await member.finish('acme', back), '400 VALIDATION_FAILED', /start the login again/);
    expect(provider.asked('/token')).toBe(0);
  });

  it('of another provider is refused, and no code reaches anybody [OIDC-025]', async () => {
    // The person logs in at acme, and the answer is brought to the callback of evil: a mix-up.
    const back = provider.logIn(await member.start('acme'));
    expectRefused(await member.finish('evil', back), '400 VALIDATION_FAILED', /state/);
    const { code } = provider.logIn(await member.start('acme'));
    const { searchParams } = await member.start('evil');
    const crossed = { code, state: searchParams.get('state') as string };
    expectRefused(await member.finish('acme', crossed), '400 VALIDATION_FAILED', /state/);
    expect([provider.asked('/token'), evil.asked('/token')]).toEqual([0, 0]);
  });

  it('of another login does not fit the code', async () => {
    // Somebody has the code of a person, and brings it with a state of their own.
    const { code } = provider.logIn(await member.start('acme'));
    const { state } = provider.logIn(await member.start('acme'));
    expectRefused(await member.finish('acme', { code, state }), '401 UNAUTHORIZED', /invalid_grant|code/);
    // Where the provider does not look at the verifier, the nonce tells.
    const mine = provider.logIn(await member.start('acme'));
    provider.changeClaims = (claims) => ({ ...claims, nonce: 'of the other login' });
    expectRefused(await member.finish('acme', mine), '401 UNAUTHORIZED', /not the one that was started/);
  });

  it('decides the tenant, whatever the request says', async () => {
    const back = provider.logIn(await member.start('acme'));
    const query = new URLSearchParams(back);
    const answer = await member.get(`/auth/oidc/acme/callback?${query}`, { 'x-tenant-id': 'other' });
    expect(await member.tokens.verifyAccess(answer.json.access_token)).toMatchObject({ tenant: 'default' });
  });

  it('is refused after the provider was configured otherwise [OIDC-025]', async () => {
    const back = provider.logIn(await member.start('acme'));
    const changed = { provider_id: 'acme', issuer_url: evil.issuer, client_secret: 'secret of acme' };
    await member.configure([changed]);
    expectRefused(await member.finish('acme', back), '400 VALIDATION_FAILED', /settings have changed/);
    const again = provider.logIn(await member.start('acme'));
    await member.configure([{ ...changed, enabled: false }]);
    expectRefused(await member.finish('acme', again), '403 FORBIDDEN', /switched off/);
    await member.configure([]);
    expectRefused(await member.finish('acme', again), '404 PROVIDER_NOT_FOUND', /no such OpenID provider/);
    expect([provider.asked('/token'), evil.asked('/token')]).toEqual([0, 0]);
  });

  it.each(['', 'state', 'v1.', `v1.${'A'.repeat(200)}`, '<script>alert(1)</script>', 'A'.repeat(6_000)])(
    'that was not made here is refused (%#)',
    async (state) => {
      const answer = await member.finish('acme', { code: 'code', state });
      expectRefused(answer, '400 VALIDATION_FAILED', /state/);
      expect(provider.seen).toEqual([]);
    },
  );

  it('that is missing, or there twice, is refused', async () => {
    const { code, state } = provider.logIn(await member.start('acme'));
    for (const query of [
      `code=${code}`,
      `code=${code}&state=${state}&state=${state}`,
      `code=${code}&code=other&state=${state}`,
      `code=${code}&state=${state}&iss=a&iss=b`,
    ])
      expect(refusalOf(await member.get(`/auth/oidc/acme/callback?${query}`))).toBe('400 VALIDATION_FAILED');
    expect((await member.finish('acme', { code, state, session_state: 'x', scope: 'openid' })).status).toBe(
      200,
    );
  });
});

describe('the issuer in the answer (RFC 9207) [OIDC-026]', () => {
  it('must be the one of the login, and must be there when the provider says so', async () => {
    provider.metadata = { authorization_response_iss_parameter_supported: true };
    const withIssuer = async (iss: Readonly<Record<string, string>>): Promise<TestResponse> =>
      await member.finish('acme', { ...provider.logIn(await member.start('acme')), ...iss });
    expectRefused(await withIssuer({ iss: evil.issuer }), '502 UPSTREAM_INVALID', /refused/);
    expectRefused(await withIssuer({}), '502 UPSTREAM_INVALID', /refused/);
    expect(provider.asked('/token')).toBe(0);
    expect((await withIssuer({ iss: provider.issuer })).status).toBe(200);
  });

  it('is compared when the provider does not announce it', async () => {
    const back = provider.logIn(await member.start('acme'));
    const answer = await member.finish('acme', { ...back, iss: evil.issuer });
    expectRefused(answer, '502 UPSTREAM_INVALID', /refused/);
    expect(provider.asked('/token')).toBe(0);
  });
});

describe('an error of the provider [OIDC-027]', () => {
  const failing = async (error: string, more: Record<string, string> = {}): Promise<TestResponse> => {
    const { state } = provider.logIn(await member.start('acme'));
    return await member.finish('acme', { error, state, ...more });
  };

  it.each([
    ['access_denied', '403 FORBIDDEN', /access_denied/],
    ['consent_required', '403 FORBIDDEN', /consent_required/],
    ['temporarily_unavailable', '502 UPSTREAM_UNREACHABLE', /temporarily_unavailable/],
    ['server_error', '502 UPSTREAM_UNREACHABLE', /server_error/],
    ['invalid_scope', '502 UPSTREAM_INVALID', /invalid_scope\. Compare client_id/],
    ['<script>alert(1)</script>', '502 UPSTREAM_INVALID', /another error/],
    ['constructor', '502 UPSTREAM_INVALID', /another error/],
  ])('%s is answered as %s, without its description', async (error, refusal, message) => {
    const description = '<script>alert(document.domain)</script>';
    const answer = await failing(error, {
      error_description: description,
      error_uri: description,
      code: 'code',
    });
    expectRefused(answer, refusal, message);
    expect(answer.text).not.toContain('document.domain');
    expect(provider.asked('/token')).toBe(0);
  });

  it.each([
    ['invalid_grant', '401 UNAUTHORIZED', /start the login again/],
    ['invalid_client', '502 UPSTREAM_INVALID', /invalid_client\. Compare client_id, client_secret/],
    ['<script>', '502 UPSTREAM_INVALID', /another error/],
  ])('%s for the code is answered as %s', async (error, refusal, message) => {
    provider.scripts.set('/token', () => ({ status: 400, body: { error, error_description: '<script>' } }));
    expectRefused(await logIn(), refusal, message);
  });

  it('without a login under way is nothing', async () => {
    const answer = await member.finish('acme', { error: 'access_denied', state: 'v1.AAAA' });
    expectRefused(answer, '400 VALIDATION_FAILED', /state/);
  });
});

describe('userinfo', () => {
  beforeEach(() => {
    provider.claims = { sub: 'sub-1', email: ann };
  });

  it.each([
    ['of another person', { sub: 'sub-2', email: ann, email_verified: true }, '502 UPSTREAM_INVALID'],
    ['of nobody', { email: ann, email_verified: true }, '502 UPSTREAM_INVALID'],
    ['of a person that is no text', { sub: ['sub-1'], email_verified: true }, '502 UPSTREAM_INVALID'],
    [
      'that verifies another address',
      { sub: 'sub-1', email: 'eve@example.net', email_verified: true },
      '403 FORBIDDEN',
    ],
    ['that verifies no address', { sub: 'sub-1', email_verified: true }, '403 FORBIDDEN'],
  ])('%s lets nobody in [OIDC-007, OIDC-030]', async (_what, userinfo, refusal) => {
    provider.userinfo = userinfo;
    expectRefused(await logIn(), refusal, /./);
    expect(member.identity('eve@example.net')).toBeUndefined();
  });

  it.each([
    ['an error', { status: 500, body: {} }],
    [
      'a challenge',
      { status: 401, body: {}, headers: { 'www-authenticate': 'Bearer error="invalid_token"' } },
    ],
    ['no JSON', { body: '<script>' }],
    ['a list', { body: [] }],
    ['too much', { body: `{"sub":"${'x'.repeat(1_100_000)}"}` }],
    ['a redirect', { status: 302, body: '', headers: { location: '/userinfo-2' } }],
  ])('that is %s fails the login', async (_what, answer) => {
    provider.scripts.set('/userinfo', () => answer);
    expectRefused(await logIn(), '502 UPSTREAM_INVALID', /./);
    expect(provider.asked('/userinfo-2')).toBe(0);
  });
});

describe('a discovery document', () => {
  it.each([
    ['of another issuer', { issuer: 'https://evil.example.net' }],
    ['without issuer', { issuer: undefined }],
    ['with an issuer that is no URL', { issuer: 'acme' }],
    ['without authorization endpoint', { authorization_endpoint: undefined }],
    ['with an authorization endpoint that is a script', { authorization_endpoint: 'javascript:alert(1)' }],
    ['without token endpoint', { token_endpoint: undefined }],
    ['without keys', { jwks_uri: undefined }],
    ['with endless addresses', { token_endpoint: `https://example.org/${'x'.repeat(3_000)}` }],
    ['with addresses that are no texts', { token_endpoint: ['https://example.org'] }],
  ])('%s is refused', async (_what, metadata) => {
    provider.metadata = metadata;
    expectRefused(await member.get('/auth/oidc/acme'), '502 UPSTREAM_INVALID', /./);
  });

  it('is that of issuer_url, also when the address of the document is configured', async () => {
    const url = `${provider.issuer}/.well-known/openid-configuration`;
    await member.configure([{ provider_id: 'acme', issuer_url: url, client_secret: 'secret of acme' }]);
    const answer = await member.get('/auth/oidc/acme');
    expectRefused(answer, '502 UPSTREAM_INVALID', /another issuer than issuer_url/);
  });

  it.each([
    ['an error', { status: 500, body: {} }],
    ['no JSON', { body: '<script>' }],
    ['deeper than any', { body: '['.repeat(500_000) }],
    ['too large', { body: `{"issuer":"${'x'.repeat(1_100_000)}"}` }],
    ['a redirect', { status: 302, body: '', headers: { location: '/elsewhere' } }],
  ])('that is %s is refused', async (_what, answer) => {
    provider.scripts.set('/.well-known/openid-configuration', () => answer);
    expectRefused(await member.get('/auth/oidc/acme'), '502 UPSTREAM_INVALID', /./);
    expect(provider.asked('/elsewhere')).toBe(0);
  });

  it.each([
    ['loopback in disguise', 'http://169.254.169.254/token'],
    ['a port of another service', 'http://127.0.0.1:25/token'],
    ['a file', 'file:///etc/passwd'],
  ])('that leads the code to %s is followed nowhere', async (_what, endpoint) => {
    provider.metadata = { token_endpoint: endpoint };
    const answer = await logIn();
    expect([400, 502]).toContain(answer.status);
    expect(member.identity(ann)).toBeUndefined();
  });

  it('that sends keys elsewhere with a redirect lets nobody in', async () => {
    provider.scripts.set('/jwks', () => ({
      status: 302,
      body: '',
      headers: { location: `${evil.issuer}/jwks` },
    }));
    provider.sign = (claims) => provider.signedWith(otherKey, claims);
    expectRefused(await logIn(), '502 UPSTREAM_INVALID', /status/);
    expect(evil.seen).toEqual([]);
  });
});

describe('a provider in a private network [OIDC-019]', () => {
  it('is refused unless the operator allows it', async () => {
    const strict = await OidcFixture.open(false);
    try {
      await strict.configure([{ provider_id: 'acme', issuer_url: provider.issuer }]);
      const answer = await strict.get('/auth/oidc/acme');
      expect(refusalOf(answer)).toBe('400 EGRESS_REFUSED');
      expect(answer.json.message).toContain('oidc_allow_private');
      expect(provider.seen).toEqual([]);
    } finally {
      await strict.close();
    }
  });
});

describe('a provider that is slow', () => {
  it('has no request any more when the browser has gone', async () => {
    provider.scripts.set('/token', () => new Promise(() => undefined));
    const back = new URLSearchParams(provider.logIn(await member.start('acme')));
    const gone = new AbortController();
    const asked = fetch(`${member.origin}/auth/oidc/acme/callback?${back}`, { signal: gone.signal });
    const redeemed = (): SeenRequest | undefined => provider.seen.find(({ path }) => path === '/token');
    await until(() => redeemed() !== undefined, 'the provider has the code');
    gone.abort();
    await expect(asked).rejects.toThrow();
    await redeemed()?.over;
  });

  it('leaves slots to others: a body that nobody reads is not waited for', async () => {
    provider.scripts.set('/token', () => ({ status: 500, body: 'x'.repeat(100_000) }));
    for (let count = 0; count < 40; count += 1) expect(refusalOf(await logIn())).toBe('502 UPSTREAM_INVALID');
  });
});
