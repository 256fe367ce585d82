import { createHmac } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '#runtime/base/time/clock.ts';
import { until } from '#test/support/until.ts';
import { ADMIN_PASSWORD, startServer, type TestServer } from '#test/support/server.ts';

const LOGIN = '/api/svc/sys/default/auth';
const SECRET = 'a-signing-key-of-more-than-32-bytes-for-tests';

let server: TestServer;
/** How far ahead the server's wall clock is, in milliseconds. */
let aheadMs = 0;

beforeAll(async () => {
  const clock = { ...systemClock, wallMs: () => systemClock.wallMs() + aheadMs };
  server = await startServer({ env: { JWT_SECRET: SECRET }, clock });
});

afterAll(() => server.close());

function logIn(body: unknown, path = LOGIN) {
  return server.request('POST', path, { body });
}

function claimsOf(token: string) {
  return JSON.parse(Buffer.from(token.split('.')[1] as string, 'base64url').toString());
}

function signed(claims: object, header: object = { alg: 'HS256', typ: 'JWT' }, key = SECRET): string {
  const parts = [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'));
  const signature = createHmac('sha256', key).update(parts.join('.')).digest('base64url');
  return [...parts, signature].join('.');
}

/** A tenant with an account of its own, so that tests do not change the password of the others. */
async function createTenant(tenantId: string, admin: object = {}): Promise<void> {
  const answer = await server.admin('POST', '/api/management/registry/tenants', {
    tenant_id: tenantId,
    admin: { password: ADMIN_PASSWORD, must_change_password: false, ...admin },
  });
  expect(answer.status).toBe(201);
}

async function tokenOf(tenantId: string, password = ADMIN_PASSWORD): Promise<string> {
  const answer = await logIn({ username: 'admin', password }, `/api/svc/sys/${tenantId}/auth`);
  expect(answer.status).toBe(200);
  return answer.json.token;
}

describe('logging in', () => {
  it('answers the token and the account [ADMIN-001, ADMIN-003, ADMIN-018, ADMIN-019, TEN-001]', async () => {
    const answer = await logIn({ username: 'admin', password: ADMIN_PASSWORD });
    expect(answer.status).toBe(200);
    expect(answer.headers['cache-control']).toBe('no-store');
    expect(answer.json).toEqual({
      token: expect.any(String),
      user_id: expect.any(String),
      username: 'admin',
      must_change_password: false,
      expires_at: expect.any(Number),
      access_flags: {
        console_login: true,
        cli_access: true,
        api_access: true,
        pgwire_access: false,
        can_impersonate: false,
      },
    });
  });

  it('answers a token that holds what the interface says, for 24 hours [ADMIN-002]', async () => {
    const { json } = await logIn({ username: 'admin', password: ADMIN_PASSWORD });
    const claims = claimsOf(json.token);
    expect(claims).toMatchObject({
      sub: json.user_id,
      username: 'admin',
      tenant_id: 'default',
      access_flags: json.access_flags,
      must_change_password: false,
      iss: 'svc',
      exp: json.expires_at,
    });
    expect(claims.exp - claims.iat).toBe(24 * 60 * 60);
    expect(claims.nbf).toBeLessThanOrEqual(claims.iat);
    const other = claimsOf((await logIn({ username: 'admin', password: ADMIN_PASSWORD })).json.token);
    expect(other.jti).not.toBe(claims.jti);
  });

  it('takes console, cli and api, console by default, and nothing else [ADMIN-004]', async () => {
    for (const via of [undefined, 'console', 'cli', 'api']) {
      const answer = await logIn({ username: 'admin', password: ADMIN_PASSWORD, interface: via });
      expect([via, answer.status]).toEqual([via, 200]);
    }
    const answer = await logIn({ username: 'admin', password: ADMIN_PASSWORD, interface: 'pgwire' });
    expect([answer.status, answer.json.code]).toEqual([400, 'VALIDATION_FAILED']);
  });

  it('is refused over an interface whose flag is off [ADMIN-005, ADMIN-017]', async () => {
    await createTenant('no-cli', { access_flags: { cli_access: false } });
    const path = '/api/svc/sys/no-cli/auth';
    const cli = await logIn({ username: 'admin', password: ADMIN_PASSWORD, interface: 'cli' }, path);
    expect([cli.status, cli.json.code]).toEqual([403, 'FORBIDDEN']);
    expect((await logIn({ username: 'admin', password: ADMIN_PASSWORD }, path)).status).toBe(200);
    await createTenant('no-console', { access_flags: { console_login: false } });
    const byDefault = await logIn(
      { username: 'admin', password: ADMIN_PASSWORD },
      '/api/svc/sys/no-console/auth',
    );
    expect(byDefault.status).toBe(403);
  });

  it('answers a wrong password, an unknown user and an unknown tenant alike [ADMIN-006]', async () => {
    const answers = [
      await logIn({ username: 'admin', password: 'wrong' }),
      await logIn({ username: 'nobody', password: ADMIN_PASSWORD }),
      await logIn({ username: 'x'.repeat(5_000), password: ADMIN_PASSWORD }),
      await logIn({ username: 'admin', password: ADMIN_PASSWORD }, '/api/svc/sys/nowhere/auth'),
    ];
    for (const answer of answers) {
      expect([answer.status, answer.json.code]).toEqual([401, 'UNAUTHORIZED']);
      expect(answer.json.message).toBe(answers[0]?.json.message);
    }
  });

  it('names a missing or wrongly typed field in text', async () => {
    const missing = await logIn({ username: 'admin' });
    expect([missing.status, missing.text.includes('password')]).toEqual([422, true]);
    const wrong = await logIn({ username: 1, password: 'x' });
    expect([wrong.status, wrong.text.includes('username')]).toEqual([422, true]);
  });

  it('makes guessing wait after five failures, the right password included, and only for that account', async () => {
    await createTenant('guessed');
    const path = '/api/svc/sys/guessed/auth';
    for (let failure = 1; failure <= 6; failure++) {
      expect((await logIn({ username: 'admin', password: `wrong-${failure}` }, path)).status).toBe(401);
    }
    const locked = await logIn({ username: 'admin', password: ADMIN_PASSWORD }, path);
    expect([locked.status, locked.json.code]).toEqual([429, 'ACCOUNT_LOCKED']);
    expect(Number(locked.headers['retry-after'])).toBeGreaterThanOrEqual(1);
    expect((await logIn({ username: 'admin', password: ADMIN_PASSWORD })).status).toBe(200);
  });
});

describe('the profile', () => {
  it('answers the account behind the token [ADMIN-008]', async () => {
    const answer = await server.admin('GET', '/api/svc/me');
    expect(answer.status).toBe(200);
    expect(answer.json).toEqual({
      user_id: expect.any(String),
      username: 'admin',
      email: null,
      tenant_id: 'default',
      access_flags: expect.objectContaining({ console_login: true }),
      must_change_password: false,
    });
  });

  it('needs a login [ADMIN-009, HTTP-006]', async () => {
    const answer = await server.request('GET', '/api/svc/me');
    expect([answer.status, answer.json.code]).toEqual([401, 'UNAUTHORIZED']);
    expect(answer.headers['www-authenticate']).toBe('Bearer');
  });
});

/** Waits until every member refuses a token; each is asked in turn. */
async function refusedEverywhere(method: string, path: string, token: string): Promise<void> {
  for (let member = 0; member < 3; member += 1)
    await until(async () => (await server.request(method, path, { token })).status === 401, 'it is refused');
}

describe('tokens', () => {
  it('are refused when tampered with, of another key, expired or unsigned [ADMIN-011, HTTP-005]', async () => {
    const claims = claimsOf(server.adminToken);
    const nowSeconds = Math.floor(Date.now() / 1000);
    expect((await server.request('GET', '/api/svc/me', { token: signed(claims) })).status).toBe(200);
    const [head, body, signature] = server.adminToken.split('.') as [string, string, string];
    const forged = Buffer.from(JSON.stringify({ ...claims, tenant_id: 'other' })).toString('base64url');
    const unsigned = Buffer.from(JSON.stringify({ alg: 'none' })).toString('base64url');
    const { sub: _sub, ...nameless } = claims;
    for (const token of [
      `${head}.${forged}.${signature}`,
      `${head}.${body}.${Buffer.alloc(32).toString('base64url')}`,
      signed(claims, undefined, 'another key'),
      signed({ ...claims, exp: nowSeconds - 60 }),
      // Times no token of ours has: good for ever, for longer than a day, issued tomorrow.
      signed({ ...claims, exp: 1e308 }),
      signed({ ...claims, iat: nowSeconds, exp: nowSeconds + 86_401 }),
      signed({ ...claims, iat: nowSeconds + 3_600, exp: nowSeconds + 7_200 }),
      signed({ ...claims, iat: 1e308, exp: 1e308 }),
      signed({ ...claims, iat: -1e308 }),
      signed({ ...claims, exp: nowSeconds - 1 }),
      signed({ ...claims, nbf: nowSeconds + 3_600 }),
      signed({ ...claims, iss: 'somebody' }),
      signed({ ...claims, token_type: { type: 'access' } }),
      signed(nameless),
      `${unsigned}.${body}.`,
      `${unsigned}.${body}.${signature}`,
      signed(claims, { alg: 'HS512' }),
      'garbage',
      'x'.repeat(9_000),
      '',
    ]) {
      const answer = await server.request('GET', '/api/repositories', { token });
      expect([token.slice(0, 60), answer.status, answer.json.code]).toEqual([
        token.slice(0, 60),
        401,
        'UNAUTHORIZED',
      ]);
    }
    const basic = await server.request('GET', '/api/repositories', {
      headers: { authorization: `Basic ${Buffer.from(`admin:${ADMIN_PASSWORD}`).toString('base64')}` },
    });
    expect(basic.status).toBe(401);
  });

  it('are checked with the key and the account, so one signed elsewhere for an account works [ADMIN-012, ADMUSER-010]', async () => {
    const claims = claimsOf(server.adminToken);
    const token = signed({ ...claims, jti: 'made-elsewhere', username: 'somebody' });
    expect((await server.request('GET', '/api/repositories', { token })).status).toBe(200);
    for (const other of [{ sub: '01a44700-0000-7000-8000-00000000ffff' }, { tenant_id: 'nowhere' }]) {
      const nobody = signed({ ...claims, ...other });
      const answer = await server.request('GET', '/api/repositories', { token: nobody });
      expect([answer.status, answer.json.code]).toEqual([401, 'UNAUTHORIZED']);
    }
  });

  it('are remembered, and refused all the same once they have expired', async () => {
    const claims = claimsOf(server.adminToken);
    const token = signed({ ...claims, exp: Math.floor(Date.now() / 1000) + 600 });
    const status = async () => (await server.request('GET', '/api/repositories', { token })).status;
    try {
      expect([await status(), await status()]).toEqual([200, 200]);
      aheadMs = 500_000;
      expect(await status()).toBe(200);
      aheadMs = 600_000;
      expect(await status()).toBe(401);
    } finally {
      aheadMs = 0;
    }
  });

  it('are valid for their own tenant, with any header or address [TEN-002, TEN-003, ADMIN-017]', async () => {
    const { adminToken: token } = server;
    const header = await server.request('GET', '/api/repositories', {
      token,
      headers: { 'x-tenant-id': 'other' },
    });
    expect([header.status, header.json.code]).toEqual([403, 'TENANT_MISMATCH']);
    const same = await server.request('GET', '/api/repositories', {
      token,
      headers: { 'x-tenant-id': 'default' },
    });
    expect(same.status).toBe(200);
    const address = await server.request('POST', '/api/svc/sys/other/auth/change-password', {
      token,
      body: { old_password: ADMIN_PASSWORD, new_password: 'Another-Password-1' },
    });
    expect([address.status, address.json.code]).toEqual([403, 'TENANT_MISMATCH']);
  });

  it('go with a deployment key that changes nothing [TEN-005]', async () => {
    const plain = await server.admin('GET', '/api/repositories');
    const keyed = await server.request('GET', '/api/repositories', {
      token: server.adminToken,
      headers: { 'x-deployment-key': 'staging' },
    });
    expect([keyed.status, keyed.json]).toEqual([200, plain.json]);
  });
});

describe('changing the password', () => {
  const path = '/api/svc/sys/changer/auth/change-password';

  it('wants the old one and a strong new one; then only the new one works [ADMIN-007, ADMIN-016]', async () => {
    await createTenant('changer', { must_change_password: true });
    const login = '/api/svc/sys/changer/auth';
    const first = await logIn({ username: 'admin', password: ADMIN_PASSWORD }, login);
    expect(first.json.must_change_password).toBe(true);
    const { token } = first.json;
    const change = (oldPassword: string, newPassword: string) =>
      server.request('POST', path, { token, body: { old_password: oldPassword, new_password: newPassword } });
    const wrong = await change('not it', 'Brand-New-Password-1');
    expect([wrong.status, wrong.json.code]).toEqual([401, 'UNAUTHORIZED']);
    for (const weak of [
      'Short-1',
      'all-lower-case-1',
      'ALL-UPPER-CASE-1',
      'No-Digits-At-All',
      'NoSpecials12345',
    ]) {
      const answer = await change(ADMIN_PASSWORD, weak);
      expect([weak, answer.status, answer.json.code]).toEqual([weak, 400, 'VALIDATION_FAILED']);
      expect(answer.text).not.toContain(weak);
    }
    expect((await change(ADMIN_PASSWORD, ADMIN_PASSWORD)).status).toBe(400);
    const good = await change(ADMIN_PASSWORD, 'Brand-New-Password-1');
    expect([good.status, good.text]).toEqual([204, '']);
    expect((await logIn({ username: 'admin', password: ADMIN_PASSWORD }, login)).status).toBe(401);
    const again = await logIn({ username: 'admin', password: 'Brand-New-Password-1' }, login);
    expect([again.status, again.json.must_change_password]).toEqual([200, false]);
  });

  it('ends older tokens at once, on every route [ADMUSER-006]', async () => {
    await createTenant('ender');
    const before = await tokenOf('ender');
    const change = await server.request('POST', '/api/svc/sys/ender/auth/change-password', {
      token: before,
      body: { old_password: ADMIN_PASSWORD, new_password: 'Brand-New-Password-1' },
    });
    expect(change.status).toBe(204);
    for (const path of ['/api/svc/me', '/api/repositories']) await refusedEverywhere('GET', path, before);
    const after = await tokenOf('ender', 'Brand-New-Password-1');
    expect((await server.request('GET', '/api/svc/me', { token: after })).status).toBe(200);
  });

  it('needs a token', async () => {
    const answer = await server.request('POST', path, { body: { old_password: 'a', new_password: 'b' } });
    expect([answer.status, answer.json.code]).toEqual([401, 'UNAUTHORIZED']);
  });
});

describe('tenants', () => {
  it('are created with their first administrator and are seen by the system only [TEN-006, TEN-007]', async () => {
    await createTenant('acme', { username: 'boss', email: 'boss@acme.example', must_change_password: false });
    const login = await logIn({ username: 'boss', password: ADMIN_PASSWORD }, '/api/svc/sys/acme/auth');
    expect([login.status, login.json.must_change_password]).toEqual([200, false]);
    const { token } = login.json;
    expect((await server.request('GET', '/api/svc/me', { token })).json).toMatchObject({
      tenant_id: 'acme',
      email: 'boss@acme.example',
    });
    for (const [method, path] of [
      ['GET', '/api/management/registry/tenants'],
      ['GET', '/api/management/registry/tenants/acme'],
    ] as const) {
      const answer = await server.request(method, path, { token });
      expect([path, answer.status, answer.json.code]).toEqual([path, 403, 'FORBIDDEN']);
    }
    const refused = await server.request('POST', '/api/management/registry/tenants', {
      token,
      body: { tenant_id: 'theirs', admin: { password: ADMIN_PASSWORD } },
    });
    expect(refused.status).toBe(403);
    const list = (await server.admin('GET', '/api/management/registry/tenants')).json;
    const names = list.map((tenant: { tenant_id: string }) => tenant.tenant_id);
    expect(names).toEqual(expect.arrayContaining(['default', 'acme']));
    expect(names).not.toContain('theirs');
    const one = await server.admin('GET', '/api/management/registry/tenants/acme');
    expect(one.json).toMatchObject({ tenant_id: 'acme', metadata: {} });
    expect(JSON.stringify(list)).not.toContain('argon2');
  });

  it('see nothing of one another', async () => {
    await createTenant('north');
    await createTenant('south');
    const north = await tokenOf('north');
    const south = await tokenOf('south');
    const make = (token: string) =>
      server.request('POST', '/api/repositories', { token, body: { repo_id: 'shared-name' } });
    expect([(await make(north)).status, (await make(south)).status]).toEqual([201, 201]);
    await server.request('PUT', '/api/workspaces/shared-name/northern', {
      token: north,
      body: { allowed_node_types: [], allowed_root_node_types: [] },
    });
    const there = await server.request('GET', '/api/workspaces/shared-name/northern', { token: north });
    const elsewhere = await server.request('GET', '/api/workspaces/shared-name/northern', { token: south });
    expect([there.status, elsewhere.status]).toEqual([200, 404]);
    const admin = await server.admin('GET', '/api/repositories/shared-name');
    expect(admin.status).toBe(404);
  });

  it('have names that are taken once and well formed', async () => {
    const create = (tenantId: string, admin: unknown = { password: ADMIN_PASSWORD }) =>
      server.admin('POST', '/api/management/registry/tenants', { tenant_id: tenantId, admin });
    const again = await create('default');
    expect([again.status, again.json.code]).toEqual([409, 'TENANT_ALREADY_EXISTS']);
    for (const name of ['Upper', '..', 'a/b', '']) {
      const answer = await create(name);
      expect([name, answer.status, answer.json.code]).toEqual([name, 400, 'VALIDATION_FAILED']);
    }
    const weak = await create('weak', { password: 'weak' });
    expect([weak.status, weak.json.field]).toEqual([400, 'admin.password']);
    expect((await create('missing', null)).status).toBe(422);
    expect((await server.admin('GET', '/api/management/registry/tenants/weak')).status).toBe(404);
  });

  it('are named by a header without a login [TEN-004]', async () => {
    const bad = await server.request('GET', '/metrics', { headers: { 'x-tenant-id': '../default' } });
    expect([bad.status, bad.json.code]).toEqual([400, 'VALIDATION_FAILED']);
  });
});

describe('content', () => {
  const page = { name: 'guarded', node_type: 'svc:Folder', properties: {} };
  const root = '/api/repository/guarded/main/head/default';

  beforeAll(async () => {
    await server.createRepository('guarded');
  });

  it('is open to the admin token on every family of routes [ADMIN-010]', async () => {
    const created = await server.admin('POST', `${root}/`, page);
    expect(created.status).toBe(201);
    for (const path of [
      `${root}/guarded`,
      '/api/management/guarded/main/nodetypes',
      '/api/workspaces/guarded',
      '/api/repositories/guarded',
      '/api/management/repositories/default/guarded/revisions',
    ]) {
      expect([path, (await server.admin('GET', path)).status]).toEqual([path, 200]);
    }
  });

  it('is not written without a token [ADMIN-013]', async () => {
    for (const [method, path, body] of [
      ['POST', `${root}/`, { ...page, name: 'intruder' }],
      ['PUT', `${root}/guarded`, { properties: { description: 'changed' } }],
      ['DELETE', `${root}/guarded`, undefined],
    ] as const) {
      const answer = await server.request(method, path, body === undefined ? {} : { body });
      expect([401, 403]).toContain(answer.status);
    }
    expect((await server.admin('GET', `${root}/intruder`)).status).toBe(404);
    const kept = await server.admin('GET', `${root}/guarded`);
    expect([kept.status, kept.json.properties.description]).toEqual([200, undefined]);
  });

  it('is not seen without a token: a node is missing, a listing empty [ADMIN-014]', async () => {
    const node = await server.request('GET', `${root}/guarded`);
    expect([node.status, node.json.code]).toEqual([404, 'NODE_NOT_FOUND']);
    const missing = await server.request('GET', `${root}/never-there`);
    expect(missing.json.code).toBe(node.json.code);
    const listing = await server.request('GET', `${root}/`);
    expect([listing.status, listing.json]).toEqual([200, []]);
    const expired = await server.request('GET', `${root}/`, { token: 'of-no-use' });
    expect([expired.status, expired.json]).toEqual([200, []]);
  });
});

describe('what is stored and written', () => {
  it('holds argon2id hashes and no password, token or hash in the clear [ADMIN-022, HTTP-034]', async () => {
    await server.restart();
    await server.request('GET', '/api/repositories', {
      headers: { authorization: 'Bearer svc_not-a-token-0123456789' },
    });
    const lines = JSON.stringify(server.logLines);
    expect(server.logLines.length).toBeGreaterThan(50);
    for (const secret of [
      ADMIN_PASSWORD,
      server.adminToken,
      'Brand-New-Password-1',
      'argon2',
      'svc_not-a-token',
    ]) {
      expect(lines).not.toContain(secret);
    }
    const stored = readTree(server.dataDir);
    expect(stored).toContain('$argon2id$v=19$m=19456,p=1,t=2$');
    expect(stored).not.toContain(ADMIN_PASSWORD);
    expect(stored).not.toContain('Brand-New-Password-1');
  });

  it('writes a line for each request, with the id the answer carries [HTTP-033]', async () => {
    const answer = await server.admin('GET', '/api/repositories');
    const id = answer.headers['x-request-id'];
    expect(id).toBeTruthy();
    expect(server.logLines).toContainEqual(
      expect.objectContaining({ requestId: id, operationId: 'listRepositories', status: 200 }),
    );
  });
});

/** Everything in the data folder as one text. */
function readTree(folder: string): string {
  return readdirSync(folder)
    .map((name) => join(folder, name))
    .map((path) => (statSync(path).isDirectory() ? readTree(path) : readFileSync(path, 'latin1')))
    .join('');
}
