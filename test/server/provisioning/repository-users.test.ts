import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { IdentityClient, PASSWORD } from '#test/support/identity-client.ts';
import { startServer, type TestServer } from '#test/support/server.ts';

let server: TestServer;
let people: IdentityClient;
let repositories = 0;

beforeAll(async () => {
  server = await startServer();
  people = new IdentityClient(server);
});

afterAll(() => server.close());

const slugOf = (email: string): string => email.replace('@', '-at-').replaceAll('.', '-');

/** A repository of its own. @returns its name */
async function newSite(settings?: object): Promise<string> {
  repositories += 1;
  const name = await server.createRepository(`site-${repositories}`);
  if (settings !== undefined) await configure(name, settings);
  return name;
}

async function configure(name: string, settings: object): Promise<void> {
  const made = await server.admin('POST', `/api/repository/${name}/main/head/svc:system/config/repos`, {
    name,
    node_type: 'svc:RepoAuthConfig',
    properties: { repo_id: name, ...settings },
  });
  expect(made.status).toBe(201);
}

const users = (name: string, path = ''): string =>
  `/api/repository/${name}/main/head/svc:access_control/users${path}`;

async function nodeAt(name: string, path: string) {
  const { json, status } = await server.admin('GET', users(name, path));
  expect(status).toBe(200);
  return json;
}

async function namesIn(name: string, path: string): Promise<readonly string[]> {
  const { json } = await server.admin('GET', `${users(name, path)}/`);
  return json.map((node: { name: string }) => node.name);
}

async function makeUser(name: string, node: string, properties: object, parent = '/internal'): Promise<void> {
  const made = await server.admin('POST', users(name, parent), {
    name: node,
    node_type: 'svc:User',
    properties: { display_name: node, ...properties },
  });
  expect(made.status).toBe(201);
}

describe('the first login in a repository', () => {
  it('makes the node of the person, with its initial structure [ID-004, ID-005]', async () => {
    const site = await newSite();
    const { claims, email, id } = await people.person(`/auth/${site}`);
    const path = `/internal/${slugOf(email)}`;
    expect(claims.home).toBe(`/users${path}`);
    expect(await nodeAt(site, path)).toMatchObject({
      node_type: 'svc:User',
      created_by: 'system',
      properties: {
        user_id: id,
        email,
        display_name: 'Ann',
        roles: ['viewer', 'authenticated_user'],
        status: 'active',
        can_login: true,
      },
    });
    expect((await namesIn(site, path)).toSorted()).toEqual([
      'inbox',
      'notifications',
      'outbox',
      'profile',
      'sent',
    ]);
  });

  it('of somebody who registered elsewhere makes one as well, and a login without a repository none [ID-007]', async () => {
    const site = await newSite();
    const { email } = await people.person();
    expect(await namesIn(site, '/internal')).toEqual([]);
    const { json } = await people.logIn(email, PASSWORD, `/auth/${site}`);
    expect(json.identity.home).toBe(`/users/internal/${slugOf(email)}`);
    expect(await namesIn(site, '/internal')).toEqual([slugOf(email)]);
  });

  it('of which there are many at once makes one node [ID-040]', async () => {
    const site = await newSite();
    const { email } = await people.person();
    const answers = await Promise.all(
      Array.from({ length: 6 }, () => people.logIn(email, PASSWORD, `/auth/${site}`)),
    );
    expect(new Set(answers.map(({ json }) => json.identity.home))).toEqual(
      new Set([`/users/internal/${slugOf(email)}`]),
    );
    expect(await namesIn(site, '/internal')).toEqual([slugOf(email)]);
  });

  it('takes another name when somebody else has it [ID-041]', async () => {
    const site = await newSite();
    const email = people.newEmail('a.b');
    const dashed = email.replace('a.b', 'a-b');
    for (const address of [email, dashed, email.replace('a.b', 'a+.b')])
      expect((await people.register(address, `/auth/${site}`)).status).toBe(200);
    const slug = slugOf(email);
    expect((await namesIn(site, '/internal')).toSorted()).toEqual([slug, `${slug}-2`, `${slug}-3`]);
  });

  it('gives the default roles of the tenant, or those of the repository [ID-043]', async () => {
    const plain = await newSite();
    const own = await newSite({ default_roles: ['editor'] });
    const tenant = await server.admin('GET', '/api/tenants/default/auth/config');
    const settings = { ...tenant.json.access_settings, default_roles: ['author', 'authenticated_user'] };
    const put = (access: object) =>
      server.admin('PUT', '/api/tenants/default/auth/config', { access_settings: access });
    expect((await put(settings)).status).toBe(200);
    const rolesIn = async (site: string) => {
      const { email } = await people.person(`/auth/${site}`);
      return (await nodeAt(site, `/internal/${slugOf(email)}`)).properties.roles;
    };
    expect(await rolesIn(plain)).toEqual(['author', 'authenticated_user']);
    expect(await rolesIn(own)).toEqual(['editor', 'authenticated_user']);
    expect((await put(tenant.json.access_settings)).status).toBe(200);
  });

  it('makes none where people have to be let in, or have to prove their address [ID-044]', async () => {
    const { email } = await people.person();
    for (const settings of [
      { auto_approve_access: false },
      { require_email_verification: true },
      { allow_registration: false },
    ]) {
      const site = await newSite(settings);
      const { json, status } = await people.logIn(email, PASSWORD, `/auth/${site}`);
      expect(status).toBe(200);
      expect(json.identity).not.toHaveProperty('home');
      expect(await namesIn(site, '/internal')).toEqual([]);
    }
  });
});

describe('a later login', () => {
  it('finds the node wherever it is, and changes nothing in it [ID-006]', async () => {
    const site = await newSite();
    const { email, id } = await people.person(`/auth/${site}`);
    const path = `/internal/${slugOf(email)}`;
    const before = await nodeAt(site, path);
    const patched = await server.admin('PATCH', users(site, path), {
      properties: { roles: ['editor'], display_name: 'Ann of the office', email: 'office@example.org' },
    });
    expect(patched.status).toBe(200);
    const moved = await server.admin('POST', `${users(site, path)}/svc:cmd/rename`, { newName: 'ann' });
    expect(moved.status).toBe(200);
    const { json } = await people.logIn(email, PASSWORD, `/auth/${site}`);
    expect(json.identity.home).toBe('/users/internal/ann');
    expect(await namesIn(site, '/internal')).toEqual(['ann']);
    expect(await nodeAt(site, '/internal/ann')).toMatchObject({
      id: before.id,
      properties: {
        user_id: id,
        roles: ['editor'],
        display_name: 'Ann of the office',
        email: 'office@example.org',
      },
    });
  });

  it('uses the node although it is not active, so that no second one is', async () => {
    const site = await newSite();
    const { email } = await people.person(`/auth/${site}`);
    const path = `/internal/${slugOf(email)}`;
    await server.admin('PATCH', users(site, path), { properties: { status: 'inactive' } });
    const { json } = await people.logIn(email, PASSWORD, `/auth/${site}`);
    expect(json.identity.home).toBe(`/users${path}`);
    expect(await namesIn(site, '/internal')).toEqual([slugOf(email)]);
    const me = await people.send('GET', `/auth/${site}/me`, { token: json.access_token });
    expect(me.json).toMatchObject({ roles: [], user_node: { properties: { status: 'inactive' } } });
  });
});

describe('roles of a person', () => {
  it('are those that count: of groups and inherited ones as well, and not those that were taken away', async () => {
    const site = await newSite();
    const { access: token, email } = await people.person(`/auth/${site}`);
    const workspace = `/api/repository/${site}/main/head/svc:access_control`;
    for (const [folder, node_type, properties] of [
      ['roles', 'svc:Role', { role_id: 'chief', name: 'chief', inherits: ['editor'], permissions: [] }],
      ['groups', 'svc:Group', { group_id: 'press', name: 'press', roles: ['chief'] }],
    ] as const) {
      const body = { name: properties.name, node_type, properties };
      expect((await server.admin('POST', `${workspace}/${folder}`, body)).status).toBe(201);
    }
    const me = async () => (await people.send('GET', `/auth/${site}/me`, { token })).json;
    const patch = (properties: object) =>
      server.admin('PATCH', users(site, `/internal/${slugOf(email)}`), { properties });
    await patch({ roles: ['/roles/viewer'], groups: ['/groups/press'] });
    expect((await me()).roles.toSorted()).toEqual(['chief', 'editor', 'viewer']);
    await patch({ groups: [] });
    expect((await me()).roles).toEqual(['viewer']);
  });

  it('let a token without a home read where the person has a node, and nothing elsewhere [ID-008]', async () => {
    const [site, other] = [await newSite(), await newSite()];
    for (const name of [site, other]) {
      const made = await server.admin('POST', `/api/repository/${name}/main/head/default/`, {
        name: 'pages',
        node_type: 'svc:Folder',
        properties: {},
      });
      expect(made.status).toBe(201);
    }
    const { email } = await people.person(`/auth/${site}`);
    const { json } = await people.logIn(email);
    const read = (name: string, token: string) =>
      people.send('GET', `/api/repository/${name}/main/head/default/pages`, { token });
    expect((await read(site, json.access_token)).json).toMatchObject({ name: 'pages' });
    expect((await read(other, json.access_token)).status).toBe(404);
    // Nor does a token that names a repository say anything of another one.
    const scoped = await people.logIn(email, PASSWORD, `/auth/${site}`);
    expect((await read(other, scoped.json.access_token)).status).toBe(404);
  });

  it('are none for a person with several nodes, who gets no further one', async () => {
    const site = await newSite();
    const { email, id } = await people.person(`/auth/${site}`);
    await makeUser(site, 'second', { email: 'second@example.org', user_id: id, roles: ['system_admin'] });
    const { json } = await people.logIn(email, PASSWORD, `/auth/${site}`);
    expect(json.identity).not.toHaveProperty('home');
    const me = await people.send('GET', `/auth/${site}/me`, { token: json.access_token });
    expect(me.json).toMatchObject({ roles: [], home: null, user_node: null });
    expect(await namesIn(site, '/internal')).toHaveLength(2);
  });
});

describe('a node with the address of somebody', () => {
  it('is not given to who has only registered the address [ID-042]', async () => {
    const site = await newSite();
    const email = people.newEmail('boss');
    await makeUser(site, 'boss', { email, roles: ['system_admin'] });
    const { json, status } = await people.register(email, `/auth/${site}`);
    expect(status).toBe(200);
    expect(json.identity).not.toHaveProperty('home');
    const node = await nodeAt(site, '/internal/boss');
    expect(node.properties.user_id ?? null).toBeNull();
    expect(await namesIn(site, '/internal')).toEqual(['boss']);
  });

  it('in lower case is given to who has proven it in another case', async () => {
    const site = await newSite();
    const email = people.newEmail('desk');
    await makeUser(site, 'desk', { email, roles: ['editor'] });
    const registered = await people.register(email.toUpperCase());
    const { id } = registered.json.identity;
    await server.admin('PATCH', `/api/svc/sys/default/identity-users/${id}`, { email_verified: true });
    const { json } = await people.logIn(email, PASSWORD, `/auth/${site}`);
    expect(json.identity.home).toBe('/users/internal/desk');
    const node = await nodeAt(site, '/internal/desk');
    expect(node.properties).toMatchObject({ user_id: id, email, roles: ['editor'] });
    expect(await namesIn(site, '/internal')).toEqual(['desk']);
  });

  it('and with another identity is never taken over [ID-042]', async () => {
    const site = await newSite();
    const email = people.newEmail('old');
    await makeUser(site, slugOf(email), { email, user_id: 'somebody-else', roles: ['editor'] });
    const { json, status } = await people.register(email, `/auth/${site}`);
    expect(status).toBe(200);
    expect(json.identity).not.toHaveProperty('home');
    const node = await nodeAt(site, `/internal/${slugOf(email)}`);
    expect(node.properties).toMatchObject({ user_id: 'somebody-else', roles: ['editor'] });
    const me = await people.send('GET', `/auth/${site}/me`, { token: json.access_token });
    expect(me.json).toMatchObject({ roles: [], home: null, user_node: null });
  });
});
