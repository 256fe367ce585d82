import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { AdminClient } from '#test/support/admin-client.ts';
import type { TestResponse } from '#test/support/http-client.ts';
import { IdentityClient, type Registered } from '#test/support/identity-client.ts';
import { startServer, type TestServer } from '#test/support/server.ts';

let server: TestServer;
let people: IdentityClient;
let repository: string;
let kim: Registered;

beforeAll(async () => {
  server = await startServer();
  people = new IdentityClient(server);
});

afterAll(() => server.close());

beforeEach(async () => {
  repository = await server.createRepository();
  kim = await people.person(`/auth/${repository}`);
});

interface Sender {
  readonly token?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly params?: readonly unknown[];
}

async function run(sql: string, { headers = {}, params = [], token }: Sender = {}): Promise<TestResponse> {
  const body = { sql, params };
  const path = `/api/sql/${repository}`;
  return await server.request('POST', path, { token: token ?? server.adminToken, headers, body });
}

interface Entry {
  readonly action: string;
  readonly subject: string;
  readonly actor: { readonly username: string };
  readonly details: { readonly repository?: string };
}

/** What the audit trail has about the repository, oldest first, without its creation. */
async function entries(): Promise<readonly Entry[]> {
  const { items } = (await server.admin('GET', '/api/svc/sys/default/audit?limit=1000')).json;
  return items.filter(({ details }: Entry) => details.repository === repository).reverse();
}

const told = async () => (await entries()).map(({ action, subject }) => [action, subject]);

describe('what a statement decides about access', () => {
  it('is in the audit trail, with what was decided [SQLACC-001]', async () => {
    const statements: readonly (readonly [string, string, string, object])[] = [
      [
        "CREATE ROLE 'chief' INHERITS ('viewer') PERMISSIONS (ALLOW READ PATH '/**')",
        'role_created',
        'chief',
        { inherits: ['viewer'], permissions: 1 },
      ],
      [
        "ALTER ROLE 'chief' ADD PERMISSION ALLOW UPDATE PATH '/**'",
        'role_changed',
        'chief',
        { change: 'add-permission' },
      ],
      [
        "ALTER ROLE 'chief' DROP INHERITS ('viewer')",
        'role_changed',
        'chief',
        { change: 'drop-inherits', inherits: ['viewer'] },
      ],
      ["CREATE GROUP 'press' ROLES ('chief')", 'group_created', 'press', { roles: ['chief'] }],
      [
        "ALTER GROUP 'press' ADD ROLES ('viewer')",
        'group_changed',
        'press',
        { change: 'add-roles', roles: ['viewer'] },
      ],
      [
        "CREATE USER 'lee' EMAIL 'lee@example.org' ROLES ('viewer')",
        'user_created',
        'lee',
        { roles: ['viewer'], groups: [] },
      ],
      ["ALTER USER 'lee' ADD GROUPS ('press')", 'user_changed', 'lee', { change: 'add', groups: ['press'] }],
      ["ALTER USER 'lee' SET BIRTH DATE '2000-12-31'", 'user_changed', 'lee', { change: 'set-birth-date' }],
      ["GRANT ROLE 'chief' TO USER 'lee'", 'access_granted', 'lee', { to: 'user', roles: ['chief'] }],
      ["REVOKE GROUP 'press' FROM USER 'lee'", 'access_revoked', 'lee', { to: 'user', groups: ['press'] }],
      ["GRANT ROLE 'author' TO GROUP 'press'", 'access_granted', 'press', { to: 'group', roles: ['author'] }],
      [
        "ALTER SECURITY CONFIG 'docs' SET DEFAULT POLICY 'allow' INTERFACE rest ANONYMOUS ENABLED TRUE",
        'security_config_changed',
        'docs',
        { settings: ['default_policy allow', 'rest.anonymous_enabled true'] },
      ],
      ["DROP USER 'lee'", 'user_deleted', 'lee', {}],
      ["DROP GROUP 'press'", 'group_deleted', 'press', {}],
      ["DROP ROLE 'chief'", 'role_deleted', 'chief', {}],
    ];
    for (const [sql, action, subject, details] of statements) {
      const answer = await run(sql);
      expect([answer.status, answer.text]).toEqual([200, expect.anything()]);
      expect((await entries()).at(-1)).toMatchObject({
        action,
        subject,
        actor: { username: 'admin' },
        details: { repository, ...details },
      });
    }
    expect(await told()).toHaveLength(statements.length);
    expect(JSON.stringify(await entries())).not.toContain('2000-12-31');
  });

  it('names who has decided: a person, or an administrator who acts as one', async () => {
    await run(`GRANT ROLE 'system_admin' TO USER '${kim.email}'`);
    const grant = (role: string) => `GRANT ROLE '${role}' TO USER $1`;
    const params = [kim.email];
    expect((await run(grant('author'), { token: kim.access, params })).status).toBe(200);
    expect((await entries()).at(-1)).toMatchObject({
      action: 'access_granted',
      subject: kim.email,
      actor: { user_id: kim.id },
      details: { roles: ['author'], identity_id: kim.id, identity_email: kim.email },
    });
    const admins = new AdminClient(server);
    const name = `ada-${repository}`;
    const token = await admins.account(name, { access_flags: { can_impersonate: true } });
    const headers = { 'x-svc-impersonate': kim.email };
    expect((await run(grant('editor'), { token, headers, params })).status).toBe(200);
    expect((await entries()).at(-1)).toMatchObject({
      action: 'access_granted',
      actor: { username: name },
      details: { roles: ['editor'], impersonating: kim.email },
    });
  });

  it('is not there when nothing was decided', async () => {
    const grant = `GRANT ROLE 'author' TO USER '${kim.email}'`;
    expect((await run(grant, { token: kim.access })).status).toBe(403);
    expect((await run("GRANT ROLE 'nothing' TO USER 'nobody'")).status).toBe(404);
    expect((await run(`BEGIN; ${grant}; ROLLBACK`)).status).toBe(200);
    expect((await run(`BEGIN; ${grant}`)).status).toBe(200);
    expect((await run("SHOW ROLES; SELECT path FROM 'svc:access_control'")).status).toBe(200);
    expect(await told()).toEqual([]);
    await run(grant);
    // A second time nothing changes.
    await run(grant);
    expect(await told()).toEqual([['access_granted', kim.email]]);
  });

  it('is told once, however often the request is repeated with its key', async () => {
    const headers = { 'idempotency-key': 'decided' };
    const sql =
      "CREATE GROUP 'press'; BEGIN; CREATE GROUP 'a'; CREATE GROUP 'b'; COMMIT; ALTER GROUP 'press' ADD ROLES ('viewer')";
    const made = [
      ['group_created', 'press'],
      ['group_created', 'a'],
      ['group_created', 'b'],
      ['group_changed', 'press'],
    ];
    for (let n = 0; n < 3; n += 1) {
      expect((await run(sql, { headers })).status).toBe(200);
      expect(await told()).toEqual(made);
    }
    // Another key is another request: what it changes is told, though the statement is the same.
    await run("ALTER GROUP 'press' DROP ROLES ('viewer')");
    const again = { headers: { 'idempotency-key': 'decided again' } };
    await run("ALTER GROUP 'press' ADD ROLES ('viewer')", again);
    expect(await told()).toEqual([...made, made[3], made[3]]);
  });

  it('is shortened where it is long', async () => {
    const names = Array.from({ length: 200 }, (_, index) => `'role-${index}-${'x'.repeat(30)}'`);
    await run("CREATE GROUP 'press'");
    const sql = `BEGIN; ALTER GROUP 'press' DROP ROLES (${names.join(', ')}); ALTER GROUP 'press' ADD ROLES ('viewer'); COMMIT`;
    expect(await run(sql)).toMatchObject({ status: 200 });
    const [, dropped] = await entries();
    expect(dropped).toMatchObject({ action: 'group_changed', details: { change: 'drop-roles' } });
    expect(JSON.stringify(dropped).length).toBeLessThan(1_000);
  });

  it('is told for each statement of a transaction, up to a number', async () => {
    const made = Array.from({ length: 53 }, (_, index) => `CREATE GROUP 'g${index}'`);
    expect((await run(`BEGIN; ${made.join('; ')}; COMMIT`)).status).toBe(200);
    const found = await told();
    expect(found.slice(0, 50)).toEqual(made.slice(0, 50).map((_, index) => ['group_created', `g${index}`]));
    expect((await entries()).slice(50)).toMatchObject([
      { action: 'access_changed', subject: repository, details: { more_statements: 3 } },
    ]);
  });
});
