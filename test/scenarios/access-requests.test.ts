import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { TestResponse } from '#test/support/http-client.ts';
import { IdentityClient, type Registered } from '#test/support/identity-client.ts';
import { startServer, type TestServer } from '#test/support/server.ts';
import { until } from '#test/support/until.ts';

let server: TestServer;
let people: IdentityClient;
let repository: string;
let ann: Registered;

beforeAll(async () => {
  server = await startServer();
  people = new IdentityClient(server);
});

afterAll(() => server.close());

beforeEach(async () => {
  repository = await server.createRepository();
  ann = await people.person();
});

const users = '/api/svc/sys/default/identity-users';

const at = (path: string, name = repository): string => `/repos/${name}/access${path}`;

const admin = (method: string, path: string, body?: unknown): Promise<TestResponse> =>
  server.admin(method, at(path), body);

const as = (who: Registered, method: string, path: string, body?: unknown): Promise<TestResponse> =>
  people.send(method, at(path), { token: who.access, ...(body === undefined ? {} : { body }) });

async function ok(answer: Promise<TestResponse>): Promise<TestResponse['json']> {
  const { json, status, text } = await answer;
  expect([status, text]).toEqual([200, expect.anything()]);
  return json;
}

const ask = async (who = ann, body: object = {}): Promise<string> =>
  (await ok(as(who, 'POST', '/request', body))).id;

const approve = (id: string, roles: readonly string[] = ['viewer']): Promise<TestResponse> =>
  admin('POST', `/approve/${id}`, { roles });

/** What a person has in the repository. */
async function memberOf(who: Registered): Promise<TestResponse['json'] | undefined> {
  const { members } = await ok(admin('GET', '/members'));
  return members.find((member: { readonly identity_id: string }) => member.identity_id === who.id);
}

async function configure(change: object): Promise<void> {
  const path = '/api/tenants/default/auth/config';
  const { access_settings: settings } = (await server.admin('GET', path)).json;
  const answer = await server.admin('PUT', path, { access_settings: { ...settings, ...change } });
  expect([answer.status, answer.text]).toEqual([200, expect.anything()]);
}

async function makeTenantAdmin(who: Registered): Promise<void> {
  const answer = await server.admin('PATCH', `${users}/${who.id}`, { is_tenant_admin: true });
  expect(answer.status).toBe(200);
}

describe('a request for access', () => {
  it('is pending until somebody decides, and then there is a user node with the roles [ACCESSREQ-001, ACCESSREQ-002]', async () => {
    const id = await ask(ann, { message: 'please', requested_roles: ['author'] });
    expect(await ask(ann, { message: 'please do', requested_roles: ['author'] })).toBe(id);
    expect(await memberOf(ann)).toBeUndefined();
    expect(await ok(admin('GET', '/requests?status=pending'))).toEqual({
      requests: [
        {
          id,
          identity_id: ann.id,
          email: ann.email,
          display_name: 'Ann',
          avatar_url: null,
          message: 'please do',
          requested_roles: ['author'],
          status: 'pending',
          reason: null,
          decided_by: null,
          created_at: expect.any(String),
          updated_at: expect.any(String),
        },
      ],
      total: 1,
    });
    for (let times = 0; times < 2; times += 1)
      expect(await ok(approve(id, ['editor', '/roles/viewer']))).toEqual({ message: 'Access granted', id });
    const member = await memberOf(ann);
    expect(member).toMatchObject({ email: ann.email, display_name: 'Ann', status: 'active' });
    expect([...member.roles].sort()).toEqual(['authenticated_user', 'editor', 'viewer']);
    expect(await ok(admin('GET', '/requests'))).toMatchObject({
      requests: [{ id, status: 'active', decided_by: 'admin' }],
      total: 1,
    });
  });

  it('that is denied gives nothing, and may be made again [ACCESSREQ-002]', async () => {
    const id = await ask();
    for (let times = 0; times < 2; times += 1)
      expect(await ok(admin('POST', `/deny/${id}`, { reason: 'no' }))).toEqual({
        message: 'Access denied',
        id,
      });
    expect((await approve(id)).json).toMatchObject({ code: 'CONFLICT' });
    expect(await memberOf(ann)).toBeUndefined();
    const again = await ask();
    await ok(approve(again));
    expect((await admin('POST', `/deny/${again}`)).json).toMatchObject({ code: 'CONFLICT' });
  });

  it('of which one is approved and denied at once is one of both [ACCESSREQ-002]', async () => {
    const id = await ask();
    const answers = await Promise.all([approve(id), admin('POST', `/deny/${id}`), approve(id)]);
    const [{ status }] = (await ok(admin('GET', '/requests'))).requests;
    expect(answers.map((answer) => answer.status)).toEqual(
      status === 'active' ? [200, 409, 200] : [409, 200, 409],
    );
    expect((await memberOf(ann)) !== undefined).toBe(status === 'active');
  });

  it('is granted at once where neither tenant nor repository decide, without roles of its own [ACCESSREQ-003]', async () => {
    await configure({ require_approval: false });
    try {
      await ask(ann, { requested_roles: ['system_admin'] });
      expect(await memberOf(ann)).toBeUndefined();
      await ask(ann);
      expect((await memberOf(ann))?.roles).not.toContain('system_admin');
      expect(await ok(admin('GET', '/requests'))).toMatchObject({ requests: [{ status: 'active' }] });
      // Who was sent away asks somebody.
      await ok(admin('POST', `/revoke/${ann.id}`));
      await ask(ann);
      expect((await memberOf(ann))?.status).toBe('revoked');
      const settings = {
        name: repository,
        node_type: 'svc:RepoAuthConfig',
        properties: { auto_approve_access: false },
      };
      await server.admin('POST', `/api/repository/${repository}/main/head/svc:system/config/repos`, settings);
      const ben = await people.person();
      await ask(ben);
      expect(await memberOf(ben)).toBeUndefined();
    } finally {
      await configure({ require_approval: true });
    }
  });

  it('is refused where the tenant allows none, for no repository, and to others than people [ACCESSREQ-001]', async () => {
    await configure({ allow_access_requests: false });
    expect((await as(ann, 'POST', '/request')).json).toMatchObject({ code: 'FORBIDDEN' });
    await configure({ allow_access_requests: true });
    const nowhere = await people.send('POST', at('/request', 'no-repository'), { token: ann.access });
    expect([nowhere.status, nowhere.json.code]).toEqual([404, 'REPOSITORY_NOT_FOUND']);
    expect((await admin('POST', '/request')).status).toBe(403);
    expect((await server.request('POST', at('/request'))).status).toBe(401);
  });
});

describe('who decides', () => {
  const decisions = (who: Registered): readonly (readonly [string, string, object?])[] => [
    ['GET', '/requests'],
    ['GET', '/members'],
    ['POST', `/approve/${who.id}`, { roles: ['system_admin'] }],
    ['POST', `/deny/${who.id}`],
    ['POST', '/invite', { email: who.email, roles: ['system_admin'] }],
    ['POST', '/grant', { identity_id: who.id, roles: ['system_admin'] }],
    ['POST', `/revoke/${who.id}`],
    // Neither the body nor the parameters are looked at.
    ['POST', '/grant', { nonsense: 1 }],
    ['GET', '/members?nonsense=1'],
  ];

  it('are no members, whatever else they may do, and nobody learns what there is [ACCESSREQ-004]', async () => {
    await ok(admin('POST', '/grant', { identity_id: ann.id, roles: ['editor'] }));
    for (const [method, path, body] of decisions(ann)) {
      for (const name of [repository, 'no-repository']) {
        const options = { token: ann.access, ...(body === undefined ? {} : { body }) };
        const answer = await people.send(method, at(path, name), options);
        expect([method, path, name, answer.status, answer.json.code]).toEqual([
          method,
          path,
          name,
          403,
          'FORBIDDEN',
        ]);
      }
      const withoutToken = await people.send(method, at(path), body === undefined ? {} : { body });
      expect([method, path, withoutToken.status]).toEqual([method, path, 401]);
    }
    expect((await memberOf(ann)).roles).not.toContain('system_admin');
  });

  it('are people who administer the tenant, or the repository, and only that one [ACCESSREQ-004]', async () => {
    await ok(admin('POST', '/grant', { identity_id: ann.id, roles: ['system_admin'] }));
    const ben = await people.person();
    expect(await ok(as(ann, 'POST', '/grant', { identity_id: ben.id, roles: ['viewer'] }))).toMatchObject({
      message: 'Access granted',
    });
    const elsewhere = await server.createRepository();
    expect((await people.send('GET', at('/members', elsewhere), { token: ann.access })).status).toBe(403);
    await makeTenantAdmin(ben);
    expect((await people.send('GET', at('/members', elsewhere), { token: ben.access })).status).toBe(200);
    await ok(admin('POST', `/revoke/${ann.id}`));
    expect((await as(ann, 'GET', '/members')).status).toBe(403);
    const id = await ask(await people.person());
    await ok(as(ben, 'POST', `/deny/${id}`));
    expect((await ok(admin('GET', '/requests?status=denied'))).requests).toMatchObject([
      { decided_by: ben.id },
    ]);
  });
});

describe('giving and revoking access', () => {
  it('adds roles that exist, and takes none away [ACCESSREQ-005]', async () => {
    await ok(admin('POST', '/grant', { identity_id: ann.id, roles: ['editor'] }));
    await ok(admin('POST', '/grant', { identity_id: ann.id, roles: ['author'] }));
    expect([...(await memberOf(ann)).roles].sort()).toEqual(['authenticated_user', 'author', 'editor']);
    for (const [body, status, code] of [
      [{ identity_id: ann.id, roles: ['no-role'] }, 400, 'VALIDATION_FAILED'],
      [{ identity_id: ann.id, roles: [''] }, 400, 'VALIDATION_FAILED'],
      [{ identity_id: 'nobody', roles: ['viewer'] }, 404, 'IDENTITY_NOT_FOUND'],
    ] as const) {
      const answer = await admin('POST', '/grant', body);
      expect([body, answer.status, answer.json.code]).toEqual([body, status, code]);
    }
    expect((await admin('POST', '/grant', { identity_id: ann.id })).status).toBe(422);
    const nowhere = await server.admin('POST', at('/grant', 'no-repository'), {
      identity_id: ann.id,
      roles: [],
    });
    expect(nowhere.status).toBe(404);
    await server.admin('PATCH', `${users}/${ann.id}`, { is_active: false });
    expect((await admin('POST', '/grant', { identity_id: ann.id, roles: [] })).json).toMatchObject({
      code: 'CONFLICT',
    });
  });

  it('ends with a revocation, which neither a login nor an activation takes back, and a grant does [ACCESSREQ-006]', async () => {
    await ok(admin('POST', '/grant', { identity_id: ann.id, roles: ['viewer'] }));
    const reads = async (): Promise<number> => {
      const { status } = await people.send(
        'GET',
        `/api/repository/${repository}/main/head/svc:access_control/roles/viewer`,
        {
          token: ann.access,
        },
      );
      return status;
    };
    expect(await reads()).toBe(200);
    for (let times = 0; times < 2; times += 1)
      expect(await ok(admin('POST', `/revoke/${ann.id}`, { reason: 'left' }))).toEqual({
        message: 'Access revoked',
        id: ann.id,
      });
    expect(await reads()).toBe(404);
    await people.logIn(ann.email, undefined, `/auth/${repository}`);
    for (const isActive of [false, true]) {
      await server.admin('PATCH', `${users}/${ann.id}`, { is_active: isActive });
      await until(
        async () => (await server.admin('GET', `${users}/${ann.id}`)).json.status_change === null,
        'the node says what the account says',
      );
    }
    expect([await reads(), (await memberOf(ann)).status]).toEqual([404, 'revoked']);
    await ok(admin('POST', '/grant', { identity_id: ann.id, roles: ['viewer'] }));
    expect([await reads(), (await memberOf(ann)).status]).toEqual([200, 'active']);
    const stranger = await people.person();
    expect((await admin('POST', `/revoke/${stranger.id}`)).json).toMatchObject({
      code: 'USER_NODE_NOT_FOUND',
    });
  });

  it('shows in the list of members, in pages, without the anonymous user [ACCESSREQ-005]', async () => {
    const all = [ann, await people.person(), await people.person()];
    for (const { id } of all) await ok(admin('POST', '/grant', { identity_id: id, roles: ['viewer'] }));
    const idsOf = (page: { readonly members: { readonly identity_id: string }[] }): readonly string[] =>
      page.members.map(({ identity_id: id }) => id);
    const whole = await ok(admin('GET', '/members'));
    expect([whole.total, new Set(idsOf(whole))]).toEqual([3, new Set(all.map(({ id }) => id))]);
    const pages: string[] = [];
    for (const page of [1, 2, 3, 4])
      pages.push(...idsOf(await ok(admin('GET', `/members?per_page=1&page=${page}`))));
    expect(pages).toEqual(idsOf(whole));
    expect(whole.members[0]).toEqual({
      identity_id: expect.any(String),
      email: expect.any(String),
      display_name: 'Ann',
      avatar_url: null,
      roles: expect.any(Array),
      status: 'active',
      granted_at: expect.any(String),
      granted_by: expect.any(String),
    });
  });
});

/** What the audit trail has about the repository, oldest first. */
async function trail(): Promise<readonly TestResponse['json'][]> {
  const { items } = (await server.admin('GET', '/api/svc/sys/default/audit?limit=1000')).json;
  return items.filter(({ details }: TestResponse['json']) => details.repository === repository).reverse();
}

it('what a person decides is in the audit trail too, also about themselves [ACCESSREQ-009]', async () => {
  await makeTenantAdmin(ann);
  await ok(as(ann, 'POST', '/grant', { identity_id: ann.id, roles: ['system_admin'] }));
  expect(await trail()).toMatchObject([
    {
      action: 'access_granted',
      subject: ann.id,
      details: { roles: ['system_admin'], identity_id: ann.id, identity_email: ann.email },
      actor: { user_id: ann.id },
    },
  ]);
});

it('what an administrator decides is in the audit trail [ACCESSREQ-009]', async () => {
  const id = await ask();
  await ok(approve(id, ['editor']));
  await ok(admin('POST', '/grant', { identity_id: ann.id, roles: ['author'] }));
  await ok(admin('POST', `/revoke/${ann.id}`));
  const email = people.newEmail();
  const invited = await ok(admin('POST', '/invite', { email, roles: ['viewer'] }));
  await ok(admin('POST', `/deny/${invited.id}`));
  expect(await trail()).toMatchObject([
    {
      action: 'access_granted',
      subject: ann.id,
      details: { roles: ['editor'] },
      actor: { username: 'admin' },
    },
    { action: 'access_granted', subject: ann.id, details: { roles: ['author'] } },
    { action: 'access_revoked', subject: ann.id },
    { action: 'access_invited', subject: email, details: { roles: ['viewer'] } },
    { action: 'access_denied', subject: invited.id },
  ]);
});

describe('an invitation', () => {
  const invite = (email: string, more: object = {}): Promise<TestResponse> =>
    admin('POST', '/invite', { email, roles: ['editor'], ...more });

  const logIn = (who: Registered): Promise<TestResponse> =>
    people.logIn(who.email, undefined, `/auth/${repository}`);

  const verify = (who: Registered): Promise<TestResponse> =>
    server.admin('PATCH', `${users}/${who.id}`, { email_verified: true });

  it('is used by the next login with the address, once it is proven [ACCESSREQ-007]', async () => {
    const { id } = await ok(invite(ann.email.toUpperCase()));
    await logIn(ann);
    expect((await memberOf(ann))?.roles).not.toContain('editor');
    await verify(ann);
    await logIn(ann);
    expect((await memberOf(ann)).roles).toEqual(expect.arrayContaining(['editor', 'authenticated_user']));
    expect(await ok(admin('GET', '/requests'))).toMatchObject({ requests: [{ id, status: 'active' }] });
  });

  it('lets a person in where nobody gets in by logging in, and not after it was withdrawn [ACCESSREQ-007]', async () => {
    const settings = {
      name: repository,
      node_type: 'svc:RepoAuthConfig',
      properties: { auto_approve_access: false },
    };
    await server.admin('POST', `/api/repository/${repository}/main/head/svc:system/config/repos`, settings);
    await verify(ann);
    const { id } = await ok(invite(ann.email));
    await ok(admin('POST', `/deny/${id}`));
    await logIn(ann);
    expect(await memberOf(ann)).toBeUndefined();
    await ok(invite(ann.email));
    await logIn(ann);
    expect((await memberOf(ann)).roles).toContain('editor');
  });

  it('that was open when access was revoked is used by no login, and a later one is [ACCESSREQ-006]', async () => {
    await verify(ann);
    await ok(admin('POST', '/grant', { identity_id: ann.id, roles: ['viewer'] }));
    const { id } = await ok(invite(ann.email.toUpperCase()));
    await ok(admin('POST', `/revoke/${ann.id}`, { reason: 'left' }));
    expect((await ok(admin('GET', '/requests'))).requests).toMatchObject([
      { id, status: 'denied', reason: 'left', decided_by: 'admin' },
    ]);
    await logIn(ann);
    expect(await memberOf(ann)).toMatchObject({ status: 'revoked' });
    await ok(invite(ann.email));
    await logIn(ann);
    expect(await memberOf(ann)).toMatchObject({ status: 'active' });
  });

  it('is answered alike with and without an account [ACCESSREQ-008]', async () => {
    const [known, unknown] = [await invite(ann.email), await invite(people.newEmail())];
    expect([known.status, known.json.message]).toEqual([unknown.status, unknown.json.message]);
    expect(known.json.id).toHaveLength(unknown.json.id.length);
    const { requests } = await ok(admin('GET', '/requests?status=invited'));
    for (const { display_name: name, identity_id: id } of requests) expect([id, name]).toEqual([null, null]);
  });

  it('is refused with roles that do not exist, without an address, and where the tenant allows none [ACCESSREQ-008]', async () => {
    for (const [more, code] of [
      [{ roles: ['no-role'] }, 'VALIDATION_FAILED'],
      [{ email: 'nonsense' }, 'INVALID_EMAIL'],
      [{ expires_in_days: 0 }, 'VALIDATION_FAILED'],
      [{ expires_in_days: 91 }, 'VALIDATION_FAILED'],
    ] as const)
      expect((await invite(ann.email, more)).json).toMatchObject({ code });
    await configure({ allow_invitations: false });
    expect((await invite(ann.email)).json).toMatchObject({ code: 'FORBIDDEN' });
    await configure({ allow_invitations: true });
  });
});
