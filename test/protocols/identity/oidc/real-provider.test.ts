import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { TestResponse } from '#test/support/http-client.ts';
import { RealOidcProvider, type RegisteredClient } from '#test/support/real-oidc-provider.ts';
import { OidcFixture } from './oidc-fixture.ts';

const ann = {
  email: 'ann@example.org',
  email_verified: true,
  name: 'Ann',
  picture: 'https://example.org/a.png',
};

let member: OidcFixture;
let real: RealOidcProvider;

beforeAll(async () => {
  member = await OidcFixture.open();
});

afterEach(async () => {
  await member.forget();
  await real.stop();
});

afterAll(() => member.close());

/** Starts a provider where this server is registered, and configures it. */
async function connect(
  client: Pick<RegisteredClient, 'client_secret' | 'token_endpoint_auth_method'>,
  inToken: boolean,
): Promise<void> {
  const registered = {
    client_id: 'grove',
    redirect_uris: [`${member.origin}/auth/oidc/real/callback`],
    ...client,
  };
  real = await RealOidcProvider.start(() => [registered], inToken);
  real.people.set('ann', ann);
  await member.configure([
    { provider_id: 'real', issuer_url: real.issuer, client_secret: client.client_secret ?? null },
  ]);
}

/** Logs somebody in through the browser. @returns the answer to the browser when it is back */
async function logIn(name: string, query = ''): Promise<TestResponse> {
  const back = await real.logIn(await member.start('real', query), name);
  expect(back.origin + back.pathname).toBe(`${member.origin}/auth/oidc/real/callback`);
  return await member.get(back.pathname + back.search);
}

describe('with a real provider', () => {
  it.each([
    ['a secret in the header', 'client_secret_basic', 'a secret: with %, +, &, = and "', true],
    ['a secret in the form', 'client_secret_post', 'a secret of the client', true],
    ['no secret', 'none', undefined, true],
    ['userinfo', 'client_secret_basic', 'a secret of the client', false],
  ] as const)('a person logs in, with %s [OIDC-004]', async (_what, method, secret, inToken) => {
    const secrets = secret === undefined ? {} : { client_secret: secret };
    await connect({ ...secrets, token_endpoint_auth_method: method }, inToken);
    const { json, status } = await logIn('ann');
    expect(status).toBe(200);
    expect(json.identity).toMatchObject({
      email: ann.email,
      email_verified: true,
      display_name: 'Ann',
      avatar_url: ann.picture,
      linked_providers: ['oidc:real'],
    });
    const again = await logIn('ann', '?redirect_uri=/app');
    expect(again.headers.location).toMatch(/^\/app#access_token=/);
    expect(member.identity(ann.email)?.linked_providers).toMatchObject([
      { strategy_id: 'oidc:real', external_id: 'ann' },
    ]);
  });

  it('a person who does not want to is not logged in', async () => {
    await connect({ client_secret: 'a secret', token_endpoint_auth_method: 'client_secret_basic' }, true);
    const back = await real.decline(await member.start('real'));
    const { json, status } = await member.get(back.pathname + back.search);
    expect([status, json.code, json.details]).toEqual([
      403,
      'FORBIDDEN',
      { provider_error: 'access_denied' },
    ]);
  });

  it('a code is good once, for the login that it belongs to', async () => {
    await connect({ client_secret: 'a secret', token_endpoint_auth_method: 'client_secret_basic' }, true);
    const back = await real.logIn(await member.start('real'), 'ann');
    const other = await member.start('real');
    const stolen = new URLSearchParams(back.search);
    stolen.set('state', other.searchParams.get('state') as string);
    const refused = await member.get(`${back.pathname}?${stolen}`);
    expect([refused.status, refused.json.code]).toEqual([401, 'UNAUTHORIZED']);
    expect(member.identity(ann.email)).toBeUndefined();
  });

  it('a wrong secret is told apart from a wrong code', async () => {
    await connect({ client_secret: 'a secret', token_endpoint_auth_method: 'client_secret_basic' }, true);
    await member.configure([{ provider_id: 'real', issuer_url: real.issuer, client_secret: 'another' }]);
    const { json, status } = await logIn('ann');
    expect([status, json.code, json.details]).toEqual([
      502,
      'UPSTREAM_INVALID',
      { provider_error: 'invalid_client' },
    ]);
  });

  it('an address that the provider has not verified is refused [OIDC-013]', async () => {
    await connect({ client_secret: 'a secret', token_endpoint_auth_method: 'client_secret_basic' }, false);
    real.people.set('ann', { ...ann, email_verified: false });
    const { json, status } = await logIn('ann');
    expect([status, json.code]).toEqual([403, 'FORBIDDEN']);
    expect(member.identity(ann.email)).toBeUndefined();
  });
});
