import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { linkIn, mailAuthority, TestMailServer } from '#test/support/mail-server.ts';
import { startServer, type TestServer } from '#test/support/server.ts';

const account = { username: 'grove', password: 'a secret: ä' };

let mail: TestMailServer;
let server: TestServer;
let repository: string;

beforeAll(async () => {
  mail = await TestMailServer.start({ security: 'starttls', account });
  server = await startServer({
    env: {
      SVC_SMTP_URL: `smtp://grove:${encodeURIComponent(account.password)}@127.0.0.1:${mail.port}`,
      SVC_EMAIL_FROM: 'login@example.org',
      SVC_EMAIL_BASE_URL: 'https://www.example.org/app',
    },
    config: `[email]\nallow_private_servers = true\nallowed_ports = ["${mail.port}"]\n`,
    authorities: [mailAuthority],
  });
  repository = await server.createRepository();
});

afterAll(async () => {
  await server.close();
  await mail.stop();
});

const ask = (email: string, path = '/auth/magic-link') => server.request('POST', path, { body: { email } });

const register = (email: string) =>
  server.request('POST', '/auth/register', { body: { email, password: 'a long password' } });

/** Opens the link of the newest mail. */
async function follow(count: number): Promise<URLSearchParams> {
  const { pathname, search } = linkIn(await mail.received(count));
  const answer = await server.request('GET', pathname + search);
  expect(answer.status).toBe(302);
  return new URLSearchParams(answer.headers.location?.split('#')[1]);
}

describe('login links of a member', () => {
  it('log a person in, who gets a node in the repository [MAGIC-001, MAGIC-002]', async () => {
    await register('ann@example.org');
    const count = mail.mails.length + 1;
    expect((await ask('ann@example.org', `/auth/${repository}/magic-link`)).status).toBe(200);
    const tokens = await follow(count);
    const me = await server.request('GET', `/auth/${repository}/me`, {
      token: tokens.get('access_token') ?? '',
    });
    expect(me.json).toMatchObject({
      email: 'ann@example.org',
      home: '/users/internal/ann-at-example-org',
      user_node: { node_type: 'svc:User', workspace: 'svc:access_control' },
    });
    const body = { refresh_token: tokens.get('refresh_token') };
    expect((await server.request('POST', '/auth/refresh', { body })).status).toBe(200);
    expect(mail.mails.at(-1)).toMatchObject({ isSecure: true, user: 'grove', to: ['ann@example.org'] });
  });

  it('are asked for without a login, alike for unknown addresses and repositories [MAGIC-001]', async () => {
    for (const path of ['/auth/magic-link', '/auth/nothing/magic-link']) {
      const answer = await ask('nobody@example.org', path);
      expect(answer).toMatchObject({ status: 200, headers: { 'cache-control': 'no-store' } });
      expect(answer.json).toMatchObject({ masked_email: 'no***@example.org', expires_in_minutes: 15 });
    }
  });

  it('are limited over all members together [MAGIC-004]', async () => {
    const statuses: number[] = [];
    for (let request = 0; request < 7; request += 1) statuses.push((await ask('ben@example.org')).status);
    expect(statuses).toEqual([200, 200, 200, 200, 200, 429, 429]);
  });

  it('take no unknown fields and no key of idempotency', async () => {
    const misspelled = await server.request('POST', '/auth/magic-link', {
      body: { email: 'ann@example.org', redirect_uri: 'https://www.example.org/app' },
    });
    expect(misspelled.status).toBe(400);
    expect(misspelled.json.message).toContain('redirect_url');
    const keyed = await server.request('POST', '/auth/magic-link', {
      body: { email: 'ann@example.org' },
      headers: { 'idempotency-key': 'once' },
    });
    expect(keyed.status).toBe(400);
  });

  it('are opened with any parameters beside the token', async () => {
    const path = `/auth/magic-link/verify?token=${'A'.repeat(43)}.ZGVmYXVsdA&utm_source=mail`;
    expect((await server.request('GET', path)).status).toBe(401);
    expect((await server.request('HEAD', path)).status).toBe(204);
  });
});

describe('the mail settings of a tenant', () => {
  const config = '/api/tenants/default/auth/config';
  const provider = {
    kind: 'smtp',
    host: '127.0.0.1',
    port: 0,
    security: 'starttls',
    username: account.username,
    from: 'Tenant <login@tenant.example>',
    reply_to: null,
  };
  const settings = (more: object) => ({
    email: {
      base_url: 'https://tenant.example',
      default_provider: 'main',
      redirect_allowlist: [],
      providers: { main: { ...provider, port: mail.port, ...more } },
    },
  });

  it('are used instead of those of the server; the password is never answered [MAGIC-005]', async () => {
    await register('cat@example.org');
    expect((await server.admin('GET', config)).json.email).toBeNull();
    const stored = await server.admin('PUT', config, settings({ password: account.password }));
    expect(stored.status).toBe(200);
    expect(stored.text).not.toContain('a secret');
    expect(stored.json.email.providers.main).toEqual({ ...provider, port: mail.port, has_password: true });
    // What was read may be sent back, and keeps the password.
    const again = await server.admin('PUT', config, { email: stored.json.email });
    expect(again.json.email).toEqual(stored.json.email);
    const count = mail.mails.length + 1;
    await ask('cat@example.org');
    await follow(count);
    expect(mail.mails.at(-1)).toMatchObject({ from: 'login@tenant.example', isSecure: true, user: 'grove' });
    const foreign = await server.request('POST', '/auth/magic-link', {
      body: { email: 'cat@example.org', redirect_url: 'https://www.example.org/app' },
    });
    expect([foreign.status, foreign.json.field]).toEqual([400, 'redirect_url']);
    expect((await server.admin('PUT', config, { email: null })).json.email).toBeNull();
  });

  it('need the password again for another server, and take no unknown fields', async () => {
    await server.admin('PUT', config, settings({ password: account.password }));
    const moved = await server.admin('PUT', config, settings({ host: 'mail.evil.example' }));
    expect([moved.status, moved.json.field]).toEqual([400, 'email.providers.main.password']);
    const unknown = await server.admin('PUT', config, settings({ pasword: 'x' }));
    expect(unknown.status).toBe(400);
    expect((await server.admin('GET', config)).json.email.providers.main.host).toBe('127.0.0.1');
    expect((await server.request('PUT', config, { body: { email: null } })).status).toBe(401);
    await server.admin('PUT', config, { email: null });
  });

  it('do not tell which tenants exist', async () => {
    const asked = (tenant: string) =>
      server.request('POST', '/auth/magic-link', {
        body: { email: 'somebody@example.org' },
        headers: { 'x-tenant-id': tenant },
      });
    const [there, missing] = [await asked('default'), await asked('no-tenant')];
    expect([missing.status, missing.json]).toEqual([there.status, there.json]);
  });
});
