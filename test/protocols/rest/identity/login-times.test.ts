import { decodeJwt } from 'jose';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { systemClock } from '#runtime/base/time/clock.ts';
import { IdentityClient, PASSWORD } from '#test/support/identity-client.ts';
import { startServer, type TestServer } from '#test/support/server.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

let server: TestServer;
let people: IdentityClient;
/** How far ahead the clock of the server is. */
let aheadMs = 0;

let repository: string;

beforeAll(async () => {
  const clock = {
    ...systemClock,
    wallMs: () => systemClock.wallMs() + aheadMs,
    monotonicMs: () => systemClock.monotonicMs() + aheadMs,
  };
  server = await startServer({ clock, env: { SVC_TRUST_FORWARDED_HEADERS: 'true' } });
  people = new IdentityClient(server);
  repository = await server.createRepository();
});

afterAll(() => server.close());

it('a lock ends after its time, after which one more failure sets it again, and a login ends the count [ID-022]', async () => {
  const { email } = await people.person('/auth', { from: '10.0.0.1' });
  const attempt = async (password: string) =>
    (await people.logIn(email, password, '/auth', { from: '10.0.0.2' })).status;
  for (let index = 0; index < 5; index += 1) expect(await attempt('wrong')).toBe(401);
  expect(await attempt(PASSWORD)).toBe(429);
  aheadMs += 15 * MINUTE_MS;
  expect(await attempt('wrong')).toBe(401);
  expect(await attempt(PASSWORD)).toBe(429);
  aheadMs += 15 * MINUTE_MS;
  expect(await attempt(PASSWORD)).toBe(200);
  for (let index = 0; index < 4; index += 1) expect(await attempt('wrong')).toBe(401);
  expect(await attempt(PASSWORD)).toBe(200);
});

it('a session ends after 24 hours, or 30 days for who wants to be remembered [SESS-007]', async () => {
  const { email, refresh } = await people.person();
  const claims = decodeJwt(refresh);
  expect((claims.exp as number) - (claims.iat as number)).toBe((30 * DAY_MS) / 1000);
  const body = { email, password: PASSWORD, remember_me: true };
  const remembered = await people.send('POST', '/auth/login', { body });
  const access = decodeJwt(remembered.json.access_token);
  expect((access.exp as number) - (access.iat as number)).toBe(HOUR_MS / 1000);
  aheadMs += DAY_MS;
  const over = await people.refresh(refresh);
  expect([over.status, over.json.code]).toEqual([401, 'SESSION_EXPIRED']);
  const second = await people.refresh(remembered.json.refresh_token);
  expect(second.status).toBe(200);
  // Neither the login nor the session is newer than it was.
  expect(decodeJwt(second.json.access_token).auth_time).toBe(access.auth_time);
  aheadMs += 29 * DAY_MS;
  expect((await people.refresh(second.json.refresh_token)).json.code).toBe('SESSION_EXPIRED');
});

it('an access token works for its hour, also after a logout, and not longer [SESS-003, ID-019]', async () => {
  const { access: token, claims } = await people.person();
  expect((await people.send('POST', '/auth/logout', { token })).status).toBe(204);
  aheadMs = (claims.exp as number) * 1000 - systemClock.wallMs() - 5_000;
  expect((await people.send('GET', '/auth/sessions', { token })).status).toBe(200);
  aheadMs += 5_000;
  const expired = await people.send('GET', '/auth/sessions', { token });
  expect([expired.status, expired.json.code]).toEqual([401, 'UNAUTHORIZED']);
  expect((await people.send('GET', '/auth/me', { token })).json.anonymous).toBe(true);
});

it('a password that is too old has to be changed before anything else [ID-031]', async () => {
  // The token of the administrator has expired in the tests before.
  const { json: admin } = await server.request('POST', '/api/svc/sys/default/auth', {
    body: { username: 'admin', password: 'Correct-Horse-9-Battery' },
  });
  const policy = {
    min_length: 8,
    require_uppercase: false,
    require_lowercase: false,
    require_numbers: false,
    require_special: false,
    max_age_days: 1,
  };
  const configured = await server.request('PUT', '/api/tenants/default/auth/config', {
    token: admin.token,
    body: { password_policy: policy },
  });
  expect(configured.status).toBe(200);
  const { email } = await people.person();
  aheadMs += DAY_MS;
  const old = await people.logIn(email, PASSWORD, `/auth/${repository}`);
  expect(old.status).toBe(200);
  const token = old.json.access_token;
  expect(decodeJwt(token).global_flags).toMatchObject({ must_change_password: true });
  for (const [method, path] of [
    ['GET', '/auth/sessions'],
    ['GET', `/api/repository/${repository}/main/head/default/`],
    ['GET', '/api/tenants/default/auth/config'],
  ] as const) {
    const refused = await people.send(method, path, { token });
    expect([path, refused.status, refused.json.code]).toEqual([path, 403, 'PASSWORD_CHANGE_REQUIRED']);
  }
  expect((await people.send('GET', '/auth/me', { token })).json).toMatchObject({ email });
  expect((await people.send('GET', `/auth/${repository}/me`, { token })).json).toMatchObject({ email });
  const body = { old_password: PASSWORD, new_password: 'another password' };
  expect((await people.send('POST', '/auth/change-password', { token, body })).status).toBe(204);
  const fresh = await people.refresh(old.json.refresh_token);
  expect(decodeJwt(fresh.json.access_token).global_flags).toMatchObject({ must_change_password: false });
  const sessions = await people.send('GET', '/auth/sessions', { token: fresh.json.access_token });
  expect(sessions.status).toBe(200);
  expect((await people.send('POST', '/auth/logout', { token })).status).toBe(204);
});
