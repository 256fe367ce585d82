import { createHash } from 'node:crypto';
import { actorKindOf } from '#runtime/actor/actor-id.ts';
import { engineCaller } from '#runtime/actor/engine-caller.ts';
import { SQL_CHANGES_SINCE } from '#runtime/actor/message-version.ts';
import type { ActorId, ActorLifecycle, Delivery, Router } from '#runtime/actor/ports.ts';
import { assert } from '#runtime/base/assert.ts';
import { type Backoff, backoffMs } from '#runtime/base/time/backoff.ts';
import type { Clock } from '#runtime/base/time/clock.ts';
import { type Random, uuidV7 } from '#runtime/base/random.ts';
import type { Caller, IdempotencyKey } from '#runtime/commit/behaviour.ts';
import type { JsonValue } from '#runtime/content/values/json-value.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { JOB_PAYLOAD_BYTES_MAX, type JobRecord, type NewJob, type SubmittedJob } from '#runtime/jobs/job.ts';
import { checkJob } from '#runtime/jobs/outbox.ts';
import type { ClaimedJob, FailureOutcome, JobCounts, JobPage, JobScope, Queue } from '#runtime/jobs/ports.ts';
import type {
  ClaimAnswered,
  JobClaimed,
  JobEnqueued,
  JobFailed,
  JobsCommand,
  JobsQuery,
  QueueReply,
  RefuseJob,
  SubmitJob,
} from './messages.ts';

/** Settings of a queue. */
export interface QueueSettings {
  /** Time to live of a claim without a heartbeat, in milliseconds. */
  readonly leaseMs: number;
  /** Backoff between attempts of a failed job. */
  readonly retries: Backoff;
}

/**
 * Default settings: a lease of three heartbeats of ten seconds, retries after 10, 30 and 60 seconds.
 *
 * @see docs/interface/jobs.md#attempts
 */
export const queueDefaults: QueueSettings = Object.freeze({
  leaseMs: 30_000,
  retries: { firstMs: 10_000, factor: 3, mostMs: 60_000 },
});

/** Dependencies of every queue. */
export interface ActorQueueEnvironment {
  readonly router: Router;
  readonly lifecycle: Pick<ActorLifecycle, 'create' | 'exists'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly settings?: QueueSettings;
}

/** Delay before the queue of a repository that failed to answer is tried again, in milliseconds. */
export const FAILED_RETRY_MS = 5_000;

/**
 * Base of all queues. The jobs actor of a repository stores its jobs and alone decides the state and the claim of each.
 * Queues differ in how a worker learns that a job can be claimed.
 */
export abstract class ActorQueue implements Queue {
  readonly #router: Router;
  readonly #lifecycle: ActorQueueEnvironment['lifecycle'];
  readonly #random: Random;
  readonly #engine = engineCaller('');
  readonly #claims = new Map<string, { readonly id: string; readonly lost: AbortController }>();
  protected readonly clock: Clock;
  protected readonly settings: QueueSettings;
  /** Identifies this process. */
  protected readonly worker: string;

  constructor(environment: ActorQueueEnvironment) {
    this.#router = environment.router;
    this.#lifecycle = environment.lifecycle;
    this.clock = environment.clock;
    this.#random = environment.random;
    this.settings = environment.settings ?? queueDefaults;
    this.worker = this.#newName();
  }

  abstract claim(
    types: readonly string[],
    signal: AbortSignal,
    busy?: () => readonly string[],
  ): Promise<ClaimedJob | undefined>;

  prepare(scope: JobScope): Promise<void> {
    return this.#lifecycle.create(actorOf(scope));
  }

  async prepareSource(scope: JobScope, actor: ActorId): Promise<void> {
    await this.prepare(scope);
    await this.tell<QueueReply>(scope, { type: 'NoteSource', actor });
  }

  async sources(scope: JobScope): Promise<readonly ActorId[]> {
    return ((await this.ask(scope, { type: 'ListSources' }, this.engine)) ?? []) as readonly ActorId[];
  }

  async forgetSource(scope: JobScope, actor: ActorId): Promise<void> {
    await this.tell<QueueReply>(scope, { type: 'ForgetSource', actor });
  }

  async enqueue(scope: JobScope, job: NewJob): Promise<JobRecord> {
    checkJob(job);
    const answer = await this.tell<JobEnqueued>(scope, { type: 'EnqueueJob', job });
    return answer.job;
  }

  async submit(scope: JobScope, job: SubmittedJob, repeated?: IdempotencyKey): Promise<string> {
    checkJob(job);
    await this.prepare(scope);
    const command: SubmitJob = { type: 'SubmitJob', job, since: SQL_CHANGES_SINCE };
    const caller = this.#engine;
    const delivery =
      repeated === undefined
        ? { caller }
        : { caller, idempotency: { ...repeated, key: keyOfCaller(job.submitter, repeated.key) } };
    return (await this.#order(scope, command, delivery)) as string;
  }

  async refuse(
    scope: JobScope,
    submitter: string,
    refusal: ServiceError,
    repeated: IdempotencyKey,
  ): Promise<string> {
    // Without a queue nothing was submitted before.
    if (!(await this.has(scope))) throw refusal;
    const { code, details, field, message } = refusal;
    const command: RefuseJob = {
      type: 'RefuseJob',
      code,
      message,
      ...(field === undefined ? {} : { field }),
      ...(details === undefined ? {} : { details }),
      since: SQL_CHANGES_SINCE,
    };
    const idempotency = { ...repeated, key: keyOfCaller(submitter, repeated.key) };
    return (await this.#order(scope, command, { caller: this.#engine, idempotency })) as string;
  }

  async heartbeat(claim: ClaimedJob, progress?: number): Promise<boolean> {
    const { leaseMs } = this.settings;
    const renew = { type: 'RenewJob', ...claimedBy(claim), leaseMs } as const;
    const answer = await this.tell<ClaimAnswered>(
      claim.scope,
      progress === undefined ? renew : { ...renew, progress },
    );
    if (!answer.isHeld) this.lose(claim.token);
    return answer.isHeld;
  }

  async complete(claim: ClaimedJob, result: JsonValue): Promise<boolean> {
    const bytes = Buffer.byteLength(JSON.stringify(result));
    if (bytes > JOB_PAYLOAD_BYTES_MAX) {
      throw new ServiceError('PAYLOAD_TOO_LARGE', `A job answers at most ${JOB_PAYLOAD_BYTES_MAX} bytes`);
    }
    return this.#end(claim, { type: 'CompleteJob', ...claimedBy(claim), result });
  }

  async fail(claim: ClaimedJob, error: string, isFinal: boolean): Promise<FailureOutcome> {
    const { retries } = this.settings;
    const retryAfterMs = isFinal ? null : backoffMs(retries, claim.job.retries, this.#random);
    const command = { type: 'FailJob', ...claimedBy(claim), error, retryAfterMs } as const;
    const { outcome } = await this.tell<JobFailed>(claim.scope, command);
    this.#claims.delete(claim.token);
    this.failed(claim, outcome, retryAfterMs ?? 0);
    return outcome;
  }

  release(claim: ClaimedJob): Promise<boolean> {
    return this.#end(claim, { type: 'ReleaseJob', ...claimedBy(claim) });
  }

  async cancel(scope: JobScope, id: string, delivery: Delivery): Promise<void> {
    await this.#order(scope, { type: 'CancelJob', id }, delivery);
    this.loseJob(id);
  }

  async remove(scope: JobScope, id: string, delivery: Delivery): Promise<void> {
    await this.#order(scope, { type: 'RemoveJob', id }, delivery);
  }

  async removeAll(scope: JobScope, ids: readonly string[], delivery: Delivery): Promise<number> {
    if (!(await this.#lifecycle.exists(actorOf(scope)))) return 0;
    return (await this.#order(scope, { type: 'RemoveJobs', ids }, delivery)) as number;
  }

  async find(scope: JobScope, id: string, caller: Caller): Promise<JobRecord | undefined> {
    return (await this.ask(scope, { type: 'FindJob', id }, caller)) as JobRecord | undefined;
  }

  async list(scope: JobScope, { limit, offset }: JobPage, caller: Caller): Promise<readonly JobRecord[]> {
    const jobs = await this.ask(scope, { type: 'ListJobs', limit, offset }, caller);
    return (jobs as readonly JobRecord[] | undefined) ?? [];
  }

  async count(scope: JobScope, caller: Caller): Promise<JobCounts | undefined> {
    return (await this.ask(scope, { type: 'CountJobs' }, caller)) as JobCounts | undefined;
  }

  /** Called with the status of a queue after each command of the engine, in the order of the commands. */
  protected heard(_scope: JobScope, _status: QueueReply['status']): void {}

  /** Called after a command that a caller has asked for, whose result has no status of the queue. */
  protected ordered(_scope: JobScope): void {}

  /** Called when an attempt has failed. @param retryAfterMs delay when the job is retried */
  protected failed(_claim: ClaimedJob, _outcome: FailureOutcome, _retryAfterMs: number): void {}

  /** The engine as caller. */
  protected get engine(): Caller {
    return this.#engine;
  }

  /** Whether a repository has a queue. */
  protected has(scope: JobScope): boolean | Promise<boolean> {
    return this.#lifecycle.exists(actorOf(scope));
  }

  /**
   * Asks the jobs actor for the next due job.
   *
   * @returns the claim, if any, and the answer of the actor
   */
  protected async claimFrom(
    scope: JobScope,
    types: readonly string[],
    busy: readonly string[],
  ): Promise<{ readonly claim: ClaimedJob | undefined; readonly answer: JobClaimed }> {
    const { leaseMs } = this.settings;
    const token = this.#newName();
    const { worker } = this;
    const command: JobsCommand = {
      type: 'ClaimJob',
      types,
      token,
      worker,
      leaseMs,
      ...(busy.length === 0 ? {} : { busy }),
    };
    const answer = (await this.#router.command(actorOf(scope), command, {
      caller: this.#engine,
    })) as JobClaimed;
    const { job } = answer;
    if (job === null) return { claim: undefined, answer };
    // An earlier attempt in this process had the job until its lease ended.
    this.loseJob(job.id);
    const lost = new AbortController();
    this.#claims.set(token, { id: job.id, lost });
    return { claim: { scope, job, token, leaseMs, signal: lost.signal }, answer };
  }

  /** Aborts the attempts of a job in this process, because they lost it. */
  protected loseJob(id: string): void {
    for (const [token, claim] of this.#claims) if (claim.id === id) this.lose(token);
  }

  /** Aborts an attempt that lost its job. */
  protected lose(token: string): void {
    this.#claims.get(token)?.lost.abort();
    this.#claims.delete(token);
  }

  /** Sends a command of the engine. Answers arrive in the order of the commands, so the last status is current. */
  protected async tell<Result extends QueueReply>(scope: JobScope, command: JobsCommand): Promise<Result> {
    const answer = (await this.#router.command(actorOf(scope), command, {
      caller: this.#engine,
    })) as Result;
    this.heard(scope, answer.status);
    return answer;
  }

  /** Queries a queue. @returns undefined when the repository has no queue */
  protected async ask(scope: JobScope, query: JobsQuery, caller: Caller): Promise<unknown> {
    return (await this.has(scope)) ? this.#router.query(actorOf(scope), query, caller) : undefined;
  }

  async #end(claim: ClaimedJob, command: JobsCommand): Promise<boolean> {
    const { isHeld } = await this.tell<ClaimAnswered>(claim.scope, command);
    this.#claims.delete(claim.token);
    return isHeld;
  }

  /**
   * Sends a command that a caller has asked for. A repeated command gets the stored first answer, so the answer has no status.
   */
  async #order(scope: JobScope, command: JobsCommand, delivery: Delivery): Promise<unknown> {
    const result = await this.#router.command(actorOf(scope), command, delivery);
    this.ordered(scope);
    return result;
  }

  #newName(): string {
    return uuidV7(this.clock.wallMs(), this.#random);
  }
}

function claimedBy({ job, token }: ClaimedJob): { readonly id: string; readonly token: string } {
  return { id: job.id, token };
}

/** The engine sends the command, so its keys have to tell the callers apart. */
function keyOfCaller(submitter: string, key: string): string {
  return createHash('sha256').update(`${submitter}\0${key}`).digest('base64url');
}

function actorOf(scope: JobScope): ActorId {
  const actor = `${scope}/jobs`;
  assert(actorKindOf(actor) === 'jobs' && scope.split('/').length === 2, `${scope} is a repository`);
  return actor;
}
