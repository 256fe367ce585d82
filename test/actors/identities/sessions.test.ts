import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { IdentitiesTable } from '#actors/identities/identities-tables.ts';
import type { Session } from '#actors/identities/messages.ts';
import { ENDED_SESSIONS_MAX } from '#actors/identities/sessions.ts';
import { defaultAuthConfiguration } from '#runtime/access/identity/auth-configuration.ts';
import { type HeldSession, hashOf, IdentitiesFixture } from '#test/support/identities-fixture.ts';

const ann = 'ann@example.org';
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

let real: IdentitiesFixture;
let held: HeldSession;

beforeAll(async () => {
  real = await IdentitiesFixture.open();
});

afterAll(() => real.close());

beforeEach(async () => {
  await real.begin();
  held = await real.register(ann);
});

async function sessionsMax(most: number, isSingle = false): Promise<void> {
  const { session_settings: settings } = defaultAuthConfiguration;
  await real.configure({
    session_settings: { ...settings, max_sessions_per_user: most, single_session_mode: isSingle },
  });
}

const listed = (): readonly string[] => real.sessions(held.identityId).map(({ session_id: id }) => id);

describe('a refresh', () => {
  it('exchanges the token, and keeps the session with its time of login and repository', async () => {
    const scoped = await real.open(
      { kind: 'password', email: ann, judged: hashOf('right') },
      { repository: 'site' },
    );
    real.clock.advance(10 * MINUTE);
    const before = scoped.opened.session;
    const next = (await real.refresh(scoped)) as HeldSession;
    expect(next).toMatchObject({ sessionId: scoped.sessionId, family: scoped.family, generation: 2 });
    const [after] = real.sessions(held.identityId).filter(({ session_id: id }) => id === scoped.sessionId);
    expect(after).toEqual({
      ...before,
      token_generation: 2,
      last_active_ms: before.created_ms + 10 * MINUTE,
    });
    expect(after).toMatchObject({ repository: 'site', created_ms: before.created_ms });
    expect(await real.refresh(next)).toMatchObject({ generation: 3 });
  });

  it('with a used token ends the session, also for who has the newest one', async () => {
    const next = (await real.refresh(held)) as HeldSession;
    expect(await real.refresh(held)).toBe('TOKEN_REUSE_DETECTED');
    expect(await real.refresh(next)).toBe('SESSION_REVOKED');
    expect(await real.refresh(held)).toBe('SESSION_REVOKED');
    expect(listed()).toEqual([]);
  });

  it('of one token by many at once has one winner, and ends the session', async () => {
    const answers = await Promise.all(Array.from({ length: 8 }, () => real.refresh(held)));
    expect(answers.filter((answer) => typeof answer !== 'string')).toHaveLength(1);
    expect(answers.filter((answer) => answer === 'TOKEN_REUSE_DETECTED')).toHaveLength(1);
    expect(answers.filter((answer) => answer === 'SESSION_REVOKED')).toHaveLength(6);
  });

  it('with a token that was never issued ends the session', async () => {
    const forged = { ...held, tokenHash: 'other' };
    expect(await real.refresh(forged)).toBe('TOKEN_REUSE_DETECTED');
    expect(await real.refresh(held)).toBe('SESSION_REVOKED');
    const later = await real.logIn(ann, 'right');
    expect(await real.refresh({ ...later, generation: 2 })).toBe('TOKEN_REUSE_DETECTED');
    const mixed = await real.logIn(ann, 'right');
    expect(await real.refresh({ ...mixed, family: held.family })).toBe('TOKEN_FAMILY_MISMATCH');
    expect(await real.refresh(mixed)).toBe('SESSION_REVOKED');
  });

  it('is refused in the order of the interface', async () => {
    const wrong = { family: 'x', generation: 9, tokenHash: 'x' };
    expect(await real.refresh({ ...held, ...wrong, sessionId: 'none' })).toBe('SESSION_NOT_FOUND');
    expect(await real.refresh({ ...held, ...wrong, identityId: 'nobody' })).toBe('SESSION_NOT_FOUND');
    const { identityId, sessionId } = held;
    await real.send({ type: 'UpdateIdentity', identityId, changes: { is_active: false } });
    real.clock.advance(DAY);
    expect(await real.refresh({ ...held, ...wrong })).toBe('SESSION_EXPIRED');
    // Its end is told of before its time, which does not end it once more.
    await real.send({ type: 'RevokeSession', identityId, sessionId, reason: 'revoked' });
    expect(await real.refresh({ ...held, ...wrong })).toBe('SESSION_EXPIRED');
    await real.send({ type: 'UpdateIdentity', identityId, changes: { is_active: true } });
    const next = await real.logIn(ann, 'right');
    await real.send({ type: 'UpdateIdentity', identityId, changes: { is_active: false } });
    // Nothing is lost by it: the account may be activated again.
    expect(await real.refresh(next)).toBe('ACCOUNT_DISABLED');
    expect(await real.refresh({ ...next, generation: 9 })).toBe('TOKEN_REUSE_DETECTED');
    expect(await real.refresh(next)).toBe('SESSION_REVOKED');
  });
});

describe('a session', () => {
  it('ends after 24 hours, or 30 days for who wants to be remembered, however often it is used', async () => {
    let short = held;
    let long = await real.logIn(ann, 'right', { rememberMe: true });
    for (let hour = 0; hour < 23; hour += 1) {
      real.clock.advance(HOUR);
      short = (await real.refresh(short)) as HeldSession;
      long = (await real.refresh(long)) as HeldSession;
    }
    real.clock.advance(HOUR - 1);
    short = (await real.refresh(short)) as HeldSession;
    real.clock.advance(1);
    expect(await real.refresh(short)).toBe('SESSION_EXPIRED');
    expect(listed()).toEqual([long.sessionId]);
    real.clock.advance(29 * DAY - 1);
    long = (await real.refresh(long)) as HeldSession;
    real.clock.advance(1);
    expect(await real.refresh(long)).toBe('SESSION_EXPIRED');
    expect(listed()).toEqual([]);
  });

  it('of another person is not found, and is not ended', async () => {
    const ben = await real.register('ben@example.org');
    const revoke = { type: 'RevokeSession', identityId: ben.identityId, reason: 'revoked' } as const;
    for (const sessionId of [held.sessionId, 'none', '', 'x'.repeat(5_000), `${ben.sessionId}\0`])
      await expect(real.send({ ...revoke, sessionId })).rejects.toMatchObject({ code: 'NOT_FOUND' });
    expect(await real.refresh(held)).toMatchObject({ generation: 2 });
  });

  it('is ended once; who logs out twice is not told of an error', async () => {
    const { identityId, sessionId } = held;
    const revoke = { type: 'RevokeSession', identityId, sessionId, reason: 'logged_out' } as const;
    await real.send(revoke);
    await real.send(revoke);
    expect(await real.refresh(held)).toBe('SESSION_REVOKED');
  });

  it('that has ended ends no others', async () => {
    const { identityId } = held;
    const other = await real.logIn(ann, 'right');
    const asking = { askingSessionId: held.sessionId };
    const revoke = { type: 'RevokeSession', identityId, reason: 'revoked', ...asking } as const;
    await real.send({ ...revoke, sessionId: held.sessionId });
    const refused = expect.objectContaining({ code: 'UNAUTHORIZED' });
    for (const sessionId of [other.sessionId, held.sessionId])
      await expect(real.send({ ...revoke, sessionId })).rejects.toEqual(refused);
    expect(await real.refresh(other)).toMatchObject({ generation: 2 });
  });

  it('is told of when it was last used, to five minutes', async () => {
    const { identityId, sessionId } = held;
    const started = real.clock.wallMs();
    const note = async (): Promise<number | undefined> => {
      await real.send({ type: 'NoteActivity', identityId, sessionId });
      return real.sessions(identityId)[0]?.last_active_ms;
    };
    real.clock.advance(5 * MINUTE - 1);
    expect(await note()).toBe(started);
    real.clock.advance(1);
    expect(await note()).toBe(started + 5 * MINUTE);
    await real.send({ type: 'NoteActivity', identityId, sessionId: 'none' });
    await real.send({ type: 'RevokeSession', identityId, sessionId, reason: 'revoked' });
    real.clock.advance(HOUR);
    expect(await note()).toBeUndefined();
  });

  it('cannot take the id of another one', async () => {
    const proof = { kind: 'password', email: ann, judged: hashOf('right') } as const;
    await expect(real.open(proof, { sessionId: held.sessionId })).rejects.toMatchObject({ code: 'CONFLICT' });
  });
});

describe('the sessions of a person', () => {
  it('are listed newest first', async () => {
    const ids = [held.sessionId];
    for (let index = 0; index < 3; index += 1) {
      real.clock.advance(1_000);
      ids.unshift((await real.logIn(ann, 'right')).sessionId);
    }
    expect(listed()).toEqual(ids);
    const [first] = real.sessions(held.identityId) as [Session];
    expect(Object.keys(first).sort()).toEqual([
      'auth_strategy',
      'created_ms',
      'expires_ms',
      'ip_address',
      'last_active_ms',
      'repository',
      'session_id',
      'token_generation',
      'user_agent',
    ]);
  });

  it('are as many as the tenant permits: another one ends the oldest', async () => {
    await sessionsMax(2);
    real.clock.advance(1_000);
    const second = await real.logIn(ann, 'right');
    real.clock.advance(1_000);
    const third = await real.logIn(ann, 'right');
    expect(listed()).toEqual([third.sessionId, second.sessionId]);
    expect(await real.refresh(held)).toBe('SESSION_REVOKED');
    await sessionsMax(9, true);
    const only = await real.logIn(ann, 'right');
    expect(listed()).toEqual([only.sessionId]);
  });

  it('are ten at most without a configuration', async () => {
    for (let index = 0; index < 12; index += 1) {
      real.clock.advance(1);
      await real.logIn(ann, 'right');
    }
    expect(listed()).toHaveLength(10);
  });

  it('end together, except the one that is named', async () => {
    const other = await real.logIn(ann, 'right');
    const ben = await real.register('ben@example.org');
    const { identityId, sessionId } = held;
    const revoke = { type: 'RevokeSessions', identityId, exceptSessionId: sessionId } as const;
    expect(await real.send(revoke)).toBe(1);
    expect(await real.refresh(other)).toBe('SESSION_REVOKED');
    expect(await real.refresh(ben)).toMatchObject({ generation: 2 });
    expect(await real.send({ type: 'RevokeSessions', identityId })).toBe(1);
    expect(listed()).toEqual([]);
  });

  it('that have ended are stored in bounded number, and until no token of them can be good', async () => {
    await sessionsMax(1);
    const opened: HeldSession[] = [held];
    for (let index = 0; index < ENDED_SESSIONS_MAX + 5; index += 1) {
      real.clock.advance(1);
      opened.push(await real.logIn(ann, 'right'));
    }
    const [first, , , , , kept] = opened as [HeldSession, ...HeldSession[]];
    expect(await real.refresh(first)).toBe('SESSION_NOT_FOUND');
    expect(await real.refresh(kept as HeldSession)).toBe('SESSION_REVOKED');
    const newest = opened.at(-1) as HeldSession;
    real.clock.advance(31 * DAY - 1);
    expect(await real.refresh(newest)).toBe('SESSION_EXPIRED');
    real.clock.advance(1);
    expect(await real.refresh(newest)).toBe('SESSION_NOT_FOUND');
    // Each login removes two of them.
    for (let index = 0; index < 60; index += 1) await real.logIn(ann, 'right');
    expect(await real.rowsOf(IdentitiesTable.sessions)).toBe(ENDED_SESSIONS_MAX + 1);
    real.clock.advance(31 * DAY);
    for (let index = 0; index < 30; index += 1) await real.logIn(ann, 'right');
    expect(await real.rowsOf(IdentitiesTable.sessions)).toBe(30);
  });
});
