import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { apiKeyTag } from '#runtime/access/api-key.ts';
import { ACCOUNT_PASSWORD, AdminClient } from '#test/support/admin-client.ts';
import { startServer, type TestServer } from '#test/support/server.ts';
import { until } from '#test/support/until.ts';

const KEYS = '/api/svc/me/api-keys';

let server: TestServer;
let admins: AdminClient;
let repository: string;
let node: string;

beforeAll(async () => {
  server = await startServer();
  admins = new AdminClient(server);
  repository = await server.createRepository();
  const root = `/api/repository/${repository}/main/head/default`;
  node = `${root}/page`;
  const made = await server.admin('POST', `${root}/`, {
    name: 'page',
    node_type: 'svc:Folder',
    properties: {},
  });
  expect(made.status).toBe(201);
});

afterAll(() => server.close());

interface MadeKey {
  readonly id: string;
  readonly token: string;
}

async function newKey(token = server.adminToken, name = 'import'): Promise<MadeKey> {
  const made = await server.request('POST', KEYS, { token, body: { name } });
  expect([made.status, made.text]).toEqual([201, expect.any(String)]);
  return { id: made.json.key.key_id as string, token: made.json.token as string };
}

async function listed(id: string, token = server.adminToken) {
  const list = await server.request('GET', KEYS, { token });
  expect(list.status).toBe(200);
  return list.json.find((key: { key_id: string }) => key.key_id === id);
}

describe('API keys', () => {
  it('are shown once, and listed without their tokens [KEY-001, KEY-002, KEY-003]', async () => {
    const made = await server.admin('POST', KEYS, { name: ' nightly import ' });
    expect([made.status, made.headers['cache-control']]).toEqual([201, 'no-store']);
    const { key, token } = made.json;
    expect(token).toMatch(/^svc_[0-9A-Za-z]{32}$/);
    expect(key).toEqual({
      key_id: expect.any(String),
      name: 'nightly import',
      key_prefix: token.slice(0, 16),
      created_at: expect.stringMatching(/Z$/),
      last_used_at: null,
      is_active: true,
    });
    const list = await server.admin('GET', KEYS);
    expect([list.status, list.json]).toEqual([200, [key]]);
    expect(list.text).not.toContain(token.slice(16));
    expect(JSON.stringify(server.logLines)).not.toContain(token.slice(16));
    for (const name of ['', ' ', 'x'.repeat(129), 'two\nlines']) {
      const refused = await server.admin('POST', KEYS, { name });
      expect([name.slice(0, 9), refused.status, refused.json.code]).toEqual([
        name.slice(0, 9),
        400,
        'VALIDATION_FAILED',
      ]);
    }
  });

  it('open content, queries and repositories, and no accounts [KEY-005]', async () => {
    const { id, token } = await newKey();
    for (const [method, path, body] of [
      ['GET', node, undefined],
      ['PUT', node, { properties: { description: 'by a key' } }],
      ['POST', `/api/repository/${repository}/main/head/default/query`, { nodeType: 'svc:Folder' }],
      ['GET', '/api/repositories', undefined],
      ['GET', `/api/management/${repository}/main/nodetypes`, undefined],
    ] as const) {
      const answer = await server.request(method, path, { token, ...(body === undefined ? {} : { body }) });
      expect([path, answer.status]).toEqual([path, 200]);
    }
    for (const [method, path, body] of [
      ['GET', '/api/svc/me', undefined],
      ['GET', KEYS, undefined],
      ['POST', KEYS, { name: 'another' }],
      ['DELETE', `${KEYS}/${id}`, undefined],
      ['GET', '/api/svc/me/repositories', undefined],
      ['GET', '/api/svc/sys/default/admin-users', undefined],
      ['GET', '/api/svc/sys/default/audit', undefined],
      ['POST', '/api/svc/sys/default/auth/change-password', { old_password: 'a', new_password: 'b' }],
      ['GET', '/api/management/backups', undefined],
      ['GET', '/api/management/registry/tenants', undefined],
    ] as const) {
      const answer = await server.request(method, path, { token, ...(body === undefined ? {} : { body }) });
      expect([path, answer.status, answer.json.code]).toEqual([path, 403, 'FORBIDDEN']);
    }
  });

  it('are refused on every member once they are revoked, and stay listed [KEY-004, KEY-005]', async () => {
    const { id, token } = await newKey();
    await admins.everywhere(200, 'GET', node, { token });
    expect((await server.admin('DELETE', `${KEYS}/${id}`)).status).toBe(204);
    await admins.everywhere(404, 'GET', node, { token });
    await admins.everywhere(401, 'GET', '/api/repositories', { token });
    expect(await listed(id)).toMatchObject({ is_active: false });
    expect((await server.admin('DELETE', `${KEYS}/${id}`)).status).toBe(204);
    expect((await server.admin('DELETE', `${KEYS}/unknown`)).status).toBe(404);
  });

  it('say when they were last used [KEY-006]', async () => {
    const { id, token } = await newKey();
    expect((await listed(id)).last_used_at).toBeNull();
    expect((await server.request('GET', node, { token })).status).toBe(200);
    await until(async () => (await listed(id)).last_used_at !== null, 'the use is recorded');
    expect(Math.abs(Date.now() - Date.parse((await listed(id)).last_used_at))).toBeLessThan(60_000);
  });

  it('act with the flags of their account, and end with it [ADMUSER-004, KEY-011]', async () => {
    const login = await admins.account('machine');
    const { token } = await newKey(login);
    await admins.everywhere(200, 'GET', '/api/repositories', { token });
    await admins.change('machine', { access_flags: { api_access: false } });
    await admins.everywhere(403, 'GET', '/api/repositories', { token });
    const none = await server.request('POST', KEYS, { token: login, body: { name: 'useless' } });
    expect([none.status, none.json.code]).toEqual([403, 'INSUFFICIENT_PERMISSIONS']);
    await admins.change('machine', { access_flags: { api_access: true } });
    await admins.everywhere(200, 'GET', '/api/repositories', { token });
    await admins.change('machine', { is_active: false });
    await admins.everywhere(401, 'GET', '/api/repositories', { token });
    const again = await server.request('POST', '/api/svc/sys/default/auth', {
      body: { username: 'machine', password: ACCOUNT_PASSWORD },
    });
    expect([again.status, again.json.code]).toEqual([401, 'UNAUTHORIZED']);
    await admins.change('machine', { is_active: true });
    await admins.everywhere(200, 'GET', '/api/repositories', { token });
    await server.admin('DELETE', '/api/svc/sys/default/admin-users/machine');
    await admins.everywhere(401, 'GET', '/api/repositories', { token });
  });

  it('lead to their tenant without a header, and another tenant is refused [KEY-010]', async () => {
    await server.admin('POST', '/api/management/registry/tenants', {
      tenant_id: 'acme',
      admin: { password: ACCOUNT_PASSWORD, must_change_password: false },
    });
    const login = await server.request('POST', '/api/svc/sys/acme/auth', {
      body: { username: 'admin', password: ACCOUNT_PASSWORD },
    });
    const { token } = await newKey(login.json.token);
    await server.request('POST', '/api/repositories', { token, body: { repo_id: 'of-acme' } });
    const list = await server.request('GET', '/api/repositories', { token });
    expect(list.json.map(({ repo_id: name }: { repo_id: string }) => name)).toEqual(['of-acme']);
    const own = await server.request('GET', '/api/svc/me/repositories', { token: login.json.token });
    expect(own.json).toEqual(['of-acme']);
    for (const [tenant, status] of [
      ['acme', 200],
      ['default', 403],
    ] as const) {
      const answer = await server.request('GET', '/api/repositories', {
        token,
        headers: { 'x-tenant-id': tenant },
      });
      expect([tenant, answer.status]).toEqual([tenant, status]);
    }
    expect((await server.request('GET', node, { token })).status).toBe(404);
  });

  it('are refused when they are of nobody, whatever they look like', async () => {
    const { token } = await newKey();
    for (const forged of [
      'svc_',
      `svc_${'x'.repeat(32)}`,
      `svc_${apiKeyTag('default')}${'x'.repeat(26)}`,
      `${token.slice(0, -1)}${token.endsWith('a') ? 'b' : 'a'}`,
      `${token}a`,
      token.slice(0, 16),
      token.toUpperCase(),
    ]) {
      for (let times = 0; times < 2; times += 1) {
        const answer = await server.request('GET', '/api/repositories', { token: forged });
        expect([forged.slice(0, 12), answer.status, answer.json.code]).toEqual([
          forged.slice(0, 12),
          401,
          'UNAUTHORIZED',
        ]);
      }
      const listing = await server.request('GET', `/api/repository/${repository}/main/head/default/`, {
        token: forged,
      });
      expect([listing.status, listing.json]).toEqual([200, []]);
    }
  });

  it('outlive a restart, because they do not expire [KEY-007]', async () => {
    const { token } = await newKey();
    await server.restart();
    expect((await server.request('GET', node, { token })).status).toBe(200);
  });
});
