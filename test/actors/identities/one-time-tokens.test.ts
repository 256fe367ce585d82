import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { IdentitiesTable } from '#actors/identities/identities-tables.ts';
import type { Credentials, IssuedOneTimeToken, IssueOneTimeToken } from '#actors/identities/messages.ts';
import { hashOf, IdentitiesFixture, placeOf } from '#test/support/identities-fixture.ts';

const ann = 'ann@example.org';
const MINUTE = 60_000;

let real: IdentitiesFixture;

beforeAll(async () => {
  real = await IdentitiesFixture.open();
});

afterAll(() => real.close());

beforeEach(() => real.begin());

function issue(tokenHash: string, more: Partial<IssueOneTimeToken> = {}): Promise<IssuedOneTimeToken> {
  return real.send({
    type: 'IssueOneTimeToken',
    kind: 'magic_link',
    email: ann,
    tokenHash,
    payload: {},
    ...more,
  });
}

const use = (tokenHash: string, kind: 'password_reset' | 'workspace_invite' = 'password_reset') =>
  real.send({ type: 'UseOneTimeToken', kind, tokenHash });

const unauthorized = { code: 'UNAUTHORIZED' };

describe('a one-time token', () => {
  it('is good once, for what it was made for', async () => {
    const { identityId } = await real.register(ann);
    await issue('reset', { kind: 'password_reset', payload: { redirect: '/x' } });
    await expect(use('reset', 'workspace_invite')).rejects.toMatchObject(unauthorized);
    await expect(real.open({ kind: 'magic_link', tokenHash: 'reset' })).rejects.toMatchObject(unauthorized);
    const both = await Promise.allSettled([use('reset'), use('reset')]);
    expect(both).toMatchObject([
      { status: 'fulfilled', value: { emailKey: ann, identityId, payload: { redirect: '/x' } } },
      { status: 'rejected', reason: unauthorized },
    ]);
    for (const hash of ['none', '', 'x'.repeat(9_999), 'a\0b'])
      await expect(use(hash)).rejects.toMatchObject(unauthorized);
  });

  it('lasts as long as its kind, a link as long as the tenant says', async () => {
    const minutes = {
      magic_link: 15,
      password_reset: 60,
      email_verification: 1_440,
      account_activation: 10_080,
      workspace_invite: 10_080,
      cli_login: 10,
    } as const;
    for (const [kind, lasts] of Object.entries(minutes)) {
      const { expiresMs } = await issue(kind, { kind: kind as keyof typeof minutes });
      expect(expiresMs - real.clock.wallMs()).toBe(lasts * MINUTE);
    }
    await real.configure({ magic_link: { enabled: true, token_ttl_minutes: 2 } });
    expect((await issue('short')).expiresMs - real.clock.wallMs()).toBe(2 * MINUTE);
    real.clock.advance(60 * MINUTE - 1);
    await issue('other', { kind: 'password_reset' });
    await use('password_reset');
    real.clock.advance(60 * MINUTE);
    await expect(use('other')).rejects.toMatchObject(unauthorized);
  });

  it('is one of five of its kind and address; another one makes the first useless', async () => {
    for (let index = 0; index < 6; index += 1) {
      real.clock.advance(1);
      await issue(`token ${index}`, { kind: 'password_reset' });
    }
    await issue('another kind', { kind: 'workspace_invite' });
    await issue('another address', { kind: 'password_reset', email: 'ben@example.org' });
    await expect(use('token 0')).rejects.toMatchObject(unauthorized);
    for (let index = 1; index < 6; index += 1) await use(`token ${index}`);
    await use('another address');
  });

  it('has a payload of a bounded size', async () => {
    const tooLarge = { payload: { text: 'x'.repeat(9_000) } };
    await expect(issue('large', tooLarge)).rejects.toMatchObject({ code: 'VALIDATION_FAILED' });
  });

  it('cannot be stored twice', async () => {
    await issue('same');
    await expect(issue('same', { email: 'ben@example.org' })).rejects.toMatchObject({ code: 'CONFLICT' });
  });

  it('is removed by later ones after its time', async () => {
    for (let index = 0; index < 9; index += 1)
      await issue(`old ${index}`, { email: `user-${index}@example.org` });
    real.clock.advance(15 * MINUTE);
    for (let index = 0; index < 5; index += 1)
      await issue(`new ${index}`, { email: `user-${index}@example.org` });
    expect(await real.rowsOf(IdentitiesTable.tokens)).toBe(5);
    expect(await real.rowsOf(IdentitiesTable.tokenHashes)).toBe(5);
  });
});

describe('a magic link', () => {
  it('logs in whoever has it, once, also where passwords are locked', async () => {
    await real.register(ann);
    for (let index = 0; index < 5; index += 1)
      await real.logIn(ann, 'wrong', { place: placeOf('new') }).catch(() => undefined);
    await issue('link', { email: 'ANN@example.org' });
    const { opened } = await real.open({ kind: 'magic_link', tokenHash: 'link' }, { place: placeOf('new') });
    expect(opened).toMatchObject({
      session: { auth_strategy: 'magic_link' },
      identity: { email: ann, email_verified: true },
      mustChangePassword: false,
    });
    await expect(real.open({ kind: 'magic_link', tokenHash: 'link' })).rejects.toMatchObject(unauthorized);
  });

  it('for an address without an account logs nobody in', async () => {
    await issue('link');
    await expect(real.open({ kind: 'magic_link', tokenHash: 'link' })).rejects.toMatchObject(unauthorized);
  });

  it('is refused while links are switched off, and for a deactivated account', async () => {
    const { identityId } = await real.register(ann);
    await issue('link');
    await real.send({ type: 'UpdateIdentity', identityId, changes: { is_active: false } });
    await expect(real.open({ kind: 'magic_link', tokenHash: 'link' })).rejects.toMatchObject({
      code: 'ACCOUNT_DISABLED',
    });
    await real.configure({ magic_link: { enabled: false, token_ttl_minutes: 15 } });
    await expect(issue('another')).rejects.toMatchObject({ code: 'FORBIDDEN' });
    await expect(real.open({ kind: 'magic_link', tokenHash: 'link' })).rejects.toMatchObject({
      code: 'FORBIDDEN',
    });
  });

  it('ends with its account, also for whoever has the address next', async () => {
    const { identityId } = await real.register(ann);
    await issue('link');
    await real.send({ type: 'DeleteIdentity', identityId });
    await real.register(ann);
    await expect(real.open({ kind: 'magic_link', tokenHash: 'link' })).rejects.toMatchObject(unauthorized);
  });

  it('takes an address back from a stranger who registered it', async () => {
    const stranger = await real.register(ann, 'stranger', placeOf('stranger'));
    await issue('link');
    const own = await real.open({ kind: 'magic_link', tokenHash: 'link' }, { place: placeOf('home') });
    expect(await real.refresh(stranger)).toBe('SESSION_REVOKED');
    for (const place of ['stranger', 'home'])
      await expect(real.logIn(ann, 'stranger', { place: placeOf(place) })).rejects.toMatchObject({
        code: 'INVALID_CREDENTIALS',
      });
    // Nor is the place of the stranger known any more, which would spare it locks.
    const known = (place: string): boolean =>
      real.ask<Credentials>({ type: 'FindCredentials', email: ann, place: placeOf(place) }).isKnownPlace;
    expect([known('stranger'), known('home')]).toEqual([false, true]);
    // The person sets a password of their own. The stranger, whose access token has not expired yet, sets none.
    const { identityId } = stranger;
    const set = { type: 'SetPassword', identityId, judged: null } as const;
    for (const session of [{ keptSessionId: stranger.sessionId }, { keptSessionId: 'unknown' }, {}])
      await expect(real.send({ ...set, passwordHash: hashOf('stranger'), ...session })).rejects.toMatchObject(
        { code: 'UNAUTHORIZED' },
      );
    await real.send({ ...set, passwordHash: hashOf('own'), keptSessionId: own.sessionId });
    await real.logIn(ann, 'own');
  });

  it('keeps the password of an address that was proven before, or from a place where it was used', async () => {
    await real.register(ann);
    await issue('first');
    await real.open({ kind: 'magic_link', tokenHash: 'first' });
    await real.logIn(ann, 'right');
    await issue('second');
    await real.open({ kind: 'magic_link', tokenHash: 'second' }, { place: placeOf('abroad') });
    await real.logIn(ann, 'right');
  });
});
