import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { jobsActor } from '#actors/jobs/jobs-actor.ts';
import { queueDefaults } from '#actors/jobs/actor-queue.ts';
import { LocalQueue } from '#actors/jobs/local-queue.ts';
import { JobRunner } from '#server/jobs/job-runner.ts';
import { systemRandom } from '#runtime/base/random.ts';
import type { JsonValue } from '#runtime/content/values/json-value.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { JobRecord, JobRequest, NewJob } from '#runtime/jobs/job.ts';
import type { RunningJob } from '#runtime/jobs/job-handler.ts';
import { silentLog } from '#runtime/telemetry/log-context.ts';
import { Engine, engineUser, TENANT } from '#test/support/engine.ts';
import { JOB_SCOPE, jobsLimits, newJob } from '#test/support/job-fixtures.ts';
import { settle, TestClock } from '#test/support/test-clock.ts';

let folder: string;
let engine: Engine;
let queue: LocalQueue;
const clock = new TestClock();
/** What a job does is a piece of code of the test. */
let work: (job: RunningJob) => Promise<JsonValue>;
let runner: JobRunner;
/** Jobs whose handler was asked to clean up, with their states then. */
const cleaned: (readonly [string, JobRecord['state']])[] = [];

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'grove-test-'));
  engine = await Engine.open(folder, { kinds: [jobsActor(jobsLimits)], clock });
  queue = new LocalQueue({
    router: engine.host,
    lifecycle: engine.host,
    clock,
    random: systemRandom,
    onFailure: (_scope, cause) => {
      throw cause;
    },
  });
  await queue.prepare(JOB_SCOPE);
  cleaned.splice(0);
  runner = start(2);
});

afterEach(async () => {
  const drained = runner.drain(60_000);
  await passUntil(drained);
  queue.close();
  await engine.close();
  rmSync(folder, { recursive: true, force: true });
});

function start(workers: number): JobRunner {
  const ended = async ({ id }: Pick<RunningJob, 'id'>): Promise<void> => {
    const { state } = await find({ id });
    cleaned.push([id, state]);
    if (cleaned.length === 1) throw new Error('it is logged');
  };
  const handlers = [{ type: 'Test', run: (job: RunningJob) => work(job), ended }];
  const started = new JobRunner({ queue, handlers, clock, log: silentLog, workers });
  started.start();
  return started;
}

/** Until what was said to the queue has been answered: real disks take real time, which the clock knows nothing of. */
async function quiet(): Promise<void> {
  for (let round = 0; round < 2; round++) {
    await settle(2);
    await queue.removeAll(JOB_SCOPE, [], { caller: engineUser });
  }
}

/** Lets time pass, a little at a time, until a promise has ended. */
async function passUntil<T>(promise: Promise<T>, stepMs = 500): Promise<T> {
  let isOver = false;
  void promise.finally(() => {
    isOver = true;
  });
  for (let step = 0; !isOver && step < 400; step++) {
    await quiet();
    clock.advance(stepMs);
  }
  return promise;
}

async function enqueue(request: Partial<JobRequest> = {}): Promise<NewJob> {
  const job = newJob(request);
  await queue.enqueue(JOB_SCOPE, job);
  return job;
}

async function find({ id }: Pick<NewJob, 'id'>): Promise<JobRecord> {
  return (await queue.find(JOB_SCOPE, id, engineUser)) as JobRecord;
}

/** The record as soon as it is in a state; time passes meanwhile. */
async function reached(job: NewJob, isReached: (record: JobRecord) => boolean): Promise<JobRecord> {
  for (let step = 0; step < 400; step++) {
    const record = await find(job);
    if (isReached(record)) return record;
    await quiet();
    clock.advance(250);
  }
  throw new Error(`the job stays ${JSON.stringify(await find(job))}`);
}

const inState = (state: JobRecord['state']) => (record: JobRecord) => record.state === state;

describe('the workers of a member', () => {
  it('are at most by half for one caller, and the other half for others', async () => {
    await passUntil(runner.drain(60_000));
    runner = start(4);
    const ends = new Map<string, () => void>();
    work = ({ id }) => new Promise((resolve) => ends.set(id, () => resolve(null)));
    const of = (submitter: string): Promise<NewJob> => enqueue({ submitter });
    const ada: NewJob[] = [];
    for (let index = 0; index < 5; index += 1) ada.push(await of('identity:ada'));
    const [bob, nobody] = [await of('identity:bob'), await enqueue()];
    const running = inState('running');
    for (const job of [ada[0]!, ada[1]!, bob, nobody]) await reached(job, running);
    expect((await find(ada[2]!)).state).toBe('scheduled');
    ends.get(bob.id)?.();
    await reached(bob, inState('completed'));
    await passUntil(quiet());
    // A worker is free, and it is not for ada, who has two.
    expect([...ends.keys()]).not.toContain(ada[2]!.id);
    const late = await of('identity:carl');
    await reached(late, running);
    ends.get(ada[0]!.id)?.();
    // As soon as one of hers has ended another one begins.
    await reached(ada[2]!, running);
    expect((await find(ada[3]!)).state).toBe('scheduled');
    for (const job of [...ada, nobody, late]) {
      await reached(job, (record) => record.state !== 'scheduled');
      ends.get(job.id)?.();
    }
    for (const job of [...ada, nobody, late]) await reached(job, inState('completed'));
  });
});

/** Waits until the job is told to stop, then throws, as a handler does. */
function untilStopped(job: RunningJob): Promise<never> {
  return new Promise((_, reject) => {
    job.signal.addEventListener('abort', () => reject(new Error('stopped')));
  });
}

describe('JobRunner', () => {
  it('has what a handler has kept removed after the outcome is stored, and not while it may be needed', async () => {
    let attempts = 0;
    work = async () => {
      attempts += 1;
      if (attempts === 1) throw new Error('try again');
      return null;
    };
    const done = await enqueue();
    await reached(done, ({ retries }) => retries === 1);
    await quiet();
    expect(cleaned).toEqual([]);
    await reached(done, inState('completed'));
    work = () => Promise.reject(new ServiceError('VALIDATION_FAILED', 'never'));
    const failed = await enqueue();
    await reached(failed, inState('failed'));
    work = untilStopped;
    const cancelled = await enqueue();
    await reached(cancelled, inState('running'));
    await queue.cancel(JOB_SCOPE, cancelled.id, { caller: engineUser });
    await quiet();
    expect(cleaned).toEqual([
      [done.id, 'completed'],
      [failed.id, 'failed'],
    ]);
  });

  it('has nothing removed of a job that was lost before its result was told', async () => {
    const job = await enqueue();
    work = async () => {
      // As another member does it, of which this one hears later.
      const cancel = { type: 'CancelJob', id: job.id };
      await engine.host.command(`${JOB_SCOPE}/jobs`, cancel, { caller: engineUser });
      return 'late';
    };
    await reached(job, inState('cancelled'));
    await quiet();
    expect(cleaned).toEqual([]);
  });

  it('does a job and keeps its result, the tenant and the payload being known to the handler', async () => {
    let seen: RunningJob | undefined;
    work = (job) => {
      seen = job;
      return Promise.resolve({ answer: 42 });
    };
    const job = await enqueue({ payload: ['a', 1] });
    expect(await reached(job, inState('completed'))).toMatchObject({ result: { answer: 42 }, error: null });
    expect(seen).toMatchObject({ id: job.id, tenant: TENANT, payload: ['a', 1] });
  });

  it('passes progress on while the job runs', async () => {
    let finish = (): void => undefined;
    work = async (job) => {
      clock.advance(2_000);
      job.progress(0.5);
      await new Promise<void>((resolve) => {
        finish = resolve;
      });
      return null;
    };
    const job = await enqueue();
    expect(await reached(job, ({ progress }) => progress > 0)).toMatchObject({
      state: 'running',
      progress: 0.5,
    });
    finish();
    expect(await reached(job, inState('completed'))).toMatchObject({ progress: 1 });
  });

  it('keeps a long job alive by heartbeats: it is run once', async () => {
    let runs = 0;
    let finish = (): void => undefined;
    work = async () => {
      runs += 1;
      await new Promise<void>((resolve) => {
        finish = resolve;
      });
      return null;
    };
    const job = await enqueue({ timeoutMs: 3_600_000 });
    await reached(job, inState('running'));
    for (let beat = 0; beat < 40; beat++) {
      await quiet();
      clock.advance(queueDefaults.leaseMs / 4);
    }
    finish();
    expect(await reached(job, inState('completed'))).toMatchObject({ retries: 0 });
    expect(runs).toBe(1);
  });

  it('tries a job again that failed, until it works', async () => {
    let runs = 0;
    work = () => {
      runs += 1;
      return runs < 3 ? Promise.reject(new Error('not yet')) : Promise.resolve('at last');
    };
    const job = await enqueue();
    expect(await reached(job, inState('completed'))).toMatchObject({ retries: 2, result: 'at last' });
  });

  it('fails a job at once with the reason when a retry cannot help', async () => {
    work = () => Promise.reject(new ServiceError('BRANCH_NOT_FOUND', "Branch 'x' not found"));
    const job = await enqueue();
    expect(await reached(job, inState('failed'))).toMatchObject({
      retries: 0,
      error: "Branch 'x' not found",
    });
  });

  it('shows nothing of the inside in the error of a job that broke', async () => {
    work = () => Promise.reject(new Error('secret: /etc/passwd'));
    const job = await enqueue({ retriesMax: 0 });
    expect((await reached(job, inState('failed'))).error).not.toContain('secret');
  });

  it('ends a job whose time is up, for good, also one that does not stop', async () => {
    const ends: (() => void)[] = [];
    work = (running) =>
      running.payload === 'obedient'
        ? untilStopped(running)
        : new Promise((resolve) => ends.push(() => resolve('far too late')));
    const obedient = await enqueue({ payload: 'obedient', timeoutMs: 5_000 });
    const stubborn = await enqueue({ payload: 'stubborn', timeoutMs: 5_000 });
    for (const job of [obedient, stubborn]) {
      const record = await reached(job, inState('failed'));
      expect(record.error).toBe('[timeout_final] The job took longer than 5 s');
      expect(record.retries).toBe(0);
    }
    for (const end of ends) end();
    await quiet();
    expect(await find(stubborn)).toMatchObject({ state: 'failed', result: null });
  });

  it('stops the handler of a job that is cancelled', async () => {
    let told: AbortSignal | undefined;
    work = (running) => {
      told = running.signal;
      return untilStopped(running);
    };
    const job = await enqueue();
    await reached(job, inState('running'));
    await queue.cancel(JOB_SCOPE, job.id, { caller: engineUser });
    expect(told?.aborted).toBe(true);
    await quiet();
    expect(await find(job)).toMatchObject({ state: 'cancelled', error: null, retries: 0 });
  });

  it('works on no more jobs at once than it has workers', async () => {
    let most = 0;
    let now = 0;
    let open = (): void => undefined;
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    work = async () => {
      now += 1;
      most = Math.max(most, now);
      await gate;
      now -= 1;
      return null;
    };
    const jobs = await Promise.all(Array.from({ length: 7 }, () => enqueue()));
    while (now < 2) await quiet();
    await quiet();
    open();
    for (const job of jobs) await reached(job, inState('completed'));
    expect(most).toBe(2);
  });

  it('gives back what it is interrupted in when the process stops; the next one does it', async () => {
    work = untilStopped;
    const jobs = [await enqueue(), await enqueue(), await enqueue()];
    await reached(jobs[1] as NewJob, inState('running'));
    await passUntil(runner.drain(10_000), 10);
    for (const job of jobs) expect(await find(job)).toMatchObject({ state: 'scheduled', retries: 0 });
    work = () => Promise.resolve('second start');
    runner = start(1);
    for (const job of jobs) {
      expect(await reached(job, inState('completed'))).toMatchObject({ result: 'second start' });
    }
  });

  it('stops in time even if a handler does not', async () => {
    let end = (): void => undefined;
    work = () =>
      new Promise((resolve) => {
        end = () => resolve(null);
      });
    const job = await enqueue();
    await reached(job, inState('running'));
    let isDrained = false;
    const drained = runner.drain(3_000).then(() => {
      isDrained = true;
    });
    await settle();
    expect(isDrained).toBe(false);
    clock.advance(3_000);
    await drained;
    expect(await find(job)).toMatchObject({ state: 'running' });
    end();
  });

  it('without workers does not claim jobs', async () => {
    await passUntil(runner.drain(1_000), 10);
    const idle = start(0);
    const job = await enqueue();
    await quiet();
    expect(await find(job)).toMatchObject({ state: 'scheduled' });
    await idle.drain(0);
    runner = idle;
  });
});
