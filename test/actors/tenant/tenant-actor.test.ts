import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type {
  AdminAccount,
  FirstAdmin,
  RepositoryEntry,
  TenantEntry,
  UnfinishedTenant,
} from '#actors/tenant/messages.ts';
import { adminOf, callerAs, callers, HostFixture } from '#test/support/host-fixture.ts';

const actor = 'default/tenant';
const admin: FirstAdmin = {
  username: 'admin',
  email: null,
  passwordHash: 'hash-1',
  mustChangePassword: true,
};

let fixture: HostFixture;

beforeAll(async () => {
  fixture = await HostFixture.open();
  await fixture.host.create(actor);
  await fixture.command(actor, { type: 'BootstrapTenant', tenantId: 'default', admin } as never);
});

afterAll(() => fixture.close());

function send<Result>(command: { type: string } & Record<string, unknown>, caller = callers.admin) {
  return fixture.command<Result>(actor, command, caller);
}

function ask<Answer>(query: { type: string } & Record<string, unknown>, caller = callers.engine) {
  return fixture.query<Answer>(actor, query, caller);
}

describe('the first administrator', () => {
  it('is made once; making the tenant again changes nothing', async () => {
    const again = await send<{ created: boolean }>(
      { type: 'BootstrapTenant', tenantId: 'default', admin: { ...admin, passwordHash: 'other' } },
      callers.engine,
    );
    expect(again).toEqual({ created: false });
    const account = ask<AdminAccount>({ type: 'FindAdmin', username: 'admin' });
    expect(account).toMatchObject({
      username: 'admin',
      password_hash: 'hash-1',
      must_change_password: true,
      is_active: true,
      last_login: null,
      access_flags: { console_login: true, pgwire_access: false, can_impersonate: false },
    });
    expect(ask<AdminAccount>({ type: 'FindAdmin', userId: account.user_id })).toEqual(account);
  });

  it('is not found under an unused name of any length', () => {
    for (const username of ['nobody', '', 'x'.repeat(10_000), 'admin\u0000']) {
      expect(ask({ type: 'FindAdmin', username })).toBeUndefined();
    }
    expect(ask({ type: 'FindAdmin', userId: 'x'.repeat(10_000) })).toBeUndefined();
  });

  it('is shown to the engine only', () => {
    for (const caller of [callers.admin, callers.otherTenant, callers.anonymous]) {
      expect(() => ask({ type: 'FindAdmin', username: 'admin' }, caller)).toThrow(
        expect.objectContaining({ code: 'FORBIDDEN' }),
      );
    }
  });
});

describe('changing a password', () => {
  let account: AdminAccount;

  beforeEach(() => {
    account = ask<AdminAccount>({ type: 'FindAdmin', username: 'admin' });
  });

  it('is for the account itself', async () => {
    const command = {
      type: 'ChangeAdminPassword',
      userId: account.user_id,
      oldPasswordHash: account.password_hash,
      passwordHash: 'hash-x',
    };
    await expect(send(command)).rejects.toMatchObject({ code: 'FORBIDDEN' });
    await expect(send(command, callers.anonymous)).rejects.toMatchObject({ code: 'FORBIDDEN' });
    expect(ask<AdminAccount>({ type: 'FindAdmin', username: 'admin' })).toEqual(account);
  });

  it('clears the demand, and its time rises with every change', async () => {
    const self = callerAs(adminOf('default', account.user_id));
    let last = account;
    for (const passwordHash of ['hash-2', 'hash-3', 'hash-4']) {
      const oldPasswordHash = last.password_hash;
      await send(
        { type: 'ChangeAdminPassword', userId: account.user_id, oldPasswordHash, passwordHash },
        self,
      );
      const now = ask<AdminAccount>({ type: 'FindAdmin', username: 'admin' });
      expect(now).toMatchObject({ password_hash: passwordHash, must_change_password: false });
      expect(now.password_changed_ms).toBeGreaterThan(last.password_changed_ms);
      last = now;
    }
  });

  it('may be marked for another change by the engine alone', async () => {
    const command = {
      type: 'ChangeAdminPassword',
      userId: account.user_id,
      oldPasswordHash: account.password_hash,
      passwordHash: 'hash-reset',
      mustChangePassword: true,
    };
    const self = callerAs(adminOf('default', account.user_id));
    await expect(send(command, self)).rejects.toMatchObject({ code: 'FORBIDDEN' });
    await send(command, callers.engine);
    expect(ask<AdminAccount>({ type: 'FindAdmin', username: 'admin' })).toMatchObject({
      password_hash: 'hash-reset',
      must_change_password: true,
    });
  });

  it('lets one of two simultaneous changes win', async () => {
    const self = callerAs(adminOf('default', account.user_id));
    const oldPasswordHash = account.password_hash;
    const results = await Promise.allSettled(
      ['left', 'right'].map((passwordHash) =>
        send({ type: 'ChangeAdminPassword', userId: account.user_id, oldPasswordHash, passwordHash }, self),
      ),
    );
    expect(results.map((result) => result.status)).toEqual(['fulfilled', 'rejected']);
    expect(results[1]).toMatchObject({ reason: { code: 'CONFLICT' } });
    expect(ask<AdminAccount>({ type: 'FindAdmin', username: 'admin' }).password_hash).toBe('left');
  });

  it('is refused for an account that does not exist', async () => {
    const command = { userId: 'nobody', oldPasswordHash: 'a', passwordHash: 'b' };
    await expect(send({ type: 'ChangeAdminPassword', ...command }, callers.engine)).rejects.toMatchObject({
      code: 'USER_NOT_FOUND',
    });
  });

  it('leaves a login noted', async () => {
    await send({ type: 'RecordAdminLogin', userId: account.user_id }, callers.engine);
    const { last_login: lastLogin } = ask<AdminAccount>({ type: 'FindAdmin', username: 'admin' });
    expect(new Date(lastLogin as string).toISOString()).toBe(lastLogin);
  });
});

describe('the registry of repositories', () => {
  it('takes a name once, finds it, and lets it go [REPO-004]', async () => {
    const register = (uid: string) =>
      send<RepositoryEntry>({ type: 'RegisterRepository', repositoryId: 'blog', uid });
    const results = await Promise.allSettled([register('a'), register('b'), register('c')]);
    expect(results.map((result) => result.status)).toEqual(['fulfilled', 'rejected', 'rejected']);
    expect(results[1]).toMatchObject({ reason: { code: 'REPOSITORY_ALREADY_EXISTS' } });
    const entry = ask<RepositoryEntry>({ type: 'FindRepository', repositoryId: 'blog' });
    expect(entry).toMatchObject({ repositoryId: 'blog', uid: 'a' });
    expect(ask({ type: 'FindRepository', repositoryId: 'blog' })).toBe(entry);
    expect(await send({ type: 'UnregisterRepository', repositoryId: 'blog' })).toEqual(entry);
    expect(ask({ type: 'FindRepository', repositoryId: 'blog' })).toBeUndefined();
    await expect(send({ type: 'UnregisterRepository', repositoryId: 'blog' })).rejects.toMatchObject({
      code: 'REPOSITORY_NOT_FOUND',
    });
    expect(fixture.events).toContainEqual({ type: 'RegistryChanged' });
  });

  it('lists names in order, and does not confuse a name with its prefix', async () => {
    for (const repositoryId of ['ab', 'a', 'a-b', 'b']) {
      await send({ type: 'RegisterRepository', repositoryId, uid: repositoryId });
    }
    const names = ask<RepositoryEntry[]>({ type: 'ListRepositories' }).map((entry) => entry.repositoryId);
    expect(names).toEqual(['a', 'a-b', 'ab', 'b']);
    await send({ type: 'UnregisterRepository', repositoryId: 'a' });
    expect(ask({ type: 'FindRepository', repositoryId: 'a' })).toBeUndefined();
    expect(ask<RepositoryEntry>({ type: 'FindRepository', repositoryId: 'ab' }).uid).toBe('ab');
  });

  it('remembers what tokens of the next repository of a name are above, and takes none below [LOCK-012]', async () => {
    const floorOf = (repositoryId?: string) => ask<number>({ type: 'ReadNameFloor', repositoryId });
    const register = (tokenFloor?: number) =>
      send<RepositoryEntry>({ type: 'RegisterRepository', repositoryId: 'shop', uid: 'x', tokenFloor });
    const remove = () => send({ type: 'UnregisterRepository', repositoryId: 'shop' });
    expect(floorOf('shop')).toBe(0);
    expect(await register()).not.toHaveProperty('tokenFloor');
    await remove();
    const first = floorOf('shop');
    expect(first).toBeGreaterThan(0);
    expect(floorOf('nobody-had-it')).toBe(0);
    for (const tooLow of [undefined, 0, first - 1]) {
      await expect(register(tooLow)).rejects.toMatchObject({ code: 'CONFLICT' });
    }
    expect(ask({ type: 'FindRepository', repositoryId: 'shop' })).toBeUndefined();
    expect(await register(first)).toMatchObject({ tokenFloor: first });
    await remove();
    expect(floorOf('shop')).toBeGreaterThan(first);
    // One that was restored begins higher than the clock says.
    await register(2 ** 52);
    await remove();
    expect(floorOf('shop')).toBeGreaterThan(2 ** 52);
    expect(floorOf()).toBe(floorOf('shop'));
    await fixture.reopen();
    expect(floorOf('shop')).toBeGreaterThan(2 ** 52);
    expect(() => ask({ type: 'ReadNameFloor' }, callers.admin)).toThrow(
      expect.objectContaining({ code: 'FORBIDDEN' }),
    );
  });

  it('is for administrators of the tenant', async () => {
    const register = { type: 'RegisterRepository', repositoryId: 'theirs', uid: 'x' };
    await expect(send(register, callers.otherTenant)).rejects.toMatchObject({ code: 'FORBIDDEN' });
    await expect(send(register, callers.anonymous)).rejects.toMatchObject({ code: 'UNAUTHORIZED' });
    expect(() => ask({ type: 'ListRepositories' }, callers.anonymous)).toThrow(
      expect.objectContaining({ code: 'UNAUTHORIZED' }),
    );
    expect(() => ask({ type: 'FindRepository', repositoryId: 'b' }, callers.admin)).toThrow(
      expect.objectContaining({ code: 'FORBIDDEN' }),
    );
    expect(ask({ type: 'FindRepository', repositoryId: 'theirs' })).toBeUndefined();
  });

  it('is read back after everything was closed', async () => {
    const before = ask({ type: 'ListRepositories' });
    await fixture.reopen();
    expect(ask({ type: 'ListRepositories' })).toEqual(before);
  });
});

describe('the registry of tenants', () => {
  it('holds the system tenant from the start', () => {
    expect(ask<TenantEntry[]>({ type: 'ListTenants', tenantId: 'default' })).toEqual([
      { tenant_id: 'default', metadata: {}, created_at: expect.any(String) },
    ]);
  });

  it('keeps the input of a tenant creation until it is complete, and shows it to the engine only', async () => {
    const first: FirstAdmin = { ...admin, username: 'boss', passwordHash: 'secret-hash' };
    const entry = await send<TenantEntry>({
      type: 'RegisterTenant',
      tenantId: 'acme',
      metadata: { plan: 'small' },
      admin: first,
    });
    expect(entry).toEqual({ tenant_id: 'acme', metadata: { plan: 'small' }, created_at: expect.any(String) });
    expect(ask<UnfinishedTenant[]>({ type: 'ListUnfinishedTenants' })).toEqual([
      { tenantId: 'acme', admin: first },
    ]);
    expect(JSON.stringify(ask({ type: 'ListTenants' }, callers.admin))).not.toContain('secret-hash');
    expect(() => ask({ type: 'ListUnfinishedTenants' }, callers.admin)).toThrow();
    await send({ type: 'CompleteTenant', tenantId: 'acme' }, callers.engine);
    await send({ type: 'CompleteTenant', tenantId: 'acme' }, callers.engine);
    expect(ask({ type: 'ListUnfinishedTenants' })).toEqual([]);
    expect(ask<TenantEntry[]>({ type: 'ListTenants', tenantId: 'acme' })).toEqual([entry]);
  });

  it('takes a name once', async () => {
    const register = { type: 'RegisterTenant', tenantId: 'acme', metadata: {}, admin };
    await expect(send(register)).rejects.toMatchObject({ code: 'TENANT_ALREADY_EXISTS' });
  });
});
