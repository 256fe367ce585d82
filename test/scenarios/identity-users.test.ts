import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestResponse } from '#test/support/http-client.ts';
import { startServer, type TestServer } from '#test/support/server.ts';
import { until } from '#test/support/until.ts';

const base = '/api/svc/sys/default/identity-users';
const password = 'eight or more';
const nobody = '00000000-0000-7000-8000-000000000000';

let server: TestServer;
let repository: string;
let other: string;
let count = 0;

beforeAll(async () => {
  server = await startServer();
  repository = await server.createRepository();
  other = await server.createRepository();
});

afterAll(() => server.close());

function newEmail(): string {
  count += 1;
  return `person-${count}@example.org`;
}

const create = (more: object = {}): Promise<TestResponse> =>
  server.admin('POST', base, { email: newEmail(), password, ...more });

async function made(more: object = {}): Promise<{ readonly id: string; readonly email: string }> {
  const answer = await create(more);
  expect([answer.status, answer.text]).toEqual([201, expect.anything()]);
  return answer.json;
}

const nodesOf = `/main/head/svc:access_control/users`;

/** A user node by its path below `/users`. */
const node = (name: string, path: string): Promise<TestResponse> =>
  server.admin('GET', `/api/repository/${name}${nodesOf}${path}`);

const slugOf = (email: string): string => email.replace('@', '-at-').replaceAll('.', '-');

async function addNode(name: string, properties: object, nodeType = 'svc:User'): Promise<string> {
  count += 1;
  const node = { name: `node-${count}`, node_type: nodeType, properties };
  const answer = await server.admin('POST', `/api/repository/${name}${nodesOf}`, node);
  expect([answer.status, answer.text]).toEqual([201, expect.anything()]);
  return `/users/${node.name}`;
}

describe('accounts of people', () => {
  it('are created with what the request says, and never answer what could be used to log in [IDADMIN-001]', async () => {
    const email = newEmail();
    const { json, status } = await create({ email, display_name: 'Ann', email_verified: true });
    expect(status).toBe(201);
    expect(json).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      email,
      display_name: 'Ann',
      avatar_url: null,
      email_verified: true,
      is_active: true,
      is_tenant_admin: false,
      has_password: true,
      must_change_password: false,
      linked_providers: [],
      created_at: expect.any(String),
      updated_at: expect.any(String),
      last_login_at: null,
    });
    expect((await server.admin('GET', `${base}/${json.id}`)).json).toEqual({ ...json, status_change: null });
  });

  it('are refused with an address that is taken, or is none, and with a weak password [IDADMIN-001]', async () => {
    const { email } = await made();
    for (const [body, status, code] of [
      [{ email: email.toUpperCase() }, 409, 'EMAIL_EXISTS'],
      [{ email: 'nonsense' }, 400, 'INVALID_EMAIL'],
      [{ password: 'short' }, 400, 'WEAK_PASSWORD'],
      [{ repos: ['no-repository'] }, 404, 'REPOSITORY_NOT_FOUND'],
      [{ repos: [repository], default_roles: ['no-role'] }, 400, 'VALIDATION_FAILED'],
      [{ unknown: 1 }, 400, 'VALIDATION_FAILED'],
    ] as const) {
      const answer = await create({ email: newEmail(), ...body });
      expect([body, answer.status, answer.json.code]).toEqual([body, status, code]);
    }
    // Nothing was created for the repository or the role that do not exist.
    const last = await server.admin('GET', `${base}?email=person-${count}@example.org`);
    expect(last.json).toEqual([]);
  });

  it('are not created where their address is that of a node that they cannot have', async () => {
    const email = newEmail();
    const prepared = `/api/repository/${other}/main/head/svc:access_control/users/internal`;
    const properties = { email, display_name: 'Prepared', roles: ['editor'] };
    const planted = await server.admin('POST', prepared, {
      name: 'prepared',
      node_type: 'svc:User',
      properties,
    });
    expect(planted.status).toBe(201);
    const refused = await create({ email, email_verified: false, repos: [repository, other] });
    expect([refused.status, refused.json.code]).toEqual([409, 'CONFLICT']);
    expect((await server.admin('GET', `${base}?email=${email}`)).json).toEqual([]);
    const made = await create({ email, email_verified: true, repos: [repository, other] });
    expect(made.status).toBe(201);
  });

  it('are changed with an entry in the audit trail, however long the change is', async () => {
    const { id } = await made();
    const name = 'x'.repeat(5_000);
    const changed = await server.admin('PATCH', `${base}/${id}`, {
      display_name: name,
      is_tenant_admin: true,
    });
    expect([changed.status, changed.json.is_tenant_admin]).toEqual([200, true]);
    const { json } = await server.admin('GET', '/api/svc/sys/default/audit?limit=1');
    const [entry] = json.items;
    expect(entry).toMatchObject({ action: 'identity_changed', subject: id });
    expect(entry.details).toEqual({ is_tenant_admin: true, display_name: `${'x'.repeat(200)}…` });
  });

  it('get user nodes with the default roles in the repositories that are named [IDADMIN-002]', async () => {
    const person = await made({ repos: [repository, other, repository], default_roles: ['/roles/editor'] });
    for (const name of [repository, other]) {
      const { json } = await node(name, `/internal/${slugOf(person.email)}`);
      expect(json.properties).toMatchObject({ user_id: person.id, email: person.email, status: 'active' });
      expect([...json.properties.roles].sort()).toEqual(['authenticated_user', 'editor']);
    }
    const usual = await made({ repos: [repository] });
    const { json } = await node(repository, `/internal/${slugOf(usual.email)}`);
    expect([...json.properties.roles].sort()).toEqual(['authenticated_user', 'viewer']);
  });

  it('are listed in pages, by address in any letter case, and by activity [IDADMIN-003]', async () => {
    const people = [await made(), await made(), await made()];
    const last = people[2] as { readonly id: string; readonly email: string };
    await server.admin('PATCH', `${base}/${last.id}`, { is_active: false });
    const all = (await server.admin('GET', `${base}?per_page=100`)).json as { readonly id: string }[];
    expect(all.map(({ id }) => id).slice(-3)).toEqual(people.map(({ id }) => id));
    const page = (await server.admin('GET', `${base}?per_page=2&page=2`)).json;
    expect(page).toEqual(all.slice(2, 4));
    const found = async (query: string): Promise<readonly string[]> =>
      (await server.admin('GET', `${base}?${query}`)).json.map(({ id }: { readonly id: string }) => id);
    expect(await found(`email=${last.email.toUpperCase()}`)).toEqual([last.id]);
    expect(await found(`email=${last.email}&is_active=true`)).toEqual([]);
    expect((await server.admin('GET', `${base}?email=nonsense`)).json).toMatchObject({
      code: 'INVALID_EMAIL',
    });
    expect(await found('is_active=false&per_page=100')).toContain(last.id);
    expect(await found('is_active=true&per_page=100')).not.toContain(last.id);
  });

  it('are changed by the fields that are given, and are gone when they are removed [IDADMIN-004]', async () => {
    const { id } = await made({ display_name: 'Ann' });
    const changed = await server.admin('PATCH', `${base}/${id}`, {
      email_verified: true,
      is_tenant_admin: true,
      must_change_password: true,
    });
    expect([changed.status, changed.json]).toMatchObject([
      200,
      { display_name: 'Ann', email_verified: true, is_tenant_admin: true, must_change_password: true },
    ]);
    expect((await server.admin('PATCH', `${base}/${id}`, { display_name: 'Ben' })).json).toMatchObject({
      display_name: 'Ben',
      email_verified: true,
    });
    for (const body of [{ is_active: 'no' }, { email: 'x@example.org' }])
      expect((await server.admin('PATCH', `${base}/${id}`, body)).status).toBeGreaterThanOrEqual(400);
    expect((await server.admin('DELETE', `${base}/${id}`)).status).toBe(204);
    for (const [method, path, body] of [
      ['GET', `/${id}`, undefined],
      ['PATCH', `/${id}`, { is_active: true }],
      ['DELETE', `/${id}`, undefined],
      ['POST', `/${id}/link`, { repo_id: repository, user_node_path: '/users/x' }],
      ['GET', `/${id}/sessions`, undefined],
      ['DELETE', `/${id}/sessions`, undefined],
      ['GET', `/${nobody}`, undefined],
    ] as const) {
      const answer = await server.admin(method, base + path, body);
      expect([method, path, answer.status, answer.json.code]).toEqual([
        method,
        path,
        404,
        'IDENTITY_NOT_FOUND',
      ]);
    }
  });

  it('have an empty list of sessions before a login, which may be ended [IDADMIN-008]', async () => {
    const { id } = await made();
    expect((await server.admin('GET', `${base}/${id}/sessions`)).json).toEqual({ sessions: [] });
    expect((await server.admin('DELETE', `${base}/${id}/sessions`)).status).toBe(204);
  });

  it('leave what administrators do with them in the audit trail [IDADMIN-011]', async () => {
    const { id, email } = await made({ repos: [repository] });
    await server.admin('PATCH', `${base}/${id}`, { email_verified: true });
    const path = `/users/internal/${slugOf(email)}`;
    await server.admin('POST', `${base}/${id}/link`, { repo_id: repository, user_node_path: path });
    await server.admin('DELETE', `${base}/${id}/sessions`);
    await server.admin('DELETE', `${base}/${id}`);
    const { items } = (await server.admin('GET', '/api/svc/sys/default/audit?limit=1000')).json;
    const noted = items.filter(({ subject }: { readonly subject: string }) => subject === id);
    expect(noted.reverse()).toMatchObject([
      {
        action: 'identity_created',
        actor: { username: 'admin' },
        details: { email, repositories: [repository] },
      },
      { action: 'identity_changed', details: { email_verified: true } },
      { action: 'identity_linked', details: { repository, path } },
      { action: 'identity_sessions_ended' },
      { action: 'identity_deleted', details: { email } },
    ]);
    expect(JSON.stringify(noted)).not.toContain(password);
  });

  it('leave one entry of a change that is repeated with its key', async () => {
    const { id } = await made();
    const { id: other } = await made();
    const send = async (method: 'PATCH' | 'DELETE', path: string, key: string, body?: object) =>
      await server.request(method, `${base}/${path}`, {
        token: server.adminToken,
        headers: { 'idempotency-key': key },
        ...(body === undefined ? {} : { body }),
      });
    for (let n = 0; n < 2; n += 1) {
      for (const answer of [
        await send('PATCH', id, `changed ${id}`, { email_verified: true }),
        await send('PATCH', id, `other key ${id}`, { email_verified: true }),
        await send('DELETE', `${id}/sessions`, `ended ${id}`),
        await send('DELETE', other, `deleted ${id}`),
      ])
        expect(answer.status).toBeLessThan(300);
    }
    const { items } = (await server.admin('GET', '/api/svc/sys/default/audit?limit=1000')).json;
    const noted = (of: string): readonly string[] =>
      items
        .filter(({ subject }: { readonly subject: string }) => subject === of)
        .map(({ action }: { readonly action: string }) => action);
    expect(noted(id).toReversed()).toEqual([
      'identity_created',
      'identity_changed',
      'identity_changed',
      'identity_sessions_ended',
    ]);
    expect(noted(other)).toEqual(['identity_deleted', 'identity_created']);
  });

  it('are for administrators of the tenant [IDADMIN-009]', async () => {
    const { id } = await made();
    for (const [method, path] of [
      ['GET', ''],
      ['POST', ''],
      ['GET', `/${id}`],
      ['PATCH', `/${id}`],
      ['DELETE', `/${id}`],
      ['POST', `/${id}/link`],
      ['GET', `/${id}/sessions`],
      ['DELETE', `/${id}/sessions`],
    ] as const) {
      const nobodyAsks = await server.request(method, base + path, {});
      expect([method, path, nobodyAsks.status]).toEqual([method, path, 401]);
      const elsewhere = (base + path).replace('/default/', '/other/');
      const answer = await server.admin(method, elsewhere);
      expect([method, path, answer.status, answer.json.code]).toEqual([method, path, 403, 'TENANT_MISMATCH']);
    }
  });
});

describe('the status of a person', () => {
  it('is set in the nodes of all repositories in the background, and stops logins [IDADMIN-005, IDADMIN-006, ID-025]', async () => {
    const person = await made({ repos: [repository, other] });
    const path = `/internal/${slugOf(person.email)}`;
    const arrived = (status: string): Promise<unknown> =>
      until(async () => {
        for (const name of [repository, other])
          if ((await node(name, path)).json.properties.status !== status) return false;
        return true;
      }, `the nodes are ${status}`);
    expect((await server.admin('PATCH', `${base}/${person.id}`, { is_active: false })).json.is_active).toBe(
      false,
    );
    await arrived('inactive');
    const login = await server.request('POST', '/auth/login', { body: { email: person.email, password } });
    expect([login.status, login.json.code]).toEqual([403, 'ACCOUNT_DISABLED']);
    await until(
      async () => (await server.admin('GET', `${base}/${person.id}`)).json.status_change === null,
      'every repository is reached',
    );
    await server.admin('PATCH', `${base}/${person.id}`, { is_active: true });
    await arrived('active');
    await server.admin('DELETE', `${base}/${person.id}`);
    await arrived('deleted');
  });
});

describe('linking a user node', () => {
  it('gives it to a person, once [IDADMIN-010]', async () => {
    const [ann, ben] = [await made(), await made()];
    const path = await addNode(repository, { email: newEmail(), display_name: 'By hand' });
    const link = (id: string, userNodePath = path, repo = repository): Promise<TestResponse> =>
      server.admin('POST', `${base}/${id}/link`, { repo_id: repo, user_node_path: userNodePath });
    for (let times = 0; times < 2; times += 1) {
      const answer = await link(ann.id);
      expect([answer.status, answer.json]).toEqual([
        200,
        { identity_id: ann.id, email: ann.email, repo_id: repository, user_node_path: path, linked: true },
      ]);
    }
    expect((await node(repository, path.slice('/users'.length))).json.properties).toMatchObject({
      user_id: ann.id,
      display_name: 'By hand',
    });
    const second = await addNode(repository, { email: newEmail(), display_name: 'Another' });
    const folder = await addNode(repository, {}, 'svc:AclFolder');
    for (const [answer, status, code] of [
      [await link(ben.id), 409, 'IDENTITY_ALREADY_LINKED'],
      [await link(ann.id, second), 409, 'IDENTITY_ALREADY_LINKED'],
      [await link(ben.id, folder), 400, 'NOT_A_USER_NODE'],
      [await link(ben.id, '/users/none'), 404, 'USER_NODE_NOT_FOUND'],
      [await link(ben.id, path, 'no-repository'), 404, 'REPOSITORY_NOT_FOUND'],
    ] as const)
      expect([answer.status, answer.json.code]).toEqual([status, code]);
  });
});
