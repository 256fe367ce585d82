import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { engineCaller } from '#runtime/actor/engine-caller.ts';
import type { Caller } from '#runtime/commit/behaviour.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { JobRecord, NewJob } from '#runtime/jobs/job.ts';
import { mayBeJobOf } from '#runtime/jobs/job-id.ts';
import type { ClaimedJob, JobScope, Queue } from '#runtime/jobs/ports.ts';
import { TENANT } from '#test/support/engine.ts';
import { JOB_SCOPE, newJob, OTHER_JOB_SCOPE } from '#test/support/job-fixtures.ts';

/** One queue that can be restarted, on a clock the suite can move. */
export interface QueueHarness {
  readonly queue: Queue;
  /** Time a claim lasts without a heartbeat, in milliseconds. */
  readonly leaseMs: number;
  /** The longest wait before a failed job is tried again, in milliseconds. */
  readonly retryMsMax: number;
  /** Most active jobs of a repository. */
  readonly activeMax: number;
  /** Lets time pass on the clock of the queue; in whatever way, it takes little of the real time. */
  pass(ms: number): Promise<void>;
  /** Ends every process of the queue without a word to it and starts again. */
  restart(): Promise<void>;
  /** Removes everything. */
  dispose(): Promise<void>;
}

const engine: Caller = engineCaller(TENANT);
const delivery = { caller: engine };

/**
 * What every implementation of the `Queue` port must do.
 *
 * @param create makes a harness without a job, its two repositories prepared
 */
export function queueConformance(name: string, create: () => Promise<QueueHarness>): void {
  describe(`Queue: ${name}`, () => {
    let harness: QueueHarness;

    beforeEach(async () => {
      harness = await create();
      await harness.queue.prepare(JOB_SCOPE);
      await harness.queue.prepare(OTHER_JOB_SCOPE);
    });

    afterEach(() => harness.dispose());

    const enqueue = (job: NewJob, scope: JobScope = JOB_SCOPE): Promise<JobRecord> =>
      harness.queue.enqueue(scope, job);

    const find = (id: string, scope: JobScope = JOB_SCOPE): Promise<JobRecord | undefined> =>
      harness.queue.find(scope, id, engine);

    /** A claim of what is due now; undefined when nothing is. */
    async function claimNow(
      types: readonly string[] = ['Test'],
      busy?: () => readonly string[],
    ): Promise<ClaimedJob | undefined> {
      const patience = new AbortController();
      const claimed = harness.queue.claim(types, patience.signal, busy);
      await harness.pass(1);
      patience.abort();
      return claimed;
    }

    async function mustClaim(types?: readonly string[]): Promise<ClaimedJob> {
      const claimed = await claimNow(types);
      if (claimed === undefined) throw new Error('nothing was due');
      return claimed;
    }

    it('hands a job out, with its payload, and keeps what became of it', async () => {
      const job = newJob({ payload: { nested: [1, 'two', null] }, about: 'everything' });
      const enqueued = await enqueue(job);
      expect(enqueued).toMatchObject({ id: job.id, state: 'scheduled', progress: 0, retries: 0 });
      expect(mayBeJobOf(job.id, JOB_SCOPE.split('/')[1] as string)).toBe(true);
      const claimed = await mustClaim();
      expect(claimed).toMatchObject({ scope: JOB_SCOPE, leaseMs: harness.leaseMs });
      expect(claimed.job).toMatchObject({ id: job.id, payload: job.payload, about: 'everything' });
      expect(await find(job.id)).toMatchObject({ state: 'running', finishedAtMs: null });
      expect(await harness.queue.heartbeat(claimed, 0.25)).toBe(true);
      expect(await find(job.id)).toMatchObject({ state: 'running', progress: 0.25 });
      expect(await harness.queue.complete(claimed, { done: 7 })).toBe(true);
      const done = await find(job.id);
      expect(done).toMatchObject({ state: 'completed', progress: 1, result: { done: 7 }, error: null });
      for (const time of [done?.startedAtMs, done?.heartbeatAtMs, done?.finishedAtMs]) {
        expect(time).toEqual(expect.any(Number));
      }
      expect(await claimNow()).toBeUndefined();
    });

    it('takes the job of a caller, hands it out, and knows a submission that is repeated', async () => {
      const waiting = harness.queue.claim(['Test'], new AbortController().signal);
      await harness.pass(1);
      const repeated = { key: 'key', requestHash: 'hash' };
      const submit = (submitter: string, key?: typeof repeated): Promise<string> =>
        harness.queue.submit(JOB_SCOPE, { ...newJob(), submitter }, key);
      const id = await submit('identity:ada', repeated);
      expect(await find(id)).toMatchObject({ id, submitter: 'identity:ada' });
      expect((await waiting)?.job.id).toBe(id);
      expect(await submit('identity:ada', repeated)).toBe(id);
      expect(await submit('identity:bob', repeated)).not.toBe(id);
      const other = submit('identity:ada', { ...repeated, requestHash: 'other' });
      await expect(other).rejects.toMatchObject({ code: 'IDEMPOTENCY_MISMATCH' });
      expect(await submit('identity:ada')).not.toBe(id);
    });

    it('leaves the jobs of some submitters to others', async () => {
      const submit = (submitter: string): Promise<string> =>
        harness.queue.submit(JOB_SCOPE, { ...newJob(), submitter });
      const [first, second, bobs] = [
        await submit('identity:ada'),
        await submit('identity:ada'),
        await submit('identity:bob'),
      ];
      const without = () => ['identity:ada'];
      expect((await claimNow(['Test'], without))?.job.id).toBe(bobs);
      expect(await claimNow(['Test'], without)).toBeUndefined();
      // A worker without that restriction gets them.
      const waiting = harness.queue.claim(['Test'], new AbortController().signal);
      await harness.pass(60_000);
      expect((await waiting)?.job.id).toBe(first);
      expect((await find(second))?.state).toBe('scheduled');
    });

    it('refuses a submission, but for one that is repeated', async () => {
      const keyed = (key: string) => ({ key, requestHash: 'hash' });
      const details = { line: 1 };
      const refusal = new ServiceError('VALIDATION_FAILED', 'wrong now', { field: 'sql', details });
      const refused = { code: 'VALIDATION_FAILED', message: 'wrong now', field: 'sql', details };
      const refuse = (submitter: string, key: string): Promise<string> =>
        harness.queue.refuse(JOB_SCOPE, submitter, refusal, keyed(key));
      await expect(refuse('identity:ada', 'a')).rejects.toMatchObject(refused);
      const submit = (key: string): Promise<string> =>
        harness.queue.submit(JOB_SCOPE, { ...newJob(), submitter: 'identity:ada' }, keyed(key));
      const id = await submit('b');
      expect(await refuse('identity:ada', 'b')).toBe(id);
      await expect(refuse('identity:bob', 'b')).rejects.toMatchObject(refused);
      await expect(refuse('identity:ada', 'c')).rejects.toMatchObject(refused);
      await expect(submit('c')).rejects.toMatchObject(refused);
    });

    it('wakes a worker that waits for a job', async () => {
      const waiting = harness.queue.claim(['Test'], new AbortController().signal);
      await harness.pass(1);
      const job = newJob();
      await enqueue(job);
      expect((await waiting)?.job.id).toBe(job.id);
    });

    it('gives a job to one of many waiting workers, and releases workers that stop waiting', async () => {
      const patience = new AbortController();
      const waiting = Array.from({ length: 8 }, () => harness.queue.claim(['Test'], patience.signal));
      const jobs = [newJob(), newJob(), newJob()];
      for (const job of jobs) await enqueue(job);
      await harness.pass(1);
      patience.abort();
      const claimed = (await Promise.all(waiting)).flatMap((one) => one?.job.id ?? []);
      expect(claimed.sort()).toEqual(jobs.map(({ id }) => id).sort());
    });

    it('hands out the types asked for only', async () => {
      const other = newJob({ type: 'Other' });
      const wanted = newJob();
      await enqueue(other);
      await enqueue(wanted);
      expect((await mustClaim()).job.id).toBe(wanted.id);
      expect(await claimNow()).toBeUndefined();
      expect((await mustClaim(['Test', 'Other'])).job.id).toBe(other.id);
    });

    it('hands out the highest priority first, then the one that was due first', async () => {
      const low = newJob({ priority: 'low' });
      const first = newJob();
      const high = newJob({ priority: 'high' });
      const second = newJob();
      for (const job of [low, first, high, second]) {
        await enqueue(job);
        await harness.pass(5);
      }
      const order: string[] = [];
      for (let n = 0; n < 4; n++) order.push((await mustClaim()).job.id);
      expect(order).toEqual([high.id, first.id, second.id, low.id]);
    });

    it('serves every repository that has something to do', async () => {
      const jobs: string[] = [];
      for (let n = 0; n < 3; n++) {
        jobs.push((await enqueue(newJob())).id);
        jobs.push((await enqueue(newJob({}, OTHER_JOB_SCOPE), OTHER_JOB_SCOPE)).id);
      }
      const scopes: JobScope[] = [];
      const claimed: string[] = [];
      for (let n = 0; n < 6; n++) {
        const { job, scope } = await mustClaim();
        claimed.push(job.id);
        scopes.push(scope);
      }
      expect(claimed.sort()).toEqual(jobs.sort());
      // Neither waits until the other has nothing left.
      expect(new Set(scopes.slice(0, 3)).size).toBe(2);
    });

    it('enqueues an id once, also when its job is done [JOB-006]', async () => {
      const job = newJob();
      await enqueue(job);
      await enqueue(job);
      await harness.queue.complete(await mustClaim(), 'first');
      expect(await enqueue(job)).toMatchObject({ state: 'completed', result: 'first' });
      expect(await claimNow()).toBeUndefined();
      expect(await harness.queue.list(JOB_SCOPE, { limit: 10, offset: 0 }, engine)).toHaveLength(1);
    });

    it('returns the active job for others with its key, and no longer once it is final [JOB-007]', async () => {
      const first = await enqueue(newJob({ key: 'k' }));
      expect((await enqueue(newJob({ key: 'k' }))).id).toBe(first.id);
      const other = await enqueue(newJob({ key: 'other' }));
      expect(other.id).not.toBe(first.id);
      const claimed = await mustClaim();
      expect(claimed.job.id).toBe(first.id);
      expect((await enqueue(newJob({ key: 'k' }))).id).toBe(first.id);
      await harness.queue.complete(claimed, null);
      const next = await enqueue(newJob({ key: 'k' }));
      expect(next.id).not.toBe(first.id);
      await harness.queue.cancel(JOB_SCOPE, next.id, delivery);
      expect((await enqueue(newJob({ key: 'k' }))).id).not.toBe(next.id);
    });

    it('tries a failed job again after growing waits, and keeps it as a dead letter in the end [JOB-008]', async () => {
      const job = newJob({ retriesMax: 3 });
      await enqueue(job);
      const waits: number[] = [];
      for (let attempt = 0; attempt < 3; attempt++) {
        const claimed = await mustClaim();
        expect(claimed.job.retries).toBe(attempt);
        const failedAtMs = (await find(job.id))?.heartbeatAtMs as number;
        expect(await harness.queue.fail(claimed, `attempt ${attempt}`, false)).toBe('retried');
        const retried = await find(job.id);
        expect(retried).toMatchObject({ state: 'scheduled', error: `attempt ${attempt}` });
        expect(retried?.retries).toBe(attempt + 1);
        expect(await claimNow()).toBeUndefined();
        waits.push((retried?.dueAtMs as number) - failedAtMs);
        await harness.pass(harness.retryMsMax);
      }
      expect(waits[1]).toBeGreaterThan(waits[0] as number);
      expect(waits[2]).toBeGreaterThan(waits[1] as number);
      expect(await harness.queue.fail(await mustClaim(), 'the last', false)).toBe('dead');
      expect(await find(job.id)).toMatchObject({ state: 'failed', error: 'the last', retries: 3 });
      await harness.pass(harness.retryMsMax);
      expect(await claimNow()).toBeUndefined();
      await harness.restart();
      expect(await find(job.id)).toMatchObject({ state: 'failed', payload: job.payload });
    });

    it('does not try again what failed for good', async () => {
      const job = newJob();
      await enqueue(job);
      expect(await harness.queue.fail(await mustClaim(), 'hopeless', true)).toBe('dead');
      expect(await find(job.id)).toMatchObject({ state: 'failed', error: 'hopeless', retries: 0 });
    });

    it('gives a job back as if it had not been taken', async () => {
      const job = newJob();
      await enqueue(job);
      const claimed = await mustClaim();
      expect(await harness.queue.release(claimed)).toBe(true);
      expect(await find(job.id)).toMatchObject({ state: 'scheduled', retries: 0, error: null });
      expect((await mustClaim()).job).toMatchObject({ id: job.id, retries: 0 });
      expect(await harness.queue.complete(claimed, 'late')).toBe(false);
      expect(await find(job.id)).toMatchObject({ state: 'running', result: null });
    });

    it('gives a job to another worker when nothing is heard of the first one, whose answer is void [JOB-009]', async () => {
      const job = newJob();
      await enqueue(job);
      const first = await mustClaim();
      await harness.pass(harness.leaseMs - 10);
      expect(await claimNow()).toBeUndefined();
      await harness.pass(20);
      const second = await mustClaim();
      expect(second.job).toMatchObject({ id: job.id, retries: 1 });
      expect(first.signal.aborted).toBe(true);
      expect(await harness.queue.heartbeat(first, 0.9)).toBe(false);
      expect(await harness.queue.complete(first, 'late')).toBe(false);
      expect(await harness.queue.fail(first, 'late', true)).toBe('lost');
      expect(await find(job.id)).toMatchObject({ state: 'running', progress: 0 });
      expect(await harness.queue.complete(second, 'second')).toBe(true);
      expect(await find(job.id)).toMatchObject({ state: 'completed', result: 'second' });
    });

    it('keeps a job with a worker that is heard of, however long it takes', async () => {
      await enqueue(newJob());
      const claimed = await mustClaim();
      for (let beat = 0; beat < 5; beat++) {
        await harness.pass(harness.leaseMs * 0.8);
        expect(await harness.queue.heartbeat(claimed)).toBe(true);
      }
      expect(await claimNow()).toBeUndefined();
      expect(claimed.signal.aborted).toBe(false);
      expect(await harness.queue.complete(claimed, null)).toBe(true);
    });

    it('makes a job whose workers all vanish a dead letter instead of running it for ever', async () => {
      const job = newJob({ retriesMax: 2 });
      await enqueue(job);
      for (let attempt = 0; attempt < 3; attempt++) {
        await mustClaim();
        await harness.pass(harness.leaseMs + 20);
      }
      expect(await claimNow()).toBeUndefined();
      const dead = await find(job.id);
      expect(dead).toMatchObject({ state: 'failed', retries: 2 });
      expect(dead?.error).toMatch(/^\[timeout_final\]/);
    });

    it('survives a restart: what waited waits, what ran is run again, what is final stays so [JOB-010]', async () => {
      const [done, running, waiting, delayed] = [newJob(), newJob(), newJob({ type: 'Later' }), newJob()];
      await enqueue(done);
      await harness.queue.complete(await mustClaim(), 'kept');
      await enqueue(delayed);
      await harness.queue.fail(await mustClaim(), 'once', false);
      await enqueue(running);
      const lost = await mustClaim();
      await enqueue(waiting);
      await harness.restart();
      expect(await find(done.id)).toMatchObject({ state: 'completed', result: 'kept' });
      expect(await find(waiting.id)).toMatchObject({ state: 'scheduled', retries: 0 });
      await harness.pass(harness.retryMsMax + harness.leaseMs);
      const claimed = [await mustClaim(['Test', 'Later']), await mustClaim(['Test', 'Later'])];
      claimed.push(await mustClaim(['Test', 'Later']));
      const ids = claimed.map(({ job }) => job.id);
      expect(ids.sort()).toEqual([running.id, waiting.id, delayed.id].sort());
      expect(await harness.queue.complete(lost, 'late')).toBe(false);
      for (const claim of claimed) expect(await harness.queue.complete(claim, null)).toBe(true);
    });

    it('cancels a waiting job: it is never handed out, and stays cancelled', async () => {
      const job = newJob();
      await enqueue(job);
      await harness.queue.cancel(JOB_SCOPE, job.id, delivery);
      expect(await find(job.id)).toMatchObject({ state: 'cancelled', result: null });
      expect(await claimNow()).toBeUndefined();
      await harness.queue.cancel(JOB_SCOPE, job.id, delivery);
      await harness.restart();
      expect(await claimNow()).toBeUndefined();
      expect(await find(job.id)).toMatchObject({ state: 'cancelled' });
    });

    it('cancels a running job: its worker is notified, and its result is discarded', async () => {
      const job = newJob();
      await enqueue(job);
      const claimed = await mustClaim();
      await harness.queue.cancel(JOB_SCOPE, job.id, delivery);
      await harness.pass(1);
      expect(claimed.signal.aborted).toBe(true);
      expect(await harness.queue.complete(claimed, 'too late')).toBe(false);
      expect(await find(job.id)).toMatchObject({ state: 'cancelled', result: null });
    });

    it('refuses to cancel what is done and what is not there', async () => {
      const job = newJob();
      await enqueue(job);
      await harness.queue.complete(await mustClaim(), null);
      const cancel = (id: string) => harness.queue.cancel(JOB_SCOPE, id, delivery);
      await expect(cancel(job.id)).rejects.toMatchObject({ code: 'CONFLICT' });
      await expect(cancel(newJob().id)).rejects.toMatchObject({ code: 'NOT_FOUND' });
      expect(await find(job.id)).toMatchObject({ state: 'completed' });
    });

    it('forgets final jobs on request, active ones never', async () => {
      const [done, running, waiting] = [newJob(), newJob(), newJob()];
      await enqueue(done);
      await harness.queue.complete(await mustClaim(), null);
      await enqueue(running);
      await mustClaim();
      await enqueue(waiting);
      const remove = (id: string) => harness.queue.remove(JOB_SCOPE, id, delivery);
      for (const { id } of [running, waiting]) {
        await expect(remove(id)).rejects.toMatchObject({ code: 'CONFLICT' });
      }
      await expect(remove(newJob().id)).rejects.toMatchObject({ code: 'NOT_FOUND' });
      const ids = [done.id, running.id, waiting.id, newJob().id, done.id];
      expect(await harness.queue.removeAll(JOB_SCOPE, ids, delivery)).toBe(1);
      expect(await find(done.id)).toBeUndefined();
      await harness.queue.cancel(JOB_SCOPE, waiting.id, delivery);
      await remove(waiting.id);
      const left = await harness.queue.list(JOB_SCOPE, { limit: 10, offset: 0 }, engine);
      expect(left.map(({ id }) => id)).toEqual([running.id]);
    });

    it('lists jobs newest first, page by page, each repository its own', async () => {
      const jobs = [newJob(), newJob(), newJob(), newJob(), newJob()];
      for (const job of jobs) await enqueue(job);
      await enqueue(newJob({}, OTHER_JOB_SCOPE), OTHER_JOB_SCOPE);
      const page = async (limit: number, offset: number) =>
        (await harness.queue.list(JOB_SCOPE, { limit, offset }, engine)).map(({ id }) => id);
      const newest = jobs.map(({ id }) => id).reverse();
      expect(await page(10, 0)).toEqual(newest);
      expect(await page(2, 1)).toEqual(newest.slice(1, 3));
      expect(await page(2, 4)).toEqual(newest.slice(4));
      expect(await page(2, 5)).toEqual([]);
    });

    it('counts what waits, runs and was handed out', async () => {
      await enqueue(newJob({ priority: 'high' }));
      await enqueue(newJob());
      await enqueue(newJob({ type: 'Other', priority: 'low' }));
      await mustClaim();
      const counts = await harness.queue.count(JOB_SCOPE, engine);
      expect(counts).toEqual({
        scheduled: { high: 0, normal: 1, low: 1 },
        dispatched: { high: 1, normal: 0, low: 0 },
        activeMax: harness.activeMax,
        kept: 3,
        types: { Test: { scheduled: 1, running: 1 }, Other: { scheduled: 1, running: 0 } },
      });
    });

    it('refuses more active jobs than there may be, and takes them again when there is room', async () => {
      for (let n = 0; n < harness.activeMax; n++) await enqueue(newJob());
      await expect(enqueue(newJob())).rejects.toMatchObject({ code: 'OVERLOADED' });
      await harness.queue.complete(await mustClaim(), null);
      await enqueue(newJob());
    });

    it('refuses a payload and a result that are too large', async () => {
      const large = 'x'.repeat(70_000);
      await expect(enqueue(newJob({ payload: large }))).rejects.toMatchObject({ code: 'PAYLOAD_TOO_LARGE' });
      await enqueue(newJob());
      const claimed = await mustClaim();
      await expect(harness.queue.complete(claimed, large)).rejects.toMatchObject({
        code: 'PAYLOAD_TOO_LARGE',
      });
      expect(await harness.queue.complete(claimed, 'short')).toBe(true);
    });
  });
}
