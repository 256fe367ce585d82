import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectStatus } from '#test/support/content-client.ts';
import { Garden } from '#test/support/garden.ts';
import { startServer, type TestServer } from '#test/support/server.ts';

let server: TestServer;
let garden: Garden;
/** Tokens by the names of people. */
const tokens = new Map<string, string>();

/** What people have besides what the tour of the statements makes. */
const people: Readonly<Record<string, readonly string[]>> = {
  kim: ['clerk'],
  names: ['names-only'],
  partial: ['some-roles'],
  nobody: [],
};

beforeAll(async () => {
  server = await startServer();
  garden = await Garden.on(server);
  await garden.run(
    "CREATE ROLE 'base' PERMISSIONS (ALLOW READ ON 'g' PATH '/beds/**', ALLOW READ PATH '/x', ALLOW READ ON 'p*' PATH '/ana')",
  );
  await garden.run("CREATE ROLE 'clerk' DESCRIPTION 'Keeps books' INHERITS ('base', 'not-there')");
  await garden.run("ALTER ROLE 'clerk' ADD PERMISSION ALLOW UPDATE, READ ON 'g' PATH '/sheds'");
  await garden.run("CREATE ROLE 'auditor' PERMISSIONS (ALLOW READ ON 'svc:access_control' PATH '**')");
  await garden.run("CREATE GROUP 'office' DESCRIPTION 'The office' ROLES ('auditor', 'base')");
  await garden.run(
    "CREATE ROLE 'names-only' PERMISSIONS (ALLOW READ ON 'svc:access_control' PATH '**' NODE TYPES ('svc:User', 'svc:Role') FIELDS (display_name, role_id))",
  );
  await garden.run(
    "CREATE ROLE 'some-roles' PERMISSIONS (ALLOW READ ON 'svc:access_control' PATH '/roles/clerk', ALLOW READ ON 'svc:access_control' PATH '/users/internal/kim*')",
  );
  for (const [name, roles] of Object.entries(people)) {
    const email = `${name}@example.org`;
    const body = { email, password: 'rowing-in-may', display_name: name };
    const { json } = await server.request('POST', `/auth/${garden.client.repository}/register`, { body });
    tokens.set(name, json.access_token);
    await garden.run(`ALTER USER '${email}' DROP ROLES ('viewer', 'authenticated_user')`);
    for (const role of roles) await garden.run(`GRANT ROLE '${role}' TO USER '${email}'`);
  }
  await garden.run("GRANT GROUP 'office' TO USER 'kim@example.org'");
});

afterAll(() => server.close());

function asPerson(name: string): { readonly token: string } {
  return { token: tokens.get(name) as string };
}

async function refused(sql: string, name?: string): Promise<readonly unknown[]> {
  const { json, status } = await garden.ask(sql, name === undefined ? {} : asPerson(name));
  return [status, json.code, json.message];
}

describe('SHOW of roles, groups and users', () => {
  it('lists roles in the order of their paths [SQLACC-005]', async () => {
    const { columns, rows } = await garden.run('SHOW ROLES');
    expect(columns).toEqual(['role_id', 'description', 'inherits']);
    expect(rows.map(({ role_id: id }) => id)).toEqual([
      'anonymous',
      'auditor',
      'authenticated_user',
      'author',
      'base',
      'clerk',
      'editor',
      'names-only',
      'some-roles',
      'system_admin',
      'viewer',
    ]);
    expect((await garden.run("SHOW ROLES LIKE 'cl%'")).rows).toEqual([
      { role_id: 'clerk', description: 'Keeps books', inherits: ['base', 'not-there'] },
    ]);
    expect((await garden.run("SHOW ROLES LIKE 'CL%'")).rows).toEqual([]);
  });

  it('lists groups [SQLACC-005]', async () => {
    const { columns, rows } = await garden.run("SHOW GROUPS LIKE '%ff%'");
    expect(columns).toEqual(['group_id', 'description', 'roles']);
    expect(rows).toEqual([{ group_id: 'office', description: 'The office', roles: ['auditor', 'base'] }]);
  });

  it('lists users by pattern, group and role [SQLACC-005]', async () => {
    await garden.run("CREATE USER 'may' EMAIL 'may@example.org' DISPLAY NAME 'May M.'");
    const { columns, rows } = await garden.run('SHOW USERS');
    expect(columns).toEqual(['user_id', 'email', 'display_name', 'roles', 'groups']);
    expect(rows).toHaveLength(6);
    const may = {
      user_id: 'may',
      email: 'may@example.org',
      display_name: 'May M.',
      roles: [],
      groups: [],
    };
    for (const pattern of ['may', 'may@%', 'May%', 'm_y'])
      expect((await garden.run(`SHOW USERS LIKE '${pattern}'`)).rows).toEqual([may]);
    const named = async (sql: string) => (await garden.run(sql)).rows.map(({ display_name: name }) => name);
    expect(await named("SHOW USERS IN GROUP 'office'")).toEqual(['kim']);
    expect(await named("SHOW USERS IN GROUP '/groups/office' WITH ROLE '/roles/clerk'")).toEqual(['kim']);
    expect(await named("SHOW USERS WITH ROLE 'clerk'")).toEqual(['kim']);
    expect(await named("SHOW USERS LIKE 'n%' IN GROUP 'office'")).toEqual([]);
    expect(await named("SHOW USERS LIKE '%kim%' IN GROUP 'office' WITH ROLE 'clerk'")).toEqual(['kim']);
    const { rows: kim } = await garden.run("SHOW USERS LIKE 'kim'");
    expect(kim).toEqual([
      {
        user_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        email: 'kim@example.org',
        display_name: 'kim',
        roles: ['clerk'],
        groups: ['office'],
      },
    ]);
  });

  it('leaves out what has no effect: users in homes, roles below /users', async () => {
    const access = `/api/repository/${garden.client.repository}/main/head/svc:access_control`;
    const properties = { role_id: 'fake', name: 'fake', permissions: [] };
    const node = { name: 'fake', node_type: 'svc:Role', properties };
    expectStatus(await server.admin('POST', `${access}/users/internal`, node), 201);
    expect((await garden.run("SHOW ROLES LIKE 'fake'")).rows).toEqual([]);
    expect(await refused("GRANT ROLE 'fake' TO USER 'kim@example.org'")).toEqual([
      404,
      'NOT_FOUND',
      "Role 'fake' not found",
    ]);
    const folder = { name: 'f', node_type: 'svc:Folder', properties: {} };
    expectStatus(
      await server.admin('POST', `${access}/users/internal/kim-at-example-org/notifications`, folder),
      201,
    );
  });

  it('reads main, whatever branch it runs on, and the moment of a tag', async () => {
    await garden.client.branch('side', { upstream_branch: 'main' });
    await garden.run("CREATE ROLE 'later'");
    expect((await garden.run("SHOW ROLES LIKE 'later'", { branch: 'side' })).rows).toHaveLength(1);
  });
});

describe('DESCRIBE', () => {
  it('gives the properties of a role, a group and a user [SQLACC-006]', async () => {
    const { columns, rows } = await garden.run("DESCRIBE ROLE 'clerk'");
    expect(columns).toEqual(['property', 'value']);
    expect(rows).toEqual([
      { property: 'role_id', value: 'clerk' },
      { property: 'name', value: 'clerk' },
      { property: 'description', value: 'Keeps books' },
      { property: 'inherits', value: ['base', 'not-there'] },
      {
        property: 'permissions',
        value: [{ workspace: 'g', path: '/sheds', operations: ['update', 'read'] }],
      },
    ]);
    expect((await garden.run("DESCRIBE GROUP 'office'")).rows.map(({ property }) => property)).toEqual([
      'group_id',
      'name',
      'description',
      'roles',
    ]);
    expect((await garden.run("DESCRIBE USER 'kim@example.org'")).rows).toContainEqual({
      property: 'groups',
      value: ['office'],
    });
    for (const noun of ['Role', 'Group', 'User'])
      expect(await refused(`DESCRIBE ${noun} 'nope'`)).toEqual([
        404,
        'NOT_FOUND',
        `${noun} 'nope' not found`,
      ]);
  });
});

describe('what counts for a user', () => {
  it('are roles of its own, of groups, and inherited ones [SQLACC-007]', async () => {
    const { columns, rows } = await garden.run("SHOW EFFECTIVE ROLES FOR USER 'kim@example.org'");
    expect(columns).toEqual(['role', 'source', 'via']);
    expect(rows).toEqual([
      { role: 'clerk', source: 'direct', via: null },
      { role: 'auditor', source: 'group', via: 'office' },
      { role: 'base', source: 'group', via: 'office' },
    ]);
    await garden.run("REVOKE GROUP 'office' FROM USER 'kim@example.org'");
    expect((await garden.run("SHOW EFFECTIVE ROLES FOR USER 'kim@example.org'")).rows).toEqual([
      { role: 'clerk', source: 'direct', via: null },
      { role: 'base', source: 'inherited', via: 'clerk' },
    ]);
    await garden.run("GRANT GROUP 'office' TO USER 'kim@example.org'");
  });

  it('are the permissions of these roles, of all workspaces or of one [SQLACC-008]', async () => {
    const { columns, rows } = await garden.run("SHOW PERMISSIONS FOR USER 'kim@example.org'");
    expect(columns).toEqual(['role', 'path', 'operations', 'workspace']);
    expect(rows).toEqual([
      { role: 'clerk', path: '/sheds', operations: ['update', 'read'], workspace: 'g' },
      { role: 'auditor', path: '**', operations: ['read'], workspace: 'svc:access_control' },
      { role: 'base', path: '/beds/**', operations: ['read'], workspace: 'g' },
      { role: 'base', path: '/x', operations: ['read'], workspace: '*' },
      { role: 'base', path: '/ana', operations: ['read'], workspace: 'p*' },
    ]);
    const on = await garden.run("SHOW PERMISSIONS FOR USER 'kim@example.org' ON 'p'");
    expect(on.rows.map(({ path }) => path)).toEqual(['/x', '/ana']);
  });

  it('is nothing for a user that is not active', async () => {
    await garden.run("CREATE USER 'out' EMAIL 'out@example.org' ROLES ('viewer') CAN LOGIN FALSE");
    expect((await garden.run("SHOW EFFECTIVE ROLES FOR USER 'out'")).rows).toEqual([]);
    expect((await garden.run("SHOW PERMISSIONS FOR USER 'out'")).rows).toEqual([]);
  });
});

describe('what a caller may not read', () => {
  it('is in no answer [SQLACC-009]', async () => {
    for (const sql of ['SHOW ROLES', 'SHOW GROUPS', 'SHOW USERS', 'SHOW SECURITY CONFIG'])
      expect((await garden.run(sql, asPerson('nobody'))).rows).toEqual([]);
    expect((await garden.run("SHOW SECURITY CONFIG FOR 'g'", asPerson('nobody'))).rows).toEqual([]);
    for (const sql of [
      "DESCRIBE ROLE 'clerk'",
      "DESCRIBE USER 'kim@example.org'",
      "SHOW EFFECTIVE ROLES FOR USER 'kim@example.org'",
      "SHOW PERMISSIONS FOR USER 'kim@example.org'",
    ])
      expect(await refused(sql, 'nobody')).toEqual([
        404,
        'NOT_FOUND',
        expect.stringMatching(/^(Role 'clerk'|User 'kim@example.org') not found$/),
      ]);
    const own = "SELECT path FROM 'svc:access_control' WHERE name = 'kim-at-example-org'";
    const [{ path }] = (await garden.run(own)).rows as [{ readonly path: string }];
    for (const name of [path, 'kim-at-example-org'])
      expect(await refused(`DESCRIBE USER '${name}'`, 'nobody')).toEqual([
        404,
        'NOT_FOUND',
        `User '${name}' not found`,
      ]);
    expect((await garden.run('SHOW ROLES', asPerson('partial'))).rows).toEqual([
      { role_id: 'clerk', description: 'Keeps books', inherits: ['base', 'not-there'] },
    ]);
    const kim = asPerson('partial');
    expect((await garden.run("SHOW EFFECTIVE ROLES FOR USER 'kim@example.org'", kim)).rows).toEqual([
      { role: 'clerk', source: 'direct', via: null },
    ]);
  });

  it('does not count as what a property is, nor finds a user [SQLACC-009]', async () => {
    const reader = asPerson('names');
    const { rows } = await garden.run('SHOW USERS', reader);
    expect(rows).toContainEqual({
      user_id: 'kim-at-example-org',
      email: null,
      display_name: 'kim',
      roles: [],
      groups: [],
    });
    expect((await garden.run("SHOW USERS LIKE 'kim@%'", reader)).rows).toEqual([]);
    expect((await garden.run("SHOW USERS IN GROUP 'office'", reader)).rows).toEqual([]);
    expect((await garden.run("SHOW USERS WITH ROLE 'clerk'", reader)).rows).toEqual([]);
    expect(await refused("DESCRIBE USER 'kim@example.org'", 'names')).toEqual([
      404,
      'NOT_FOUND',
      "User 'kim@example.org' not found",
    ]);
    expect((await garden.run("DESCRIBE USER 'kim-at-example-org'", reader)).rows).toEqual([
      { property: 'display_name', value: 'kim' },
    ]);
    expect((await garden.run("SHOW EFFECTIVE ROLES FOR USER 'kim-at-example-org'", reader)).rows).toEqual([]);
    expect((await garden.run("DESCRIBE ROLE 'clerk'", reader)).rows).toEqual([
      { property: 'role_id', value: 'clerk' },
    ]);
  });

  it('is nothing at all to anonymous callers [SQLACC-009]', async () => {
    const settings = {
      name: garden.client.repository,
      node_type: 'svc:RepoAuthConfig',
      properties: { anonymous_enabled: true },
    };
    const system = `/api/repository/${garden.client.repository}/main/head/svc:system/config/repos`;
    expectStatus(await server.admin('POST', system, settings), 201);
    for (const sql of [
      'SHOW ROLES',
      "DESCRIBE ROLE 'clerk'",
      'SHOW SECURITY CONFIG',
      "SHOW PERMISSIONS FOR USER 'kim@example.org'",
      "SHOW EFFECTIVE ROLES FOR USER 'kim@example.org'",
    ]) {
      const { json, status } = await garden.ask(sql, { token: null });
      expect([status, json.code, json.message]).toEqual([
        401,
        'UNAUTHORIZED',
        'Anonymous users cannot perform access control operations',
      ]);
    }
  });
});

describe('functions about the caller', () => {
  const sql =
    'SELECT SVC_AUTH_CURRENT_USER() AS id, SVC_CURRENT_USER() AS node, SVC_AUTH_CURRENT_WORKSPACE() AS workspace';

  it('answer who it is, as it may see itself [SQLACC-012]', async () => {
    await garden.run("ALTER ROLE 'clerk' ADD PERMISSION ALLOW READ PATH '/users/**' EXCEPT FIELDS (status)");
    const [kim] = (await garden.run(sql, asPerson('kim'))).rows;
    expect(kim).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      workspace: null,
      node: {
        id: expect.any(String),
        name: 'kim-at-example-org',
        path: '/users/internal/kim-at-example-org',
        node_type: 'svc:User',
        workspace: 'svc:access_control',
        properties: expect.objectContaining({ email: 'kim@example.org', roles: ['clerk'] }),
      },
    });
    const [nobody] = (await garden.run(sql, asPerson('nobody'))).rows;
    expect(nobody).toEqual({ id: expect.any(String), workspace: null, node: null });
    const [names] = (await garden.run(sql, asPerson('names'))).rows;
    expect(names).toHaveProperty('node.properties', { display_name: 'names' });
    const [admin] = (await garden.run(sql)).rows;
    expect(admin).toEqual({ id: expect.any(String), workspace: null, node: null });
    const [anonymous] = (await garden.run(sql, { token: null })).rows;
    expect(anonymous).toEqual({ id: null, workspace: null, node: null });
  });

  it.each([
    ['g:/beds/north', 'read', true],
    ['g/beds/north', 'READ', true],
    ['g:/beds/north', 'update', false],
    ['g:/sheds', 'update', true],
    ['g:/sheds', 'delete', false],
    ['g:/nothing', 'read', false],
    ['g:/nothing', 'create', false],
    ['p:/ben', 'read', false],
    ['nope:/x', 'read', false],
    ['', 'read', false],
  ])('answer whether kim has a permission: %s %s', async (resource, operation, has) => {
    const { rows } = await garden.run('SELECT SVC_AUTH_HAS_PERMISSION($1, $2) AS has', {
      ...asPerson('kim'),
      params: [resource, operation],
    });
    expect(rows).toEqual([{ has }]);
  });

  it('answer for each row, and are not part of a plan [SQLACC-012]', async () => {
    const { rows } = await garden.run(
      "SELECT name FROM 'g' WHERE SVC_AUTH_HAS_PERMISSION('g:' || path::TEXT, 'update') ORDER BY name",
      asPerson('kim'),
    );
    expect(rows).toEqual([{ name: 'sheds' }]);
    expect(
      (
        await garden.run(
          "SELECT SVC_AUTH_HAS_PERMISSION(NULL, 'read') AS a, SVC_AUTH_HAS_PERMISSION('g:/new', 'create') AS b, SVC_AUTH_HAS_PERMISSION('g:/new', 'read') AS c",
        )
      ).rows,
    ).toEqual([{ a: null, b: true, c: false }]);
    expect(await refused("SELECT SVC_AUTH_HAS_PERMISSION('g:/x', 'fly') AS a")).toEqual([
      400,
      'VALIDATION_FAILED',
      expect.stringContaining("Unknown permission 'fly'"),
    ]);
    expect(await refused("SELECT SVC_AUTH_HAS_PERMISSION('g:/x') AS a")).toEqual([
      400,
      'VALIDATION_FAILED',
      expect.stringContaining('expected 2, got 1'),
    ]);
  });
});
