import { beforeEach, describe, expect, it } from 'vitest';
import type { AdminCaller } from '#protocols/admin/admin-access.ts';
import type { IdentityCaller } from '#protocols/identity/identity-callers.ts';
import { type Authenticate, createAuthenticate } from '#protocols/rest/access/authenticate.ts';
import type { Audience, RestRequest, RestRoute } from '#protocols/rest/rest-route.ts';
import { IdentityTokens } from '#runtime/access/identity/identity-tokens.ts';
import type { AdminPrincipal, IdentityPrincipal, Principal } from '#runtime/access/principal.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { adminOf } from '#test/support/host-fixture.ts';

const KEY = `svc_${'k'.repeat(32)}`;
const admin: AdminPrincipal = adminOf('acme');
const mayAct: AdminPrincipal = {
  ...admin,
  accessFlags: { ...admin.accessFlags, can_impersonate: true },
};
const ofKey: AdminPrincipal = { ...mayAct, apiKeyId: 'key-1' };
const identity: IdentityPrincipal = {
  kind: 'identity',
  tenant: 'acme',
  identityId: 'identity-1',
  sessionId: 'session-1',
  email: 'ann@example.org',
};

/** What the verifiers know, by token. */
let admins: Map<string, AdminCaller>;
let identities: Map<string, IdentityCaller>;
let anonymous: boolean | Promise<boolean>;
let isLate: boolean;
let authenticate: Authenticate;
/** A real token of an identity: its type is read before it is verified. */
let accessToken: string;
/** One of an identity that has to change its password. */
let oldPasswordToken: string;

function found<Value>(known: Map<string, Value>, token: string): Value | Promise<Value> {
  const value = known.get(token);
  if (value === undefined) throw new ServiceError('UNAUTHORIZED');
  return isLate ? Promise.resolve(value) : value;
}

beforeEach(async () => {
  const tokens = new IdentityTokens('a secret of the tests, long enough', systemClock, systemRandom);
  const grant = {
    tenant: 'acme',
    identityId: 'identity-1',
    email: 'ann@example.org',
    sessionId: 'session-1',
    strategy: 'local',
    authTime: 1,
    flags: { is_tenant_admin: true, email_verified: true, must_change_password: false },
  };
  accessToken = (await tokens.issueAccess(grant, 1)).token;
  const flags = { ...grant.flags, must_change_password: true };
  oldPasswordToken = (await tokens.issueAccess({ ...grant, flags }, 1)).token;
  admins = new Map([
    ['plain-admin', { principal: admin, mustChangePassword: false }],
    ['acting-admin', { principal: mayAct, mustChangePassword: false }],
    ['novice', { principal: admin, mustChangePassword: true }],
    [KEY, { principal: ofKey, mustChangePassword: false }],
  ]);
  identities = new Map(
    await Promise.all(
      [accessToken, oldPasswordToken].map(
        async (token): Promise<[string, IdentityCaller]> => [
          token,
          { principal: identity, access: await tokens.verifyAccess(token) },
        ],
      ),
    ),
  );
  anonymous = false;
  isLate = false;
  authenticate = createAuthenticate({
    admins: {
      verifyToken: (token) => found(admins, token),
      verifyTokenInOutage: () => ({ principal: mayAct, mustChangePassword: false }),
      verifyKey: (token) => found(admins, token),
    },
    identities: { verify: (token) => found(identities, token) },
    others: { refuseElsewhere: () => undefined },
    anonymousEnabled: () => anonymous,
  });
});

interface Asked {
  readonly audience?: Audience;
  readonly beforePasswordChange?: boolean;
  readonly duringOutages?: boolean;
  readonly pattern?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly need?: 'required' | 'optional';
}

/** The principal of a request, or the code of its refusal. */
async function callerOf(token: string | undefined, asked: Asked = {}): Promise<Principal | string> {
  const {
    audience,
    beforePasswordChange,
    duringOutages,
    headers = {},
    need = 'required',
    pattern = '/x',
  } = asked;
  const route = {
    pattern,
    ...(audience === undefined ? {} : { audience }),
    ...(beforePasswordChange === undefined ? {} : { beforePasswordChange }),
    ...(duringOutages === undefined ? {} : { duringOutages }),
  } as RestRoute;
  const all: Readonly<Record<string, string>> =
    token === undefined ? headers : { ...headers, authorization: `Bearer ${token}` };
  const request = {
    route,
    header: (name: string) => (all[name] === '' ? undefined : all[name]),
    headerList: (name: string) => all[name],
    segment: () => 'acme',
  } as unknown as RestRequest;
  try {
    return await authenticate(request, need);
  } catch (error) {
    return error instanceof ServiceError ? error.code : String(error);
  }
}

const as = (user: string): Readonly<Record<string, string>> => ({ 'x-svc-impersonate': user });

describe.each([
  ['at once', false],
  ['later', true],
])('callers whose token is verified %s', (_when, late) => {
  beforeEach(() => {
    isLate = late;
  });

  it('are refused until an identity that has to change its password has done so', async () => {
    for (const audience of ['content', 'identities'] as const) {
      expect(await callerOf(oldPasswordToken, { audience })).toBe('PASSWORD_CHANGE_REQUIRED');
      expect(await callerOf(oldPasswordToken, { audience, beforePasswordChange: true })).toBe(identity);
    }
  });

  it('are admitted where the route is for them', async () => {
    const admitted = async (token: string, audience: Audience | undefined) =>
      typeof (await callerOf(token, audience === undefined ? {} : { audience })) === 'object';
    const audiences = ['content', 'repositories', 'administration', 'identities', undefined] as const;
    const table: Record<string, readonly boolean[]> = {};
    for (const [name, token] of [
      ['admin', 'plain-admin'],
      ['key', KEY],
      ['identity', accessToken],
    ] as const)
      table[name] = await Promise.all(audiences.map((audience) => admitted(token, audience)));
    expect(table).toEqual({
      admin: [true, true, true, false, true],
      key: [true, true, false, false, false],
      identity: [true, true, false, true, false],
    });
    expect(await callerOf('plain-admin', { audience: 'identities' })).toBe('FORBIDDEN');
    expect(await callerOf(accessToken)).toBe('FORBIDDEN');
    expect(await callerOf(KEY)).toBe('FORBIDDEN');
  });

  it('are refused with the same answer for a token that is not valid, whoever the route is for', async () => {
    admins.clear();
    identities.clear();
    for (const token of ['plain-admin', KEY, accessToken, 'garbage'])
      for (const audience of ['content', 'administration', 'identities'] as const) {
        expect(await callerOf(token, { audience })).toBe('UNAUTHORIZED');
        expect(await callerOf(token, { audience, need: 'optional' })).toMatchObject({ kind: 'anonymous' });
      }
  });

  it('change a password that is not theirs before anything else', async () => {
    for (const audience of ['content', 'administration'] as const)
      for (const need of ['required', 'optional'] as const)
        expect(await callerOf('novice', { audience, need })).toBe('PASSWORD_CHANGE_REQUIRED');
    expect(await callerOf('novice', { beforePasswordChange: true })).toEqual(admin);
    admins.set(KEY, { principal: ofKey, mustChangePassword: true });
    expect(await callerOf(KEY, { audience: 'content' })).toBe('PASSWORD_CHANGE_REQUIRED');
  });

  it('act as a user on content, with the flag', async () => {
    const asked = { audience: 'content', headers: as('/users/internal/ann') } as const;
    expect(await callerOf('acting-admin', asked)).toEqual({
      kind: 'impersonating',
      tenant: 'acme',
      userId: admin.userId,
      username: admin.username,
      user: '/users/internal/ann',
    });
    expect(await callerOf('acting-admin', asked)).toBe(await callerOf('acting-admin', asked));
    expect(await callerOf('plain-admin', asked)).toBe('INSUFFICIENT_PERMISSIONS');
    for (const user of ['', ' ', 'x'.repeat(1_025), 'a\tb', 'é', 'x '])
      expect(await callerOf('acting-admin', { audience: 'content', headers: as(user) })).toBe(
        'VALIDATION_FAILED',
      );
    for (const audience of ['repositories', 'administration'] as const)
      expect(await callerOf('acting-admin', { ...asked, audience })).toBe(mayAct);
  });

  it('do not act as a user with an API key or the token of an identity [ACC-013]', async () => {
    const asked = { audience: 'content', headers: as('/users/internal/bo') } as const;
    expect(await callerOf(KEY, asked)).toBe(ofKey);
    expect(await callerOf(accessToken, asked)).toBe(identity);
    expect(await callerOf(undefined, { ...asked, need: 'optional' })).toMatchObject({ kind: 'anonymous' });
  });

  it('are admitted by a signature alone only where that is for outages', async () => {
    admins.clear();
    expect(await callerOf('some-token', { duringOutages: true })).toBe(mayAct);
    for (const audience of ['content', 'repositories', 'administration'] as const)
      expect(await callerOf('some-token', { audience })).toBe('UNAUTHORIZED');
  });

  it('stay in their tenant', async () => {
    for (const token of ['plain-admin', KEY, accessToken]) {
      const audience = 'content';
      const headers = { 'x-tenant-id': 'other' };
      for (const need of ['required', 'optional'] as const)
        expect(await callerOf(token, { audience, headers, need })).toBe('TENANT_MISMATCH');
      expect(await callerOf(token, { audience, headers: { 'x-tenant-id': 'acme' } })).toMatchObject({
        tenant: 'acme',
      });
    }
  });
});

describe('callers without a token', () => {
  it('are nobody, and no tenant is asked about them, where that is for outages', async () => {
    anonymous = Promise.reject(new ServiceError('LOG_UNAVAILABLE'));
    anonymous.catch(() => undefined);
    expect(await callerOf(undefined, { need: 'optional' })).toBe('LOG_UNAVAILABLE');
    expect(await callerOf(undefined, { need: 'optional', duringOutages: true })).toMatchObject({
      kind: 'anonymous',
      isEnabled: false,
    });
  });

  it('are told apart by whether their tenant permits them', async () => {
    expect(await callerOf(undefined)).toBe('UNAUTHORIZED');
    for (const value of [true, false])
      for (const given of [value, Promise.resolve(value)]) {
        anonymous = given;
        expect(await callerOf(undefined, { need: 'optional', headers: { 'x-tenant-id': 'acme' } })).toEqual({
          kind: 'anonymous',
          tenant: 'acme',
          isEnabled: value,
        });
      }
    expect(await callerOf(undefined, { need: 'optional' })).toMatchObject({ tenant: 'default' });
  });
});
