import { afterAll, beforeAll, expect, it } from 'vitest';
import { IdentityClient, PASSWORD } from '#test/support/identity-client.ts';
import { startServer, type TestServer } from '#test/support/server.ts';

let server: TestServer;
let people: IdentityClient;
let repository: string;

beforeAll(async () => {
  server = await startServer();
  people = new IdentityClient(server);
  repository = await server.createRepository();
});

afterAll(() => server.close());

const addressOf = (id: string): string => `/api/svc/sys/default/identity-users/${id}`;

/** What the members answer to a token, one after the other. */
async function answers(token: string, path = '/auth/sessions'): Promise<readonly string[]> {
  const all: string[] = [];
  for (let member = 0; member < 3; member += 1) {
    const { json, status } = await people.send('GET', path, { token });
    all.push(status === 200 ? 'taken' : `${status} ${json.code}`);
  }
  return all;
}

const three = (answer: string): readonly string[] => [answer, answer, answer];

it('a deactivated person is refused at every member, and can log in and go on after an activation [ID-032, ID-035, SESS-012]', async () => {
  const { access, email, id, refresh } = await people.person(`/auth/${repository}`);
  // Each member keeps now that the person is active.
  expect(await answers(access)).toEqual(three('taken'));
  const deactivated = await server.admin('PATCH', addressOf(id), { is_active: false });
  expect(deactivated.status).toBe(200);
  await expect.poll(() => answers(access)).toEqual(three('403 ACCOUNT_DISABLED'));
  const content = `/api/repository/${repository}/main/head/default/`;
  expect(await answers(access, content)).toEqual(three('403 ACCOUNT_DISABLED'));
  const login = await people.logIn(email);
  expect([login.status, login.json.code]).toEqual([403, 'ACCOUNT_DISABLED']);
  const wrong = await people.logIn(email, 'wrong');
  expect([wrong.status, wrong.json.code]).toEqual([401, 'INVALID_CREDENTIALS']);
  const refused = await people.refresh(refresh);
  expect([refused.status, refused.json.code]).toEqual([403, 'ACCOUNT_DISABLED']);
  expect((await server.admin('PATCH', addressOf(id), { is_active: true })).status).toBe(200);
  await expect.poll(() => answers(access)).toEqual(three('taken'));
  expect((await people.refresh(refresh)).status).toBe(200);
  expect((await people.logIn(email)).status).toBe(200);
});

it('a removed person is nobody at every member, and so are the sessions [ID-032, SESS-012]', async () => {
  const { access, email, id, refresh } = await people.person();
  expect(await answers(access)).toEqual(three('taken'));
  expect((await server.admin('DELETE', addressOf(id))).status).toBe(204);
  await expect.poll(() => answers(access)).toEqual(three('401 UNAUTHORIZED'));
  expect((await people.send('GET', '/auth/me', { token: access })).json.anonymous).toBe(true);
  const refused = await people.refresh(refresh);
  expect([refused.status, refused.json.code]).toEqual([401, 'SESSION_NOT_FOUND']);
  expect((await people.refresh('garbage')).json.code).toBe('INVALID_REFRESH_TOKEN');
  // The address is free, and its next account has nothing of the one before.
  const again = await people.register(email);
  expect(again.status).toBe(200);
  expect(again.json.identity.id).not.toBe(id);
});

it('a password that an administrator wants to be changed counts from the next token of the person on [ID-045]', async () => {
  const { access, id, refresh } = await people.person(`/auth/${repository}`);
  const demanded = await server.admin('PATCH', addressOf(id), { must_change_password: true });
  expect(demanded.status).toBe(200);
  // Tokens are verified without stored data: this one says nothing of it.
  expect(await answers(access)).toEqual(three('taken'));
  const next = await people.refresh(refresh);
  expect(next.status).toBe(200);
  expect(await answers(next.json.access_token)).toEqual(three('403 PASSWORD_CHANGE_REQUIRED'));
  expect(await answers(access)).toEqual(three('taken'));
  const body = { old_password: PASSWORD, new_password: 'another password' };
  const changed = await people.send('POST', '/auth/change-password', { token: next.json.access_token, body });
  expect(changed.status).toBe(204);
  expect(await answers(next.json.access_token)).toEqual(three('403 PASSWORD_CHANGE_REQUIRED'));
  const last = await people.refresh(next.json.refresh_token);
  expect(await answers(last.json.access_token)).toEqual(three('taken'));
});
