import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type {
  Identity,
  ReadConfiguration,
  Registered,
  RegisterIdentity,
} from '#actors/identities/messages.ts';
import { defaultAuthConfiguration } from '#runtime/access/identity/auth-configuration.ts';
import { callers } from '#test/support/host-fixture.ts';
import { hashOf, IdentitiesFixture, placeOf } from '#test/support/identities-fixture.ts';
import { providerChange } from '#test/support/provider-change.ts';

let real: IdentitiesFixture;

beforeAll(async () => {
  real = await IdentitiesFixture.open();
});

afterAll(() => real.close());

beforeEach(() => real.begin());

function registration(email: string, more: Partial<RegisterIdentity> = {}): RegisterIdentity {
  return { type: 'RegisterIdentity', email, passwordHash: hashOf('right'), ...more };
}

describe('registering', () => {
  it('makes an account that can log in, named by its address unless it is given a name', async () => {
    const session = real.newSession();
    const { identity, opened } = await real.send<Registered>(registration('Ann@Example.org', { session }));
    expect(identity).toMatchObject({
      email: 'Ann@Example.org',
      email_verified: false,
      display_name: 'Ann',
      avatar_url: null,
      is_active: true,
      is_tenant_admin: false,
      linked_providers: [],
      has_password: true,
      must_change_password: false,
    });
    expect(opened?.session).toMatchObject({ auth_strategy: 'local', token_generation: 1 });
    expect(JSON.stringify({ identity, opened })).not.toContain('hash of');
    await real.logIn('ann@example.org', 'right');
    const named = await real.send<Registered>(registration('ben@example.org', { displayName: '  Ben B. ' }));
    expect(named.identity.display_name).toBe('Ben B.');
    expect(named.opened).toBeUndefined();
  });

  it('takes an address once, however its letters are written', async () => {
    await real.register('Ünï@example.org');
    for (const email of [
      'ünï@EXAMPLE.org',
      'ÜNÏ@example.org',
      'u\u0308ni\u0308@example.org',
      ' Ünï@example.org ',
    ])
      await expect(real.send(registration(email))).rejects.toMatchObject({
        code: 'EMAIL_EXISTS',
        message: 'An account with this email already exists',
      });
    const both = await Promise.allSettled([
      real.register('two@example.org'),
      real.register('TWO@example.org'),
    ]);
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  });

  it('refuses what is no address', async () => {
    const long = `${'x'.repeat(250)}@example.org`;
    for (const email of [
      '',
      'ann',
      '@',
      'ann@',
      '@example.org',
      'a b@c',
      'a@b@c',
      'a\0@b',
      'a\ud800@b',
      'a\n@b',
      long,
    ])
      await expect(real.send(registration(email))).rejects.toMatchObject({ code: 'INVALID_EMAIL' });
  });

  it('is refused while passwords are switched off, except for an administrator', async () => {
    await real.configure({ local_auth: { enabled: false } });
    await expect(real.register('ann@example.org')).rejects.toMatchObject({ code: 'FORBIDDEN' });
    await real.send(registration('ann@example.org'));
    await expect(real.logIn('ann@example.org', 'right')).rejects.toMatchObject({ code: 'FORBIDDEN' });
  });

  it('cuts a name that is too long between two characters', async () => {
    const { identity } = await real.send<Registered>(
      registration('ann@example.org', { displayName: `a${'\u{1f600}'.repeat(400)}` }),
    );
    expect([...identity.display_name]).toHaveLength(200);
    expect(identity.display_name.isWellFormed()).toBe(true);
  });
});

describe('who may ask', () => {
  it('is the engine for credentials and sessions, and an administrator for accounts', async () => {
    const { identityId } = await real.register('ann@example.org');
    const find = { type: 'FindIdentity', identityId } as const;
    expect(real.ask<Identity>(find, callers.admin)).toMatchObject({ email: 'ann@example.org' });
    for (const caller of [callers.otherTenant, callers.anonymous]) {
      expect(() => real.ask(find, caller)).toThrow(
        expect.objectContaining({ code: expect.stringMatching(/FORBIDDEN|UNAUTHORIZED/) }),
      );
      await expect(real.send({ type: 'DeleteIdentity', identityId }, caller)).rejects.toMatchObject({
        code: expect.stringMatching(/FORBIDDEN|UNAUTHORIZED/),
      });
    }
    for (const caller of [callers.admin, callers.otherTenant, callers.anonymous]) {
      const credentials = {
        type: 'FindCredentials',
        email: 'ann@example.org',
        place: placeOf('home'),
      } as const;
      expect(() => real.ask(credentials, caller)).toThrow(expect.objectContaining({ code: 'FORBIDDEN' }));
      const set = { type: 'SetPassword', identityId, judged: hashOf('right'), passwordHash: 'x' } as const;
      await expect(real.send(set, caller)).rejects.toMatchObject({ code: 'FORBIDDEN' });
      await expect(real.send(registration('x@y'), caller)).rejects.toMatchObject({ code: 'FORBIDDEN' });
      expect(() => real.ask({ type: 'ReadAuthentication' }, caller)).toThrow(
        expect.objectContaining({ code: 'FORBIDDEN' }),
      );
    }
  });

  it('takes only a hash for a place, so that no text of a client becomes a key', async () => {
    for (const place of ['', '*', 'short', 'a\0bcdefghijklmnopqrstuv', 'x'.repeat(65), 'ö'.repeat(20)]) {
      const session = real.newSession({ place });
      await expect(real.send(registration('ann@example.org', { session }))).rejects.toMatchObject({
        code: 'VALIDATION_FAILED',
      });
      expect(() => real.ask({ type: 'FindCredentials', email: 'ann@example.org', place })).toThrow(
        expect.objectContaining({ code: 'VALIDATION_FAILED' }),
      );
    }
    expect(real.identity('ann@example.org')).toBeUndefined();
  });
});

describe('changing an identity', () => {
  it('changes what is named, and nothing else', async () => {
    const { identityId } = await real.register('ann@example.org');
    const before = real.identity('ann@example.org') as Identity;
    real.clock.advance(1_000);
    const after = await real.send<Identity>({
      type: 'UpdateIdentity',
      identityId,
      changes: {
        display_name: 'Anna',
        email_verified: true,
        is_tenant_admin: true,
        must_change_password: true,
      },
    });
    expect(after).toEqual({
      ...before,
      display_name: 'Anna',
      email_verified: true,
      is_tenant_admin: true,
      must_change_password: true,
      updated_at: new Date(real.clock.wallMs()).toISOString(),
    });
    expect(real.identity('ann@example.org')).toEqual(after);
    await expect(
      real.send({ type: 'UpdateIdentity', identityId: 'nobody', changes: {} }),
    ).rejects.toMatchObject({ code: 'IDENTITY_NOT_FOUND' });
  });

  it('of a deactivated account refuses the right password with its own code, and a wrong one as ever', async () => {
    const held = await real.register('ann@example.org');
    const { identityId } = held;
    await real.send({ type: 'UpdateIdentity', identityId, changes: { is_active: false } });
    await expect(real.logIn('ann@example.org', 'right')).rejects.toMatchObject({ code: 'ACCOUNT_DISABLED' });
    await expect(real.logIn('ann@example.org', 'wrong')).rejects.toMatchObject({
      code: 'INVALID_CREDENTIALS',
    });
    expect(await real.refresh(held)).toBe('ACCOUNT_DISABLED');
    // Its sessions are there again when it is.
    await real.send({ type: 'UpdateIdentity', identityId, changes: { is_active: true } });
    expect(await real.refresh(held)).toMatchObject({ generation: 2 });
  });

  it('by deletion frees its address, and leaves nothing of it', async () => {
    const held = await real.register('ann@example.org');
    await real.send({ type: 'DeleteIdentity', identityId: held.identityId });
    expect(real.identity('ann@example.org')).toBeUndefined();
    expect(await real.refresh(held)).toBe('SESSION_NOT_FOUND');
    const again = await real.register('ANN@example.org', 'other');
    expect(again.identityId).not.toBe(held.identityId);
    await expect(real.logIn('ann@example.org', 'right')).rejects.toMatchObject({
      code: 'INVALID_CREDENTIALS',
    });
  });
});

describe('setting a password', () => {
  it('ends every other session, and links sent before', async () => {
    const held = await real.register('ann@example.org');
    const other = await real.logIn('ann@example.org', 'right');
    const issue = { type: 'IssueOneTimeToken', email: 'ann@example.org', payload: {} } as const;
    await real.send({ ...issue, kind: 'magic_link', tokenHash: 'link' });
    await real.send({ ...issue, kind: 'workspace_invite', tokenHash: 'invitation' });
    const set = {
      type: 'SetPassword',
      identityId: held.identityId,
      judged: hashOf('right'),
      passwordHash: hashOf('new'),
      keptSessionId: held.sessionId,
    } as const;
    await real.send(set);
    expect(await real.refresh(other)).toBe('SESSION_REVOKED');
    expect(await real.refresh(held)).toMatchObject({ generation: 2 });
    await expect(real.open({ kind: 'magic_link', tokenHash: 'link' })).rejects.toMatchObject({
      code: 'UNAUTHORIZED',
    });
    await real.send({ type: 'UseOneTimeToken', kind: 'workspace_invite', tokenHash: 'invitation' });
    await real.logIn('ann@example.org', 'new');
    // The old password was compared with what is not there any more.
    await expect(real.send(set)).rejects.toMatchObject({ code: 'CONFLICT' });
  });

  it('counts once when two change it at once', async () => {
    const { identityId } = await real.register('ann@example.org');
    const change = (to: string) =>
      real.send({ type: 'SetPassword', identityId, judged: hashOf('right'), passwordHash: hashOf(to) });
    const both = await Promise.allSettled([change('a'), change('b')]);
    expect(both.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
    await real.logIn('ann@example.org', 'a');
  });

  it('satisfies the demand for another one, which a login tells of', async () => {
    const { identityId } = await real.register('ann@example.org');
    await real.send({ type: 'UpdateIdentity', identityId, changes: { must_change_password: true } });
    const proof = { kind: 'password', email: 'ann@example.org', judged: hashOf('right') } as const;
    expect((await real.open(proof)).opened.mustChangePassword).toBe(true);
    await real.send({
      type: 'SetPassword',
      identityId,
      judged: hashOf('right'),
      passwordHash: hashOf('new'),
    });
    const held = await real.open({ ...proof, judged: hashOf('new') });
    expect(held.opened.mustChangePassword).toBe(false);
    // It grows old.
    await real.configure({
      password_policy: { ...defaultAuthConfiguration.password_policy, max_age_days: 2 },
    });
    const late = await real.open({ ...proof, judged: hashOf('new') }, { rememberMe: true });
    expect(late.opened.mustChangePassword).toBe(false);
    real.clock.advance(2 * 24 * 60 * 60 * 1000);
    const next = await real.send<{ opened: { mustChangePassword: boolean } }>({
      type: 'RefreshSession',
      ...late,
      nextTokenHash: 'next',
    });
    expect(next.opened.mustChangePassword).toBe(true);
  });
});

it('what decides whether tokens count is told when it has changed, once it is durable', async () => {
  const { identityId } = await real.register('ann@example.org');
  const told = async (command: Parameters<typeof real.send>[0]): Promise<unknown> => {
    real.host.events.length = 0;
    await real.send(command).catch(() => undefined);
    return [...real.host.events];
  };
  const changed = [{ type: 'IdentityChanged', identityId }];
  const set = {
    type: 'SetPassword',
    identityId,
    judged: hashOf('right'),
    passwordHash: hashOf('new'),
  } as const;
  expect(await told({ type: 'UpdateIdentity', identityId, changes: { is_active: true } })).toEqual(changed);
  expect(await told(set)).toEqual(changed);
  // It is refused, as the password is another one now.
  expect(await told(set)).toEqual([]);
  // What the nodes of the person say follows in the background.
  expect(await told({ type: 'DeleteIdentity', identityId })).toEqual([
    { type: 'UserStatusChanging' },
    ...changed,
  ]);
  expect(await told({ type: 'ConfigureAuthentication', change: {} })).toEqual([
    { type: 'AuthenticationConfigured' },
  ]);
});

describe('listing identities', () => {
  it('pages through them in the order they were made, and finds one by its address', async () => {
    const emails = Array.from({ length: 150 }, (_, index) => `user-${index}@example.org`);
    // One after the other, because those of one moment have no order.
    for (const email of emails) {
      real.clock.advance(1);
      await real.send(registration(email));
    }
    const page = (offset: number, limit: number, more = {}) =>
      real.ask<Promise<Identity[]>>({ type: 'ListIdentities', offset, limit, ...more }, callers.admin);
    const found = [...(await page(0, 100)), ...(await page(100, 100))];
    expect(found.map(({ email }) => email)).toEqual(emails);
    expect((await page(3, 2)).map(({ email }) => email)).toEqual([
      'user-3@example.org',
      'user-4@example.org',
    ]);
    expect((await page(0, 2, { email: 'USER-7@example.org' })).map(({ email }) => email)).toEqual([
      'user-7@example.org',
    ]);
    expect(await page(1, 2, { email: 'user-7@example.org' })).toEqual([]);
    const { identity_id: identityId } = found[5] as Identity;
    await real.send({ type: 'UpdateIdentity', identityId, changes: { is_active: false } });
    expect((await page(0, 10, { isActive: false })).map(({ identity_id: id }) => id)).toEqual([identityId]);
    expect(await page(0, 10, { isActive: true, email: 'user-5@example.org' })).toEqual([]);
    for (const [offset, limit] of [
      [0, 0],
      [0, 101],
      [-1, 1],
    ] as const)
      await expect(page(offset, limit)).rejects.toMatchObject({ code: 'VALIDATION_FAILED' });
  });
});

describe('encrypted secrets that are replaced', () => {
  const provider = (id: string, secret: string | null) => providerChange(id, { client_secret: secret });
  const replace = (replacements: readonly (readonly [string, string])[], caller = callers.engine) =>
    real.send<boolean>({ type: 'ReplaceSecrets', replacements }, caller);
  const secrets = () =>
    real
      .ask<ReadConfiguration>({ type: 'ReadAuthentication' })
      .configuration.oidc_providers.map(({ client_secret: secret }) => secret);

  it('are those that are still stored: what an administrator has changed meanwhile stays', async () => {
    expect(await replace([['old', 'new']])).toBe(false);
    await real.configure({
      oidc_providers: [provider('a', 'one'), provider('b', 'two'), provider('c', null)],
    });
    // As if they had been read before this change.
    await real.configure({ oidc_providers: [provider('a', 'changed'), provider('b', 'two')] });
    expect(
      await replace([
        ['one', 'one again'],
        ['two', 'two again'],
      ]),
    ).toBe(true);
    expect(secrets()).toEqual(['changed', 'two again']);
    real.host.events.length = 0;
    expect(await replace([['two', 'three']])).toBe(false);
    expect(real.host.events).toEqual([]);
    expect(await replace([['changed', 'changed again']])).toBe(true);
    // Who has read the configuration before reads it again.
    expect(real.host.events).toEqual([{ type: 'AuthenticationConfigured' }]);
  });

  it('are replaced by the engine only', async () => {
    await real.configure({ oidc_providers: [provider('a', 'one')] });
    for (const caller of [callers.admin, callers.otherTenant, callers.anonymous])
      await expect(replace([['one', 'mine']], caller)).rejects.toMatchObject({ code: 'FORBIDDEN' });
    expect(secrets()).toEqual(['one']);
  });
});

describe('the configuration', () => {
  it('has defaults until one is stored, which is merged part by part', async () => {
    expect(real.ask<ReadConfiguration>({ type: 'ReadAuthentication' })).toEqual({
      configuration: defaultAuthConfiguration,
      isStored: false,
    });
    const { configuration } = await real
      .configure({ magic_link: { enabled: false, token_ttl_minutes: 3 } })
      .then(() => real.ask<ReadConfiguration>({ type: 'ReadAuthentication' }));
    expect(configuration).toEqual({
      ...defaultAuthConfiguration,
      magic_link: { enabled: false, token_ttl_minutes: 3 },
    });
    await real.host.reopen();
    expect(real.ask<ReadConfiguration>({ type: 'ReadAuthentication' })).toEqual({
      configuration,
      isStored: true,
    });
  });
});
