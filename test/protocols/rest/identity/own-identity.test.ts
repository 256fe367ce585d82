import { createHmac } from 'node:crypto';
import { decodeJwt } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { IdentityClient, PASSWORD } from '#test/support/identity-client.ts';
import { ADMIN_PASSWORD, startServer, type TestServer } from '#test/support/server.ts';

const SECRET = 'a-signing-key-of-more-than-32-bytes-for-tests';

const nobody = { id: 'anonymous', email: null, roles: [], anonymous: true, home: null };

let server: TestServer;
let people: IdentityClient;

beforeAll(async () => {
  server = await startServer({ env: { JWT_SECRET: SECRET, SVC_TRUST_FORWARDED_HEADERS: 'true' } });
  people = new IdentityClient(server);
  await server.createRepository('site');
  await server.createRepository('other');
});

afterAll(() => server.close());

function signed(claims: object, header: object = { alg: 'HS256', typ: 'JWT' }, key = SECRET): string {
  const parts = [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'));
  const signature = createHmac('sha256', key).update(parts.join('.')).digest('base64url');
  return [...parts, signature].join('.');
}

const me = (token?: string, place = '/auth') =>
  people.send('GET', `${place}/me`, token === undefined ? {} : { token });

describe('the own profile', () => {
  it('without a token is that of nobody [ID-024]', async () => {
    expect((await me()).json).toEqual(nobody);
    expect((await me(undefined, '/auth/site')).json).toEqual({ ...nobody, user_node: null });
    expect((await me(undefined, '/auth/not-there')).json).toEqual({ ...nobody, user_node: null });
  });

  it('with garbage or an expired token is that of nobody', async () => {
    const { claims } = await people.person('/auth/site');
    const expired = signed({ ...claims, iat: 1_000, nbf: 1_000, exp: 2_000 });
    for (const token of ['garbage', 'a.b.c', expired]) expect((await me(token)).json).toEqual(nobody);
  });

  it('in a repository has the node of the person [ID-009]', async () => {
    const { access, claims, email, id } = await people.person('/auth/site');
    const { json, status } = await me(access, '/auth/site');
    expect(status).toBe(200);
    expect(json).toEqual({
      id,
      email,
      roles: ['viewer', 'authenticated_user'],
      anonymous: false,
      home: claims.home,
      user_node: {
        id: expect.any(String),
        name: (claims.home as string).slice('/users/internal/'.length),
        path: claims.home,
        node_type: 'svc:User',
        workspace: 'svc:access_control',
        properties: {
          user_id: id,
          email,
          display_name: 'Ann',
          status: 'active',
          roles: ['viewer', 'authenticated_user'],
          groups: [],
        },
      },
    });
  });

  it('without a repository in the address has no node [ID-010]', async () => {
    const { access, claims, email, id } = await people.person('/auth/site');
    const roles = ['viewer', 'authenticated_user'];
    expect((await me(access)).json).toEqual({ id, email, roles, anonymous: false, home: claims.home });
    const unscoped = await people.person();
    expect((await me(unscoped.access)).json).toEqual({
      id: unscoped.id,
      email: unscoped.email,
      roles: [],
      anonymous: false,
      home: null,
    });
  });

  it('with a token of a login elsewhere has the node that is there', async () => {
    const { access, claims, email } = await people.person('/auth/site');
    const there = await me(access, '/auth/other');
    expect(there.json).toMatchObject({ anonymous: false, roles: [], home: null, user_node: null });
    expect((await me(access, '/auth/not-there')).json).toEqual(there.json);
    const unscoped = await people.logIn(email);
    expect((await me(unscoped.json.access_token, '/auth/site')).json).toMatchObject({
      home: claims.home,
      user_node: { path: claims.home },
    });
  });
});

describe('a token of another kind', () => {
  it('is not one of an identity [ID-033]', async () => {
    const { access, claims, refresh } = await people.person('/auth/site');
    const unsigned = `${signed(claims, { alg: 'none', typ: 'JWT' }).split('.').slice(0, 2).join('.')}.`;
    const forged = [
      refresh,
      unsigned,
      signed(claims, undefined, `${SECRET}x`),
      signed(claims, { alg: 'HS512', typ: 'JWT' }),
      signed({ ...claims, token_type: { type: 'refresh' } }),
      signed({ ...claims, token_type: undefined }),
      signed({ ...claims, iss: 'other' }),
      'svc_0123456789abcdefghijABCDEFGHIJ01',
      access.slice(0, -2),
    ];
    for (const token of forged) {
      const answer = await people.send('GET', '/auth/sessions', { token });
      expect([answer.status, answer.json.code]).toEqual([401, 'UNAUTHORIZED']);
    }
    expect((await people.send('GET', '/auth/sessions', { token: access })).status).toBe(200);
  });

  it('that of an administrator, is refused on every route of identities', async () => {
    const token = server.adminToken;
    const change = { old_password: ADMIN_PASSWORD, new_password: PASSWORD };
    for (const [method, path, body] of [
      ['GET', '/auth/me'],
      ['GET', '/auth/site/me'],
      ['GET', '/auth/sessions'],
      ['POST', '/auth/logout'],
      ['POST', '/auth/change-password', change],
      ['POST', '/auth/site/change-password', change],
      ['DELETE', '/auth/sessions/0190b5c2-0000-7000-8000-000000000000'],
    ] as const) {
      const answer = await people.send(method, path, { token, ...(body === undefined ? {} : { body }) });
      expect([path, answer.status, answer.json.code]).toEqual([path, 403, 'FORBIDDEN']);
    }
  });

  it('that of an identity, is refused on routes of administrators', async () => {
    const { access: token } = await people.person('/auth/site');
    for (const [method, path] of [
      ['GET', '/api/management/registry/tenants'],
      ['GET', '/api/management/backups'],
      ['GET', '/api/tenants/default/auth/config'],
    ] as const) {
      const answer = await people.send(method, path, { token });
      expect([path, answer.status]).toEqual([path, 403]);
    }
  });

  it('of another tenant is refused where another is named', async () => {
    const { access: token } = await people.person();
    const answer = await people.send('GET', '/auth/sessions', { token, tenant: 'elsewhere' });
    expect([answer.status, answer.json.code]).toEqual([403, 'TENANT_MISMATCH']);
    // A token whose tenant was exchanged finds nobody there.
    const claims = decodeJwt(token);
    const moved = signed({ ...claims, tenant_id: 'elsewhere' });
    expect((await people.send('GET', '/auth/sessions', { token: moved })).status).toBe(401);
  });

  it('that expired or was changed, is refused where one is needed [ID-019]', async () => {
    const { access, claims } = await people.person();
    const expired = signed({ ...claims, iat: 1_000, nbf: 1_000, exp: 2_000 });
    for (const token of [expired, `${access}x`, 'garbage']) {
      const answer = await people.send('POST', '/auth/logout', { token });
      expect([answer.status, answer.json.code]).toEqual([401, 'UNAUTHORIZED']);
    }
    expect((await people.send('POST', '/auth/logout')).status).toBe(401);
  });
});

describe('changing the password', () => {
  it.each(['/auth', '/auth/site'])(
    'at %s ends the other sessions and keeps its own [ID-011, ID-030]',
    async (place) => {
      const { access, email, refresh } = await people.person(place);
      const other = await people.logIn(email);
      const body = { old_password: PASSWORD, new_password: 'another password' };
      const changed = await people.send('POST', `${place}/change-password`, { token: access, body });
      expect([changed.status, changed.text]).toEqual([204, '']);
      expect((await people.logIn(email)).status).toBe(401);
      expect((await people.logIn(email, 'another password')).status).toBe(200);
      expect((await people.refresh(refresh)).status).toBe(200);
      const ended = await people.refresh(other.json.refresh_token);
      expect([ended.status, ended.json.code]).toEqual([401, 'SESSION_REVOKED']);
    },
  );

  it('needs the old password, and a new one that fits the policy [ID-015]', async () => {
    const { access: token, email } = await people.person('/auth', { from: '10.5.0.1' });
    const change = (old_password: string, new_password: string, from = '10.5.0.1') =>
      people.send('POST', '/auth/change-password', { token, body: { old_password, new_password }, from });
    const weak = await change(PASSWORD, 'short');
    expect([weak.status, weak.json.code]).toEqual([400, 'WEAK_PASSWORD']);
    expect(weak.json.details.unmet).toEqual(['at least 8 characters']);
    for (let index = 0; index < 5; index += 1)
      expect((await change('wrong', 'another password', '10.5.0.2')).status).toBe(401);
    // Guesses here count as those at a login.
    expect((await change(PASSWORD, 'another password', '10.5.0.2')).status).toBe(429);
    expect((await people.logIn(email, PASSWORD, '/auth', { from: '10.5.0.2' })).status).toBe(429);
    expect((await change(PASSWORD, 'another password')).status).toBe(204);
  });
});
