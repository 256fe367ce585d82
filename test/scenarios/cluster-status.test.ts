import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '#test/support/server.ts';

let server: TestServer;

beforeAll(async () => {
  server = await startServer({
    env: { SVC_MEMBER_ID: 'lonely' },
    config: '[cluster]\ndurability = "relaxed"\n',
  });
});

afterAll(() => server.close());

describe('the state of the cluster', () => {
  it('of a single member is that everything is here [CLU-001]', async () => {
    const { status, json, headers } = await server.admin('GET', '/api/management/cluster');
    expect([status, headers['cache-control']]).toEqual([200, 'no-store']);
    expect(json).toEqual({
      mode: 'embedded',
      durability: 'relaxed',
      durability_reason: expect.any(String),
      followers_wanted: 0,
      members: [
        {
          id: 'lonely',
          address: server.url,
          version: '0.0.0-test',
          state: 'ready',
          is_self: true,
          load: {
            requests_in_flight: 1,
            open_actors: expect.any(Number),
            pending_bytes: expect.any(Number),
          },
        },
      ],
      partitions: [
        {
          partition: 0,
          state: 'owned',
          owner: 'lonely',
          epoch: 1,
          last_sequence: null,
          followers: [],
          log_bytes: null,
          log_bytes_max: null,
          snapshot: null,
        },
      ],
      nats_servers: [],
      warnings: [{ code: 'durability-weak', severity: 'notice', message: expect.stringContaining('100 ms') }],
    });
    expect(json.members[0].load.open_actors).toBeGreaterThan(0);
  });

  it('of a single member has no snapshots to ask for', async () => {
    const { json, status } = await server.admin('POST', '/api/management/cluster/snapshots', {});
    expect([status, json.code]).toEqual([404, 'NOT_FOUND']);
  });

  it('is for administrators of the system: 401 without a token, 403 for those of another tenant', async () => {
    const headers = { 'x-forwarded-for': '192.0.2.7' };
    const anonymous = await server.request('GET', '/api/management/cluster', { headers });
    expect([anonymous.status, anonymous.json.code]).toEqual([401, 'UNAUTHORIZED']);
    const password = 'Another-Horse-7-Battery';
    const admin = { username: 'boss', password, must_change_password: false };
    await server.admin('POST', '/api/management/registry/tenants', { tenant_id: 'other', admin });
    const login = await server.request('POST', '/api/svc/sys/other/auth', {
      body: { username: 'boss', password },
    });
    const foreign = await server.request('GET', '/api/management/cluster', { token: login.json.token });
    expect([foreign.status, foreign.json.code]).toEqual([403, 'FORBIDDEN']);
    const asked = await server.request('POST', '/api/management/cluster/snapshots', {
      token: login.json.token,
    });
    expect([asked.status, asked.json.code]).toEqual([403, 'FORBIDDEN']);
  });
});
