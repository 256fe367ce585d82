import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Garden } from '#test/support/garden.ts';
import { startServer, type TestServer } from '#test/support/server.ts';

let server: TestServer;
let garden: Garden;

beforeAll(async () => {
  server = await startServer();
  garden = await Garden.on(server);
});

afterAll(() => server.close());

async function rows(sql: string): Promise<readonly Record<string, unknown>[]> {
  return (await garden.run(sql)).rows;
}

async function answer(sql: string, token?: string | null): Promise<readonly unknown[]> {
  const { json, status } = await garden.ask(sql, token === undefined ? {} : { token });
  return [status, json.code ?? json.rows];
}

async function node(path: string): Promise<Record<string, unknown>> {
  const address = `/api/repository/${garden.client.repository}/main/head/svc:access_control${path}`;
  return (await server.admin('GET', address)).json;
}

const done = [200, [{ result: expect.any(String), success: true }]];

describe('rows', () => {
  it('have the name at the end of their path, and an id that may be given [SQL-016]', async () => {
    expect(
      await rows(
        "INSERT INTO 'g' (path, node_type, id) VALUES ('/sheds/fern', 'svc:Folder', 'given') RETURNING id, name",
      ),
    ).toEqual([{ id: 'given', name: 'fern' }]);
    expect(
      await rows("INSERT INTO 'g' (path, node_type) VALUES ('/sheds/moss', 'svc:Folder') RETURNING id, name"),
    ).toEqual([{ id: expect.stringMatching(/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/), name: 'moss' }]);
  });

  it('are answered by every statement that writes them [SQL-018]', async () => {
    const returned = async (sql: string) =>
      (await rows(`${sql} RETURNING path, owner_id`)).map(Object.values);
    expect(
      await returned("INSERT INTO 'g' (path, node_type, owner_id) VALUES ('/x1', 'svc:Folder', 'a')"),
    ).toEqual([['/x1', 'a']]);
    expect(
      await returned("INSERT INTO 'g' (path, node_type) SELECT '/x2', node_type FROM 'g' WHERE path = '/x1'"),
    ).toEqual([['/x2', null]]);
    expect(
      await returned("UPSERT INTO 'g' (path, node_type, owner_id) VALUES ('/x2', 'svc:Folder', 'b')"),
    ).toEqual([['/x2', 'b']]);
    expect(await returned("UPDATE 'g' SET owner_id = 'c' WHERE path = '/x1'")).toEqual([['/x1', 'c']]);
    expect(await returned("DELETE FROM 'g' WHERE path = '/x1'")).toEqual([['/x1', 'c']]);
  });

  it('are for API keys as well [KEY-009]', async () => {
    const { json } = await server.admin('POST', '/api/svc/me/api-keys', { name: 'sql' });
    expect(await answer("SELECT id FROM 'g' WHERE path = '/beds'", json.token)).toEqual([
      200,
      [{ id: 'f0' }],
    ]);
    const write = "UPDATE 'g' SET owner_id = 'k' WHERE path = '/beds'";
    expect(await answer(write, json.token)).toEqual([200, [{ affected_rows: 1 }]]);
    expect(await answer(write, `${json.token.slice(0, -1)}_`)).toEqual([401, 'UNAUTHORIZED']);
  });
});

describe('roles and users', () => {
  it('are nodes that are made once [ACLSQL-001]', async () => {
    const sql = "CREATE ROLE 'reader' PERMISSIONS (ALLOW READ ON 'g' PATH '/beds/**')";
    expect(await answer(sql)).toEqual(done);
    expect(await answer(sql)).toEqual([409, 'ALREADY_EXISTS']);
    expect(await node('/roles/reader')).toMatchObject({
      node_type: 'svc:Role',
      properties: { permissions: [{ path: '/beds/**', operations: ['read'] }] },
    });
  });

  it('are made by administrators, seen with a login, and not without [ACLSQL-002]', async () => {
    const body = { email: 'kim@example.org', password: 'rowing-in-may' };
    const { json } = await server.request('POST', `/auth/${garden.client.repository}/register`, { body });
    await garden.run("CREATE ROLE 'auditor' PERMISSIONS (ALLOW READ ON 'svc:access_control' PATH '**')");
    await garden.run("GRANT ROLE 'auditor' TO USER 'kim@example.org'");
    expect(await answer("CREATE ROLE 'other'", json.access_token)).toEqual([403, 'FORBIDDEN']);
    const [status, shown] = await answer('SHOW ROLES', json.access_token);
    expect([status, shown]).toEqual([
      200,
      expect.arrayContaining([expect.objectContaining({ role_id: 'auditor' })]),
    ]);
    expect(await answer('SHOW ROLES', null)).toEqual([401, 'UNAUTHORIZED']);
  });

  it('lose the permission of a number, counted from 1 [ACLSQL-004]', async () => {
    const grant = (path: string): string => `ALLOW READ PATH '${path}'`;
    await garden.run(`CREATE ROLE 'walker' PERMISSIONS (${['/a', '/b', '/c'].map(grant).join(', ')})`);
    const paths = async (): Promise<unknown> =>
      ((await node('/roles/walker')).properties as { permissions: { path: string }[] }).permissions.map(
        ({ path }) => path,
      );
    const drop = (number: string) => answer(`ALTER ROLE 'walker' DROP PERMISSION ${number}`);
    for (const number of ['0', '4', '$1']) expect((await drop(number))[0]).toBe(400);
    expect(await paths()).toEqual(['/a', '/b', '/c']);
    expect(await drop('1')).toEqual(done);
    expect(await paths()).toEqual(['/b', '/c']);
    expect(await drop('2')).toEqual(done);
    expect(await paths()).toEqual(['/b']);
  });

  it('have each role once, and lose it [ACLSQL-003, ACLSQL-007]', async () => {
    expect(await answer("CREATE USER 'u' EMAIL 'u@example.org'")).toEqual(done);
    const user = async () => (await node('/users/u')).properties as Record<string, unknown>;
    expect(await user()).toMatchObject({ email: 'u@example.org', status: 'active', can_login: true });
    for (const _ of [1, 2]) expect(await answer("GRANT ROLE 'viewer' TO USER 'u'")).toEqual(done);
    expect((await user()).roles).toEqual(['viewer']);
    expect(await answer("REVOKE ROLE 'viewer' FROM USER 'u'")).toEqual(done);
    expect((await user()).roles).toEqual([]);
  });

  it('that are not there are dropped with IF EXISTS only [ACLSQL-005]', async () => {
    expect(await answer("DROP ROLE IF EXISTS 'nowhere'")).toEqual(done);
    expect(await answer("DROP ROLE 'nowhere'")).toEqual([404, 'NOT_FOUND']);
  });

  it('have roles of their own, of groups, and inherited ones [ACLSQL-006]', async () => {
    await garden.run("CREATE ROLE 'base'");
    await garden.run("CREATE ROLE 'lead' INHERITS ('base')");
    await garden.run("CREATE GROUP 'staff' ROLES ('editor')");
    await garden.run("CREATE USER 'w' EMAIL 'w@example.org' ROLES ('lead') GROUPS ('staff')");
    expect(await rows("SHOW EFFECTIVE ROLES FOR USER 'w'")).toEqual(
      expect.arrayContaining([
        { role: 'lead', source: 'direct', via: null },
        { role: 'editor', source: 'group', via: 'staff' },
        { role: 'base', source: 'inherited', via: 'lead' },
      ]),
    );
  });
});
