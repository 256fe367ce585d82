import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { jobsActor } from '#actors/jobs/jobs-actor.ts';
import { submittedJobs } from '#actors/jobs/job-store.ts';
import type { JobClaimed } from '#actors/jobs/messages.ts';
import { type Principal, principalKey } from '#runtime/access/principal.ts';
import type { ActorKind, Caller } from '#runtime/commit/behaviour.ts';
import { type JobRecord, SUBMITTED_JOBS_MAX, type SubmittedJob } from '#runtime/jobs/job.ts';
import { callerAs, callers, HostFixture } from '#test/support/host-fixture.ts';
import { newJob } from '#test/support/job-fixtures.ts';

const actor = 'default/site~0123456789/jobs';
const limits = { activeMax: 1_500, finalMax: 1_000, retentionMs: 3_600_000, deadLetterMs: 3_600_000 };

/** The jobs actor, which also tells how many active jobs it counts for a caller. */
const counting: ActorKind = {
  ...jobsActor(limits),
  create: (context) => {
    const inner = jobsActor(limits).create(context);
    return {
      execute: (command, turn) => inner.execute(command, turn),
      query: (query: { readonly type: string; readonly submitter: string }, asked) =>
        query.type === 'Count'
          ? submittedJobs(asked.view, query.submitter)
          : inner.query(query as never, asked),
    };
  },
};

function identity(name: string, tenant = 'default'): Principal {
  return { kind: 'identity', tenant, identityId: name, sessionId: 's', email: `${name}@example.com` };
}

const ada = callerAs(identity('ada'));
const bob = callerAs(identity('bob'));

let fixture: HostFixture;

beforeEach(async () => {
  fixture = await HostFixture.open([counting]);
  await fixture.host.create(actor);
});
afterEach(() => fixture.close());

function jobOf(caller: Caller): SubmittedJob {
  return { ...newJob(), submitter: principalKey(caller.principal) };
}

function submit(caller: Caller, key?: string, job = jobOf(caller)): Promise<string> {
  const repeated = key === undefined ? undefined : { key, requestHash: 'hash' };
  return fixture.command(actor, { type: 'SubmitJob', job } as never, callers.engine, repeated);
}

function find(id: string, caller: Caller): JobRecord | undefined {
  return fixture.query(actor, { type: 'FindJob', id } as never, caller);
}

function cancel(id: string, caller: Caller): Promise<void> {
  return fixture.command(actor, { type: 'CancelJob', id } as never, caller);
}

async function claim(): Promise<JobRecord | null> {
  const claiming = { type: 'ClaimJob', types: ['Test'], token: 't', worker: 'w', leaseMs: 60_000 };
  return (await fixture.command<JobClaimed>(actor, claiming)).job;
}

/** A claim of a worker that leaves the jobs of some to others. */
async function claimWithout(...busy: readonly Caller[]): Promise<JobClaimed> {
  const claiming = { type: 'ClaimJob', types: ['Test'], token: 't', worker: 'w', leaseMs: 60_000 };
  const without = busy.map(({ principal }) => principalKey(principal));
  return await fixture.command<JobClaimed>(actor, { ...claiming, busy: without } as never);
}

function counted(caller: Caller): number {
  return fixture.query(actor, { type: 'Count', submitter: principalKey(caller.principal) } as never);
}

describe('a job that a caller has submitted', () => {
  it('is passed over for a worker that leaves it to others, which does not wait for it either', async () => {
    const [first, second] = [await submit(ada), await submit(ada)];
    const none = await claimWithout(ada);
    expect(none).toMatchObject({ job: null, waitMs: null, active: 2, status: { dueMs: null } });
    const bobs = await submit(bob);
    expect((await claimWithout(ada)).job?.id).toBe(bobs);
    expect((await claimWithout(bob)).job?.id).toBe(first);
    expect((await claimWithout(ada, bob)).job).toBeNull();
    expect((await claim())?.id).toBe(second);
  });

  it('is found behind many of busy callers, whose claims read few of them, and is not overtaken', async () => {
    const crowd = Array.from({ length: 12 }, (_, n) => callerAs(identity(`crowd${n}`)));
    // Of normal priority are the first three of each.
    for (const caller of crowd) for (let n = 0; n < 3; n++) await submit(caller);
    const bobs = await submit(bob);
    const less = { ...newJob(), priority: 'low' as const };
    await fixture.command(actor, { type: 'EnqueueJob', job: less } as never);
    const first = await claimWithout(...crowd);
    expect(first).toMatchObject({ job: null, waitMs: 0 });
    expect((await claimWithout(...crowd)).job?.id).toBe(bobs);
    expect((await claimWithout(...crowd)).job?.id).toBe(less.id);
    expect((await claimWithout(...crowd)).job).toBeNull();
  });

  it('is found behind many of types that the worker does not know', async () => {
    await submit(ada);
    for (let n = 0; n < 1_100; n++)
      await fixture.command(actor, { type: 'EnqueueJob', job: { ...newJob(), type: 'Other' } } as never);
    const bobs = await submit(bob);
    expect((await claimWithout(ada)).job?.id).toBe(bobs);
  });

  it('is read and cancelled by that caller and by administrators; for others it is not there [JOB-018]', async () => {
    const id = await submit(ada);
    expect(find(id, ada)?.state).toBe('scheduled');
    expect(find(id, callers.admin)?.state).toBe('scheduled');
    const others = [bob, callers.anonymous, callers.otherTenant, callerAs(identity('ada', 'other'))];
    for (const other of others) {
      expect(find(id, other)).toBeUndefined();
      await expect(cancel(id, other)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    }
    await cancel(id, ada);
    expect(find(id, ada)?.state).toBe('cancelled');
  });

  it('is not listed, counted or removed by that caller', async () => {
    const id = await submit(ada);
    await cancel(id, ada);
    for (const type of ['ListJobs', 'CountJobs'])
      expect(() => fixture.query(actor, { type, limit: 1, offset: 0 } as never, ada)).toThrow();
    for (const command of [
      { type: 'RemoveJob', id },
      { type: 'RemoveJobs', ids: [id] },
    ])
      await expect(fixture.command(actor, command, ada)).rejects.toMatchObject({ code: 'FORBIDDEN' });
  });

  it('is submitted by the engine alone', async () => {
    for (const caller of [ada, callers.admin])
      await expect(
        fixture.command(actor, { type: 'SubmitJob', job: jobOf(ada) } as never, caller),
      ).rejects.toMatchObject({ code: 'FORBIDDEN' });
  });

  it('of an anonymous caller is for administrators only', async () => {
    const id = await submit(callers.anonymous);
    expect(find(id, callers.anonymous)).toBeUndefined();
    expect(find(id, callers.admin)?.id).toBe(id);
  });

  it('is the first one when the submission is repeated, also after it has ended [JOB-019]', async () => {
    const id = await submit(ada, 'key');
    expect(await submit(ada, 'key')).toBe(id);
    await cancel(id, ada);
    expect(await submit(ada, 'key')).toBe(id);
    await expect(
      fixture.command(actor, { type: 'SubmitJob', job: jobOf(ada) } as never, callers.engine, {
        key: 'key',
        requestHash: 'other',
      }),
    ).rejects.toMatchObject({ code: 'IDEMPOTENCY_MISMATCH' });
  });

  it('comes after those of others when its caller has three active ones', async () => {
    const hers: string[] = [];
    for (let n = 0; n < 5; n++) hers.push(await submit(ada));
    const his = await submit(bob);
    const order: (string | undefined)[] = [];
    for (let n = 0; n < 6; n++) order.push((await claim())?.id);
    expect(order).toEqual([...hers.slice(0, 3), his, ...hers.slice(3)]);
    for (const id of hers.slice(0, 3)) await cancel(id, ada);
    expect(find(await submit(ada), ada)?.priority).toBe('normal');
    expect(find(await submit(ada), ada)?.priority).toBe('low');
  });

  it('is refused when its caller has too many active ones, and taken when one has ended [JOB-019]', async () => {
    const ids: string[] = [];
    for (let n = 0; n < SUBMITTED_JOBS_MAX; n++) ids.push(await submit(ada));
    await expect(submit(ada)).rejects.toMatchObject({ code: 'OVERLOADED' });
    await submit(bob);
    await cancel(ids[3] as string, ada);
    await submit(ada);
    await expect(submit(ada)).rejects.toMatchObject({ code: 'OVERLOADED' });
  });
});

it('active jobs of each caller are counted through all changes of their states', async () => {
  const step = fc.constantFrom('submit', 'claim', 'complete', 'fail', 'retry', 'release', 'cancel', 'remove');
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(step, fc.boolean()), { maxLength: 25 }), async (steps) => {
      const fresh = [callerAs(identity(`a${newJob().id}`)), callerAs(identity(`b${newJob().id}`))] as const;
      const known: string[] = [];
      let claimed: JobRecord | undefined;
      const end = (how: object): Promise<unknown> =>
        fixture.command(actor, { id: claimed?.id ?? 'none', token: 't', ...how } as never);
      for (const [what, isFirst] of steps) {
        const target = known[isFirst ? 0 : known.length - 1];
        if (what === 'submit') known.push(await submit(fresh[isFirst ? 0 : 1]));
        else if (what === 'claim') {
          claimed = (await claim()) ?? undefined;
        } else if (what === 'complete') await end({ type: 'CompleteJob', result: null });
        else if (what === 'fail') await end({ type: 'FailJob', error: 'no', retryAfterMs: null });
        else if (what === 'retry') await end({ type: 'FailJob', error: 'no', retryAfterMs: 0 });
        else if (what === 'release') await end({ type: 'ReleaseJob' });
        else if (target !== undefined) {
          const type = what === 'cancel' ? 'CancelJob' : 'RemoveJob';
          await fixture.command(actor, { type, id: target } as never).catch(() => undefined);
        }
        const active = fixture
          .query<readonly JobRecord[]>(actor, { type: 'ListJobs', limit: 1_000, offset: 0 } as never)
          .filter(({ state }) => state === 'scheduled' || state === 'running');
        for (const caller of fresh) {
          const own = active.filter(({ submitter }) => submitter === principalKey(caller.principal));
          expect(counted(caller)).toBe(own.length);
        }
      }
      // The next run begins with an empty queue.
      for (const id of known) await fixture.command(actor, { type: 'CancelJob', id } as never).catch(() => 0);
      for (const id of known) await fixture.command(actor, { type: 'RemoveJob', id } as never).catch(() => 0);
    }),
    { numRuns: 30 },
  );
});
