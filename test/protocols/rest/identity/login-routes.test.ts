import { decodeJwt } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { IdentityClient, PASSWORD } from '#test/support/identity-client.ts';
import { startServer, type TestServer } from '#test/support/server.ts';

let server: TestServer;
let people: IdentityClient;
let site: string;

beforeAll(async () => {
  server = await startServer({ env: { SVC_TRUST_FORWARDED_HEADERS: 'true' } });
  people = new IdentityClient(server);
  site = `/auth/${await server.createRepository('site')}`;
});

afterAll(() => server.close());

const slugOf = (email: string): string => email.replace('@', '-at-').replaceAll('.', '-');

describe('registering in a repository', () => {
  it('answers a token pair, and the identity with its home [ID-001, ID-002, ID-003, ID-023]', async () => {
    const email = people.newEmail('Ann.Lee');
    const { headers, json, status } = await people.register(email, site);
    expect(status).toBe(200);
    expect(headers['cache-control']).toBe('no-store');
    const access = decodeJwt(json.access_token);
    expect(json).toEqual({
      access_token: expect.any(String),
      refresh_token: expect.any(String),
      token_type: 'Bearer',
      expires_at: access.exp,
      identity: {
        id: access.sub,
        email,
        display_name: 'Ann',
        avatar_url: null,
        email_verified: false,
        linked_providers: [],
        home: `/users/internal/${slugOf(email.toLowerCase())}`,
      },
    });
    expect((access.exp as number) - (access.iat as number)).toBe(3_600);
  });

  it('gives the access token every claim of the interface [ID-012]', async () => {
    const { claims, email, id } = await people.person(site);
    expect(claims).toEqual({
      sub: id,
      email,
      tenant_id: 'default',
      repository: 'site',
      home: `/users/internal/${slugOf(email)}`,
      sid: expect.any(String),
      auth_strategy: 'local',
      auth_time: expect.any(Number),
      global_flags: { is_tenant_admin: false, email_verified: false, must_change_password: false },
      token_type: { type: 'access' },
      exp: expect.any(Number),
      iat: expect.any(Number),
      nbf: expect.any(Number),
      jti: expect.any(String),
      iss: 'svc',
    });
    expect(Math.abs((claims.auth_time as number) - (claims.iat as number))).toBeLessThan(60);
  });

  it('is refused alike in a closed repository and in one that does not exist [ID-036, ID-037]', async () => {
    await server.createRepository('closed');
    const config = await server.admin('POST', '/api/repository/closed/main/head/svc:system/config/repos', {
      name: 'closed',
      node_type: 'svc:RepoAuthConfig',
      properties: { repo_id: 'closed', allow_registration: false },
    });
    expect(config.status).toBe(201);
    const answers = await Promise.all(
      ['closed', 'not-there'].map((name) => people.register(people.newEmail(), `/auth/${name}`)),
    );
    const [closed, missing] = answers.map(({ json, status }) => ({
      status,
      json: { ...json, timestamp: '' },
    }));
    expect(closed).toMatchObject({ status: 403, json: { code: 'FORBIDDEN' } });
    expect(missing).toEqual(closed);
    // Neither has made an account, and a login there gives nobody a node.
    const { email } = await people.person();
    const logins = await Promise.all(
      ['closed', 'not-there'].map((name) => people.logIn(email, PASSWORD, `/auth/${name}`)),
    );
    for (const { json, status } of logins) {
      expect(status).toBe(200);
      expect(json.identity).not.toHaveProperty('home');
    }
  });
});

describe('registering without a repository', () => {
  it('gives a token without a home [ID-007]', async () => {
    const { json, status } = await people.register(people.newEmail());
    expect(status).toBe(200);
    expect(json.identity).not.toHaveProperty('home');
    expect(decodeJwt(json.access_token)).not.toHaveProperty('home');
    expect(decodeJwt(json.access_token)).not.toHaveProperty('repository');
  });

  it('looks at the address, then the password, then at who is there [ID-016, ID-020, ID-021]', async () => {
    const { email } = await people.person();
    const attempt = (address: string, password: string) =>
      people.send('POST', '/auth/register', { body: { email: address, password } });
    expect((await attempt('no-at-sign', 'short')).json).toMatchObject({ code: 'INVALID_EMAIL' });
    const weak = await attempt(email.toUpperCase(), '1234567');
    expect(weak.status).toBe(400);
    expect(weak.json).toMatchObject({ code: 'WEAK_PASSWORD', details: { unmet: ['at least 8 characters'] } });
    const twice = await attempt(email.toUpperCase(), '12345678');
    expect(twice.status).toBe(409);
    expect(twice.json).toMatchObject({
      code: 'EMAIL_EXISTS',
      message: 'An account with this email already exists',
    });
    expect((await attempt(people.newEmail(), '12345678')).status).toBe(200);
  });

  it('is refused in a tenant that does not exist as in one that has switched it off [ID-036]', async () => {
    const made = await server.admin('POST', '/api/management/registry/tenants', {
      tenant_id: 'quiet',
      admin: { password: 'Correct-Horse-9-Battery', must_change_password: false },
    });
    expect(made.status).toBe(201);
    const { json: admin } = await server.request('POST', '/api/svc/sys/quiet/auth', {
      body: { username: 'admin', password: 'Correct-Horse-9-Battery' },
    });
    const configured = await server.request('PUT', '/api/tenants/quiet/auth/config', {
      token: admin.token,
      body: { local_auth: { enabled: false } },
    });
    expect(configured.status).toBe(200);
    const email = people.newEmail();
    const answers = await Promise.all(
      ['quiet', 'nowhere'].map((tenant) => people.register(email, '/auth', { tenant })),
    );
    const [quiet, nowhere] = answers.map(({ json, status }) => ({
      status,
      json: { ...json, timestamp: '' },
    }));
    expect(quiet).toMatchObject({ status: 403, json: { code: 'FORBIDDEN' } });
    expect(nowhere).toEqual(quiet);
  });
});

describe('logging in', () => {
  it('answers a token pair for the repository, or without a home [ID-007, ID-023]', async () => {
    const { email, id } = await people.person();
    const unscoped = await people.logIn(email);
    expect(unscoped.status).toBe(200);
    expect(decodeJwt(unscoped.json.access_token)).not.toHaveProperty('home');
    const scoped = await people.logIn(email, PASSWORD, site);
    const claims = decodeJwt(scoped.json.access_token);
    expect(claims).toMatchObject({ sub: id, repository: 'site' });
    expect(claims.home).toBe(`/users/internal/${slugOf(email)}`);
    expect(scoped.json.expires_at).toBe(claims.exp);
  });

  it('is refused alike for a wrong password, an unknown address and everywhere else [ID-014, ID-037]', async () => {
    const { email } = await people.person();
    const answers = await Promise.all([
      people.logIn(email, 'wrong'),
      people.logIn(people.newEmail(), 'wrong'),
      people.logIn('no-at-sign', 'wrong'),
      people.logIn(email, 'wrong', site),
      people.logIn(email, 'wrong', '/auth/not-there'),
      people.logIn(email, 'wrong', '/auth', { tenant: 'nowhere' }),
    ]);
    for (const { headers, json, status } of answers) {
      expect(status).toBe(401);
      expect(headers['www-authenticate']).toBe(answers[0]?.headers['www-authenticate']);
      expect({ ...json, timestamp: '' }).toEqual({
        code: 'INVALID_CREDENTIALS',
        message: 'Invalid email or password',
        timestamp: '',
      });
    }
  });

  it('locks after five failures, with or without an account, and says for how long [ID-018, ID-027, ID-029]', async () => {
    const { email } = await people.person();
    for (const [address, from] of [
      [email, '10.1.0.1'],
      [people.newEmail(), '10.1.0.2'],
    ] as const) {
      for (let index = 0; index < 5; index += 1)
        expect((await people.logIn(address, 'wrong', '/auth', { from })).status).toBe(401);
      const locked = await people.logIn(address, PASSWORD, '/auth', { from });
      expect(locked.status).toBe(429);
      expect(locked.json).toMatchObject({
        code: 'ACCOUNT_LOCKED',
        details: { retry_after_seconds: expect.any(Number) },
      });
      expect(locked.headers['retry-after']).toBe(String(locked.json.details.retry_after_seconds));
    }
  });

  it('does not lock out the person where the person has been before [ID-026]', async () => {
    const { email } = await people.person('/auth', { from: '10.2.0.1' });
    for (let index = 0; index < 5; index += 1)
      await people.logIn(email, 'wrong', '/auth', { from: '10.2.0.2' });
    expect((await people.logIn(email, PASSWORD, '/auth', { from: '10.2.0.3' })).status).toBe(429);
    expect((await people.logIn(email, PASSWORD, '/auth', { from: '10.2.0.1' })).status).toBe(200);
    for (let index = 0; index < 5; index += 1)
      await people.logIn(email, 'wrong', '/auth', { from: '10.2.0.1' });
    expect((await people.logIn(email, PASSWORD, '/auth', { from: '10.2.0.1' })).status).toBe(429);
  });

  it('counts parallel guesses like others, and lets no right one in after them [ID-028]', async () => {
    const { email } = await people.person('/auth', { from: '10.3.0.1' });
    const guesses = [...Array.from({ length: 11 }, () => 'wrong'), PASSWORD];
    const answers = await Promise.all(
      guesses.map((guess) => people.logIn(email, guess, '/auth', { from: '10.3.0.2' })),
    );
    const statuses = answers.map(({ status }) => status);
    expect(statuses.slice(0, 11)).not.toContain(200);
    expect(statuses.filter((status) => status === 401).length).toBeLessThanOrEqual(5);
    expect((await people.logIn(email, PASSWORD, '/auth', { from: '10.3.0.2' })).status).toBe(429);
  });

  it('never counts an attempt that was not compared as a wrong password [ID-039]', async () => {
    const { email } = await people.person('/auth', { from: '10.4.0.1' });
    // More at once than one address may have running; the others are turned away before the comparison.
    const answers = await Promise.all(
      Array.from({ length: 40 }, () => people.logIn(email, PASSWORD, '/auth', { from: '10.4.0.2' })),
    );
    expect(new Set(answers.map(({ status }) => status))).not.toContain(401);
    for (const { json, status } of answers) if (status === 429) expect(json.code).toBe('RATE_LIMITED');
    expect((await people.logIn(email, PASSWORD, '/auth', { from: '10.4.0.2' })).status).toBe(200);
  });

  it('refuses an Idempotency-Key, whose kept answer would have tokens in it [ID-038]', async () => {
    const { email, refresh } = await people.person();
    const headers = { 'idempotency-key': 'one' };
    for (const answer of [
      await people.register(people.newEmail(), '/auth', { headers }),
      await people.register(people.newEmail(), site, { headers }),
      await people.logIn(email, PASSWORD, '/auth', { headers }),
      await people.logIn(email, PASSWORD, site, { headers }),
      await people.refresh(refresh, '/auth', { headers }),
      await people.refresh(refresh, site, { headers }),
    ]) {
      expect(answer.status).toBe(400);
      expect(answer.json).toMatchObject({ code: 'VALIDATION_FAILED', field: 'Idempotency-Key' });
    }
    expect((await people.refresh(refresh)).status).toBe(200);
  });

  it('names a missing field, and takes any other one, unlike a registration', async () => {
    const bodies = [{}, { email: 'a@example.org' }, { email: 1, password: 'x' }];
    for (const body of bodies) expect((await people.send('POST', '/auth/login', { body })).status).toBe(422);
    const more = { email: 'a@example.org', password: PASSWORD, remember: true };
    expect((await people.send('POST', '/auth/login?x=1', { body: more })).status).toBe(401);
    const refused = await people.send('POST', '/auth/register', { body: more });
    expect([refused.status, refused.json.code]).toEqual([400, 'VALIDATION_FAILED']);
  });
});

describe('refreshing', () => {
  it('keeps session, time of the login, repository and home, wherever it is asked [SESS-001, SESS-009, SESS-010]', async () => {
    const { claims, refresh } = await people.person(site);
    const first = await people.refresh(refresh);
    const second = await people.refresh(first.json.refresh_token, '/auth/other');
    for (const { json, status } of [first, second]) {
      expect(status).toBe(200);
      const next = decodeJwt(json.access_token);
      expect(next.jti).not.toBe(claims.jti);
      for (const name of ['sub', 'sid', 'auth_time', 'repository', 'home', 'auth_strategy', 'tenant_id'])
        expect(next[name]).toBe(claims[name]);
      expect(json.identity.home).toBe(claims.home);
    }
    const generations = [refresh, first.json.refresh_token, second.json.refresh_token].map(
      (token) => decodeJwt(token).generation,
    );
    expect(generations).toEqual([1, 2, 3]);
  });

  it('answers one of many at once, and ends the session for the others [SESS-013, SESS-002]', async () => {
    const { refresh } = await people.person();
    const answers = await Promise.all(Array.from({ length: 8 }, () => people.refresh(refresh)));
    const winners = answers.filter(({ status }) => status === 200);
    expect(winners).toHaveLength(1);
    const codes = answers
      .filter(({ status }) => status !== 200)
      .map(({ json, status }) => [status, json.code]);
    expect(codes).toContainEqual([401, 'TOKEN_REUSE_DETECTED']);
    for (const [status, code] of codes) {
      expect(status).toBe(401);
      expect(['TOKEN_REUSE_DETECTED', 'SESSION_REVOKED']).toContain(code);
    }
    const dead = await people.refresh(winners[0]?.json.refresh_token);
    expect([dead.status, dead.json.code]).toEqual([401, 'SESSION_REVOKED']);
  });

  it('is refused for what is no refresh token of the tenant [ID-033]', async () => {
    const { access, refresh } = await people.person();
    for (const token of ['', 'garbage', access, server.adminToken, `${refresh}x`]) {
      const answer = await people.refresh(token);
      expect([answer.status, answer.json.code]).toEqual([401, 'INVALID_REFRESH_TOKEN']);
    }
    const elsewhere = await people.refresh(refresh, '/auth', { tenant: 'nowhere' });
    expect([elsewhere.status, elsewhere.json.code]).toEqual([401, 'INVALID_REFRESH_TOKEN']);
    expect((await people.refresh(refresh)).status).toBe(200);
  });
});
