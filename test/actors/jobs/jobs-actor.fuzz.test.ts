import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { jobsActor } from '#actors/jobs/jobs-actor.ts';
import type { JobClaimed, JobEnqueued, JobFailed, JobsCommand, QueueReply } from '#actors/jobs/messages.ts';
import { jobPriorities, type JobPriority, type JobRecord, type JobState } from '#runtime/jobs/job.ts';
import type { JobCounts } from '#runtime/jobs/ports.ts';
import { Engine, engineUser, TENANT } from '#test/support/engine.ts';
import { newJob } from '#test/support/job-fixtures.ts';
import { TestClock } from '#test/support/test-clock.ts';
import { workloadCount } from '#test/support/workload-count.ts';

const LEASE_MS = 1_000;
const RETENTION_MS = 20_000;

/** What may happen; a number picks one of the jobs or attempts there are. */
type Step =
  | {
      readonly kind: 'enqueue';
      readonly key: string | undefined;
      readonly priority: JobPriority;
      readonly type: string;
    }
  | { readonly kind: 'again' | 'cancel' | 'remove'; readonly pick: number }
  | { readonly kind: 'claim'; readonly worker: string; readonly types: readonly string[] }
  | { readonly kind: 'renew' | 'complete' | 'release'; readonly pick: number }
  | { readonly kind: 'fail'; readonly pick: number; readonly retryAfterMs: number | null }
  | { readonly kind: 'pass'; readonly ms: number }
  | { readonly kind: 'recover'; readonly worker: string }
  | { readonly kind: 'clean' };

const picks = fc.nat({ max: 1000 });
const workers = fc.constantFrom('one', 'two');

const steps: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('enqueue' as const),
      key: fc.option(fc.constantFrom('a', 'b'), { nil: undefined }),
      priority: fc.constantFrom(...jobPriorities),
      type: fc.constantFrom('Test', 'Other'),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('claim' as const),
      worker: workers,
      types: fc.constantFrom(['Test'], ['Other'], ['Test', 'Other']),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constantFrom('again', 'cancel', 'remove' as const), pick: picks }),
  },
  {
    weight: 5,
    arbitrary: fc.record({ kind: fc.constantFrom('renew', 'complete', 'release' as const), pick: picks }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('fail' as const),
      pick: picks,
      retryAfterMs: fc.constantFrom(null, 0, 700),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('pass' as const), ms: fc.constantFrom(1, 600, 1_500, 30_000) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('recover' as const), worker: workers }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('clean' as const) }) },
) as fc.Arbitrary<Step>;

/** A job as the reference keeps it. */
interface ModelJob {
  readonly id: string;
  readonly key: string | undefined;
  readonly priority: JobPriority;
  readonly type: string;
  state: JobState;
  retries: number;
  dueMs: number;
  forgetMs: number;
  lease: { readonly token: string; readonly worker: string; untilMs: number } | undefined;
}

const RETRIES_MAX = 2;

/** The queue as one would write it down without a thought for speed. */
class Model {
  readonly jobs = new Map<string, ModelJob>();

  active(job: ModelJob): boolean {
    return job.state === 'scheduled' || job.state === 'running';
  }

  holder(id: string, token: string): ModelJob | undefined {
    const job = this.jobs.get(id);
    return job?.lease?.token === token ? job : undefined;
  }

  end(job: ModelJob, state: JobState, nowMs: number): void {
    Object.assign(job, { state, lease: undefined, forgetMs: nowMs + RETENTION_MS });
  }

  fail(job: ModelJob, nowMs: number, retryAfterMs: number | null): void {
    const retries = job.retries + 1;
    if (retryAfterMs === null || retries > RETRIES_MAX) this.end(job, 'failed', nowMs);
    else Object.assign(job, { state: 'scheduled', lease: undefined, retries, dueMs: nowMs + retryAfterMs });
  }

  takeBack(nowMs: number, isGone: (lease: NonNullable<ModelJob['lease']>) => boolean): void {
    for (const job of this.jobs.values()) {
      if (job.lease !== undefined && isGone(job.lease)) this.fail(job, nowMs, 0);
    }
  }

  next(nowMs: number, types: readonly string[]): ModelJob | undefined {
    const due = [...this.jobs.values()].filter(
      (job) => job.state === 'scheduled' && job.dueMs <= nowMs && types.includes(job.type),
    );
    const rank = (job: ModelJob) => jobPriorities.indexOf(job.priority);
    return due.sort((a, b) => rank(a) - rank(b) || a.dueMs - b.dueMs || (a.id < b.id ? -1 : 1))[0];
  }

  counts(): { scheduled: Record<JobPriority, number>; kept: number } {
    const scheduled = { high: 0, normal: 0, low: 0 };
    for (const job of this.jobs.values()) if (job.state === 'scheduled') scheduled[job.priority] += 1;
    return { scheduled, kept: this.jobs.size };
  }

  /** @param types of the waiting jobs that count; default: all */
  status(types?: readonly string[]): QueueReply['status'] {
    const due = [...this.jobs.values()].flatMap((job) => {
      if (!this.active(job)) return [];
      if (job.lease !== undefined) return [job.lease.untilMs];
      return types?.includes(job.type) === false ? [] : [job.dueMs];
    });
    const clean = [...this.jobs.values()].flatMap((job) => (this.active(job) ? [] : [job.forgetMs]));
    return { dueMs: least(due), cleanMs: least(clean) };
  }
}

function least(times: readonly number[]): number | null {
  return times.length === 0 ? null : Math.min(...times);
}

let folder: string;
let engine: Engine;
const clock = new TestClock();
let runs = 0;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'grove-test-'));
  const limits = {
    activeMax: 1_000,
    finalMax: 1_000,
    retentionMs: RETENTION_MS,
    deadLetterMs: RETENTION_MS,
  };
  engine = await Engine.open(folder, { kinds: [jobsActor(limits)], clock });
});

afterAll(async () => {
  await engine.close();
  rmSync(folder, { recursive: true, force: true });
});

/** One run: the actor beside the model, the same said to both. */
class Run {
  readonly #actor: string;
  readonly #model = new Model();
  /** Attempts made, those that are over included. */
  readonly #attempts: { readonly id: string; readonly token: string }[] = [];
  readonly #ids: string[] = [];

  constructor(actor: string) {
    this.#actor = actor;
  }

  async step(step: Step): Promise<void> {
    const nowMs = clock.wallMs();
    const model = this.#model;
    switch (step.kind) {
      case 'pass':
        clock.advance(step.ms);
        return;
      case 'enqueue':
        return this.#enqueue(newJob({ ...step, key: step.key as string, retriesMax: RETRIES_MAX }), nowMs);
      case 'again': {
        const id = pick(this.#ids, step.pick);
        const known = id === undefined ? undefined : model.jobs.get(id);
        if (known === undefined) return;
        const { job } = await this.#tell<JobEnqueued>({
          type: 'EnqueueJob',
          job: { ...newJob(), id: known.id },
        });
        expect(job).toMatchObject({ id: known.id, state: known.state });
        return;
      }
      case 'claim':
        return this.#claim(step.worker, step.types, nowMs);
      case 'cancel':
      case 'remove':
        return this.#order(step.kind, pick(this.#ids, step.pick), nowMs);
      case 'recover':
        model.takeBack(nowMs, (lease) => lease.worker !== step.worker);
        await this.#tell({ type: 'RecoverJobs', worker: step.worker });
        return;
      case 'clean':
        for (const job of [...model.jobs.values()]) {
          if (!model.active(job) && job.forgetMs <= nowMs) model.jobs.delete(job.id);
        }
        await this.#tell({ type: 'CleanJobs' });
        return;
      default:
        return this.#answer(step, nowMs);
    }
  }

  async check(): Promise<void> {
    const query = async <T>(query: unknown) => (await engine.host.query(this.#actor, query, engineUser)) as T;
    const listed = await query<JobRecord[]>({ type: 'ListJobs', limit: 1_000, offset: 0 });
    const expected = [...this.#model.jobs.values()].map(({ id, retries, state }) => ({ id, retries, state }));
    expect(listed.map(({ id, retries, state }) => ({ id, retries, state })).reverse()).toEqual(
      expected.sort((a, b) => (a.id < b.id ? -1 : 1)),
    );
    expect(await query<JobCounts>({ type: 'CountJobs' })).toMatchObject(this.#model.counts());
    const { status } = await this.#tell<QueueReply>({ type: 'CleanJobs' });
    // What is due to be forgotten has just been; the model forgets when told.
    expect(status.dueMs).toBe(this.#model.status().dueMs);
    for (const job of [...this.#model.jobs.values()]) {
      if (!this.#model.active(job) && job.forgetMs <= clock.wallMs()) this.#model.jobs.delete(job.id);
    }
    expect(status).toEqual(this.#model.status());
  }

  async #enqueue(job: ReturnType<typeof newJob>, nowMs: number): Promise<void> {
    const { id, key, priority, type } = job;
    const status = [...this.#model.jobs.values()].find(
      (other) => key !== undefined && other.key === key && this.#model.active(other),
    );
    const { job: made } = await this.#tell<JobEnqueued>({ type: 'EnqueueJob', job });
    expect(made.id).toBe(status?.id ?? id);
    if (status !== undefined) return;
    this.#ids.push(id);
    this.#model.jobs.set(id, {
      id,
      key,
      priority: priority as JobPriority,
      type,
      state: 'scheduled',
      retries: 0,
      dueMs: nowMs,
      forgetMs: 0,
      lease: undefined,
    });
  }

  async #claim(worker: string, types: readonly string[], nowMs: number): Promise<void> {
    const model = this.#model;
    model.takeBack(nowMs, (lease) => lease.untilMs <= nowMs);
    const expected = model.next(nowMs, types);
    const token = `token-${this.#attempts.length}`;
    const { job, status } = await this.#tell<JobClaimed>({
      type: 'ClaimJob',
      types,
      token,
      worker,
      leaseMs: LEASE_MS,
    });
    expect(job?.id).toBe(expected?.id);
    if (expected !== undefined)
      Object.assign(expected, { state: 'running', lease: { token, worker, untilMs: nowMs + LEASE_MS } });
    expect(status.dueMs).toBe(model.status(types).dueMs);
    if (expected === undefined) return;
    this.#attempts.push({ id: expected.id, token });
  }

  async #order(kind: 'cancel' | 'remove', id: string | undefined, nowMs: number): Promise<void> {
    if (id === undefined) return;
    const job = this.#model.jobs.get(id);
    const sent = this.#tell({ type: kind === 'cancel' ? 'CancelJob' : 'RemoveJob', id });
    if (job === undefined) await expect(sent).rejects.toMatchObject({ code: 'NOT_FOUND' });
    else if (
      kind === 'cancel' ? job.state === 'completed' || job.state === 'failed' : this.#model.active(job)
    )
      await expect(sent).rejects.toMatchObject({ code: 'CONFLICT' });
    else {
      await sent;
      if (kind === 'remove') this.#model.jobs.delete(id);
      else if (job.state !== 'cancelled') this.#model.end(job, 'cancelled', nowMs);
    }
  }

  async #answer(
    step: Extract<Step, { kind: 'renew' | 'complete' | 'release' | 'fail' }>,
    nowMs: number,
  ): Promise<void> {
    const attempt = pick(this.#attempts, step.pick);
    if (attempt === undefined) return;
    const model = this.#model;
    const job = model.holder(attempt.id, attempt.token);
    if (step.kind === 'fail') {
      const { outcome } = await this.#tell<JobFailed>({
        type: 'FailJob',
        ...attempt,
        error: 'failed',
        retryAfterMs: step.retryAfterMs,
      });
      if (job !== undefined) model.fail(job, nowMs, step.retryAfterMs);
      expect(outcome).toBe(job === undefined ? 'lost' : job.state === 'failed' ? 'dead' : 'retried');
      return;
    }
    const command: JobsCommand =
      step.kind === 'renew'
        ? { type: 'RenewJob', ...attempt, leaseMs: LEASE_MS }
        : step.kind === 'complete'
          ? { type: 'CompleteJob', ...attempt, result: null }
          : { type: 'ReleaseJob', ...attempt };
    expect(await this.#tell(command)).toMatchObject({ isHeld: job !== undefined });
    if (job === undefined) return;
    if (step.kind === 'complete') model.end(job, 'completed', nowMs);
    else if (step.kind === 'release') {
      Object.assign(job, { state: 'scheduled', lease: undefined, dueMs: nowMs });
    } else if (job.lease !== undefined) job.lease.untilMs = nowMs + LEASE_MS;
  }

  async #tell<Result>(command: JobsCommand): Promise<Result> {
    return (await engine.host.command(this.#actor, command, { caller: engineUser })) as Result;
  }
}

function pick<T>(from: readonly T[], number: number): T | undefined {
  return from[number % Math.max(from.length, 1)];
}

it('behaves as a plain queue for any commands in any order', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(steps, { minLength: 10, maxLength: 60 }), async (sequence) => {
      runs += 1;
      const actor = `${TENANT}/run-${runs}~0123456789/jobs`;
      await engine.host.create(actor);
      const run = new Run(actor);
      for (const step of sequence) await run.step(step);
      await run.check();
      await engine.host.destroyUnder(actor);
    }),
    { numRuns: workloadCount(40) },
  );
}, 60_000);
