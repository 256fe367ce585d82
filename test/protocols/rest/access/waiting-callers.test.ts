import { describe, expect, it } from 'vitest';
import { WaitingCallers } from '#protocols/rest/access/waiting-callers.ts';
import { lockRoutes, type LocksContext } from '#protocols/rest/locks/locks.ts';
import type { RestRequest } from '#protocols/rest/rest-route.ts';
import type { Principal } from '#runtime/access/principal.ts';
import type { ErrorCode } from '#runtime/errors/error-registry.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { adminOf } from '#test/support/host-fixture.ts';

const ann: Principal = {
  kind: 'identity',
  tenant: 'acme',
  identityId: 'ann',
  sessionId: 's',
  email: 'ann@example.org',
};

/** Callers whose state is what `state.error` says. */
function callersWith(state: { error?: ErrorCode }): WaitingCallers {
  const present = () =>
    state.error === undefined ? Promise.resolve() : Promise.reject(new ServiceError(state.error));
  return new WaitingCallers({ present });
}

const turns = () => new Promise<void>((resolve) => void setImmediate(resolve));

describe('callers who wait', () => {
  it('are told when they lose access, and nobody else is', async () => {
    const state: { error?: ErrorCode } = {};
    const callers = callersWith(state);
    const waiting = callers.watch(ann);
    callers.changed('acme', 'ann');
    await turns();
    expect(waiting.signal.aborted).toBe(false);
    state.error = 'ACCOUNT_DISABLED';
    for (const [tenant, id] of [
      ['acme', 'ben'],
      ['other', 'ann'],
    ] as const)
      callers.changed(tenant, id);
    await turns();
    expect(waiting.signal.aborted).toBe(false);
    callers.changed('acme', 'ann');
    await turns();
    expect(waiting.signal.reason).toMatchObject({ code: 'ACCOUNT_DISABLED' });
  });

  it.each([
    'UNAUTHORIZED',
    'ACCOUNT_DISABLED',
    'INSUFFICIENT_PERMISSIONS',
    'PASSWORD_CHANGE_REQUIRED',
  ] as const)('have no access any more with %s', async (error) => {
    const waiting = callersWith({ error }).watch(ann);
    expect(await waiting.refusal()).toMatchObject({ code: error });
  });

  it('go on while their state cannot be read', async () => {
    const callers = callersWith({ error: 'OVERLOADED' });
    const waiting = callers.watch(ann);
    callers.changed('acme', 'ann');
    await turns();
    expect([waiting.signal.aborted, await waiting.refusal()]).toEqual([false, undefined]);
  });

  it('are told nothing once their request has ended, and leave nothing behind', async () => {
    const callers = callersWith({ error: 'UNAUTHORIZED' });
    const [first, second] = [callers.watch(ann), callers.watch(ann)];
    callers.changed('acme', 'ann');
    first.end();
    await turns();
    expect([first.signal.aborted, second.signal.aborted]).toEqual([false, true]);
    second.end();
    callers.changed('acme', 'ann');
  });
});

describe('an acquire of a caller who has lost access', () => {
  it('passes the lock on, where nothing was heard of it before the grant', async () => {
    const sent: unknown[] = [];
    const context = {
      locks: { isEnabled: true, stopping: new AbortController().signal },
      directory: {
        besideContent: () => ({ locks: 'the-locks' }),
        likelyBesideContent: () => ({ locks: 'the-locks' }),
      },
      router: {
        command(actor: string, command: { readonly type: string }) {
          sent.push([actor, command]);
          const grant = { acquired: true, key: 'till', token: 7, expires_at_ms: 1 };
          return Promise.resolve(command.type === 'AcquireLock' ? grant : { released: true });
        },
      },
      waitingCallers: callersWith({ error: 'UNAUTHORIZED' }),
    } as unknown as LocksContext;
    const acquire = lockRoutes(context).find(({ operationId }) => operationId === 'acquireLock');
    const request = {
      principal: adminOf('acme'),
      body: { key: 'till', ttl_ms: 1_000, wait_ms: 1_000 },
      deadlineMs: 100_000,
      signal: new AbortController().signal,
      route: acquire,
      query: new Map(),
      header: () => undefined,
      headerList: () => undefined,
      segment: () => 'any',
    } as unknown as RestRequest;
    await expect(acquire?.handler(request)).rejects.toMatchObject({ code: 'UNAUTHORIZED' });
    expect(sent).toEqual([
      ['the-locks', expect.objectContaining({ type: 'AcquireLock' })],
      ['the-locks', { type: 'ReleaseLock', key: 'till', token: 7 }],
    ]);
  });
});
