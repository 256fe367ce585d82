import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Identity, Registered, Session } from '#actors/identities/messages.ts';
import { ACTIVITY_MS } from '#actors/identities/messages.ts';
import { clientPlace } from '#protocols/identity/client-place.ts';
import { IdentityCallers, STATE_MS } from '#protocols/identity/identity-callers.ts';
import { IdentityNewsroom } from '#runtime/access/identity/identity-news.ts';
import { IdentityTokens } from '#runtime/access/identity/identity-tokens.ts';
import type { Router } from '#runtime/actor/ports.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { callers as senders, HostFixture } from '#test/support/host-fixture.ts';
import { TestClock } from '#test/support/test-clock.ts';

const tenant = 'default';
const actor = `${tenant}/identities`;

let clock: TestClock;
let fixture: HostFixture;
let tokens: IdentityTokens;
let news: IdentityNewsroom;
let callers: IdentityCallers;
/** Runs before each question to the identities. */
let beforeQuery: () => void | Promise<void>;
let queries: number;

beforeEach(async () => {
  clock = new TestClock();
  fixture = await HostFixture.open(undefined, undefined, clock);
  await fixture.host.create(actor);
  tokens = new IdentityTokens('a secret of the tests, long enough', clock, systemRandom);
  news = new IdentityNewsroom();
  queries = 0;
  beforeQuery = () => undefined;
  const { host } = fixture;
  const router: Pick<Router, 'command' | 'query'> = {
    command: (...sent) => host.command(...sent),
    async query(...asked) {
      queries += 1;
      const answer = await host.query(...asked);
      await beforeQuery();
      return answer;
    },
  };
  callers = new IdentityCallers({ router, tokens, news, clock });
});

afterEach(() => fixture.close());

const send = <Result>(command: object): Promise<Result> =>
  fixture.host.command(actor, command, { caller: senders.engine }) as Promise<Result>;

async function person(name = 'ann'): Promise<{ readonly identity: Identity; readonly token: string }> {
  const session = {
    sessionId: `session-${name}`,
    family: 'family',
    tokenHash: 'hash',
    rememberMe: false,
    repository: null,
    userAgent: null,
    ipAddress: null,
    place: clientPlace(tenant, '10.0.0.1'),
  };
  const { identity } = await send<Registered>({
    type: 'RegisterIdentity',
    email: `${name}@example.org`,
    passwordHash: 'hash',
    session,
  });
  const { token } = await tokens.issueAccess(
    {
      tenant,
      identityId: identity.identity_id,
      email: identity.email,
      sessionId: session.sessionId,
      strategy: 'local',
      authTime: 0,
      flags: { is_tenant_admin: false, email_verified: false, must_change_password: false },
    },
    1,
  );
  return { identity, token };
}

const change = (identityId: string, changes: object): Promise<Identity> =>
  send({ type: 'UpdateIdentity', identityId, changes });

const tell = (identityId: string): void => news.tell({ kind: 'identity', tenant, identityId });

/** What a token gets: an id or a code. */
async function outcome(token: string): Promise<string> {
  try {
    return (await callers.verify(token)).principal.identityId;
  } catch (error) {
    return (error as ServiceError).code;
  }
}

it('knows the caller of a token, and asks once in a while', async () => {
  const { identity, token } = await person();
  const caller = await callers.verify(token);
  expect(caller.principal).toEqual({
    kind: 'identity',
    tenant,
    identityId: identity.identity_id,
    sessionId: 'session-ann',
    email: 'ann@example.org',
  });
  const again = callers.verify(token);
  expect(again).not.toBeInstanceOf(Promise);
  expect((await again).principal).toBe(caller.principal);
  expect(queries).toBe(1);
  clock.advance(STATE_MS);
  await callers.verify(token);
  expect(queries).toBe(2);
});

it('refuses an identity that was deactivated as soon as it hears of it [ID-032]', async () => {
  const { identity, token } = await person();
  const id = identity.identity_id;
  expect(await outcome(token)).toBe(id);
  await change(id, { is_active: false });
  tell(id);
  expect(await outcome(token)).toBe('ACCOUNT_DISABLED');
  await change(id, { is_active: true });
  tell(id);
  expect(await outcome(token)).toBe(id);
});

it('refuses one that is not there any more, and in a tenant without identities [ID-032]', async () => {
  const { identity, token } = await person();
  expect(await outcome(token)).toBe(identity.identity_id);
  await send({ type: 'DeleteIdentity', identityId: identity.identity_id });
  tell(identity.identity_id);
  expect(await outcome(token)).toBe('UNAUTHORIZED');
  await fixture.host.destroyUnder(actor);
  clock.advance(STATE_MS);
  expect(await outcome(token)).toBe('UNAUTHORIZED');
});

it('refuses it within seconds when no news arrives', async () => {
  const { identity, token } = await person();
  expect(await outcome(token)).toBe(identity.identity_id);
  await change(identity.identity_id, { is_active: false });
  clock.advance(STATE_MS);
  expect(await outcome(token)).toBe('ACCOUNT_DISABLED');
});

it('keeps nothing that was read before a change of which it heard meanwhile', async () => {
  const { identity, token } = await person();
  const id = identity.identity_id;
  beforeQuery = async () => {
    beforeQuery = () => undefined;
    await change(id, { is_active: false });
    tell(id);
  };
  // This one began before the change.
  expect(await outcome(token)).toBe(id);
  expect(await outcome(token)).toBe('ACCOUNT_DISABLED');
});

it('hears nothing in news of others, and reads at once for many', async () => {
  const { identity, token } = await person();
  await Promise.all(Array.from({ length: 5 }, () => callers.verify(token)));
  expect(queries).toBe(1);
  tell('somebody-else');
  news.tell({ kind: 'identity', tenant: 'other', identityId: identity.identity_id });
  news.tell({ kind: 'configuration', tenant });
  await callers.verify(token);
  expect(queries).toBe(1);
});

it('does not take trouble for an answer, and asks again after it', async () => {
  const { identity, token } = await person();
  beforeQuery = () => {
    throw new ServiceError('OVERLOADED');
  };
  expect(await outcome(token)).toBe('OVERLOADED');
  beforeQuery = () => undefined;
  expect(await outcome(token)).toBe(identity.identity_id);
});

it('tells whether an identity administers its tenant now, whatever the token says', async () => {
  const { identity, token } = await person();
  const { principal } = await callers.verify(token);
  expect(await callers.isTenantAdministrator(principal)).toBe(false);
  await change(identity.identity_id, { is_tenant_admin: true });
  tell(identity.identity_id);
  expect(await callers.isTenantAdministrator(principal)).toBe(true);
  await change(identity.identity_id, { is_active: false });
  tell(identity.identity_id);
  expect(await callers.isTenantAdministrator(principal)).toBe(false);
});

it('records that a session is used, not with each use', async () => {
  const { identity, token } = await person();
  const lastActive = (): number => {
    const query = { type: 'ListSessions', identityId: identity.identity_id };
    return (fixture.query<readonly Session[]>(actor, query as never)[0] as Session).last_active_ms;
  };
  const before = lastActive();
  await callers.verify(token);
  clock.advance(ACTIVITY_MS - 1);
  await callers.verify(token);
  await callers.verify(token);
  expect(lastActive()).toBe(before);
  clock.advance(1);
  await callers.verify(token);
  await expect.poll(lastActive).toBe(before + ACTIVITY_MS);
});
