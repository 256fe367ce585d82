import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectStatus } from '#test/support/content-client.ts';
import { Garden } from '#test/support/garden.ts';
import { startServer, type TestServer } from '#test/support/server.ts';

let server: TestServer;
let garden: Garden;

beforeAll(async () => {
  server = await startServer();
  garden = await Garden.on(server);
});

afterAll(() => server.close());

/** The result that a statement tells. */
async function done(sql: string, ...params: readonly unknown[]): Promise<unknown> {
  const { columns, rows } = await garden.run(sql, { params });
  expect(columns).toEqual(['result', 'success']);
  expect(rows).toEqual([{ result: expect.any(String), success: true }]);
  return rows.map(({ result }) => result)[0];
}

async function refused(sql: string, token?: string | null): Promise<readonly unknown[]> {
  const { json, status } = await garden.ask(sql, token === undefined ? {} : { token });
  return [status, json.code, json.message];
}

/** A node of access control as REST answers it. */
async function node(path: string) {
  const address = `/api/repository/${garden.client.repository}/main/head/svc:access_control${path}`;
  const { properties, ...rest } = expectStatus(await server.admin('GET', address), 200).json;
  const { $mixins: _, $supertypes: __, ...stored } = properties;
  return { ...rest, properties: stored };
}

/** Registers a person, who then has only these roles. @returns the token */
async function person(name: string, ...roles: readonly string[]): Promise<string> {
  const email = `${name}@example.org`;
  const body = { email, password: 'rowing-in-may', display_name: name };
  const { json } = await server.request('POST', `/auth/${garden.client.repository}/register`, { body });
  await done(`ALTER USER '${email}' DROP ROLES ('viewer', 'authenticated_user')`);
  if (roles.length > 0)
    await done(`GRANT ROLES ${roles.map((role) => `'${role}'`).join(', ')} TO USER '${email}'`);
  return json.access_token as string;
}

describe('the examples of statements about access', () => {
  it('create a role once [SQLEX-092]', async () => {
    const sql =
      "CREATE ROLE 'picker' PERMISSIONS (ALLOW READ ON 'g' PATH '/beds/**' WHERE node.open == true)";
    expect(await done(sql)).toBe("Role 'picker' created");
    expect(await refused(sql)).toEqual([409, 'ALREADY_EXISTS', "Role 'picker' already exists"]);
    expect((await node('/roles/picker')).properties).toEqual({
      role_id: 'picker',
      name: 'picker',
      inherits: [],
      permissions: [
        { workspace: 'g', path: '/beds/**', operations: ['read'], condition: 'node.open == true' },
      ],
    });
  });

  it('give a user what the role permits, and nothing of access control [SQLEX-093]', async () => {
    const token = await person('pia', 'picker');
    expect((await garden.run("SELECT id FROM 'g'", { token })).rows).toEqual([{ id: 'b1' }]);
    expect(await refused("CREATE ROLE 'x'", token)).toEqual([
      403,
      'FORBIDDEN',
      'Insufficient permissions: CREATE ROLE requires the system_admin role',
    ]);
  });
});

describe('roles', () => {
  it('are changed in every part [SQLACC-001]', async () => {
    expect(
      await done(
        "CREATE ROLE 'press' DESCRIPTION 'Writes news' INHERITS ('viewer', '/roles/author', 'later') PERMISSIONS (" +
          "ALLOW READ, UPDATE ON 'g' PATH '/news/**' BRANCH 'main' NODE TYPES ('grow:Bed', 'grow:Plant') FIELDS (title, 'area'), " +
          "ALLOW CREATE PATH '/x' EXCEPT FIELDS (secret))",
      ),
    ).toBe("Role 'press' created");
    const { properties } = await node('/roles/press');
    expect(properties).toEqual({
      role_id: 'press',
      name: 'press',
      description: 'Writes news',
      inherits: ['viewer', 'author', 'later'],
      permissions: [
        {
          workspace: 'g',
          path: '/news/**',
          operations: ['read', 'update'],
          branch_pattern: 'main',
          node_types: ['grow:Bed', 'grow:Plant'],
          fields: ['title', 'area'],
        },
        { path: '/x', operations: ['create'], except_fields: ['secret'] },
      ],
    });
    for (const change of [
      "ADD PERMISSION ALLOW DELETE PATH '/y/**'",
      'DROP PERMISSION 1',
      "ADD INHERITS ('editor', 'viewer')",
      "DROP INHERITS ('later', '/roles/author')",
      "SET DESCRIPTION 'Reads'",
    ])
      expect(await done(`ALTER ROLE 'press' ${change}`)).toBe("Role 'press' altered");
    expect((await node('/roles/press')).properties).toEqual({
      ...properties,
      description: 'Reads',
      inherits: ['viewer', 'editor'],
      permissions: [properties.permissions[1], { path: '/y/**', operations: ['delete'] }],
    });
    expect(await done("DROP ROLE '/roles/press'")).toBe("Role 'press' dropped");
    expect(await refused("DROP ROLE 'press'")).toEqual([404, 'NOT_FOUND', "Role 'press' not found"]);
    expect(await done("DROP ROLE IF EXISTS 'press'")).toBe("Role 'press' does not exist, skipped");
  });

  it.each([
    ["ALTER ROLE 'nope' SET DESCRIPTION 'x'", 404, "Role 'nope' not found"],
    ["ALTER ROLE 'viewer' DROP PERMISSION 0", 400, 'There is no permission 0'],
    ["ALTER ROLE 'viewer' DROP PERMISSION 2", 400, 'There is no permission 2'],
    ["ALTER ROLE 'anonymous' DROP PERMISSION 1", 400, 'The role has no permissions'],
    ["CREATE ROLE ''", 400, "'' cannot be the id of a role"],
    ["CREATE ROLE 'bad' PERMISSIONS (ALLOW READ PATH '/x' WHERE node.open ==)", 400, 'cannot be read'],
    ["CREATE ROLE 'bad' PERMISSIONS (ALLOW READ ON 'a b' PATH '/x')", 400, "no name matches 'a b'"],
    [`CREATE ROLE 'bad' PERMISSIONS (ALLOW READ PATH '${'x'.repeat(600)}')`, 400, 'longer than 512'],
    ["CREATE ROLE 'Viewer!'", 409, "Node with path '/roles/viewer' already exists"],
  ])('refuses %s', async (sql, status, message) => {
    const before = await garden.client.headRevision();
    expect(await refused(sql)).toEqual([status, expect.any(String), expect.stringContaining(message)]);
    expect(await garden.client.headRevision()).toBe(before);
  });

  it('are not written with permissions that take too much work, as with REST', async () => {
    const condition = `node.title == '${'x'.repeat(4_000)}'`.replaceAll("'", '"');
    const grants = Array.from({ length: 60 }, () => `ALLOW READ PATH '/x' WHERE ${condition}`);
    expect(await refused(`CREATE ROLE 'heavy' PERMISSIONS (${grants.join(', ')})`)).toEqual([
      400,
      'VALIDATION_FAILED',
      expect.stringContaining('take too much work'),
    ]);
  });

  it('take their texts from parameters', async () => {
    await done('CREATE ROLE $1 DESCRIPTION $2', "o'brien", "it's");
    expect((await node('/roles/obrien')).properties).toMatchObject({
      role_id: "o'brien",
      description: "it's",
    });
    expect(await done("DROP ROLE 'o''brien'")).toBe("Role 'o'brien' dropped");
  });
});

describe('groups', () => {
  it('are changed in every part [SQLACC-002]', async () => {
    expect(await done("CREATE GROUP 'staff' DESCRIPTION 'All' ROLES ('viewer')")).toBe(
      "Group 'staff' created",
    );
    expect(await refused("CREATE GROUP 'staff'")).toEqual([
      409,
      'ALREADY_EXISTS',
      "Group 'staff' already exists",
    ]);
    await done("ALTER GROUP 'staff' ADD ROLES ('editor')");
    await done("ALTER GROUP 'staff' DROP ROLES ('viewer', 'unknown')");
    await done("GRANT ROLE 'author' TO GROUP 'staff'");
    expect(await done("ALTER GROUP 'staff' SET DESCRIPTION 'Some'")).toBe("Group 'staff' altered");
    expect((await node('/groups/staff')).properties).toEqual({
      group_id: 'staff',
      name: 'staff',
      description: 'Some',
      roles: ['editor', 'author'],
    });
    expect(await done("REVOKE ROLES 'author', 'gone' FROM GROUP 'staff'")).toBe(
      "Revocations applied to Group 'staff'",
    );
    expect((await node('/groups/staff')).properties.roles).toEqual(['editor']);
    expect(await done("DROP GROUP 'staff'")).toBe("Group 'staff' dropped");
    expect(await refused("ALTER GROUP 'staff' SET DESCRIPTION 'x'")).toEqual([
      404,
      'NOT_FOUND',
      "Group 'staff' not found",
    ]);
  });

  it.each([
    ["CREATE GROUP 'g1' ROLES ('nope')", 404, "Role 'nope' not found"],
    ["GRANT GROUP 'g1' TO GROUP 'g2'", 400, 'Groups have roles, and no groups'],
    ["GRANT ROLE 'viewer' TO GROUP 'nope'", 404, "Group 'nope' not found"],
    ["DROP GROUP 'nope'", 404, "Group 'nope' not found"],
  ])('refuses %s', async (sql, status, message) => {
    expect(await refused(sql)).toEqual([status, expect.any(String), expect.stringContaining(message)]);
  });
});

describe('users', () => {
  it('are made, changed and removed [SQLACC-003]', async () => {
    await done("CREATE GROUP 'growers' ROLES ('editor')");
    expect(
      await done(
        "CREATE USER 'Ana' EMAIL 'Ana@Example.org' DISPLAY NAME 'Ana A.' ROLES ('viewer') GROUPS ('growers') " +
          "CAN LOGIN TRUE BIRTH DATE '1990-04-01' IN FOLDER '/team/north'",
      ),
    ).toBe("User 'Ana' created");
    const { has_children: hasChildren, properties } = await node('/users/team/north/ana');
    expect(properties).toEqual({
      email: 'ana@example.org',
      display_name: 'Ana A.',
      roles: ['viewer'],
      groups: ['growers'],
      can_login: true,
      birth_date: expect.stringContaining('1990-04-01'),
      status: 'active',
    });
    expect(hasChildren).toBe(true);
    expect((await node('/users/team/north/ana/profile/private')).node_type).toBe('svc:ProfileData');
    for (const change of [
      "ADD ROLES ('author', 'viewer')",
      "DROP ROLES ('viewer')",
      "DROP GROUPS ('growers')",
      "SET EMAIL 'ana2@example.org'",
      "SET DISPLAY NAME 'Ana B.'",
      'SET CAN LOGIN FALSE',
      "SET BIRTH DATE '1991-04-01'",
    ])
      expect(await done(`ALTER USER 'Ana' ${change}`)).toBe("User 'Ana' altered");
    expect(await done("GRANT GROUPS 'growers' TO USER 'ana2@example.org'")).toBe(
      "Grants applied to User 'ana2@example.org'",
    );
    expect((await node('/users/team/north/ana')).properties).toMatchObject({
      email: 'ana2@example.org',
      display_name: 'Ana B.',
      roles: ['author'],
      groups: ['growers'],
      can_login: false,
      birth_date: expect.stringContaining('1991-04-01'),
    });
    expect(await done("REVOKE GROUP 'growers' FROM USER '/users/team/north/ana'")).toBe(
      "Revocations applied to User '/users/team/north/ana'",
    );
    expect(await done("DROP USER 'ana'")).toBe("User 'ana' dropped");
    expect(await refused("DROP USER 'ana'")).toEqual([404, 'NOT_FOUND', "User 'ana' not found"]);
    expect(await done("DROP USER IF EXISTS 'ana'")).toBe("User 'ana' does not exist, skipped");
  });

  it('are named by address, identity, path or name, and never two by one name', async () => {
    await person('nil');
    const { path, properties } = await node('/users/internal/nil-at-example-org');
    for (const name of [properties.user_id, path, 'nil@example.org', 'nil-at-example-org']) {
      await done(`ALTER USER '${name}' SET DISPLAY NAME '${name}'`);
      expect((await node(path)).properties.display_name).toBe(name);
    }
    await done("CREATE USER 'twin' EMAIL 'twin1@example.org' IN FOLDER '/users/a'");
    await done("CREATE USER 'twin' EMAIL 'twin2@example.org' IN FOLDER '/users/b'");
    const [status, code, message] = await refused("GRANT ROLE 'system_admin' TO USER 'twin'");
    expect([status, code]).toEqual([409, 'CONFLICT']);
    expect(message).toBe("User 'twin' may be one of /users/a/twin, /users/b/twin; name it by its path");
    expect((await node('/users/b/twin')).properties.roles).toEqual([]);
    expect(await refused("CREATE USER 'nil-at-example-org' EMAIL 'z@example.org'")).toEqual([
      409,
      'ALREADY_EXISTS',
      "User 'nil-at-example-org' already exists",
    ]);
  });

  it.each([
    ["CREATE USER 'u' EMAIL 'no address'", 400, 'not valid'],
    ["CREATE USER 'u' EMAIL 'u@example.org' ROLES ('nope')", 404, "Role 'nope' not found"],
    ["CREATE USER 'u' EMAIL 'u@example.org' GROUPS ('nope')", 404, "Group 'nope' not found"],
    ["CREATE USER 'u' EMAIL 'u@example.org' BIRTH DATE 'soon'", 400, 'birth_date'],
    ["CREATE USER 'u/v' EMAIL 'u@example.org'", 400, "must not contain '/'"],
    [
      "CREATE USER 'u' EMAIL 'u@example.org' IN FOLDER '/users/system/anonymous'",
      400,
      'in the home of a user',
    ],
    ["CREATE USER 'u' EMAIL 'u@example.org' IN FOLDER '/users/system/anonymous/x'", 400, 'home of a user'],
    ["GRANT ROLE 'nope' TO USER 'anonymous'", 404, "Role 'nope' not found"],
    ["GRANT ROLE 'viewer' TO USER 'nobody'", 404, "User 'nobody' not found"],
    ["ALTER USER 'anonymous' ADD GROUPS ('nope')", 404, "Group 'nope' not found"],
  ])('refuses %s', async (sql, status, message) => {
    const before = await garden.client.headRevision();
    expect(await refused(sql)).toEqual([status, expect.any(String), expect.stringContaining(message)]);
    expect(await garden.client.headRevision()).toBe(before);
  });

  it('have an address that no other user has, whatever its spelling', async () => {
    await done("CREATE USER 'uma' EMAIL 'uma@example.org'");
    for (const sql of [
      "CREATE USER 'uma2' EMAIL 'UMA@example.org'",
      "ALTER USER 'anonymous' SET EMAIL 'Uma@Example.org'",
    ])
      expect(await refused(sql)).toEqual([
        409,
        'ALREADY_EXISTS',
        expect.stringMatching(/^User with email 'u.*' already exists$/i),
      ]);
    await done("ALTER USER 'uma' SET EMAIL 'Uma@example.org'");
  });

  it('change nothing where there is nothing to change', async () => {
    await done("CREATE USER 'ida' EMAIL 'ida@example.org' ROLES ('viewer')");
    const before = await garden.client.headRevision();
    await done("GRANT ROLE 'viewer' TO USER 'ida'");
    await done("REVOKE ROLE 'editor' FROM USER 'ida'");
    expect(await garden.client.headRevision()).toBe(before);
  });

  it('are removed with their homes, and no other user goes with them', async () => {
    await done("CREATE USER 'gone' EMAIL 'gone@example.org'");
    await done("DROP USER 'gone'");
    const address = `/api/repository/${garden.client.repository}/main/head/svc:access_control`;
    expect((await server.admin('GET', `${address}/users/gone/inbox`)).status).toBe(404);
    expect((await node('/users/system/anonymous')).node_type).toBe('svc:User');
  });
});

describe('settings of workspaces', () => {
  it('are made for a pattern and changed in every part [SQLACC-004]', async () => {
    expect(await done("ALTER SECURITY CONFIG 'g' SET DEFAULT POLICY 'allow'")).toBe(
      "Security config for 'g' updated",
    );
    expect((await node('/config/g')).properties).toEqual({
      workspace: 'g',
      default_policy: 'allow',
      anonymous_enabled: false,
    });
    await done(
      "ALTER SECURITY CONFIG 'g' SET DEFAULT POLICY 'deny' ANONYMOUS ENABLED TRUE ANONYMOUS ROLE 'viewer' " +
        'INTERFACE rest ANONYMOUS ENABLED FALSE INTERFACE pgwire ANONYMOUS ENABLED TRUE',
    );
    await done("ALTER SECURITY CONFIG 'g' SET INTERFACE rest ANONYMOUS ENABLED TRUE");
    expect((await node('/config/g')).properties).toEqual({
      workspace: 'g',
      default_policy: 'deny',
      anonymous_enabled: true,
      anonymous_role: 'viewer',
      interfaces: { rest: { anonymous_enabled: true }, pgwire: { anonymous_enabled: true } },
    });
    expect((await garden.run("SHOW SECURITY CONFIG FOR 'g'")).rows).toEqual([
      { workspace_pattern: 'g', setting: 'default_policy', value: 'deny' },
      { workspace_pattern: 'g', setting: 'anonymous_enabled', value: 'true' },
      { workspace_pattern: 'g', setting: 'anonymous_role', value: 'viewer' },
      { workspace_pattern: 'g', setting: 'interfaces.rest.anonymous_enabled', value: 'true' },
      { workspace_pattern: 'g', setting: 'interfaces.pgwire.anonymous_enabled', value: 'true' },
    ]);
    const { columns, rows } = await garden.run('SHOW SECURITY CONFIG');
    expect(columns).toEqual(['workspace_pattern', 'default_policy', 'anonymous_enabled']);
    expect(rows).toContainEqual({
      workspace_pattern: '*',
      default_policy: 'deny',
      anonymous_enabled: false,
    });
    expect((await garden.run("SHOW SECURITY CONFIG FOR 'elsewhere'")).rows[0]).toMatchObject({
      workspace_pattern: '*',
    });
  });

  it('have nodes whose names are free', async () => {
    await done("ALTER SECURITY CONFIG 'h*' SET ANONYMOUS ENABLED FALSE");
    await done("ALTER SECURITY CONFIG 'h?' SET ANONYMOUS ENABLED FALSE");
    await done("ALTER SECURITY CONFIG '?*' SET ANONYMOUS ENABLED FALSE");
    expect((await node('/config/h-2')).properties.workspace).toBe('h?');
    expect((await node('/config/pattern')).properties.workspace).toBe('?*');
    await done("ALTER SECURITY CONFIG '*' SET ANONYMOUS ENABLED FALSE");
    expect((await node('/config/default')).properties.anonymous_enabled).toBe(false);
  });

  it.each([
    ["ALTER SECURITY CONFIG 'a b' SET ANONYMOUS ENABLED TRUE", 400, "No workspace matches 'a b'"],
    ["ALTER SECURITY CONFIG '' SET ANONYMOUS ENABLED TRUE", 400, "No workspace matches ''"],
    ["ALTER SECURITY CONFIG 'g' SET DEFAULT POLICY 'perhaps'", 400, 'default_policy'],
    ["ALTER SECURITY CONFIG 'g' SET ANONYMOUS ROLE 'nope'", 404, "Role 'nope' not found"],
    ["ALTER SECURITY CONFIG 'g' SET INTERFACE fax ANONYMOUS ENABLED TRUE", 400, "Unknown interface 'fax'"],
  ])('refuses %s', async (sql, status, message) => {
    expect(await refused(sql)).toEqual([status, expect.any(String), expect.stringContaining(message)]);
  });
});

describe('folders that are missing', () => {
  it('are made with what belongs there [SQLACC-018]', async () => {
    const other = await Garden.on(server);
    const statements = [
      ['/roles', "CREATE ROLE 'r'", '/roles/r'],
      ['/groups', "CREATE GROUP 'h'", '/groups/h'],
      ['/users', "CREATE USER 'u' EMAIL 'u@example.org'", '/users/u'],
      ['/users', "CREATE USER 'v' EMAIL 'v@example.org' IN FOLDER 'staff'", '/users/staff/v'],
      ['/config', "ALTER SECURITY CONFIG 'g' SET ANONYMOUS ENABLED FALSE", '/config/g'],
    ] as const;
    for (const [folder, sql, path] of statements) {
      await other.run(`DELETE FROM 'svc:access_control' WHERE path = '${folder}'`);
      await other.run(sql);
      const { rows } = await other.run(
        `SELECT node_type FROM 'svc:access_control' WHERE path IN ('${folder}', '${path}') ORDER BY path`,
      );
      expect([sql, rows]).toEqual([sql, [{ node_type: 'svc:AclFolder' }, { node_type: expect.any(String) }]]);
    }
  });
});
