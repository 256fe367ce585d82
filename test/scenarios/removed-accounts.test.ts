import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { TestResponse } from '#test/support/http-client.ts';
import { IdentityClient, type Registered } from '#test/support/identity-client.ts';
import { startServer, type TestServer } from '#test/support/server.ts';
import { until } from '#test/support/until.ts';

const PEOPLE = '/api/svc/sys/default/identity-users';

let server: TestServer;
let people: IdentityClient;
let repository: string;
let gone: Registered;

beforeAll(async () => {
  server = await startServer();
  people = new IdentityClient(server);
});

afterAll(() => server.close());

const sql = (text: string): Promise<TestResponse> =>
  server.admin('POST', `/api/sql/${repository}`, { sql: text });

const invite = (email: string): Promise<TestResponse> =>
  server.admin('POST', `/repos/${repository}/access/invite`, { email, roles: ['viewer'] });

async function members(): Promise<readonly { readonly email: string; readonly status: string }[]> {
  return (await server.admin('GET', `/repos/${repository}/access/members`)).json.members;
}

/** A person who had a user node, whose account was removed. */
beforeEach(async () => {
  repository = await server.createRepository();
  gone = await people.person(`/auth/${repository}`);
  expect((await server.admin('DELETE', `${PEOPLE}/${gone.id}`)).status).toBe(204);
  await until(
    async () => (await members()).some(({ status }) => status === 'deleted'),
    'the node is deleted',
  );
});

describe('the user node of an account that was removed', () => {
  it.each([
    "GRANT ROLE 'editor' TO USER '@'",
    "ALTER USER '@' ADD ROLES ('editor')",
    "ALTER USER '@' ADD GROUPS ('press')",
    "GRANT GROUP 'press' TO USER '@'",
  ])('is given nothing: %s', async (text) => {
    await sql("CREATE GROUP 'press'");
    const answer = await sql(text.replace('@', gone.email));
    expect([answer.status, answer.json]).toEqual([
      409,
      expect.objectContaining({ code: 'CONFLICT', message: expect.stringMatching(/was removed: DROP USER/) }),
    ]);
    // Taking away is no promise to anybody.
    expect((await sql(`REVOKE ROLE 'viewer' FROM USER '${gone.email}'`)).status).toBe(200);
  });

  it('refuses an invitation of its address in any letter case, until it is dropped', async () => {
    for (const email of [gone.email, ` ${gone.email.toUpperCase()}`]) {
      const answer = await invite(email);
      expect([answer.status, answer.json]).toEqual([
        409,
        expect.objectContaining({ code: 'CONFLICT', message: expect.stringMatching(/account was removed/) }),
      ]);
    }
    expect((await sql(`DROP USER '${gone.email}'`)).status).toBe(200);
    expect((await invite(gone.email)).status).toBe(200);
  });

  it('goes to no other account with the address, which can be given access once it is dropped', async () => {
    const registered = await people.register(gone.email, `/auth/${repository}`);
    expect(registered.status).toBe(200);
    const { id } = registered.json.identity;
    const grant = () =>
      server.admin('POST', `/repos/${repository}/access/grant`, { identity_id: id, roles: ['editor'] });
    const refused = await grant();
    expect([refused.status, refused.json.message]).toEqual([
      409,
      expect.stringMatching(/account was removed/),
    ]);
    await sql(`DROP USER '${gone.email}'`);
    expect((await grant()).status).toBe(200);
    expect(await members()).toEqual([expect.objectContaining({ email: gone.email, status: 'active' })]);
  });

  it('frees the address when it gets another one', async () => {
    expect((await sql(`ALTER USER '${gone.email}' SET EMAIL 'former@example.org'`)).status).toBe(200);
    expect((await invite(gone.email)).status).toBe(200);
  });
});
