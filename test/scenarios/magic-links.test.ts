import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '#test/support/server.ts';

let server: TestServer;

beforeAll(async () => {
  server = await startServer({
    env: {
      SVC_SMTP_URL: 'smtp://127.0.0.1:25?security=none',
      SVC_EMAIL_FROM: 'login@example.org',
      SVC_EMAIL_BASE_URL: 'https://www.example.org/app',
    },
  });
});

afterAll(() => server.close());

const ask = (email: string, path = '/auth/magic-link') => server.request('POST', path, { body: { email } });

describe('login links of a member', () => {
  it('are asked for without a login, at every member', async () => {
    for (const path of ['/auth/magic-link', '/auth/nothing/magic-link']) {
      const answer = await ask('ann@example.org', path);
      expect(answer).toMatchObject({ status: 200, headers: { 'cache-control': 'no-store' } });
      expect(answer.json).toMatchObject({ masked_email: 'an***@example.org', expires_in_minutes: 15 });
    }
  });

  it('are limited over all members together [MAGIC-004]', async () => {
    const statuses: number[] = [];
    for (let request = 0; request < 7; request += 1) statuses.push((await ask('ben@example.org')).status);
    expect(statuses).toEqual([200, 200, 200, 200, 200, 429, 429]);
  });

  it('are not for unknown tenants, and take no unknown fields', async () => {
    const elsewhere = await server.request('POST', '/auth/magic-link', {
      body: { email: 'ann@example.org' },
      headers: { 'x-tenant-id': 'nobody' },
    });
    expect([elsewhere.status, elsewhere.json.code]).toEqual([404, 'TENANT_NOT_FOUND']);
    const misspelled = await server.request('POST', '/auth/magic-link', {
      body: { email: 'ann@example.org', redirect_uri: 'https://www.example.org/app' },
    });
    expect(misspelled.status).toBe(400);
    expect(misspelled.json.message).toContain('redirect_url');
  });

  it('are opened with any parameters beside the token', async () => {
    const path = `/auth/magic-link/verify?token=${'A'.repeat(43)}.ZGVmYXVsdA&utm_source=mail`;
    expect((await server.request('GET', path)).status).toBe(401);
    expect((await server.request('HEAD', path)).status).toBe(204);
  });
});
