import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectStatus } from '#test/support/content-client.ts';
import { IdentityClient, PASSWORD, type Registered } from '#test/support/identity-client.ts';
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

const access = (path: string) => `/api/repository/${repository}/main/head/svc:access_control${path}`;

function as(person: Registered, method: string, path: string, body?: object) {
  return people.send(method, path, { token: person.access, ...(body === undefined ? {} : { body }) });
}

function homeOf({ claims }: Registered): string {
  return claims.home as string;
}

describe('a person who has registered', () => {
  it('does not become an administrator by the roles that earlier versions have stored', async () => {
    const person = await people.person(`/auth/${repository}`);
    const own = { workspace: 'svc:access_control', condition: 'node.id == auth.local_user_id' };
    const permissions = [
      { ...own, path: 'users/**', operations: ['read', 'update'], node_types: ['svc:User'] },
      { path: '**', operations: ['create', 'read', 'update', 'delete', 'translate'] },
    ];
    const role = { properties: { permissions } };
    expectStatus(await server.admin('PATCH', access('/roles/authenticated_user'), role), 200);
    const raised = { properties: { roles: ['system_admin'] } };
    const attempts = [
      await as(person, 'PATCH', access(homeOf(person)), raised),
      await as(person, 'PUT', access(homeOf(person)), {
        properties: { ...raised.properties, display_name: 'x' },
      }),
      await as(person, 'PATCH', access('/roles/viewer'), { properties: { inherits: ['system_admin'] } }),
      await as(person, 'DELETE', access('/roles/anonymous')),
      await as(person, 'POST', access('/roles/'), {
        name: 'mine',
        node_type: 'svc:Role',
        properties: { role_id: 'mine', name: 'mine' },
      }),
    ];
    expect(attempts.map(({ status }) => status)).toEqual([403, 403, 403, 403, 403]);
    expectStatus(
      await as(person, 'PATCH', access(homeOf(person)), { properties: { display_name: 'Ann B.' } }),
      200,
    );
    const me = await as(person, 'GET', `/auth/${repository}/me`);
    expect(me.json.roles).not.toContain('system_admin');
  });

  it('makes no user of anybody in the own home', async () => {
    const [person, other] = [await people.person(`/auth/${repository}`), await people.person()];
    const outbox = `${homeOf(person)}/outbox`;
    const message = { message_type: 'x', body: {}, sender_id: 'x', status: 'pending' };
    expectStatus(
      await as(person, 'POST', access(`${outbox}/`), {
        name: 'm',
        node_type: 'svc:Message',
        properties: message,
      }),
      201,
    );
    const thought = { name: 't', node_type: 'svc:AIThought', properties: {} };
    expectStatus(await server.admin('POST', access(`${outbox}/m/`), thought), 201);
    const planted = {
      name: 'u',
      node_type: 'svc:User',
      properties: {
        user_id: other.id,
        email: 'planted@example.org',
        display_name: 'x',
        roles: ['system_admin'],
      },
    };
    expectStatus(await as(person, 'POST', access(`${outbox}/m/t/`), planted), 403);
    // Not even where an administrator makes one there.
    expectStatus(await server.admin('POST', access(`${outbox}/m/t/`), planted), 201);
    const login = await people.send('POST', `/auth/${repository}/login`, {
      body: { email: other.email, password: PASSWORD },
    });
    const me = await people.send('GET', `/auth/${repository}/me`, { token: login.json.access_token });
    expect([me.json.roles, me.json.home]).toEqual([
      ['viewer', 'authenticated_user'],
      expect.stringMatching(/^\/users\/internal\/person-/),
    ]);
  });

  it('takes no lock, unless some content may be written', async () => {
    const person = await people.person(`/auth/${repository}`);
    const acquire = { key: 'a', ttl_ms: 1000 };
    const lock = () => as(person, 'POST', `/api/${repository}/main/locks/acquire`, acquire);
    // The role of every user was changed by another test of this file: that one may write.
    expectStatus(
      await server.admin('PATCH', access('/roles/authenticated_user'), {
        properties: {
          permissions: [
            { path: 'users/**', workspace: 'svc:access_control', operations: ['read', 'create'] },
          ],
        },
      }),
      200,
    );
    expectStatus(await lock(), 403);
    expectStatus(
      await server.admin('PATCH', access(homeOf(person)), { properties: { roles: ['editor'] } }),
      200,
    );
    expectStatus(await lock(), 200);
  });
});
