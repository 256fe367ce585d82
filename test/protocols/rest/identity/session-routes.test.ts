import { afterAll, beforeAll, expect, it } from 'vitest';
import { IdentityClient, PASSWORD } from '#test/support/identity-client.ts';
import { startServer, type TestServer } from '#test/support/server.ts';

let server: TestServer;
let people: IdentityClient;

beforeAll(async () => {
  server = await startServer({ env: { SVC_TRUST_FORWARDED_HEADERS: 'true' } });
  people = new IdentityClient(server);
});

afterAll(() => server.close());

async function sessionsOf(token: string) {
  const { json, status } = await people.send('GET', '/auth/sessions', { token });
  expect(status).toBe(200);
  return json.sessions as readonly {
    readonly id: string;
    readonly is_current: boolean;
    readonly created_at: string;
  }[];
}

it('lists the own sessions, newest first, of which one is the present one [SESS-004, SESS-005]', async () => {
  const { email } = await people.person();
  const headers = { 'user-agent': 'a browser' };
  await people.logIn(email);
  const { json } = await people.logIn(email, PASSWORD, '/auth', { headers, from: '10.6.0.1' });
  const sessions = await sessionsOf(json.access_token);
  expect(sessions).toHaveLength(3);
  expect(sessions.map(({ is_current: isCurrent }) => isCurrent)).toEqual([true, false, false]);
  expect(sessions[0]).toEqual({
    id: expect.any(String),
    auth_strategy: 'local',
    user_agent: 'a browser',
    ip_address: '10.6.0.1',
    created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
    last_active_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
    is_current: true,
  });
  const times = sessions.map(({ created_at: at }) => at);
  expect(times).toEqual(times.toSorted().reverse());
});

it('a logout ends the session, while its access token goes on [SESS-003, ID-032]', async () => {
  const { access, email, id, refresh } = await people.person();
  const logout = await people.send('POST', '/auth/logout', { token: access });
  expect([logout.status, logout.text]).toEqual([204, '']);
  const refused = await people.refresh(refresh);
  expect([refused.status, refused.json.code]).toEqual([401, 'SESSION_REVOKED']);
  expect((await people.send('GET', '/auth/me', { token: access })).json).toMatchObject({ id, email });
  // Once more changes nothing.
  expect((await people.send('POST', '/auth/logout', { token: access })).status).toBe(204);
  // It neither ends sessions nor changes the password.
  const other = await people.logIn(email);
  const { id: otherId } = (await sessionsOf(other.json.access_token))[0] as { readonly id: string };
  const passwords = { old_password: PASSWORD, new_password: 'another password' };
  const attempts = [
    await people.send('DELETE', `/auth/sessions/${otherId}`, { token: access }),
    await people.send('POST', '/auth/change-password', { token: access, body: passwords }),
  ];
  for (const each of attempts) expect([each.status, each.json.code]).toEqual([401, 'UNAUTHORIZED']);
  expect(await sessionsOf(other.json.access_token)).toHaveLength(1);
});

it('a person ends own sessions, and nobody else’s [SESS-005]', async () => {
  const ann = await people.person();
  const ben = await people.person();
  const other = await people.logIn(ann.email);
  const id = (await sessionsOf(ann.access)).find(({ is_current: isCurrent }) => !isCurrent)?.id as string;
  const end = (sessionId: string, token: string) =>
    people.send('DELETE', `/auth/sessions/${sessionId}`, { token });
  for (const strange of [id, '0190b5c2-0000-7000-8000-000000000000', 'x', 'x'.repeat(900), '%2e%2e%2f']) {
    const refused = await end(strange, ben.access);
    expect([404, 400]).toContain(refused.status);
    if (strange !== '%2e%2e%2f') expect([refused.status, refused.json.code]).toEqual([404, 'NOT_FOUND']);
  }
  expect(await sessionsOf(ann.access)).toHaveLength(2);
  expect((await end(id, ann.access)).status).toBe(204);
  expect(await sessionsOf(ann.access)).toHaveLength(1);
  const refused = await people.refresh(other.json.refresh_token);
  expect([refused.status, refused.json.code]).toEqual([401, 'SESSION_REVOKED']);
  // Its access token still works.
  expect((await people.send('GET', '/auth/me', { token: other.json.access_token })).json.id).toBe(ann.id);
});

it('has ten sessions by default, and the oldest ends first [SESS-014]', async () => {
  const { access, email, refresh } = await people.person();
  for (let index = 0; index < 9; index += 1) expect((await people.logIn(email)).status).toBe(200);
  expect(await sessionsOf(access)).toHaveLength(10);
  const newest = await people.logIn(email);
  expect(await sessionsOf(newest.json.access_token)).toHaveLength(10);
  const oldest = await people.refresh(refresh);
  expect([oldest.status, oldest.json.code]).toEqual([401, 'SESSION_REVOKED']);
});
