import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { SqlChanged } from '#actors/branch/sql-messages.ts';
import { policyFor } from '#runtime/access/policy.ts';
import type { Principal } from '#runtime/access/principal.ts';
import type { Caller } from '#runtime/commit/behaviour.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { BranchFamily } from '#test/support/branch-family.ts';
import { openBranch } from '#test/support/branch-fixture.ts';
import { callers } from '#test/support/host-fixture.ts';

const ACCESS = 'svc:access_control';
const tenant = 'default';

let family: BranchFamily;

beforeAll(async () => {
  family = await BranchFamily.open();
  await family.fork('side', 'main');
});

afterAll(() => family.close());

async function run(sql: string, caller: Caller = callers.admin, branch = 'main'): Promise<JsonObject[]> {
  const command = { type: 'ChangeBySql', sql, parameters: [], isTransaction: false } as const;
  const answer = await family.fixture.host.command(family.actor(branch), command, { caller });
  return JSON.parse((answer as SqlChanged).rows) as JsonObject[];
}

async function shown(sql: string, caller: Caller = callers.admin): Promise<readonly JsonObject[]> {
  const query = { type: 'RunSql', sql, parameters: [] } as const;
  return (await family.query<{ rows: JsonObject[] }>('main', query, caller)).rows;
}

function callerOf(principal: Principal): Caller {
  return { principal, policy: policyFor(principal, tenant) };
}

const anonymous = callerOf({ kind: 'anonymous', tenant, isEnabled: true });
const kim = callerOf({
  kind: 'identity',
  tenant,
  identityId: 'i-kim',
  sessionId: 's',
  email: 'kim@example.org',
});

/** Gives the node of a user an identity, as a login does. */
async function link(path: string, userId: string): Promise<void> {
  const properties = { user_id: userId };
  await family.command('main', { type: 'PatchNode', workspace: ACCESS, place: { path }, properties });
}

describe('changes of access', () => {
  it('are refused to anonymous callers by the branch itself, also with the role system_admin', async () => {
    await run("GRANT ROLE 'system_admin' TO USER 'anonymous'");
    await expect(run("CREATE ROLE 'x'", anonymous)).rejects.toMatchObject({
      code: 'FORBIDDEN',
      message: 'Insufficient permissions: CREATE ROLE requires the system_admin role',
    });
    await expect(shown('SHOW ROLES', anonymous)).rejects.toMatchObject({
      code: 'UNAUTHORIZED',
      message: 'Anonymous users cannot perform access control operations',
    });
    await run("REVOKE ROLE 'system_admin' FROM USER 'anonymous'");
  });

  it('see in a transaction what was made before, also where unique values are compared later', async () => {
    const insert =
      "INSERT INTO 'content' (path, node_type) VALUES ('/one', 'svc:Folder'), ('/two', 'svc:Folder')";
    for (const [once, again, message] of [
      ["CREATE ROLE 'once'", "CREATE ROLE 'once'", "Role 'once' already exists"],
      ["CREATE GROUP 'once'", "CREATE GROUP 'once'", "Group 'once' already exists"],
      [
        "CREATE USER 'once' EMAIL 'once@example.org'",
        "CREATE USER 'twice' EMAIL 'once@example.org'",
        "User with email 'once@example.org' already exists",
      ],
    ])
      await expect(run(`${insert}; ${once}; ${again}`)).rejects.toMatchObject({
        code: 'ALREADY_EXISTS',
        message: expect.stringContaining(message as string),
      });
    expect(await run(`${insert}; CREATE ROLE 'once'; DROP ROLE 'once'; CREATE ROLE 'once'`)).toHaveLength(1);
  });

  it('are refused on every branch but main', async () => {
    await expect(run("CREATE ROLE 'x'", callers.admin, 'side')).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
      message: expect.stringContaining("branch 'main'"),
    });
  });

  it('are those of the present roles: a user who gets system_admin decides from then on', async () => {
    await run("CREATE USER 'kim' EMAIL 'kim@example.org'");
    await link('/users/kim', 'i-kim');
    await expect(run("CREATE ROLE 'by-kim'", kim)).rejects.toMatchObject({ code: 'FORBIDDEN' });
    await run("GRANT ROLE 'system_admin' TO USER 'kim'");
    expect(await run("CREATE ROLE 'by-kim'", kim)).toEqual([
      { result: "Role 'by-kim' created", success: true },
    ]);
    await run("REVOKE ROLE 'system_admin' FROM USER 'i-kim'");
    await expect(run("DROP ROLE 'by-kim'", kim)).rejects.toMatchObject({ code: 'FORBIDDEN' });
  });

  it('find a user with a new identity by it, and none whose node is in the home of another one', async () => {
    await run("CREATE USER 'bob' EMAIL 'bob@example.org'");
    await link('/users/bob', 'i-bob');
    expect(await run("GRANT ROLE 'viewer' TO USER 'i-bob'")).toHaveLength(1);
    const message = { message_type: 'x', body: {}, sender_id: 'x', status: 'pending' };
    const planted = { user_id: 'i-planted', email: 'planted@example.org', display_name: 'x' };
    for (const [parentPath, name, nodeType, properties] of [
      ['/users/bob/outbox', 'm', 'svc:Message', message],
      ['/users/bob/outbox/m', 't', 'svc:AIThought', {}],
      ['/users/bob/outbox/m/t', 'u', 'svc:User', planted],
    ] as const) {
      const node = { name, nodeType, properties };
      await family.command('main', { type: 'CreateNode', workspace: ACCESS, parentPath, node, deep: false });
    }
    for (const name of ['i-planted', 'planted@example.org', '/users/bob/outbox/m/t/u', 'u'])
      await expect(run(`GRANT ROLE 'viewer' TO USER '${name}'`)).rejects.toMatchObject({
        code: 'NOT_FOUND',
        message: `User '${name}' not found`,
      });
    expect(await shown("SHOW USERS LIKE 'planted%'")).toEqual([]);
    await expect(
      run("CREATE USER 'p' EMAIL 'p@example.org' IN FOLDER '/users/bob/outbox/m/t'"),
    ).rejects.toMatchObject({ message: expect.stringContaining('in the home of a user') });
  });

  it('refuse lists with more entries than count, and roles with more permissions', async () => {
    const permissions = Array.from({ length: 390 }, () => "ALLOW READ PATH '/x'").join(', ');
    await run(`CREATE ROLE 'full' PERMISSIONS (${permissions})`);
    const added = "ALTER ROLE 'full' ADD PERMISSION ALLOW READ PATH '/y'";
    await run(Array(110).fill(added).join('; '));
    await expect(run(added)).rejects.toMatchObject({
      message: expect.stringContaining('at most 500 permissions'),
    });
    const names = (from: number, to: number) =>
      Array.from({ length: to - from }, (_, index) => `'r${from + index}'`).join(', ');
    await run(`ALTER ROLE 'full' ADD INHERITS (${names(0, 900)})`);
    await expect(run(`ALTER ROLE 'full' ADD INHERITS (${names(900, 1_001)})`)).rejects.toMatchObject({
      message: expect.stringContaining('at most 1000 entries'),
    });
  });

  it('are written as nodes: with an entry in the audit log, a message and the author', async () => {
    await run("CREATE ROLE 'audited'");
    await run("ALTER ROLE 'audited' SET DESCRIPTION 'x'");
    const query = { type: 'ReadAudit', workspace: ACCESS, place: { path: '/roles/audited' } } as const;
    const entries = await family.query<readonly JsonObject[]>('main', query as never);
    expect(JSON.stringify(entries)).toMatch(/"action":"Update".*"action":"Create"/s);
  });
});

describe('reads of access', () => {
  it('count their work, also for nodes that are not shown', async () => {
    const branch = await openBranch({ workMax: 200_000_000 });
    try {
      const query = (count: number) =>
        ({ type: 'RunSql', sql: "SHOW ROLES LIKE 'x'; ".repeat(count), parameters: [] }) as const;
      await branch.query(query(10));
      await expect(branch.query(query(700))).rejects.toMatchObject({ code: 'REQUEST_TOO_EXPENSIVE' });
    } finally {
      await branch.close();
    }
  });
});
