import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ACCOUNT_PASSWORD, AdminClient } from '#test/support/admin-client.ts';
import { startServer, type TestServer } from '#test/support/server.ts';

const USERS = '/api/svc/sys/default/admin-users';

let server: TestServer;
let admins: AdminClient;

beforeAll(async () => {
  server = await startServer();
  admins = new AdminClient(server);
});

afterAll(() => server.close());

function create(body: object) {
  return server.admin('POST', USERS, body);
}

describe('administrators of a tenant', () => {
  it('are created, listed, read, changed and deleted [ADMUSER-001, ADMUSER-003]', async () => {
    const made = await create({ username: 'ada', email: 'ada@example.org', password: ACCOUNT_PASSWORD });
    const ada = {
      user_id: expect.any(String),
      username: 'ada',
      email: 'ada@example.org',
      tenant_id: 'default',
      access_flags: {
        console_login: true,
        cli_access: true,
        api_access: true,
        pgwire_access: false,
        can_impersonate: false,
      },
      must_change_password: false,
      created_at: expect.stringMatching(/^\d{4}-.*Z$/),
      last_login: null,
      is_active: true,
    };
    expect([made.status, made.json]).toEqual([201, ada]);
    const list = await server.admin('GET', USERS);
    expect([list.status, list.json.map(({ username }: { username: string }) => username)]).toEqual([
      200,
      ['ada', 'admin'],
    ]);
    expect(list.text).not.toMatch(/argon2|hash/);
    await admins.logIn('ada');
    const one = await server.admin('GET', `${USERS}/ada`);
    expect([one.status, one.json]).toEqual([200, { ...ada, last_login: expect.any(String) }]);
    for (const changes of [
      { email: null },
      { access_flags: { cli_access: false } },
      { must_change_password: true },
      { is_active: false },
    ])
      await admins.change('ada', changes);
    expect((await server.admin('GET', `${USERS}/ada`)).json).toMatchObject({
      email: null,
      access_flags: { ...ada.access_flags, cli_access: false },
      must_change_password: true,
      is_active: false,
    });
    expect((await server.admin('DELETE', `${USERS}/ada`)).status).toBe(204);
    for (const [method, body] of [
      ['GET', undefined],
      ['PUT', {}],
      ['DELETE', undefined],
    ] as const) {
      const gone = await server.admin(method, `${USERS}/ada`, body);
      expect([method, gone.status, gone.json.code]).toEqual([method, 404, 'USER_NOT_FOUND']);
    }
  });

  it('have the given flags, a strong password and a name of their own [ADMUSER-002, ADMUSER-008]', async () => {
    const flags = {
      console_login: true,
      cli_access: false,
      api_access: false,
      pgwire_access: true,
      can_impersonate: true,
    };
    const made = await create({ username: 'flagged', password: ACCOUNT_PASSWORD, access_flags: flags });
    expect([made.status, made.json.access_flags]).toEqual([201, flags]);
    const login = await server.request('POST', '/api/svc/sys/default/auth', {
      body: { username: 'flagged', password: ACCOUNT_PASSWORD },
    });
    expect(login.json.access_flags).toEqual(flags);
    const again = await create({ username: 'flagged', password: ACCOUNT_PASSWORD });
    expect([again.status, again.json.code]).toEqual([409, 'ALREADY_EXISTS']);
    for (const [field, value] of [
      ['password', 'Weak-1'],
      ['username', 'a/b'],
      ['username', ''],
      ['email', 'nobody'],
    ] as const) {
      const refused = await create({ username: 'other', password: ACCOUNT_PASSWORD, [field]: value });
      expect([field, refused.status, refused.json.code, refused.json.field]).toEqual([
        field,
        400,
        'VALIDATION_FAILED',
        field,
      ]);
    }
    const self = await server.admin('DELETE', `${USERS}/admin`);
    expect([self.status, self.json.code]).toEqual([400, 'CANNOT_DELETE_SELF']);
    const last = await server.admin('PUT', `${USERS}/admin`, { is_active: false });
    expect([last.status, last.json.is_active]).toEqual([200, false]);
    const flagged = login.json.token as string;
    const back = await server.request('PUT', `${USERS}/admin`, { token: flagged, body: { is_active: true } });
    expect(back.status).toBe(200);
    await admins.everywhere(200, 'GET', '/api/repositories', { token: server.adminToken });
    expect((await server.admin('DELETE', `${USERS}/flagged`)).status).toBe(204);
    const alone = await server.admin('PUT', `${USERS}/admin`, { access_flags: { console_login: false } });
    expect([alone.status, alone.json.code]).toEqual([409, 'LAST_ADMINISTRATOR']);
  });

  it('are administered over the console, and in their own tenant only [ADMUSER-001]', async () => {
    const token = await admins.account('terminal');
    await admins.change('terminal', { access_flags: { console_login: false } });
    const login = await server.request('POST', '/api/svc/sys/default/auth', {
      body: { username: 'terminal', password: ACCOUNT_PASSWORD, interface: 'cli' },
    });
    for (const path of [USERS, '/api/svc/sys/default/audit']) {
      const refused = await server.request('GET', path, { token: login.json.token });
      expect([refused.status, refused.json.code]).toEqual([403, 'INSUFFICIENT_PERMISSIONS']);
      expect((await server.request('GET', path)).status).toBe(401);
    }
    // The token of the console is worth nothing without the flag of the console.
    await admins.everywhere(401, 'GET', '/api/repositories', { token });
    await server.admin('POST', '/api/management/registry/tenants', {
      tenant_id: 'elsewhere',
      admin: { password: ACCOUNT_PASSWORD, must_change_password: false },
    });
    const foreign = await server.request('POST', '/api/svc/sys/elsewhere/auth', {
      body: { username: 'admin', password: ACCOUNT_PASSWORD },
    });
    const mismatch = await server.request('GET', USERS, { token: foreign.json.token });
    expect([mismatch.status, mismatch.json.code]).toEqual([403, 'TENANT_MISMATCH']);
    const own = await server.request('GET', '/api/svc/sys/elsewhere/admin-users', {
      token: foreign.json.token,
    });
    expect(own.json.map(({ username }: { username: string }) => username)).toEqual(['admin']);
  });

  it('cannot refresh a token [ADMUSER-005]', async () => {
    for (const path of ['/api/svc/sys/default/auth/refresh', '/api/svc/auth/refresh', '/api/svc/me/refresh'])
      expect((await server.admin('POST', path, {})).status).toBe(404);
  });
});

describe('the end of access', () => {
  it.each([
    ['deactivated', { is_active: false }],
    ['kept from its interface', { access_flags: { console_login: false } }],
  ])('comes at once on every route and member when an account is %s [ADMUSER-006]', async (how, changes) => {
    const username = how.replaceAll(' ', '-');
    const token = await admins.account(username);
    const reads = [
      ['GET', '/api/repositories'],
      ['GET', '/api/svc/me/repositories'],
    ] as const;
    for (const [method, path] of reads) await admins.everywhere(200, method, path, { token });
    await admins.change(username, changes);
    for (const [method, path] of reads) await admins.everywhere(401, method, path, { token });
    const write = await server.request('POST', '/api/repositories', { token, body: { repo_id: 'too-late' } });
    expect(write.status).toBe(401);
  });

  it('comes at once when an account is deleted, and another one by its name has other tokens [ADMUSER-006]', async () => {
    const token = await admins.account('leaver');
    await admins.everywhere(200, 'GET', '/api/repositories', { token });
    await server.admin('DELETE', `${USERS}/leaver`);
    await admins.everywhere(401, 'GET', '/api/repositories', { token });
    const next = await admins.account('leaver');
    await admins.everywhere(200, 'GET', '/api/repositories', { token: next });
    await admins.everywhere(401, 'GET', '/api/repositories', { token });
  });

  it('does not meet the account that is still used, also right after its password was changed', async () => {
    let password = ACCOUNT_PASSWORD;
    let token = await admins.account('changer');
    for (let round = 0; round < 6; round += 1) {
      await admins.everywhere(200, 'GET', '/api/repositories', { token });
      const next = `Another-Password-${round}`;
      const change = await server.request('POST', '/api/svc/sys/default/auth/change-password', {
        token,
        body: { old_password: password, new_password: next },
      });
      expect(change.status).toBe(204);
      password = next;
      const fresh = await admins.logIn('changer', password);
      // Whichever member is asked: none may refuse the new token because it knows the old password.
      for (let member = 0; member < 3; member += 1)
        expect((await server.request('GET', '/api/repositories', { token: fresh })).status).toBe(200);
      await admins.everywhere(401, 'GET', '/api/repositories', { token });
      token = fresh;
    }
  });
});

describe('an account that has to change its password', () => {
  it('does that before anything else, whatever token or key it uses [ADMUSER-007]', async () => {
    const repository = await server.createRepository();
    const first = await admins.account('novice', { must_change_password: true });
    const root = `/api/repository/${repository}/main/head/default/`;
    for (const [method, path] of [
      ['GET', '/api/repositories'],
      ['GET', root],
      ['GET', USERS],
      ['GET', '/api/svc/me/api-keys'],
      ['POST', '/api/svc/me/api-keys'],
    ] as const) {
      const body = method === 'POST' ? { body: { name: 'key' } } : {};
      const refused = await server.request(method, path, { token: first, ...body });
      expect([path, refused.status, refused.json.code]).toEqual([path, 403, 'PASSWORD_CHANGE_REQUIRED']);
      expect(refused.json.message).toContain('/api/svc/sys/default/auth/change-password');
    }
    const profile = await server.request('GET', '/api/svc/me', { token: first });
    expect([profile.status, profile.json.must_change_password]).toEqual([200, true]);
    const change = await server.request('POST', '/api/svc/sys/default/auth/change-password', {
      token: first,
      body: { old_password: ACCOUNT_PASSWORD, new_password: 'Chosen-By-Novice-1' },
    });
    expect(change.status).toBe(204);
    const token = await admins.logIn('novice', 'Chosen-By-Novice-1');
    await admins.everywhere(200, 'GET', root, { token });
    const key = await server.request('POST', '/api/svc/me/api-keys', { token, body: { name: 'key' } });
    await admins.everywhere(200, 'GET', root, { token: key.json.token });
    await admins.change('novice', { must_change_password: true });
    for (const used of [token, key.json.token]) await admins.everywhere(403, 'GET', root, { token: used });
    await admins.change('novice', { must_change_password: false });
    for (const used of [token, key.json.token]) await admins.everywhere(200, 'GET', root, { token: used });
  });
});

describe('the audit trail', () => {
  it('names who did what, in pages, and the log has it without secrets [ADMUSER-009]', async () => {
    await admins.account('traced');
    await admins.change('traced', { access_flags: { can_impersonate: true } });
    const repository = await server.createRepository('traced-repository');
    const page = await server.admin('GET', '/api/svc/sys/default/audit?limit=2');
    expect([page.status, page.json.items]).toEqual([
      200,
      [
        {
          sequence: expect.any(Number),
          at: expect.stringMatching(/Z$/),
          actor: { user_id: expect.any(String), username: 'admin' },
          action: 'repository_created',
          subject: repository,
          details: {},
        },
        expect.objectContaining({
          action: 'account_changed',
          subject: 'traced',
          details: { access_flags: { can_impersonate: true } },
        }),
      ],
    ]);
    const next = await server.admin('GET', `/api/svc/sys/default/audit?cursor=${page.json.next_cursor}`);
    expect(next.json.items[0]).toMatchObject({ action: 'account_created', subject: 'traced' });
    expect(next.json.items.at(-1)).toMatchObject({ sequence: 1, actor: { username: 'system' } });
    expect(next.json.next_cursor).toBeNull();
    expect((await server.admin('PUT', `/api/repositories/${repository}`, { description: 'x' })).status).toBe(
      204,
    );
    const changed = await server.admin('GET', '/api/svc/sys/default/audit?limit=1');
    expect(changed.json.items).toMatchObject([
      { action: 'repository_changed', subject: repository, details: { settings: ['description'] } },
    ]);
    const bad = await server.admin('GET', '/api/svc/sys/default/audit?cursor=x');
    expect([bad.status, bad.json.code]).toEqual([400, 'INVALID_CURSOR']);
    expect(server.logLines).toContainEqual(
      expect.objectContaining({
        msg: 'administration',
        action: 'account_created',
        subject: 'traced',
        by: 'admin',
      }),
    );
    for (const secret of [ACCOUNT_PASSWORD, 'argon2'])
      expect(JSON.stringify([server.logLines, next.json])).not.toContain(secret);
  });
});

describe('acting as a user', () => {
  it('is for those with the flag, on content, with a text that can be logged', async () => {
    const repository = await server.createRepository();
    const root = `/api/repository/${repository}/main/head/default/`;
    const made = await server.admin('POST', root, { name: 'page', node_type: 'svc:Folder', properties: {} });
    expect(made.status).toBe(201);
    const node = `${root}page`;
    const plain = await admins.account('plain');
    const as = (token: string, path: string, user: string) =>
      server.request('GET', path, { token, headers: { 'x-svc-impersonate': user } });
    const refused = await as(plain, node, '/users/internal/bo');
    expect([refused.status, refused.json.code]).toEqual([403, 'INSUFFICIENT_PERMISSIONS']);
    const token = await admins.account('actor', { access_flags: { can_impersonate: true } });
    expect((await server.request('GET', node, { token })).status).toBe(200);
    // There is no such user, so nothing is seen.
    expect((await as(token, node, '/users/internal/bo')).status).toBe(404);
    for (const user of ['', 'x'.repeat(1_025), 'tab\there', 'é']) {
      const bad = await as(token, node, user);
      expect([user.slice(0, 9), bad.status, bad.json.code]).toEqual([
        user.slice(0, 9),
        400,
        'VALIDATION_FAILED',
      ]);
    }
    // Where only an administrator is served, it is the administrator.
    for (const path of ['/api/repositories', `/api/repositories/${repository}`, USERS, '/api/svc/me'])
      expect([path, (await as(token, path, '/users/internal/bo')).status]).toEqual([path, 200]);
    const key = await server.request('POST', '/api/svc/me/api-keys', { token, body: { name: 'key' } });
    expect((await as(key.json.token, node, '/users/internal/bo')).status).toBe(200);
  });
});
