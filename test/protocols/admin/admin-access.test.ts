import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type AdminAccount, isAccountChanged } from '#actors/tenant/messages.ts';
import { AdminAccess } from '#protocols/admin/admin-access.ts';
import type { AccountNews } from '#runtime/access/account-news.ts';
import { AdminTokens } from '#runtime/access/admin-tokens.ts';
import { apiKeyTag, newApiKey } from '#runtime/access/api-key.ts';
import type { Router } from '#runtime/actor/ports.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { adminOf, callerAs, HostFixture } from '#test/support/host-fixture.ts';
import { settle, TestClock } from '#test/support/test-clock.ts';

const actor = 'default/tenant';

/** A member: what it knows of accounts, and how it reaches their owner. */
interface TestMember {
  readonly access: AdminAccess;
  isConnected: boolean;
  /** Queries that were sent. */
  sent: string[];
}

let clock: TestClock;
let fixture: HostFixture;
let tokens: AdminTokens;
/** Listeners of all members, by member. */
let listeners: { readonly hear: (tenant: string, userId: string) => void; readonly doubt: () => void }[];
let isHeard: boolean;
let owner: TestMember;
let other: TestMember;

beforeEach(async () => {
  clock = new TestClock();
  fixture = await HostFixture.open(undefined, undefined, clock);
  tokens = new AdminTokens('a secret of the tests, long enough', clock, systemRandom);
  listeners = [];
  isHeard = true;
  await fixture.host.create(actor);
  const admin = { username: 'admin', email: null, passwordHash: 'hash', mustChangePassword: false };
  await fixture.command(actor, { type: 'BootstrapTenant', tenantId: 'default', admin } as never);
  owner = member();
  other = member();
});

afterEach(() => fixture.close());

/** A member that is not the owner asks over a link, so each answer comes later. */
function member(): TestMember {
  const index = listeners.length;
  const link: Omit<TestMember, 'access'> = { isConnected: true, sent: [] };
  const lost = (): Promise<never> => Promise.reject(new ServiceError('NOT_OWNER'));
  const router: Router = {
    command: (id, command, delivery) =>
      link.isConnected ? fixture.host.command(id, command, delivery) : lost(),
    query: (id, query, caller) => {
      link.sent.push((query as { type: string }).type);
      if (!link.isConnected) return lost();
      return Promise.resolve().then(() => fixture.host.query(id, query, caller));
    },
  };
  const news: AccountNews = {
    tell: (tenant, userId) => {
      if (isHeard)
        for (const [each, { hear }] of listeners.entries()) if (each !== index) hear(tenant, userId);
    },
    listen: (hear, doubt) => void listeners.push({ hear, doubt }),
  };
  const access = new AdminAccess({ router, clock, tokens, news });
  return Object.assign(link, { access });
}

function account(): AdminAccount {
  return fixture.query<AdminAccount>(actor, { type: 'FindAdmin', username: 'admin' } as never);
}

/** Carries out a command at the owner, which hears of its events. */
async function change(command: { type: string } & Record<string, unknown>): Promise<void> {
  const before = fixture.events.length;
  await fixture.command(actor, command, callerAs(adminOf('default', account().user_id)));
  for (const event of fixture.events.slice(before))
    if (isAccountChanged(event)) owner.access.changed('default', event.userId);
}

async function login(): Promise<string> {
  const { access_flags, must_change_password, password_changed_ms, user_id, username } = account();
  const { token } = await tokens.issue({
    tenant: 'default',
    userId: user_id,
    username,
    accessFlags: access_flags,
    mustChangePassword: must_change_password,
    passwordChangedMs: password_changed_ms,
    via: 'console',
  });
  return token;
}

async function key(): Promise<string> {
  const { keyPrefix, token, tokenHash } = newApiKey('default', systemRandom);
  await change({ type: 'CreateApiKey', name: 'key', keyPrefix, tokenHash });
  return token;
}

async function answer(work: () => unknown): Promise<unknown> {
  try {
    await work();
    return 'admitted';
  } catch (error) {
    return (error as ServiceError).code;
  }
}

describe('administrators at several members', () => {
  it('are admitted without a further read while what is known is fresh', async () => {
    const token = await login();
    await other.access.verifyToken(token);
    const again = other.access.verifyToken(token);
    expect(again).not.toBeInstanceOf(Promise);
    expect(again).toMatchObject({ principal: { kind: 'admin', tenant: 'default', username: 'admin' } });
    expect(other.sent).toEqual(['FindAdmin']);
  });

  it('are refused everywhere when the owner has told, with the present flags until then', async () => {
    const token = await login();
    const apiKey = await key();
    const members = [owner, other];
    for (const { access } of members) {
      await access.verifyToken(token);
      await access.verifyKey(apiKey);
    }
    await change({
      type: 'UpdateAdmin',
      username: 'admin',
      changes: { access_flags: { can_impersonate: true } },
    });
    for (const { access } of members)
      expect(await access.verifyToken(token)).toMatchObject({
        principal: { accessFlags: { can_impersonate: true } },
      });
    const { keyId } = fixture.query<{ keyId: string }>(actor, {
      type: 'FindApiKey',
      tokenHash: account().api_keys?.[0]?.token_hash,
    } as never);
    await change({ type: 'RevokeApiKey', keyId });
    for (const { access } of members) {
      expect(await answer(() => access.verifyKey(apiKey))).toBe('UNAUTHORIZED');
      expect(await answer(() => access.verifyToken(token))).toBe('admitted');
    }
    await change({
      type: 'ChangeAdminPassword',
      userId: account().user_id,
      oldPasswordHash: 'hash',
      passwordHash: 'hash-2',
    });
    for (const { access } of members)
      expect(await answer(() => access.verifyToken(token))).toBe('UNAUTHORIZED');
  });

  it('are present after their login has ended, and not without account, key or flag', async () => {
    await key();
    const [stored] = account().api_keys ?? [];
    const plain = adminOf('default', account().user_id);
    const keyed = { ...plain, apiKeyId: stored?.key_id as string };
    const { tenant, userId, username } = plain;
    const acting = { kind: 'impersonating', tenant, userId, username, user: '/users/ada' } as const;
    const ask = (who: Parameters<AdminAccess['present']>[0]) => answer(() => other.access.present(who));
    const all = async () => [await ask(plain), await ask(keyed), await ask(acting)];
    const update = (changes: object) => change({ type: 'UpdateAdmin', username: 'admin', changes });
    await update({ access_flags: { can_impersonate: true, api_access: true } });
    await change({ type: 'ChangeAdminPassword', userId, oldPasswordHash: 'hash', passwordHash: 'hash-2' });
    expect(await all()).toEqual(['admitted', 'admitted', 'admitted']);
    expect(await other.access.present(keyed)).toMatchObject({ apiKeyId: stored?.key_id });
    await update({ access_flags: { can_impersonate: false } });
    expect(await all()).toEqual(['admitted', 'admitted', 'INSUFFICIENT_PERMISSIONS']);
    await update({ access_flags: { api_access: false } });
    expect(await ask(keyed)).toBe('INSUFFICIENT_PERMISSIONS');
    await update({ access_flags: { api_access: true } });
    await change({ type: 'RevokeApiKey', keyId: stored?.key_id });
    expect([await ask(plain), await ask(keyed)]).toEqual(['admitted', 'UNAUTHORIZED']);
    expect(await ask(adminOf('default', 'nobody'))).toBe('UNAUTHORIZED');
  });

  it('are not present while the account is deactivated or has to change its password', async () => {
    const made = { username: 'bea', email: null, passwordHash: 'hash', mustChangePassword: true };
    const { accessFlags } = adminOf('default');
    await change({ type: 'CreateAdmin', ...made, accessFlags });
    const bea = fixture.query<AdminAccount>(actor, { type: 'FindAdmin', username: 'bea' } as never);
    const ask = () => answer(() => other.access.present(adminOf('default', bea.user_id)));
    expect(await ask()).toBe('PASSWORD_CHANGE_REQUIRED');
    await change({ type: 'UpdateAdmin', username: 'bea', changes: { is_active: false } });
    expect(await ask()).toBe('ACCOUNT_DISABLED');
    await change({ type: 'DeleteAdmin', username: 'bea' });
    expect(await ask()).toBe('UNAUTHORIZED');
  });

  it('are refused within seconds at a member that was not told', async () => {
    const token = await login();
    await other.access.verifyToken(token);
    isHeard = false;
    await change({
      type: 'UpdateAdmin',
      username: 'admin',
      changes: { access_flags: { cli_access: false } },
    });
    expect(await other.access.verifyToken(token)).toMatchObject({
      principal: { accessFlags: { cli_access: true } },
    });
    clock.advance(5_000);
    expect(await other.access.verifyToken(token)).toMatchObject({
      principal: { accessFlags: { cli_access: false } },
    });
  });

  it('are compared again at a member that was disconnected', async () => {
    const token = await login();
    await other.access.verifyToken(token);
    isHeard = false;
    await change({
      type: 'UpdateAdmin',
      username: 'admin',
      changes: { access_flags: { cli_access: false } },
    });
    listeners[1]?.doubt();
    expect(await other.access.verifyToken(token)).toMatchObject({
      principal: { accessFlags: { cli_access: false } },
    });
  });

  it('stay admitted while the accounts cannot be read, for some minutes and where they were before', async () => {
    const token = await login();
    const apiKey = await key();
    await other.access.verifyToken(token);
    await other.access.verifyKey(apiKey);
    other.isConnected = false;
    clock.advance(299_000);
    expect(await answer(() => other.access.verifyToken(token))).toBe('admitted');
    expect(await answer(() => other.access.verifyKey(apiKey))).toBe('admitted');
    clock.advance(1_000);
    expect(await answer(() => other.access.verifyToken(token))).toBe('NOT_OWNER');
    const third = member();
    third.isConnected = false;
    expect(await answer(() => third.access.verifyToken(token))).toBe('NOT_OWNER');
    expect(await answer(() => third.access.verifyKey(apiKey))).toBe('NOT_OWNER');
  });

  it('are not admitted by what a member was told to forget, however it is connected', async () => {
    const token = await login();
    await other.access.verifyToken(token);
    other.isConnected = false;
    await change({
      type: 'UpdateAdmin',
      username: 'admin',
      changes: { access_flags: { cli_access: false } },
    });
    expect(await answer(() => other.access.verifyToken(token))).toBe('NOT_OWNER');
  });

  it('see what is needed during an outage with a token alone, unless the account is known to have changed', async () => {
    const token = await login();
    const inOutage = (seen: TestMember) => answer(() => seen.access.verifyTokenInOutage(token));
    const third = member();
    third.isConnected = false;
    expect(await inOutage(third)).toBe('admitted');
    expect(await answer(() => third.access.verifyTokenInOutage('garbage'))).toBe('UNAUTHORIZED');
    await change({
      type: 'ChangeAdminPassword',
      userId: account().user_id,
      oldPasswordHash: 'hash',
      passwordHash: 'hash-2',
    });
    expect(await inOutage(other)).toBe('UNAUTHORIZED');
    expect(await inOutage(third)).toBe('admitted');
  });

  it('do not wait long for what is needed during an outage', async () => {
    const token = await login();
    const silent = new AdminAccess({
      router: { command: () => new Promise(() => {}), query: () => new Promise(() => {}) },
      clock,
      tokens,
    });
    // Known by now, so that the account is asked for in the next turn.
    await tokens.verify(token);
    const asked = silent.verifyTokenInOutage(token);
    await settle();
    clock.advance(1_000);
    expect(await asked).toMatchObject({ principal: { kind: 'admin' } });
  });

  it('are admitted with a new password and a new key, whatever a member knew before', async () => {
    await other.access.verifyToken(await login());
    isHeard = false;
    await change({
      type: 'ChangeAdminPassword',
      userId: account().user_id,
      oldPasswordHash: 'hash',
      passwordHash: 'hash-2',
    });
    expect(await answer(async () => other.access.verifyToken(await login()))).toBe('admitted');
    expect(await answer(async () => other.access.verifyKey(await key()))).toBe('admitted');
  });
});

describe('keys that are of nobody', () => {
  it('are looked up once, and never when they have another shape', async () => {
    const unknown = `svc_${apiKeyTag('default')}${'x'.repeat(26)}`;
    for (let times = 0; times < 3; times += 1)
      expect(await answer(() => other.access.verifyKey(unknown))).toBe('UNAUTHORIZED');
    expect(other.sent).toEqual(['FindTenantsByTag', 'FindApiKey']);
    expect(await answer(() => other.access.verifyKey(`svc_${'-'.repeat(32)}`))).toBe('UNAUTHORIZED');
    expect(other.sent).toHaveLength(2);
  });

  it('are looked up a few at a time, and refused when too many wait', async () => {
    const flood = Array.from({ length: 300 }, (_, index) => `svc_${String(index).padStart(32, '0')}`);
    const answers = flood.map((token) => answer(() => other.access.verifyKey(token)));
    await settle();
    const codes = await Promise.all(answers);
    expect(codes.filter((code) => code === 'OVERLOADED')).toHaveLength(300 - 16 - 256);
    expect(codes.filter((code) => code === 'UNAUTHORIZED')).toHaveLength(16 + 256);
  });

  it('do not keep a known key from being used', async () => {
    const apiKey = await key();
    await other.access.verifyKey(apiKey);
    const flood = Array.from({ length: 300 }, (_, index) =>
      answer(() => other.access.verifyKey(`svc_${String(index).padStart(32, '0')}`)),
    );
    expect(await answer(() => other.access.verifyKey(apiKey))).toBe('admitted');
    await Promise.all(flood);
  });
});
