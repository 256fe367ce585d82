import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AdminClient } from '#test/support/admin-client.ts';
import { IdentityClient, type Registered } from '#test/support/identity-client.ts';
import { LocksClient } from '#test/support/locks-client.ts';
import { startServer, type TestServer } from '#test/support/server.ts';

const ADMINS = '/api/svc/sys/default/admin-users';
const PEOPLE = '/api/svc/sys/default/identity-users';

let server: TestServer;
let admins: AdminClient;
let people: IdentityClient;
let locks: LocksClient;
let count = 0;

beforeAll(async () => {
  server = await startServer();
  await server.createRepository('shop');
  admins = new AdminClient(server);
  people = new IdentityClient(server);
  locks = new LocksClient(server, server.adminToken, 'shop');
});

afterAll(() => server.close());

/** Somebody who may use locks. */
async function editor(): Promise<Registered> {
  const person = await people.person('/auth/shop');
  const body = { identity_id: person.id, roles: ['editor'] };
  expect((await server.admin('POST', '/repos/shop/access/grant', body)).status).toBe(200);
  return person;
}

/** Waits for a lock that another one has, with this token. The next one in line waits longer. */
async function inLine(token: string) {
  count += 1;
  const key = `key-${count}`;
  const held = await locks.taken(key);
  const waits = new LocksClient(server, token, 'shop').acquire(key, 60_000, { wait_ms: 60_000 });
  await locks.waiting(key, 1);
  const next = locks.acquire(key, 60_000, { wait_ms: 60_000 });
  await locks.waiting(key, 2);
  return { key, held, waits, next };
}

type Ends = (id: string) => Promise<unknown>;

const ofAdmins: readonly (readonly [string, number, Ends])[] = [
  ['deleted', 401, (name) => server.admin('DELETE', `${ADMINS}/${name}`)],
  ['deactivated', 403, (name) => admins.change(name, { is_active: false })],
];

const ofPeople: readonly (readonly [string, number, Ends])[] = [
  ['deleted', 401, (id) => server.admin('DELETE', `${PEOPLE}/${id}`)],
  ['deactivated', 403, (id) => server.admin('PATCH', `${PEOPLE}/${id}`, { is_active: false })],
];

describe('a caller who waits for a lock and loses access', () => {
  it.each(ofAdmins)('is refused at once, as an administrator who was %s', async (how, status, end) => {
    const { held, key, next, waits } = await inLine(await admins.account(how));
    await end(how);
    // Before the lock is free: the caller does not wait in vain.
    expect((await waits).status).toBe(status);
    expect((await locks.release(key, held)).json).toEqual({ released: true });
    expect((await next).json).toMatchObject({ acquired: true });
  });

  it.each(ofPeople)('is refused at once, as a person who was %s', async (_how, status, end) => {
    const person = await editor();
    const { held, key, next, waits } = await inLine(person.access);
    await end(person.id);
    expect((await waits).status).toBe(status);
    expect((await locks.release(key, held)).json).toEqual({ released: true });
    expect((await next).json).toMatchObject({ acquired: true });
  });

  it('is refused with a key that was revoked', async () => {
    const made = await server.admin('POST', '/api/svc/me/api-keys', { name: 'waits' });
    expect([made.status, made.text]).toEqual([201, expect.any(String)]);
    const { held, key, next, waits } = await inLine(made.json.token);
    await server.admin('DELETE', `/api/svc/me/api-keys/${made.json.key.key_id}`);
    expect((await waits).status).toBe(401);
    await locks.release(key, held);
    expect((await next).json).toMatchObject({ acquired: true });
  });

  it('waits on after another change of the account', async () => {
    const { held, key, next, waits } = await inLine(await admins.account('changed'));
    await admins.change('changed', { email: 'changed@example.org' });
    await locks.release(key, held);
    const { json } = await waits;
    expect(json).toMatchObject({ acquired: true });
    await locks.release(key, json.token);
    expect((await next).json).toMatchObject({ acquired: true });
  });
});
