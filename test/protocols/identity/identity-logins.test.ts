import { hash } from 'argon2';
import { decodeJwt } from 'jose';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Credentials, Identity, Session } from '#actors/identities/messages.ts';
import { clientPlace } from '#protocols/identity/client-place.ts';
import {
  IdentityLogins,
  type LoginClient,
  type LoginScope,
  requirePresentPassword,
  type TokenPair,
} from '#protocols/identity/identity-logins.ts';
import { IdentityTokens, type VerifiedAccess } from '#runtime/access/identity/identity-tokens.ts';
import { defaultLoginThrottle, LoginThrottle } from '#runtime/access/login-throttle.ts';
import { networkLimits } from '#runtime/access/network-limit.ts';
import { PasswordHasher } from '#runtime/access/password-hasher.ts';
import { systemRandom } from '#runtime/base/random.ts';
import type { ServiceError } from '#runtime/errors/service-error.ts';
import { MemberProvisioning } from '#server/provisioning/provisioning.ts';
import { MemberIdentities } from '#server/provisioning/tenant-identities.ts';
import { HostFixture } from '#test/support/host-fixture.ts';
import { TestClock } from '#test/support/test-clock.ts';

const ann = 'ann@example.org';
const actor = 'default/identities';
const scope: LoginScope = { tenant: 'default' };
const home: LoginClient = { address: '10.0.0.1', userAgent: 'browser' };
const abroad: LoginClient = { address: '10.0.0.2', userAgent: undefined };

let clock: TestClock;
let fixture: HostFixture;
let tokens: IdentityTokens;
let logins: IdentityLogins;

beforeAll(async () => {
  clock = new TestClock();
  fixture = await HostFixture.open(undefined, undefined, clock);
  const { host } = fixture;
  await new MemberProvisioning(host, host, systemRandom).bootstrap(() =>
    Promise.resolve({ username: 'admin', email: null, passwordHash: 'hash', mustChangePassword: false }),
  );
  tokens = new IdentityTokens('a secret of the tests, long enough', clock, systemRandom);
  logins = loginsWith(new LoginThrottle(clock));
});

afterAll(() => fixture.close());

beforeEach(() => fixture.host.destroyUnder(actor));

const loginsWith = (throttle: LoginThrottle): IdentityLogins =>
  new IdentityLogins({
    router: fixture.host,
    provisioning: new MemberIdentities(fixture.host, fixture.host),
    hasher: new PasswordHasher(),
    tokens,
    throttle,
    clock,
    random: systemRandom,
  });

const register = (more: Partial<LoginScope> = {}, password = 'the password'): Promise<TokenPair> =>
  logins.register({ ...scope, ...more }, { email: ann, password, displayName: 'Ann' }, home);

const logIn = (password = 'the password', client = home, email = ann): Promise<TokenPair> =>
  logins.logIn(scope, { email, password, rememberMe: false }, client);

const accessOf = async ({ access_token: token }: TokenPair): Promise<VerifiedAccess> =>
  await tokens.verifyAccess(token);

const sessions = (identityId: string): readonly Session[] =>
  fixture.query(actor, { type: 'ListSessions', identityId } as never);

describe('registering', () => {
  it('answers a token pair, whose tokens say what the interface names', async () => {
    const pair = await register();
    const access = decodeJwt(pair.access_token);
    expect(pair).toMatchObject({
      token_type: 'Bearer',
      expires_at: access.exp,
      identity: {
        id: access.sub,
        email: ann,
        display_name: 'Ann',
        avatar_url: null,
        email_verified: false,
        linked_providers: [],
      },
    });
    expect(pair.identity).not.toHaveProperty('home');
    expect(access).toMatchObject({ tenant_id: 'default', auth_strategy: 'local' });
    expect(access).not.toHaveProperty('home');
    expect(access).not.toHaveProperty('repository');
    expect((access.exp as number) - (access.iat as number)).toBe(3_600);
    const refresh = decodeJwt(pair.refresh_token);
    expect((refresh.exp as number) - (refresh.iat as number)).toBe(30 * 24 * 3_600);
    expect(refresh).toMatchObject({ sub: access.sub, sid: access.sid, generation: 1 });
    const { passwordHash } = fixture.query<Credentials>(actor, {
      type: 'FindCredentials',
      email: ann,
      place: clientPlace('default', '10.0.0.1'),
    } as never);
    expect(passwordHash).toMatch(/^\$argon2id\$/);
  });

  it('in a repository has its name and the home in the tokens, which a refresh keeps', async () => {
    const inSite: Partial<LoginScope> = { repository: 'site', homeOf: async () => '/users/internal/ann' };
    const pair = await register(inSite);
    clock.advance(60_000);
    for (const each of [pair, await logins.refresh(pair.refresh_token, 'default')]) {
      expect(each.identity).toMatchObject({ home: '/users/internal/ann' });
      expect(await accessOf(each)).toMatchObject({
        repository: 'site',
        home: '/users/internal/ann',
        authTime: Math.floor((clock.wallMs() - 60_000) / 1000),
      });
    }
  });

  it('does not fail when the user node cannot be made', async () => {
    const pair = await register({ repository: 'site', homeOf: () => Promise.reject(new Error('no node')) });
    expect(await accessOf(pair)).toMatchObject({ repository: 'site' });
    expect(pair.identity).not.toHaveProperty('home');
  });

  it('looks at the address, then the password, then at who is there', async () => {
    await register();
    const attempt = (email: string, password: string): Promise<unknown> =>
      logins.register(scope, { email, password, displayName: undefined }, home);
    await expect(attempt('no address', 'short')).rejects.toMatchObject({ code: 'INVALID_EMAIL' });
    await expect(attempt('ANN@example.org', 'short')).rejects.toMatchObject({ code: 'WEAK_PASSWORD' });
    await expect(attempt('ANN@example.org', 'long enough')).rejects.toMatchObject({ code: 'EMAIL_EXISTS' });
    await expect(
      logins.register(
        { tenant: 'none' },
        { email: ann, password: 'long enough', displayName: undefined },
        home,
      ),
    ).rejects.toMatchObject({ code: 'FORBIDDEN' });
  });
});

describe('logging in', () => {
  it('is refused alike for a wrong password, an unknown address and a tenant without anybody', async () => {
    const refusal = { code: 'INVALID_CREDENTIALS', message: 'Invalid email or password' };
    await expect(logIn()).rejects.toMatchObject(refusal);
    await register();
    await expect(logIn('wrong')).rejects.toMatchObject(refusal);
    await expect(logIn('wrong', home, 'ben@example.org')).rejects.toMatchObject(refusal);
    await expect(logIn('wrong', home, 'no address')).rejects.toMatchObject(refusal);
    await expect(
      logins.logIn({ tenant: 'none' }, { email: ann, password: 'x', rememberMe: false }, home),
    ).rejects.toMatchObject(refusal);
    await logIn();
  });

  it('is refused alike as often as it is tried, in a tenant that does not exist, and in one without anybody [ID-047]', async () => {
    await register();
    const tries = async (tenant: string): Promise<unknown[]> => {
      const answers: unknown[] = [];
      for (let attempt = 0; attempt < 8; attempt += 1) {
        const failed = logins.logIn(
          { tenant },
          { email: 'ben@example.org', password: 'x', rememberMe: false },
          home,
        );
        const { code, details, message } = await failed.then(
          () => expect.unreachable('nobody is logged in'),
          (error) => error as ServiceError,
        );
        answers.push({ code, details, message });
      }
      return answers;
    };
    const known = await tries('default');
    expect(known[5]).toMatchObject({ code: 'ACCOUNT_LOCKED', details: { retry_after_seconds: 900 } });
    expect(await tries('none')).toEqual(known);
    await fixture.host.destroyUnder(actor);
    expect(await tries('nobody')).toEqual(known);
    expect(await tries('default')).toEqual(known);
  });

  it('is refused alike for a right and a wrong password while passwords are switched off, and counts nothing', async () => {
    await register();
    const switchTo = (enabled: boolean): Promise<unknown> =>
      fixture.command(actor, {
        type: 'ConfigureAuthentication',
        change: { local_auth: { enabled } },
      } as never);
    await switchTo(false);
    for (const [password, email] of [['the password'], ['wrong'], ['wrong', 'ben@example.org']]) {
      for (let attempt = 0; attempt < 6; attempt += 1)
        await expect(logIn(password, abroad, email)).rejects.toMatchObject({
          code: 'FORBIDDEN',
          message: 'Logins with a password are switched off',
        });
    }
    await switchTo(true);
    await logIn('the password', abroad);
  });

  it('locks after five failures from elsewhere, also for the right password, and says for how long', async () => {
    await register();
    for (let index = 0; index < 5; index += 1)
      await expect(logIn('wrong', abroad)).rejects.toMatchObject({ code: 'INVALID_CREDENTIALS' });
    await expect(logIn('the password', abroad)).rejects.toMatchObject({
      code: 'ACCOUNT_LOCKED',
      details: { retry_after_seconds: 900 },
    });
    await logIn();
  });

  it('counts every one of many guesses at once, and lets no right one in after them', async () => {
    await register();
    const guesses = [...Array.from({ length: 9 }, () => 'wrong'), 'the password'];
    const outcomes = await Promise.allSettled(guesses.map((guess) => logIn(guess, abroad)));
    const codes = outcomes.map((outcome) => (outcome.status === 'rejected' ? outcome.reason.code : 'ok'));
    expect(codes.filter((code) => code === 'INVALID_CREDENTIALS').length).toBeLessThanOrEqual(5);
    expect(codes.slice(0, 9)).not.toContain('ok');
    expect(codes.filter((code) => code === 'ACCOUNT_LOCKED').length).toBeGreaterThanOrEqual(4);
  });

  it('stores the client of the session, bounded', async () => {
    const pair = await register();
    await logins.logIn(
      scope,
      { email: ann, password: 'the password', rememberMe: true },
      {
        address: '10.0.0.1',
        userAgent: 'x'.repeat(5_000),
      },
    );
    const { identityId } = await accessOf(pair);
    expect(
      sessions(identityId)
        .map(({ user_agent: agent }) => agent?.length)
        .sort(),
    ).toEqual([512, 7]);
  });

  it('replaces a hash that was made with other parameters', async () => {
    const { identityId } = await accessOf(await register());
    const place = clientPlace('default', '10.0.0.1');
    const find = { type: 'FindCredentials', email: ann, place };
    const before = fixture.query<Credentials>(actor, find as never).passwordHash;
    const weak = await hash('the password', { type: 2, memoryCost: 8_192, timeCost: 2, parallelism: 1 });
    await fixture.command(actor, {
      type: 'SetPassword',
      identityId,
      judged: before,
      passwordHash: weak,
    } as never);
    await logIn();
    const after = fixture.query<Credentials>(actor, find as never).passwordHash;
    expect(after).toMatch(/^\$argon2id\$v=19\$m=19456,/);
    await logIn();
    expect(fixture.query<Credentials>(actor, find as never).passwordHash).toBe(after);
  });

  it('tells of a password that has to be changed in the token', async () => {
    const { identityId } = await accessOf(await register());
    const changes = { must_change_password: true };
    await fixture.command(actor, { type: 'UpdateIdentity', identityId, changes } as never);
    const pair = await logIn();
    expect((await accessOf(pair)).flags.must_change_password).toBe(true);
    const required = { code: 'PASSWORD_CHANGE_REQUIRED' };
    const access = await accessOf(pair);
    expect(() => requirePresentPassword(access)).toThrow(expect.objectContaining(required));
    await logins.changePassword(
      await accessOf(pair),
      { oldPassword: 'the password', newPassword: 'another one' },
      home,
    );
    const next = await logins.refresh(pair.refresh_token, undefined);
    expect((await accessOf(next)).flags.must_change_password).toBe(false);
    requirePresentPassword(await accessOf(next));
  });
});

describe('many accounts that are tried from one network [ID-046]', () => {
  const sprayer: LoginClient = { address: '2001:db8:0:7::1', userAgent: undefined };
  const neighbour: LoginClient = { address: '2001:db8:0:7::2', userAgent: undefined };
  const refusal = { code: 'RATE_LIMITED', details: { retry_after_seconds: 1 } };
  const FREE = 4;
  let throttle: LoginThrottle;
  let all: IdentityLogins;

  beforeEach(() => {
    const network = { ...networkLimits, freeFailures: FREE };
    throttle = new LoginThrottle(clock, { ...defaultLoginThrottle, network });
    all = loginsWith(throttle);
  });

  const enter = (
    password: string,
    client: LoginClient,
    email = ann,
    tenant = 'default',
  ): Promise<TokenPair> => all.logIn({ tenant }, { email, password, rememberMe: false }, client);

  it('hold it up after some failures, and nobody who has logged in from there', async () => {
    await register();
    await enter('the password', neighbour);
    for (let name = 0; name <= FREE; name += 1)
      await expect(enter('wrong', sprayer, `n${name}@example.org`)).rejects.toMatchObject({
        code: 'INVALID_CREDENTIALS',
      });
    await expect(enter('wrong', sprayer, 'another@example.org')).rejects.toMatchObject(refusal);
    await expect(enter('wrong', sprayer, 'no address')).rejects.toMatchObject(refusal);
    await expect(enter('wrong', sprayer, ann, 'none')).rejects.toMatchObject(refusal);
    await enter('the password', neighbour);
    // Each account has its own lock there.
    for (let failure = 0; failure < 5; failure += 1)
      await expect(enter('wrong', sprayer)).rejects.toMatchObject({ code: 'INVALID_CREDENTIALS' });
    await expect(enter('wrong', sprayer)).rejects.toMatchObject({ code: 'ACCOUNT_LOCKED' });
    await enter('the password', abroad);
  });

  it('are counted also where there is nobody, and not for a right password', async () => {
    await register();
    for (let round = 0; round < FREE + 2; round += 1) await enter('the password', abroad);
    expect(throttle.guesses.waitMs(abroad.address)).toBe(0);
    for (let name = 0; name <= FREE; name += 1)
      await enter('x', sprayer, `n${name}@example.org`, 'none').catch(() => undefined);
    expect(throttle.guesses.waitMs(sprayer.address)).toBe(1_000);
  });

  it('that are registered there are some as well, then one now and then', async () => {
    const enrol = (name: number | string, client = sprayer): Promise<TokenPair> =>
      all.register(
        scope,
        { email: `p${name}@example.org`, password: 'long enough', displayName: undefined },
        client,
      );
    for (let name = 0; name <= FREE; name += 1) await enrol(name);
    await expect(enrol('late', neighbour)).rejects.toMatchObject(refusal);
    await enrol('elsewhere', home);
    clock.advance(1_000);
    // Also one with an address that has an account: otherwise addresses could be tried without a limit.
    await expect(enrol(0)).rejects.toMatchObject({ code: 'EMAIL_EXISTS' });
    await expect(enrol('late')).rejects.toMatchObject({ code: 'RATE_LIMITED' });
  });
});

describe('a refresh', () => {
  it('gives one pair for one token, and ends the session at the second use', async () => {
    const pair = await register();
    const outcomes = await Promise.allSettled(
      Array.from({ length: 4 }, () => logins.refresh(pair.refresh_token, 'default')),
    );
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    const codes = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason.code] : []));
    expect(codes.sort()).toEqual(['SESSION_REVOKED', 'SESSION_REVOKED', 'TOKEN_REUSE_DETECTED']);
    // What was issued is valid until it expires.
    await accessOf(pair);
  });

  it('is refused for other tokens and other tenants, without ending anything', async () => {
    const pair = await register();
    for (const token of ['', 'x', pair.access_token])
      await expect(logins.refresh(token, undefined)).rejects.toMatchObject({ code: 'INVALID_REFRESH_TOKEN' });
    await expect(logins.refresh(pair.refresh_token, 'other')).rejects.toMatchObject({
      code: 'INVALID_REFRESH_TOKEN',
    });
    await logins.refresh(pair.refresh_token, 'default');
    await fixture.host.destroyUnder(actor);
    await expect(logins.refresh(pair.refresh_token, 'default')).rejects.toMatchObject({
      code: 'SESSION_NOT_FOUND',
    });
  });
});

describe('changing a password', () => {
  it('counts a wrong one like a login, then looks at the policy, and ends other sessions', async () => {
    const pair = await register();
    const other = await logIn();
    const access = await accessOf(pair);
    const change = (oldPassword: string, newPassword: string, client = home): Promise<void> =>
      logins.changePassword(access, { oldPassword, newPassword }, client);
    await expect(change('wrong', 'short')).rejects.toMatchObject({ code: 'INVALID_CREDENTIALS' });
    await expect(change('the password', 'short')).rejects.toMatchObject({
      code: 'WEAK_PASSWORD',
      field: 'new_password',
    });
    await change('the password', 'another one');
    await expect(logIn()).rejects.toMatchObject({ code: 'INVALID_CREDENTIALS' });
    await logIn('another one');
    await expect(logins.refresh(other.refresh_token, undefined)).rejects.toMatchObject({
      code: 'SESSION_REVOKED',
    });
    await logins.refresh(pair.refresh_token, undefined);
    // A stolen access token does not help to guess the password.
    for (let index = 0; index < 5; index += 1) await change('wrong', 'x', abroad).catch(() => undefined);
    await expect(change('another one', 'long enough', abroad)).rejects.toMatchObject({
      code: 'ACCOUNT_LOCKED',
    });
  });

  it('gives one to an account without a password, shortly after a login only', async () => {
    await register();
    const { identity_id: identityId } = fixture.query<Identity>(actor, {
      type: 'FindIdentity',
      email: ann,
    } as never);
    await fixture.command(actor, { type: 'DeleteIdentity', identityId } as never);
    await fixture.command(actor, { type: 'RegisterIdentity', email: ann, passwordHash: null } as never);
    const issue = { type: 'IssueOneTimeToken', kind: 'magic_link', email: ann, payload: {} };
    const byLink = async (tokenHash: string): Promise<VerifiedAccess> => {
      await fixture.command(actor, { ...issue, tokenHash } as never);
      return await accessOf(await logins.open(scope, { kind: 'magic_link', tokenHash }, home, false));
    };
    const passwords = { oldPassword: '', newPassword: 'long enough' };
    const old = await byLink('first');
    clock.advance(601_000);
    await expect(logins.changePassword(old, passwords, home)).rejects.toMatchObject({ code: 'UNAUTHORIZED' });
    await logins.changePassword(await byLink('second'), passwords, home);
    await logIn('long enough');
  });

  it('gives none to a token whose session has ended, as of a stranger who had registered the address', async () => {
    const stranger = await accessOf(await register());
    const issue = { type: 'IssueOneTimeToken', kind: 'magic_link', email: ann, payload: {} };
    await fixture.command(actor, { ...issue, tokenHash: 'own' } as never);
    const proof = { kind: 'magic_link', tokenHash: 'own' } as const;
    const own = await accessOf(await logins.open(scope, proof, abroad, false));
    const passwords = { oldPassword: '', newPassword: 'long enough' };
    await expect(logins.changePassword(stranger, passwords, home)).rejects.toMatchObject({
      code: 'UNAUTHORIZED',
    });
    await expect(logIn('long enough')).rejects.toMatchObject({ code: 'INVALID_CREDENTIALS' });
    expect(sessions(own.identityId).map(({ session_id: id }) => id)).toEqual([own.sessionId]);
    const { identityId, sessionId } = own;
    const logOut = { type: 'RevokeSession', identityId, sessionId, reason: 'logged_out' };
    await fixture.command(actor, logOut as never);
    await expect(logins.changePassword(own, passwords, abroad)).rejects.toMatchObject({
      code: 'UNAUTHORIZED',
    });
  });

  it('is refused for an account that is deactivated or gone, whose token is still valid', async () => {
    const access = await accessOf(await register());
    const { identityId } = access;
    const passwords = { oldPassword: 'the password', newPassword: 'another one' };
    await fixture.command(actor, {
      type: 'UpdateIdentity',
      identityId,
      changes: { is_active: false },
    } as never);
    await expect(logins.changePassword(access, passwords, home)).rejects.toMatchObject({
      code: 'ACCOUNT_DISABLED',
    });
    await fixture.command(actor, { type: 'DeleteIdentity', identityId } as never);
    await expect(logins.activeIdentity(access)).rejects.toMatchObject({ code: 'UNAUTHORIZED' });
  });
});

it('a link in a tenant without anybody logs nobody in', async () => {
  await expect(
    logins.open(scope, { kind: 'magic_link', tokenHash: 'link' }, home, false),
  ).rejects.toMatchObject({ code: 'UNAUTHORIZED' });
});
