import { decodeJwt, SignJWT, UnsecuredJWT } from 'jose';
import { describe, expect, it } from 'vitest';
import { AdminTokens } from '#runtime/access/admin-tokens.ts';
import {
  ACCESS_TOKEN_HOURS_MAX,
  type AccessGrant,
  IdentityTokens,
  type RefreshGrant,
} from '#runtime/access/identity/identity-tokens.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { TestClock } from '#test/support/test-clock.ts';

const secret = 'a secret of the tests, long enough for HS256';
const key = new TextEncoder().encode(secret);
const HOUR = 3_600;

const access: AccessGrant = {
  tenant: 'acme',
  identityId: 'identity-1',
  email: 'ann@example.org',
  sessionId: 'session-1',
  strategy: 'local',
  authTime: 1_699_999_000,
  flags: { is_tenant_admin: false, email_verified: true, must_change_password: false },
  repository: 'site',
  home: '/users/internal/ann-at-example-org',
};

const refresh: RefreshGrant = {
  tenant: 'acme',
  identityId: 'identity-1',
  sessionId: 'session-1',
  family: 'family-1',
  generation: 3,
  home: '/users/internal/ann-at-example-org',
};

function tokensAt(clock = new TestClock()): IdentityTokens {
  return new IdentityTokens(secret, clock, systemRandom);
}

async function refusalOf(work: () => unknown): Promise<string> {
  try {
    await work();
  } catch (error) {
    return (error as { code: string }).code;
  }
  return 'accepted';
}

/** A token with any claims, signed with the right key. */
function signed(claims: Record<string, unknown>, nowMs = new TestClock().wallMs()): Promise<string> {
  const now = Math.floor(nowMs / 1000);
  const all = { sub: 'identity-1', iss: 'svc', iat: now, nbf: now, exp: now + HOUR, jti: 'j', ...claims };
  return new SignJWT(all).setProtectedHeader({ alg: 'HS256', typ: 'JWT' }).sign(key);
}

describe('an access token', () => {
  it('has every claim of the interface, and is given back as it was issued', async () => {
    const clock = new TestClock();
    const tokens = tokensAt(clock);
    const { token, expiresAt } = await tokens.issueAccess(access, 2);
    const now = Math.floor(clock.wallMs() / 1000);
    expect(expiresAt).toBe(now + 2 * HOUR);
    expect(decodeJwt(token)).toEqual({
      sub: 'identity-1',
      email: 'ann@example.org',
      tenant_id: 'acme',
      repository: 'site',
      home: '/users/internal/ann-at-example-org',
      sid: 'session-1',
      auth_strategy: 'local',
      auth_time: 1_699_999_000,
      global_flags: { is_tenant_admin: false, email_verified: true, must_change_password: false },
      token_type: { type: 'access' },
      iss: 'svc',
      iat: now,
      nbf: now,
      exp: expiresAt,
      jti: expect.any(String),
    });
    const verified = await tokens.verifyAccess(token);
    expect(verified).toEqual({ ...access, expiresAt });
    expect(Object.isFrozen(verified)).toBe(true);
    expect(tokens.verifyAccess(token)).toBe(verified);
  });

  it('of a login without a repository has no repository and no home', async () => {
    const tokens = tokensAt();
    const { home: _home, repository: _repository, ...unscoped } = access;
    const { token } = await tokens.issueAccess(unscoped, 1);
    expect(Object.keys(decodeJwt(token))).not.toContain('home');
    expect(Object.keys(decodeJwt(token))).not.toContain('repository');
    expect(await tokens.verifyAccess(token)).not.toHaveProperty('home');
  });

  it('is refused from the moment it expires, remembered or not', async () => {
    const clock = new TestClock();
    const tokens = tokensAt(clock);
    const { token } = await tokens.issueAccess(access, 1);
    await tokens.verifyAccess(token);
    clock.advance(HOUR * 1000 - 1);
    expect(tokens.verifyAccess(token)).not.toBeInstanceOf(Promise);
    clock.advance(1);
    expect(() => tokens.verifyAccess(token)).toThrow(expect.objectContaining({ code: 'UNAUTHORIZED' }));
    expect(await refusalOf(() => tokensAt(clock).verifyAccess(token))).toBe('UNAUTHORIZED');
  });

  it('is accepted from a member whose clock is a little ahead, and not from the future', async () => {
    const clock = new TestClock();
    const { token } = await tokensAt(new TestClock(clock.wallMs() + 4_000)).issueAccess(access, 1);
    await expect(tokensAt(clock).verifyAccess(token)).resolves.toBeTruthy();
    const later = await tokensAt(new TestClock(clock.wallMs() + 60_000)).issueAccess(access, 1);
    expect(await refusalOf(() => tokensAt(clock).verifyAccess(later.token))).toBe('UNAUTHORIZED');
  });
});

describe('a refresh token', () => {
  it('carries session, family and generation, and the hash of its secret part', async () => {
    const clock = new TestClock();
    const tokens = tokensAt(clock);
    const id = tokens.newRefreshId();
    const { token, expiresAt } = await tokens.issueRefresh(refresh, id, 30);
    expect(expiresAt).toBe(Math.floor(clock.wallMs() / 1000) + 30 * 24 * HOUR);
    expect(decodeJwt(token)).toMatchObject({
      sub: 'identity-1',
      sid: 'session-1',
      tenant_id: 'acme',
      family: 'family-1',
      generation: 3,
      home: refresh.home,
      exp: expiresAt,
      jti: id.id,
    });
    expect(await tokens.verifyRefresh(token)).toEqual({ ...refresh, hash: id.hash });
    expect(id.hash).not.toContain(id.id);
    expect(tokens.newRefreshId().id).not.toBe(id.id);
  });

  it('is refused when it has expired', async () => {
    const clock = new TestClock();
    const tokens = tokensAt(clock);
    const { token } = await tokens.issueRefresh(refresh, tokens.newRefreshId(), 1);
    clock.advance(24 * HOUR * 1000);
    expect(await refusalOf(() => tokens.verifyRefresh(token))).toBe('INVALID_REFRESH_TOKEN');
  });
});

describe('a token of one kind', () => {
  it('is no token of another kind, although all are signed with one key', async () => {
    const clock = new TestClock();
    const [identities, admins] = [tokensAt(clock), new AdminTokens(secret, clock, systemRandom)];
    const admin = await admins.issue({
      tenant: 'acme',
      userId: 'identity-1',
      username: 'ann',
      accessFlags: {
        console_login: true,
        cli_access: true,
        api_access: true,
        pgwire_access: true,
        can_impersonate: true,
      },
      mustChangePassword: false,
      passwordChangedMs: 1,
      via: 'console',
    });
    const issued = {
      access: (await identities.issueAccess(access, 1)).token,
      refresh: (await identities.issueRefresh(refresh, identities.newRefreshId(), 1)).token,
      admin: admin.token,
    };
    const verifiers = {
      access: (token: string) => identities.verifyAccess(token),
      refresh: (token: string) => identities.verifyRefresh(token),
      admin: (token: string) => admins.verify(token),
    };
    for (const [issuedAs, token] of Object.entries(issued))
      for (const [usedAs, verify] of Object.entries(verifiers)) {
        const outcome = await refusalOf(() => verify(token));
        const refusal = usedAs === 'refresh' ? 'INVALID_REFRESH_TOKEN' : 'UNAUTHORIZED';
        expect(`${issuedAs} as ${usedAs}: ${outcome}`).toBe(
          `${issuedAs} as ${usedAs}: ${issuedAs === usedAs ? 'accepted' : refusal}`,
        );
      }
  });

  it('is refused without a signature, with another algorithm, key or issuer, and when it was changed', async () => {
    const tokens = tokensAt();
    const claims = decodeJwt((await tokens.issueAccess(access, 1)).token);
    const { token } = await tokens.issueAccess(access, 1);
    const [header, , signature] = token.split('.') as [string, string, string];
    const changed = Buffer.from(JSON.stringify({ ...claims, sub: 'identity-2' })).toString('base64url');
    const hostile = [
      '',
      'x',
      'a.b.c',
      token.slice(0, -2),
      `${token}x`,
      `${header}.${changed}.${signature}`,
      'x'.repeat(1_000_000),
      new UnsecuredJWT(claims).encode(),
      await new SignJWT(claims).setProtectedHeader({ alg: 'HS512' }).sign(key),
      await new SignJWT(claims)
        .setProtectedHeader({ alg: 'HS256' })
        .sign(new TextEncoder().encode(`${secret}!`)),
      await signed({ ...claims, iss: 'other' }),
    ];
    for (const each of hostile) {
      expect(await refusalOf(() => tokens.verifyAccess(each))).toBe('UNAUTHORIZED');
      expect(await refusalOf(() => tokens.verifyRefresh(each))).toBe('INVALID_REFRESH_TOKEN');
    }
  });

  it('is refused with claims that we never give, although the key is right', async () => {
    const tokens = tokensAt();
    const good = decodeJwt((await tokens.issueAccess(access, 1)).token);
    const now = good.iat as number;
    const wrong: readonly Record<string, unknown>[] = [
      { token_type: 'access' },
      { token_type: { type: 'admin' } },
      { token_type: null },
      { sub: '' },
      { sid: 7 },
      { tenant_id: undefined },
      { email: null },
      { auth_strategy: '' },
      { auth_time: '7' },
      { repository: 7 },
      { home: {} },
      { exp: now + ACCESS_TOKEN_HOURS_MAX * HOUR + 1 },
      { iat: now + 60, nbf: now },
      { jti: undefined },
    ];
    expect(await refusalOf(async () => tokens.verifyAccess(await signed(good)))).toBe('accepted');
    for (const each of wrong)
      expect(await refusalOf(async () => tokens.verifyAccess(await signed({ ...good, ...each })))).toBe(
        'UNAUTHORIZED',
      );
    const first = decodeJwt((await tokens.issueRefresh(refresh, tokens.newRefreshId(), 1)).token);
    expect(await refusalOf(async () => tokens.verifyRefresh(await signed(first)))).toBe('accepted');
    for (const each of [
      { token_type: { type: 'access' } },
      { token_type: undefined },
      { generation: 0 },
      { generation: 1.5 },
      { generation: '1' },
      { family: '' },
      { sid: null },
      { home: 1 },
    ])
      expect(await refusalOf(async () => tokens.verifyRefresh(await signed({ ...first, ...each })))).toBe(
        'INVALID_REFRESH_TOKEN',
      );
  });

  it('names its tenant, so that one of another tenant is told apart', async () => {
    const tokens = tokensAt();
    const { token } = await tokens.issueAccess({ ...access, tenant: 'other' }, 1);
    expect(await tokens.verifyAccess(token)).toMatchObject({ tenant: 'other' });
    const next = await tokens.issueRefresh({ ...refresh, tenant: 'other' }, tokens.newRefreshId(), 1);
    expect(await tokens.verifyRefresh(next.token)).toMatchObject({ tenant: 'other' });
  });

  it('keeps flags that are no booleans false', async () => {
    const tokens = tokensAt();
    const good = decodeJwt((await tokens.issueAccess(access, 1)).token);
    for (const flags of [undefined, null, 7, { is_tenant_admin: 'true', email_verified: 1 }]) {
      const verified = await tokens.verifyAccess(await signed({ ...good, global_flags: flags }));
      expect(verified.flags).toEqual({
        is_tenant_admin: false,
        email_verified: false,
        must_change_password: false,
      });
    }
  });

  it('is accepted with the previous key while that is given', async () => {
    const clock = new TestClock();
    const old = await tokensAt(clock).issueAccess(access, 1);
    const next = 'another secret of the tests, long enough';
    const during = new IdentityTokens(next, clock, systemRandom, secret);
    expect(await during.verifyAccess(old.token)).toMatchObject({ identityId: 'identity-1' });
    expect(await refusalOf(() => new IdentityTokens(next, clock, systemRandom).verifyAccess(old.token))).toBe(
      'UNAUTHORIZED',
    );
    const fresh = await during.issueAccess(access, 1);
    expect(await refusalOf(() => tokensAt(clock).verifyAccess(fresh.token))).toBe('UNAUTHORIZED');
  });
});
