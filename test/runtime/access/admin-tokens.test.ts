import { decodeJwt, SignJWT } from 'jose';
import { describe, expect, it } from 'vitest';
import { ADMIN_TOKEN_SECONDS, AdminTokens } from '#runtime/access/admin-tokens.ts';
import { type Clock, systemClock } from '#runtime/base/time/clock.ts';
import { systemRandom } from '#runtime/base/random.ts';

const subject = {
  tenant: 'acme',
  userId: 'user-1',
  username: 'boss',
  accessFlags: {
    console_login: true,
    cli_access: false,
    api_access: true,
    pgwire_access: false,
    can_impersonate: true,
  },
  mustChangePassword: false,
  passwordChangedMs: 17,
  via: 'cli',
} as const;

function clockAt(start: number): Clock & { nowMs: number } {
  const clock = { ...systemClock, nowMs: start, wallMs: () => clock.nowMs };
  return clock;
}

describe('AdminTokens', () => {
  it('gives back whom a token was issued to', async () => {
    const tokens = new AdminTokens('secret', systemClock, systemRandom);
    const { token, expiresAt } = await tokens.issue(subject);
    const verified = await tokens.verify(token);
    expect(verified).toEqual({
      principal: {
        kind: 'admin',
        tenant: 'acme',
        userId: 'user-1',
        username: 'boss',
        accessFlags: subject.accessFlags,
      },
      via: 'cli',
      passwordChangedMs: 17,
      expiresAt,
    });
    expect(Object.isFrozen(verified.principal)).toBe(true);
  });

  it('refuses a token that is not one of an administrator, although key and claims are right', async () => {
    const tokens = new AdminTokens('secret', systemClock, systemRandom);
    const claims = decodeJwt((await tokens.issue(subject)).token);
    const signed = (more: object): Promise<string> =>
      new SignJWT({ ...claims, ...more })
        .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
        .sign(Buffer.from('secret'));
    expect(await tokens.verify(await signed({}))).toMatchObject({ via: 'cli' });
    for (const type of [{ type: 'access' }, { type: 'refresh' }, 'admin', null, undefined])
      await expect(tokens.verify(await signed({ token_type: type }))).rejects.toMatchObject({
        code: 'UNAUTHORIZED',
      });
  });

  it('answers at once, without a promise, from the second time on', async () => {
    const tokens = new AdminTokens('secret', systemClock, systemRandom);
    const { token } = await tokens.issue(subject);
    const first = tokens.verify(token);
    expect(first).toBeInstanceOf(Promise);
    await first;
    expect(tokens.verify(token)).toBe(await first);
  });

  it('refuses a remembered token from the moment it expires', async () => {
    const clock = clockAt(1_700_000_000_000);
    const tokens = new AdminTokens('secret', clock, systemRandom);
    const { token } = await tokens.issue(subject);
    await tokens.verify(token);
    clock.nowMs += ADMIN_TOKEN_SECONDS * 1_000 - 1;
    expect(tokens.verify(token)).not.toBeInstanceOf(Promise);
    clock.nowMs += 1;
    expect(() => tokens.verify(token)).toThrow(/expired/);
  });

  it('refuses an expired token it has never seen, to the second', async () => {
    const clock = clockAt(1_700_000_000_000);
    const { token } = await new AdminTokens('secret', clock, systemRandom).issue(subject);
    clock.nowMs += ADMIN_TOKEN_SECONDS * 1_000;
    await expect(async () =>
      new AdminTokens('secret', clock, systemRandom).verify(token),
    ).rejects.toMatchObject({
      code: 'UNAUTHORIZED',
    });
  });

  it('takes a token of a member whose clock is a little ahead', async () => {
    const ahead = clockAt(1_700_000_003_000);
    const { token } = await new AdminTokens('secret', ahead, systemRandom).issue(subject);
    const tokens = new AdminTokens('secret', clockAt(1_700_000_000_000), systemRandom);
    await expect(tokens.verify(token)).resolves.toBeTruthy();
  });

  it('refuses a remembered token after the clock was set back to before it was issued', async () => {
    const clock = clockAt(1_700_000_000_000);
    const tokens = new AdminTokens('secret', clock, systemRandom);
    const { token } = await tokens.issue(subject);
    await tokens.verify(token);
    clock.nowMs -= 3_000;
    await expect(tokens.verify(token)).resolves.toBeTruthy();
    clock.nowMs -= 3_000;
    await expect(tokens.verify(token)).rejects.toMatchObject({ code: 'UNAUTHORIZED' });
  });

  it('does not remember what it refused', async () => {
    const tokens = new AdminTokens('secret', systemClock, systemRandom);
    for (let time = 0; time < 2; time++) {
      const refused = tokens.verify('forged');
      expect(refused).toBeInstanceOf(Promise);
      await expect(refused).rejects.toMatchObject({ code: 'UNAUTHORIZED' });
    }
  });

  it('accepts the tokens of the previous key while that is given, and signs with the present one', async () => {
    const before = new AdminTokens('first', systemClock, systemRandom);
    const during = new AdminTokens('second', systemClock, systemRandom, 'first');
    const after = new AdminTokens('second', systemClock, systemRandom);
    const old = (await before.issue(subject)).token;
    const fresh = (await during.issue(subject)).token;
    expect((await during.verify(old)).principal.userId).toBe('user-1');
    expect((await after.verify(fresh)).principal.userId).toBe('user-1');
    await expect(async () => before.verify(fresh)).rejects.toMatchObject({ code: 'UNAUTHORIZED' });
    await expect(async () => after.verify(old)).rejects.toMatchObject({ code: 'UNAUTHORIZED' });
  });
});
