import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ContentClient } from '#test/support/content-client.ts';
import { startServer, type TestServer } from '#test/support/server.ts';

const token = 'an-operator-token-for-this-test';
/** As a proxy adds it. */
const forwarded = { 'x-forwarded-for': '192.0.2.7' };

let server: TestServer;

beforeAll(async () => {
  server = await startServer({ env: { SVC_METRICS_TOKEN: token } });
});

afterAll(() => server.close());

const paths = ['/metrics', '/api/management/cluster'];

describe('the status of a member', () => {
  it.each(paths)('%s is read from this machine without a token', async (path) => {
    expect((await server.request('GET', path)).status).toBe(200);
  });

  it.each(paths)(
    '%s is read from elsewhere with the operator token or that of an administrator',
    async (path) => {
      for (const each of [token, server.adminToken])
        expect((await server.request('GET', path, { headers: forwarded, token: each })).status).toBe(200);
    },
  );

  it.each(paths)(
    '%s is refused from elsewhere without a token, and everywhere with a wrong one',
    async (path) => {
      const asked = [
        { headers: forwarded },
        { headers: forwarded, token: 'an-operator-token-for-this-tesT' },
        { headers: forwarded, token: `${token}x` },
        { token: 'wrong' },
      ];
      for (const each of asked) {
        const { json, status } = await server.request('GET', path, each);
        expect([status, json.code]).toEqual([401, 'UNAUTHORIZED']);
      }
    },
  );

  it('shows remote callers without a token the state alone', async () => {
    const { json } = await server.request('GET', '/ready', { headers: forwarded });
    expect(json).toEqual({ state: 'ready' });
    const details = { state: 'ready', mode: expect.any(String), missing: expect.any(Array) };
    for (const each of [{}, { headers: forwarded, token }])
      expect((await server.request('GET', '/ready', each)).json).toMatchObject(details);
  });

  it('is all that the operator token permits: any other request with it is refused, not answered as anonymous', async () => {
    const repository = await server.createRepository();
    const refused = [
      ['GET', '/api/repositories'],
      ['POST', '/api/repositories'],
      ['POST', '/api/management/cluster/snapshots'],
      ['GET', '/api/svc/me'],
      ['GET', `/api/repository/${repository}/main/head/content/`],
      ['GET', `/api/repository/${repository}/main/head/content/a`],
      ['GET', '/api/repository/no-such/main/head/content/'],
      ['GET', `/api/history/${repository}/main/content/a`],
      ['POST', `/api/repository/${repository}/main/head/content/query`],
    ] as const;
    for (const [method, path] of refused) {
      const body = method === 'POST' ? { body: {} } : {};
      for (const from of [{}, { headers: forwarded }]) {
        const { json, status } = await server.request(method, path, { token, ...from, ...body });
        expect([path, status, json.code ?? json.error]).toEqual([
          path,
          403,
          path.endsWith('/query') ? 'Forbidden' : 'FORBIDDEN',
        ]);
        expect(json.message).toContain('SVC_METRICS_TOKEN');
        expect(json.message).not.toContain(token);
      }
    }
  });

  it('does not change reads without a token, or with an invalid one', async () => {
    const space = await (await ContentClient.on(server)).workspace();
    const path = space.url('/');
    for (const each of [{}, { token: `${token}x` }, { headers: forwarded }])
      expect((await server.request('GET', path, each)).json).toEqual([]);
  });
});
