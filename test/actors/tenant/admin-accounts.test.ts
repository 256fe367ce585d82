import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  ACTIVE_KEYS_MAX,
  type AdminAccount,
  type ApiKeyPlace,
  type AuditEntry,
  ENDED_KEYS_MAX,
  KEY_USE_MS,
  type ShownAdmin,
  type ShownApiKey,
} from '#actors/tenant/messages.ts';
import { apiKeyTag } from '#runtime/access/api-key.ts';
import type { AccessFlags } from '#runtime/access/principal.ts';
import { adminOf, callerAs, callers, HostFixture } from '#test/support/host-fixture.ts';
import { TestClock } from '#test/support/test-clock.ts';

const actor = 'default/tenant';
const flags: AccessFlags = {
  console_login: true,
  cli_access: true,
  api_access: true,
  pgwire_access: false,
  can_impersonate: false,
};

let clock: TestClock;
let fixture: HostFixture;
let self: ReturnType<typeof callerAs>;

beforeEach(async () => {
  clock = new TestClock();
  fixture = await HostFixture.open(undefined, undefined, clock);
  await fixture.host.create(actor);
  const admin = { username: 'admin', email: null, passwordHash: 'hash', mustChangePassword: false };
  await send({ type: 'BootstrapTenant', tenantId: 'default', admin }, callers.engine);
  self = callerAs(adminOf('default', account('admin').user_id));
});

afterEach(() => fixture.close());

function send<Result>(command: { type: string } & Record<string, unknown>, caller = self): Promise<Result> {
  return fixture.command<Result>(actor, command, caller);
}

function ask<Answer>(query: { type: string } & Record<string, unknown>, caller = self): Answer {
  return fixture.query<Answer>(actor, query, caller);
}

function account(username: string): AdminAccount {
  return ask<AdminAccount>({ type: 'FindAdmin', username }, callers.engine);
}

function create(username: string, accessFlags: Partial<AccessFlags> = {}): Promise<ShownAdmin> {
  return send({
    type: 'CreateAdmin',
    username,
    email: null,
    passwordHash: `hash of ${username}`,
    mustChangePassword: false,
    accessFlags: { ...flags, ...accessFlags },
  });
}

function update(username: string, changes: Record<string, unknown>): Promise<ShownAdmin> {
  return send({ type: 'UpdateAdmin', username, changes });
}

function newKey(tokenHash: string): Promise<ShownApiKey> {
  return send({ type: 'CreateApiKey', name: `key ${tokenHash}`, keyPrefix: 'svc_prefix', tokenHash });
}

/** Accounts that were told to be changed by what is done. */
async function told(work: () => Promise<unknown>): Promise<readonly unknown[]> {
  const before = fixture.events.length;
  await work();
  return fixture.events
    .slice(before)
    .filter(({ type }) => type === 'AccountChanged')
    .map((event) => (event as unknown as { userId: string }).userId);
}

function trail(limit = 1_000, before?: number): readonly AuditEntry[] {
  return ask({ type: 'ListAudit', limit, ...(before === undefined ? {} : { before }) });
}

describe('accounts', () => {
  it('are created under a free name, and shown without their hashes', async () => {
    const made = await create('bo', { can_impersonate: true });
    expect(made).toMatchObject({ username: 'bo', is_active: true, access_flags: { can_impersonate: true } });
    expect(JSON.stringify([made, ask({ type: 'ListAdmins' })])).not.toContain('hash');
    for (const taken of ['bo', 'Bo', 'ADMIN'])
      await expect(create(taken)).rejects.toMatchObject({ code: 'ALREADY_EXISTS' });
    expect(ask<ShownAdmin[]>({ type: 'ListAdmins' }).map(({ username }) => username)).toEqual([
      'admin',
      'bo',
    ]);
    expect(ask({ type: 'ListAdmins', username: 'bo' })).toEqual([made]);
    for (const username of ['nobody', '']) expect(ask({ type: 'ListAdmins', username })).toEqual([]);
  });

  it('are changed field by field, and those who rely on them are told', async () => {
    const { user_id: id } = await create('bo');
    expect(await told(() => update('bo', { email: 'bo@example.org' }))).toEqual([id]);
    expect(await told(() => update('bo', { access_flags: { api_access: false } }))).toEqual([id]);
    expect(await told(() => update('bo', { must_change_password: true, is_active: false }))).toEqual([id]);
    expect(account('bo')).toMatchObject({
      email: 'bo@example.org',
      access_flags: { ...flags, api_access: false },
      must_change_password: true,
      is_active: false,
      password_hash: 'hash of bo',
    });
    expect((await update('bo', { email: null })).email).toBeNull();
    const length = trail().length;
    expect(await told(() => update('bo', { email: null, access_flags: { api_access: false } }))).toEqual([]);
    expect(trail()).toHaveLength(length);
    await expect(update('nobody', {})).rejects.toMatchObject({ code: 'USER_NOT_FOUND' });
  });

  it('are deleted by others, and a new account by the name is another one', async () => {
    const { user_id: id } = await create('bo');
    expect(await told(() => send({ type: 'DeleteAdmin', username: 'bo' }))).toEqual([id]);
    expect(ask({ type: 'FindAdmin', userId: id }, callers.engine)).toBeUndefined();
    expect((await create('bo')).user_id).not.toBe(id);
    await expect(send({ type: 'DeleteAdmin', username: 'admin' })).rejects.toMatchObject({
      code: 'CANNOT_DELETE_SELF',
    });
    await expect(send({ type: 'DeleteAdmin', username: 'nobody' })).rejects.toMatchObject({
      code: 'USER_NOT_FOUND',
    });
  });

  it('include one that can administer the others, whatever is done', async () => {
    await create('cli', { console_login: false });
    for (const changes of [{ is_active: false }, { access_flags: { console_login: false } }])
      await expect(update('admin', changes)).rejects.toMatchObject({ code: 'LAST_ADMINISTRATOR' });
    const { user_id: other } = await create('bo');
    const asBo = callerAs(adminOf('default', other));
    await update('admin', { is_active: false });
    for (const command of [
      { type: 'UpdateAdmin', username: 'bo', changes: { is_active: false } },
      { type: 'UpdateAdmin', username: 'bo', changes: { access_flags: { console_login: false } } },
    ])
      await expect(send(command, asBo)).rejects.toMatchObject({ code: 'LAST_ADMINISTRATOR' });
    // One who cannot log in, and so keeps nobody out.
    await expect(send({ type: 'DeleteAdmin', username: 'bo' }, callers.engine)).rejects.toMatchObject({
      code: 'LAST_ADMINISTRATOR',
    });
    await send({ type: 'DeleteAdmin', username: 'admin' }, asBo);
  });

  it('are administered by administrators of the tenant alone', async () => {
    await create('bo');
    const commands = [
      { type: 'CreateAdmin', username: 'eve', passwordHash: 'x', accessFlags: flags },
      { type: 'UpdateAdmin', username: 'bo', changes: { is_active: false } },
      { type: 'DeleteAdmin', username: 'bo' },
      { type: 'CreateApiKey', name: 'x', keyPrefix: 'x', tokenHash: 'x' },
      { type: 'RevokeApiKey', keyId: 'x' },
      { type: 'RecordAdminAction', action: 'x', subject: 'x' },
      { type: 'RecordAdminActions', actions: [{ action: 'x', subject: 'x' }] },
    ];
    const impersonating = callerAs({
      kind: 'impersonating',
      tenant: 'default',
      userId: account('admin').user_id,
      username: 'admin',
      user: 'bo',
    });
    for (const caller of [callers.otherTenant, callers.anonymous, impersonating]) {
      for (const command of commands)
        await expect(send(command, caller), command.type).rejects.toMatchObject({
          code: expect.stringMatching(/^(UNAUTHORIZED|FORBIDDEN)$/),
        });
      for (const query of [{ type: 'ListAdmins' }, { type: 'ListAudit', limit: 1 }])
        expect(() => ask(query, caller), query.type).toThrow(
          expect.objectContaining({ code: expect.stringMatching(/^(UNAUTHORIZED|FORBIDDEN)$/) }),
        );
    }
    for (const query of [
      { type: 'FindApiKey', tokenHash: 'x' },
      { type: 'FindTenantsByTag', tag: 'x' },
    ])
      expect(() => ask(query), query.type).toThrow(expect.objectContaining({ code: 'FORBIDDEN' }));
    await expect(
      send({ type: 'RecordApiKeyUse', userId: account('bo').user_id, keyId: 'x' }),
    ).rejects.toMatchObject({ code: 'FORBIDDEN' });
  });

  it('get a hash with new parameters for the same password only, and nobody is told', async () => {
    const { user_id: userId } = account('admin');
    const login = (judged: string) =>
      send(
        { type: 'RecordAdminLogin', userId, rehashed: { judged, passwordHash: 'better' } },
        callers.engine,
      );
    const { password_changed_ms: changedMs } = account('admin');
    expect(await told(() => login('another hash'))).toEqual([]);
    expect(account('admin').password_hash).toBe('hash');
    expect(await told(() => login('hash'))).toEqual([]);
    expect(account('admin')).toMatchObject({ password_hash: 'better', password_changed_ms: changedMs });
  });
});

describe('API keys', () => {
  it('belong to the account that made them, and their hashes lead to them', async () => {
    const { user_id: userId } = account('admin');
    const key = await newKey('h1');
    expect(key).toEqual({
      key_id: expect.any(String),
      name: 'key h1',
      key_prefix: 'svc_prefix',
      created_at: new Date(clock.wallMs()).toISOString(),
      last_used_at: null,
      is_active: true,
    });
    const place: ApiKeyPlace = { userId, keyId: key.key_id };
    expect(ask({ type: 'FindApiKey', tokenHash: 'h1' }, callers.engine)).toEqual(place);
    expect(ask({ type: 'FindApiKey', tokenHash: 'h2' }, callers.engine)).toBeUndefined();
  });

  it('stay listed when they are revoked, and those who rely on them are told', async () => {
    const { user_id: userId } = account('admin');
    const { key_id: keyId } = await newKey('h1');
    const { user_id: other } = await create('bo');
    await expect(
      send({ type: 'RevokeApiKey', keyId }, callerAs(adminOf('default', other))),
    ).rejects.toMatchObject({ code: 'NOT_FOUND' });
    expect(await told(() => send({ type: 'RevokeApiKey', keyId }))).toEqual([userId]);
    expect(account('admin').api_keys).toMatchObject([{ key_id: keyId, is_active: false }]);
    expect(await told(() => send({ type: 'RevokeApiKey', keyId }))).toEqual([]);
  });

  it('need api_access, and are bounded in number', async () => {
    await update('admin', { access_flags: { api_access: false } });
    await expect(newKey('h')).rejects.toMatchObject({ code: 'INSUFFICIENT_PERMISSIONS' });
    await update('admin', { access_flags: { api_access: true } });
    const made: ShownApiKey[] = [];
    for (let count = 0; count < ACTIVE_KEYS_MAX; count += 1) made.push(await newKey(`h${count}`));
    await expect(newKey('one more')).rejects.toMatchObject({ code: 'VALIDATION_FAILED' });
    for (const { key_id: keyId } of made) await send({ type: 'RevokeApiKey', keyId });
    const { key_id: keyId } = await newKey('last');
    await send({ type: 'RevokeApiKey', keyId });
    const keys = account('admin').api_keys ?? [];
    expect([keys.length, keys[0]?.key_id, keys.at(-1)?.key_id]).toEqual([
      ENDED_KEYS_MAX,
      made[1]?.key_id,
      keyId,
    ]);
  });

  it('say when they were last used, exact to some minutes', async () => {
    const { user_id: userId } = account('admin');
    const { key_id: keyId } = await newKey('h1');
    const use = () => send({ type: 'RecordApiKeyUse', userId, keyId }, callers.engine);
    const lastUse = () => account('admin').api_keys?.[0]?.last_used_at;
    expect(await told(use)).toEqual([]);
    const first = new Date(clock.wallMs()).toISOString();
    expect(lastUse()).toBe(first);
    clock.advance(KEY_USE_MS - 1);
    await use();
    expect(lastUse()).toBe(first);
    clock.advance(1);
    await use();
    expect(lastUse()).toBe(new Date(clock.wallMs()).toISOString());
    await send({ type: 'RecordApiKeyUse', userId: 'nobody', keyId }, callers.engine);
  });

  it('lead to their tenant by a tag', async () => {
    const admin = { username: 'x', email: null, passwordHash: 'x', mustChangePassword: false };
    await send({ type: 'RegisterTenant', tenantId: 'acme', metadata: {}, admin });
    const tagged = (tag: string) => ask({ type: 'FindTenantsByTag', tag }, callers.engine);
    expect([tagged(apiKeyTag('acme')), tagged(apiKeyTag('default')), tagged('??????')]).toEqual([
      ['acme'],
      ['default'],
      [],
    ]);
  });
});

describe('the audit trail', () => {
  it('has each action with who did it, newest first, and no secret', async () => {
    const { user_id: userId } = account('admin');
    const { user_id: bo } = await create('bo');
    await update('bo', {
      access_flags: { api_access: true, can_impersonate: true },
      email: 'bo@example.org',
    });
    const { key_id: keyId } = await newKey('secret hash');
    await send({ type: 'RevokeApiKey', keyId });
    await send({ type: 'DeleteAdmin', username: 'bo' });
    const change = { type: 'ChangeAdminPassword', userId, oldPasswordHash: 'hash', passwordHash: 'hash-2' };
    await send(change);
    await send({ ...change, oldPasswordHash: 'hash-2' }, callers.engine);
    await send({ type: 'RegisterRepository', repositoryId: 'blog', uid: 'u1' });
    await send({ type: 'UnregisterRepository', repositoryId: 'blog' });
    // Nobody but the engine speaks for an identity.
    const configured = { type: 'RecordAdminAction', action: 'authentication_configured', subject: 'default' };
    await send({ ...configured, identityId: 'i1' });
    await send({ ...configured, identityId: 'i1' }, callers.engine);
    const byAdmin = { user_id: userId, username: 'admin' };
    const byServer = { user_id: null, username: 'system' };
    const facts = { key_id: keyId, key_prefix: 'svc_prefix', name: 'key secret hash' };
    const entries = trail();
    expect(entries.map(({ action, actor: by, details, subject }) => [action, subject, by, details])).toEqual([
      ['authentication_configured', 'default', { user_id: 'i1', username: 'i1' }, {}],
      ['authentication_configured', 'default', byAdmin, {}],
      ['repository_deleted', 'blog', byAdmin, {}],
      ['repository_created', 'blog', byAdmin, {}],
      ['password_reset', 'admin', byServer, {}],
      ['password_changed', 'admin', byAdmin, {}],
      ['account_deleted', 'bo', byAdmin, { user_id: bo }],
      ['api_key_revoked', 'admin', byAdmin, facts],
      ['api_key_created', 'admin', byAdmin, facts],
      ['account_changed', 'bo', byAdmin, { email: 'changed', access_flags: { can_impersonate: true } }],
      ['account_created', 'bo', byAdmin, { user_id: bo, access_flags: { ...flags } }],
      ['account_created', 'admin', byServer, { user_id: userId }],
    ]);
    expect(entries.map(({ sequence }) => sequence)).toEqual([12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1]);
    expect(JSON.stringify(entries)).not.toContain('hash-2');
    expect(trail(2, 10).map(({ sequence }) => sequence)).toEqual([9, 8]);
  });

  it('has each of several actions that were carried out together, in their order', async () => {
    const [long, short] = [{ text: 'x'.repeat(5_000) }, { n: 1 }];
    const actions = [long, short].map((details, index) => ({ action: `a${index}`, subject: 's', details }));
    await send({ type: 'RecordAdminActions', actions, identityId: 'i1' }, callers.engine);
    expect([...trail(2)].reverse()).toMatchObject([
      { action: 'a0', actor: { user_id: 'i1' }, details: { text: `${'x'.repeat(200)}…` } },
      { action: 'a1', actor: { user_id: 'i1' }, details: short },
    ]);
  });

  it('has no entry of what was refused', async () => {
    await expect(update('nobody', {})).rejects.toThrow();
    await expect(send({ type: 'DeleteAdmin', username: 'admin' })).rejects.toThrow();
    expect(trail()).toHaveLength(1);
  });

  it('forgets entries after their time, two with each new one', async () => {
    for (const name of ['a', 'b', 'c']) await create(name);
    clock.advance(400 * 24 * 60 * 60 * 1000 + 1);
    await create('d');
    expect(trail().map(({ sequence }) => sequence)).toEqual([5, 4, 3]);
    await create('e');
    expect(trail().map(({ sequence }) => sequence)).toEqual([6, 5]);
  });

  it('shortens long details of what was done already', async () => {
    const long = 'x'.repeat(4_096);
    const many = Object.fromEntries(Array.from({ length: 60 }, (_, at) => [`field${at}`, long]));
    for (const [given, kept] of [
      [
        { text: 'short', list: ['a'] },
        { text: 'short', list: ['a'] },
      ],
      [
        { text: long, on: true, roles: Array.from({ length: 50 }, () => long) },
        {
          text: `${'x'.repeat(200)}…`,
          on: true,
          roles: [...Array.from({ length: 10 }, () => `${'x'.repeat(200)}…`), '… 40 more'],
        },
      ],
      [many, { shortened: Array.from({ length: 10 }, (_, at) => `field${at}`) }],
    ] as const) {
      await send({ type: 'RecordAdminAction', action: 'x', subject: 'x', details: given });
      expect(ask({ type: 'ListAudit', limit: 1 })).toMatchObject([{ details: kept }]);
    }
  });

  it('has no page of another size', () => {
    for (const limit of [0, 1_001, 1.5, 'x'])
      expect(() => ask({ type: 'ListAudit', limit })).toThrow(
        expect.objectContaining({ code: 'VALIDATION_FAILED' }),
      );
  });
});
