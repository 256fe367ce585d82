import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectStatus } from '#test/support/content-client.ts';
import { Garden } from '#test/support/garden.ts';
import { startServer, type TestServer } from '#test/support/server.ts';

let server: TestServer;
let garden: Garden;
const tokens = new Map<string, string>();

/** Grants of roles that people try to make more of. */
const roles: Readonly<Record<string, string>> = {
  // May write some nodes of access control by their type, but does not decide.
  keeper:
    "ALLOW READ, CREATE, UPDATE, DELETE ON 'svc:access_control' PATH '/roles/**' NODE TYPES ('svc:Role')",
  // May write everything except what only a type that is named permits.
  editor2: "ALLOW READ, CREATE, UPDATE, DELETE, TRANSLATE, RELATE, UNRELATE PATH '**'",
  // May change the own node, but not what decides.
  member:
    "ALLOW READ, UPDATE ON 'svc:access_control' PATH '/users/**' NODE TYPES ('svc:User') " +
    'EXCEPT FIELDS (user_id, email, status, groups, roles, can_login) WHERE node.id == auth.local_user_id',
  // Its permissions hold on another branch only.
  sider: "ALLOW READ, CREATE, UPDATE, DELETE PATH '**' BRANCH 'side' NODE TYPES ('svc:Role', 'svc:User')",
};

beforeAll(async () => {
  server = await startServer();
  garden = await Garden.on(server);
  await garden.client.branch('side', { upstream_branch: 'main' });
  for (const [name, grant] of Object.entries(roles))
    await garden.run(`CREATE ROLE '${name}' PERMISSIONS (${grant})`);
  await garden.run("CREATE ROLE 'chief' INHERITS ('system_admin')");
  for (const name of [...Object.keys(roles), 'chief', 'boss']) {
    const email = `${name}@example.org`;
    const body = { email, password: 'rowing-in-may', display_name: name };
    const { json } = await server.request('POST', `/auth/${garden.client.repository}/register`, { body });
    tokens.set(name, json.access_token);
    await garden.run(`ALTER USER '${email}' DROP ROLES ('viewer', 'authenticated_user')`);
    await garden.run(`GRANT ROLE '${name === 'boss' ? 'system_admin' : name}' TO USER '${email}'`);
  }
});

afterAll(() => server.close());

const statements = [
  ["CREATE ROLE 'x'", 'CREATE ROLE'],
  ["ALTER ROLE 'keeper' ADD INHERITS ('system_admin')", 'ALTER ROLE'],
  ["DROP ROLE 'keeper'", 'DROP ROLE'],
  ["DROP ROLE IF EXISTS 'not-there'", 'DROP ROLE'],
  ["CREATE GROUP 'x'", 'CREATE GROUP'],
  ["ALTER GROUP 'x' ADD ROLES ('system_admin')", 'ALTER GROUP'],
  ["DROP GROUP 'x'", 'DROP GROUP'],
  ["CREATE USER 'x' EMAIL 'x@example.org' ROLES ('system_admin')", 'CREATE USER'],
  ["ALTER USER 'keeper@example.org' ADD ROLES ('system_admin')", 'ALTER USER'],
  ["DROP USER 'boss@example.org'", 'DROP USER'],
  ["GRANT ROLE 'system_admin' TO USER 'keeper@example.org'", 'GRANT'],
  ["REVOKE ROLE 'system_admin' FROM USER 'boss@example.org'", 'REVOKE'],
  ["ALTER SECURITY CONFIG 'g' SET DEFAULT POLICY 'allow'", 'ALTER SECURITY CONFIG'],
] as const;

/** Statements as a caller sends them: each alone, in a transaction that is kept or not, and from another branch. */
async function triedBy(sql: string, token: string | null) {
  return [
    await garden.ask(sql, { token }),
    await garden.ask(`BEGIN; ${sql}; COMMIT`, { token }),
    await garden.ask(`BEGIN; ${sql}`, { token }),
    await garden.ask(sql, { token, branch: 'side' }),
  ];
}

describe('statements that change access', () => {
  it.each(statements)('are refused without the role system_admin: %s [SQLACC-010]', async (sql, name) => {
    const before = await garden.client.headRevision();
    for (const caller of Object.keys(roles))
      for (const { json, status } of await triedBy(sql, tokens.get(caller) as string))
        expect([caller, status, json.code, json.message]).toEqual([
          caller,
          403,
          'FORBIDDEN',
          expect.stringContaining(`Insufficient permissions: ${name} requires the system_admin role`),
        ]);
    expect(await garden.client.headRevision()).toBe(before);
  });

  it('are permitted to users with the role, also inherited, and take effect at once [SQLACC-010]', async () => {
    for (const caller of ['boss', 'chief']) {
      const token = tokens.get(caller) as string;
      await garden.run(`CREATE ROLE 'of-${caller}' PERMISSIONS (ALLOW READ ON 'g' PATH '/sheds')`, { token });
      await garden.run(`GRANT ROLE 'of-${caller}' TO USER 'member@example.org'`, { token });
    }
    const member = { token: tokens.get('member') as string };
    expect((await garden.run("SELECT id FROM 'g'", member)).rows).toEqual([{ id: 's0' }]);
    await garden.run("REVOKE ROLE 'system_admin' FROM USER 'boss@example.org'", {
      token: tokens.get('boss') as string,
    });
    expect((await garden.ask("CREATE ROLE 'y'", { token: tokens.get('boss') as string })).status).toBe(403);
    await garden.run("GRANT ROLE 'system_admin' TO USER 'boss@example.org'");
  });

  it('are refused to anonymous callers, whatever their roles are [SQLACC-010]', async () => {
    const system = `/api/repository/${garden.client.repository}/main/head/svc:system/config/repos`;
    const settings = {
      name: garden.client.repository,
      node_type: 'svc:RepoAuthConfig',
      properties: { anonymous_enabled: true },
    };
    expectStatus(await server.admin('POST', system, settings), 201);
    await garden.run("GRANT ROLE 'system_admin' TO USER 'anonymous'");
    for (const [sql] of statements)
      for (const { status } of await triedBy(sql, null)) expect([sql, status]).toEqual([sql, 401]);
    await garden.run("REVOKE ROLE 'system_admin' FROM USER 'anonymous'");
  });

  it('leave nothing of a transaction in which one is refused', async () => {
    const before = await garden.client.headRevision();
    const token = tokens.get('editor2') as string;
    const sql =
      "BEGIN; INSERT INTO 'g' (path, node_type) VALUES ('/mine', 'svc:Folder'); GRANT ROLE 'system_admin' TO USER 'editor2@example.org'; COMMIT";
    expect((await garden.ask(sql, { token })).status).toBe(403);
    expect(await garden.client.headRevision()).toBe(before);
  });

  it('are the only way to decide: rows of access control are written as with REST [SQLACC-010]', async () => {
    const before = await garden.client.headRevision();
    const role = `'{"role_id":"z","name":"z","permissions":[{"path":"**","operations":["read"]}]}'::jsonb`;
    for (const [caller, sql] of [
      [
        'editor2',
        `INSERT INTO 'svc:access_control' (path, node_type, properties) VALUES ('/roles/z', 'svc:Role', ${role})`,
      ],
      [
        'editor2',
        `UPSERT INTO 'svc:access_control' (path, node_type, properties) VALUES ('/roles/keeper', 'svc:Role', ${role})`,
      ],
      ['editor2', "DELETE FROM 'svc:access_control' WHERE path = '/roles/keeper'"],
      ['editor2', "MOVE 'svc:access_control' SET path='/roles/keeper' TO path='/groups'"],
      [
        'member',
        `UPDATE 'svc:access_control' SET properties = properties || '{"roles":["system_admin"]}' WHERE path = '/users/internal/member-at-example-org'`,
      ],
      [
        'member',
        `UPDATE 'svc:access_control' SET properties = properties || '{"user_id":"x"}' WHERE path = '/users/internal/member-at-example-org'`,
      ],
    ] as const) {
      const { json, status } = await garden.ask(sql, { token: tokens.get(caller) as string });
      expect([sql, status, json.code]).toEqual([sql, 403, 'PERMISSION_DENIED']);
    }
    expect(await garden.client.headRevision()).toBe(before);
  });

  it('are part of a transaction, which sees what they have written', async () => {
    const { rows } = await garden.run(
      "BEGIN; CREATE ROLE 'tx'; ALTER ROLE 'tx' SET DESCRIPTION 'two'; CREATE GROUP 'tx' ROLES ('tx'); SHOW ROLES LIKE 'tx'; COMMIT; SHOW GROUPS LIKE 'tx'",
    );
    expect(rows).toEqual([{ group_id: 'tx', description: null, roles: ['tx'] }]);
    const open = await garden.run("BEGIN; CREATE ROLE 'ty'; SHOW ROLES LIKE 'ty'");
    expect(open.rows).toEqual([{ role_id: 'ty', description: null, inherits: [] }]);
    expect((await garden.run("SHOW ROLES LIKE 'ty'")).rows).toEqual([]);
  });

  it('are written to main, whatever branch they are sent to', async () => {
    await garden.run("CREATE ROLE 'from-side'", { branch: 'side' });
    expect((await garden.run("SHOW ROLES LIKE 'from-side'")).rows).toHaveLength(1);
  });
});
