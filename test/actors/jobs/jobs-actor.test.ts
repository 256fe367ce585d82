import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { jobsActor } from '#actors/jobs/jobs-actor.ts';
import type { JobClaimed, JobEnqueued } from '#actors/jobs/messages.ts';
import type { Caller } from '#runtime/commit/behaviour.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { JobRecord } from '#runtime/jobs/job.ts';
import { callers, HostFixture } from '#test/support/host-fixture.ts';
import { newJob } from '#test/support/job-fixtures.ts';

const actor = 'default/site~0123456789/jobs';
const limits = { activeMax: 10, finalMax: 4, retentionMs: 0, deadLetterMs: 3_600_000 };

let fixture: HostFixture;

beforeEach(async () => {
  fixture = await HostFixture.open([jobsActor(limits)]);
  await fixture.host.create(actor);
});

afterEach(() => fixture.close());

async function enqueue(): Promise<JobRecord> {
  const { job } = await fixture.command<JobEnqueued>(actor, { type: 'EnqueueJob', job: newJob() } as never);
  return job;
}

const claim = { type: 'ClaimJob', types: ['Test'], token: 't', worker: 'w', leaseMs: 10_000 };

/** Enqueues a job and ends it. */
async function ended(how: 'complete' | 'fail'): Promise<string> {
  await enqueue();
  const { job } = await fixture.command<JobClaimed>(actor, claim);
  const { id } = job as JobRecord;
  const attempt = { id, token: 't' };
  const end =
    how === 'complete'
      ? { type: 'CompleteJob', ...attempt, result: null }
      : { type: 'FailJob', ...attempt, error: 'no', retryAfterMs: null };
  await fixture.command(actor, end);
  return id;
}

function list(caller?: Caller): readonly JobRecord[] {
  return fixture.query(actor, { type: 'ListJobs', limit: 100, offset: 0 } as never, caller);
}

describe('the jobs actor', () => {
  it('forgets completed jobs when their time is up, dead letters later', async () => {
    await ended('complete');
    const dead = await ended('fail');
    const waiting = await enqueue();
    expect(list()).toHaveLength(3);
    await fixture.command(actor, { type: 'CleanJobs' });
    expect(list().map(({ id }) => id)).toEqual([waiting.id, dead]);
  });

  it('keeps a bounded number of final jobs, dropping those that would be forgotten first', async () => {
    const dead = [await ended('fail'), await ended('fail')];
    const last: string[] = [];
    for (let n = 0; n < 12; n++) last.push(await ended('complete'));
    const kept = list().map(({ id }) => id);
    expect(kept.length).toBeLessThanOrEqual(limits.finalMax + 1);
    expect(kept).toEqual(expect.arrayContaining(dead));
    expect(kept).toContain(last.at(-1));
  });

  it('is read, cancelled and cleared by administrators of the tenant only, and worked by the engine only', async () => {
    const { id } = await enqueue();
    for (const caller of [callers.anonymous, callers.otherTenant]) {
      expect(() => list(caller)).toThrow();
      for (const command of [
        { type: 'CancelJob', id },
        { type: 'RemoveJob', id },
      ]) {
        await expect(fixture.command(actor, command, caller)).rejects.toThrow();
      }
      await expect(
        fixture.command(actor, { type: 'RemoveJobs', ids: [id] } as never, caller),
      ).rejects.toThrow();
    }
    for (const command of [
      claim,
      { type: 'EnqueueJob', job: newJob() },
      { type: 'RenewJob', id, token: 't', leaseMs: 1 },
      { type: 'CompleteJob', id, token: 't', result: null },
      { type: 'FailJob', id, token: 't', error: 'x', retryAfterMs: null },
      { type: 'ReleaseJob', id, token: 't' },
      { type: 'RecoverJobs', worker: 'w' },
      { type: 'CleanJobs' },
    ]) {
      await expect(fixture.command(actor, command, callers.admin)).rejects.toMatchObject({
        code: 'FORBIDDEN',
      });
    }
    expect(list(callers.admin)).toMatchObject([{ id, state: 'scheduled' }]);
    await fixture.command(actor, { type: 'CancelJob', id } as never, callers.admin);
    expect(list(callers.admin)).toMatchObject([{ id, state: 'cancelled' }]);
  });

  it('hands out each of the jobs that came after a claim found none', async () => {
    const claimed = async () => (await fixture.command<JobClaimed>(actor, claim)).job?.id;
    expect(await claimed()).toBeUndefined();
    const ids = [(await enqueue()).id, (await enqueue()).id];
    expect([await claimed(), await claimed(), await claimed()]).toEqual([...ids, undefined]);
  });

  it('hands out the same job again when the claim did not become durable', async () => {
    const { id } = await enqueue();
    await enqueue();
    fixture.journal.append = () => Promise.reject(new ServiceError('STORAGE_FULL'));
    await expect(fixture.command(actor, claim)).rejects.toMatchObject({ code: 'STORAGE_FULL' });
    Reflect.deleteProperty(fixture.journal, 'append');
    expect((await fixture.command<JobClaimed>(actor, claim)).job?.id).toBe(id);
  });

  it('does not disclose which worker runs a job', async () => {
    await enqueue();
    const { job } = await fixture.command<JobClaimed>(actor, claim);
    for (const record of [job, ...list()]) {
      expect(record).not.toHaveProperty('claim');
      expect(JSON.stringify(record)).not.toContain('"t"');
    }
  });
});
