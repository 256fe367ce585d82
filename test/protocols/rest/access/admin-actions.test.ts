import { expect, it } from 'vitest';
import type { Delivery } from '#runtime/actor/ports.ts';
import { recordAdminAction, recordAdminActions } from '#protocols/rest/access/admin-actions.ts';
import type { RestRequest } from '#protocols/rest/rest-route.ts';
import type { Principal } from '#runtime/access/principal.ts';
import type { ErrorCode } from '#runtime/errors/error-registry.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { adminOf } from '#test/support/host-fixture.ts';

interface Sent {
  readonly actor: string;
  readonly command: unknown;
  readonly delivery: Delivery;
}

/** A router whose tenant refuses the commands with these errors, one after the other. */
function routerRefusing(...refusals: readonly (Error | undefined)[]) {
  const sent: Sent[] = [];
  const router = {
    async command(actor: string, command: unknown, delivery: Delivery) {
      sent.push({ actor, command, delivery });
      const refusal = refusals[sent.length - 1];
      if (refusal !== undefined) throw refusal;
    },
  };
  return { sent, context: { router } as never };
}

function requestOf(principal: Principal): RestRequest {
  return { principal, deadlineMs: 5, signal: AbortSignal.abort() } as unknown as RestRequest;
}

const request = requestOf(adminOf('acme'));
const action = { action: 'a', subject: 's' };
const key = (name: string, requestHash = 'hash') => ({ key: name, requestHash });

it('records several actions with one command, and one with that of the first versions', async () => {
  const { context, sent } = routerRefusing();
  await recordAdminActions(context, request, [action, { ...action, details: { n: 1 } }], undefined);
  await recordAdminAction(context, request, action);
  const one = { ...action, details: {} };
  expect(sent.map(({ actor, command }) => [actor, command])).toEqual([
    ['acme/tenant', { type: 'RecordAdminActions', actions: [one, { ...action, details: { n: 1 } }] }],
    ['acme/tenant', { type: 'RecordAdminAction', ...one }],
  ]);
});

it('records also for a client that has gone away, because the change is made', async () => {
  const { context, sent } = routerRefusing();
  await recordAdminAction(context, request, action);
  expect(Object.keys(sent[0]?.delivery.caller ?? {}).sort()).toEqual(['policy', 'principal']);
});

it.each(['FORBIDDEN', 'PAYLOAD_TOO_LARGE', 'STORAGE_FULL', 'IDEMPOTENCY_IN_PROGRESS'] as const)(
  'answers no %s of the trail for a change that is made',
  async (code: ErrorCode) => {
    const { context, sent } = routerRefusing(new ServiceError(code));
    await recordAdminAction(context, request, action, key('k'));
    expect(sent).toHaveLength(1);
  },
);

it('does not hide what is broken', async () => {
  const { context } = routerRefusing(new Error('a bug'));
  await expect(recordAdminAction(context, request, action)).rejects.toThrow('a bug');
});

it('has one key for each change, and none for a request that cannot be repeated', async () => {
  const { context, sent } = routerRefusing();
  const other = requestOf({ ...adminOf('acme'), userId: 'other' } as Principal);
  for (const [by, name] of [
    [request, key('k')],
    [request, key('k')],
    [request, key('l')],
    [request, key('k', 'other')],
    [other, key('k')],
  ] as const)
    await recordAdminAction(context, by, action, name);
  await recordAdminAction(context, request, action);
  const keys = sent.map(({ delivery }) => delivery.idempotency?.key);
  expect(keys[0]).toBe(keys[1]);
  expect(new Set(keys).size).toBe(5);
  expect(keys[5]).toBeUndefined();
  expect(keys[0]).toMatch(/^\u0001/);
});

it('records without a key where the tenant keeps no more of them', async () => {
  const { context, sent } = routerRefusing(new ServiceError('RATE_LIMITED'));
  await recordAdminAction(context, request, action, key('k'));
  expect(sent.map(({ delivery }) => delivery.idempotency === undefined)).toEqual([false, true]);
});
