import { actorKindOf } from '#runtime/actor/actor-id.ts';
import { engineCaller } from '#runtime/actor/engine-caller.ts';
import type { ActorId, ActorLifecycle, Delivery, Router } from '#runtime/actor/ports.ts';
import { assert } from '#runtime/base/assert.ts';
import { type Backoff, backoffMs } from '#runtime/base/backoff.ts';
import type { Clock, Timer } from '#runtime/base/clock.ts';
import { type Random, uuidV7 } from '#runtime/base/random.ts';
import type { Caller } from '#runtime/commit/behaviour.ts';
import type { JsonValue } from '#runtime/content/json-value.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { JOB_PAYLOAD_BYTES_MAX, type JobRecord, type NewJob } from '#runtime/jobs/job.ts';
import { checkJob } from '#runtime/jobs/outbox.ts';
import type { ClaimedJob, FailureOutcome, JobCounts, JobPage, JobScope, Queue } from '#runtime/jobs/ports.ts';
import type {
  ClaimAnswered,
  JobClaimed,
  JobEnqueued,
  JobFailed,
  JobsCommand,
  JobsQuery,
  QueueStanding,
  Standing,
} from './messages.ts';

/** How a queue behaves. */
export interface LocalQueueSettings {
  /** Time a claim lasts without a heartbeat, in milliseconds. */
  readonly leaseMs: number;
  /** Waits before a failed job is tried again. */
  readonly retries: Backoff;
}

/**
 * How a queue behaves unless told otherwise: three heartbeats of ten seconds to a lease, retries after 10, 30 and
 * 60 seconds.
 *
 * @see Supplement 11: Jobs
 */
export const queueDefaults: LocalQueueSettings = Object.freeze({
  leaseMs: 30_000,
  retries: { firstMs: 10_000, factor: 3, mostMs: 60_000 },
});

/** What a queue works with. */
export interface LocalQueueEnvironment {
  readonly router: Router;
  readonly lifecycle: Pick<ActorLifecycle, 'create' | 'exists'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly settings?: LocalQueueSettings;
  /** Told when the queue of a repository cannot be asked; it is tried again. */
  readonly onFailure: (scope: JobScope, cause: unknown) => void;
}

/** Longest time nobody looks whether something is due, in milliseconds: the wall clock may have been set. */
const LOOK_MS_MAX = 60_000;

/** Time after which a repository whose queue could not be asked is asked again, in milliseconds. */
const FAILED_RETRY_MS = 5_000;

/** How often final jobs are looked through for those to be forgotten, in milliseconds. @see Supplement 11: Jobs */
const CLEAN_EVERY_MS = 3_600_000;

/** What is remembered of the queue of one repository. Times are milliseconds since the Unix epoch. */
interface Remembered {
  dueMs: number;
  cleanMs: number;
  /** Rises with everything that may have made a job due. */
  changes: number;
}

/** What one claimer was told of a queue, good until it changes. */
interface Told {
  readonly dueMs: number;
  readonly changes: number;
}

/**
 * The `Queue` of one process: every repository's jobs actor keeps its own jobs, and this remembers which of them
 * have something due. Nothing in here is lost with the process: {@link LocalQueue.recover} looks it up again.
 *
 * The wall clock decides what is due, for it is what survives a restart. Setting it forward ends leases early, and a
 * job may then run twice; setting it back makes waits longer.
 */
export class LocalQueue implements Queue {
  readonly #router: Router;
  readonly #lifecycle: LocalQueueEnvironment['lifecycle'];
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #settings: LocalQueueSettings;
  readonly #onFailure: LocalQueueEnvironment['onFailure'];
  readonly #engine = engineCaller('');
  /** Names this process: what others had taken is taken back. */
  readonly #worker: string;
  /** The one that was served last is behind the others. */
  readonly #scopes = new Map<JobScope, Remembered>();
  readonly #claims = new Map<string, { readonly id: string; readonly lost: AbortController }>();
  readonly #wakers = new Set<() => void>();
  #cleaning: Timer | undefined;

  constructor(environment: LocalQueueEnvironment) {
    this.#router = environment.router;
    this.#lifecycle = environment.lifecycle;
    this.#clock = environment.clock;
    this.#random = environment.random;
    this.#settings = environment.settings ?? queueDefaults;
    this.#onFailure = environment.onFailure;
    this.#worker = this.#newName();
    this.#scheduleCleaning();
  }

  /**
   * Takes up the queue of a repository after a start: what earlier processes had taken is given out again.
   *
   * @returns whether the repository has a queue
   */
  async recover(scope: JobScope): Promise<boolean> {
    if (!(await this.#lifecycle.exists(actorOf(scope)))) return false;
    await this.#tell<Standing>(scope, { type: 'RecoverJobs', worker: this.#worker });
    return true;
  }

  /** Stops looking for what is to be forgotten. Claims that wait end with their own signals. */
  close(): void {
    this.#cleaning?.cancel();
  }

  prepare(scope: JobScope): Promise<void> {
    return this.#lifecycle.create(actorOf(scope));
  }

  async enqueue(scope: JobScope, job: NewJob): Promise<JobRecord> {
    checkJob(job);
    const answer = await this.#tell<JobEnqueued>(scope, { type: 'EnqueueJob', job });
    return answer.job;
  }

  async claim(types: readonly string[], signal: AbortSignal): Promise<ClaimedJob | undefined> {
    assert(types.length > 0, 'a worker handles some type of job');
    const told = new Map<JobScope, Told>();
    while (!signal.aborted) {
      const changed = this.#untilChanged(signal);
      try {
        const { claim, nextMs } = await this.#claimDue(types, told, signal);
        if (claim !== undefined) return claim;
        changed.lookAgainAt(nextMs);
        await changed.promise;
      } finally {
        changed.end();
      }
    }
    return undefined;
  }

  async heartbeat(claim: ClaimedJob, progress?: number): Promise<boolean> {
    const { leaseMs } = this.#settings;
    const renew = { type: 'RenewJob', ...claimedBy(claim), leaseMs } as const;
    const answer = await this.#tell<ClaimAnswered>(
      claim.scope,
      progress === undefined ? renew : { ...renew, progress },
    );
    if (!answer.isHeld) this.#lose(claim.token);
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
    const { retries } = this.#settings;
    const retryAfterMs = isFinal ? null : backoffMs(retries, claim.job.retries, this.#random);
    const { outcome } = await this.#tell<JobFailed>(claim.scope, {
      type: 'FailJob',
      ...claimedBy(claim),
      error,
      retryAfterMs,
    });
    this.#claims.delete(claim.token);
    return outcome;
  }

  release(claim: ClaimedJob): Promise<boolean> {
    return this.#end(claim, { type: 'ReleaseJob', ...claimedBy(claim) });
  }

  async cancel(scope: JobScope, id: string, delivery: Delivery): Promise<void> {
    await this.#order(scope, { type: 'CancelJob', id }, delivery);
    for (const [token, claim] of this.#claims) if (claim.id === id) this.#lose(token);
  }

  async remove(scope: JobScope, id: string, delivery: Delivery): Promise<void> {
    await this.#order(scope, { type: 'RemoveJob', id }, delivery);
  }

  async removeAll(scope: JobScope, ids: readonly string[], delivery: Delivery): Promise<number> {
    if (!(await this.#lifecycle.exists(actorOf(scope)))) return 0;
    return (await this.#order(scope, { type: 'RemoveJobs', ids }, delivery)) as number;
  }

  async find(scope: JobScope, id: string, caller: Caller): Promise<JobRecord | undefined> {
    return (await this.#ask(scope, { type: 'FindJob', id }, caller)) as JobRecord | undefined;
  }

  async list(scope: JobScope, { limit, offset }: JobPage, caller: Caller): Promise<readonly JobRecord[]> {
    const jobs = await this.#ask(scope, { type: 'ListJobs', limit, offset }, caller);
    return (jobs as readonly JobRecord[] | undefined) ?? [];
  }

  async count(scope: JobScope, caller: Caller): Promise<JobCounts | undefined> {
    return (await this.#ask(scope, { type: 'CountJobs' }, caller)) as JobCounts | undefined;
  }

  async #end(claim: ClaimedJob, command: JobsCommand): Promise<boolean> {
    const { isHeld } = await this.#tell<ClaimAnswered>(claim.scope, command);
    this.#claims.delete(claim.token);
    return isHeld;
  }

  /** Goes through the queues that have something due until one hands a job out. */
  async #claimDue(
    types: readonly string[],
    told: Map<JobScope, Told>,
    signal: AbortSignal,
  ): Promise<{ readonly claim?: ClaimedJob; readonly nextMs: number }> {
    let nextMs = Number.POSITIVE_INFINITY;
    for (const scope of [...this.#scopes.keys()]) {
      if (signal.aborted) break;
      const remembered = this.#scopes.get(scope);
      if (remembered === undefined) continue;
      const { changes } = remembered;
      const known = told.get(scope);
      const dueMs = known?.changes === changes ? known.dueMs : remembered.dueMs;
      if (dueMs > this.#clock.wallMs()) {
        nextMs = Math.min(nextMs, dueMs);
        continue;
      }
      const answer = await this.#claimIn(scope, types);
      if (typeof answer !== 'number') return { claim: answer, nextMs };
      // Not good any more when something changed meanwhile: then it is asked again.
      told.set(scope, { dueMs: answer, changes });
      nextMs = Math.min(nextMs, answer);
    }
    return { nextMs };
  }

  /** @returns the claim, or when to ask again */
  async #claimIn(scope: JobScope, types: readonly string[]): Promise<ClaimedJob | number> {
    const { leaseMs } = this.#settings;
    const token = this.#newName();
    const command = { type: 'ClaimJob', types, token, worker: this.#worker, leaseMs } as const;
    try {
      const { job, standing } = (await this.#router.command(actorOf(scope), command, {
        caller: this.#engine,
      })) as JobClaimed;
      if (job === null) return standing.dueMs ?? Number.POSITIVE_INFINITY;
      this.#remember(scope, standing);
      this.#moveBack(scope);
      // It had been given to somebody whose lease has ended.
      for (const [other, claim] of this.#claims) if (claim.id === job.id) this.#lose(other);
      const lost = new AbortController();
      this.#claims.set(token, { id: job.id, lost });
      return { scope, job, token, leaseMs, signal: lost.signal };
    } catch (cause) {
      if (cause instanceof ServiceError && cause.code === 'NOT_FOUND') {
        this.#scopes.delete(scope);
        return Number.POSITIVE_INFINITY;
      }
      // The other repositories go on.
      this.#onFailure(scope, cause);
      return this.#clock.wallMs() + FAILED_RETRY_MS;
    }
  }

  #moveBack(scope: JobScope): void {
    const remembered = this.#scopes.get(scope);
    if (remembered === undefined) return;
    this.#scopes.delete(scope);
    this.#scopes.set(scope, remembered);
  }

  #lose(token: string): void {
    this.#claims.get(token)?.lost.abort();
    this.#claims.delete(token);
  }

  /** What somebody tells a queue. A repetition is answered as the first time, so it does not say how things stand. */
  async #order(scope: JobScope, command: JobsCommand, delivery: Delivery): Promise<unknown> {
    const result = await this.#router.command(actorOf(scope), command, delivery);
    this.recover(scope).catch((cause) => this.#onFailure(scope, cause));
    return result;
  }

  /** What the engine tells a queue. Answers arrive in the order the commands ran, so the last one is right. */
  async #tell<Result extends Standing>(scope: JobScope, command: JobsCommand): Promise<Result> {
    const answer = (await this.#router.command(actorOf(scope), command, {
      caller: this.#engine,
    })) as Result;
    this.#remember(scope, answer.standing);
    return answer;
  }

  async #ask(scope: JobScope, query: JobsQuery, caller: Caller): Promise<unknown> {
    const actor = actorOf(scope);
    return (await this.#lifecycle.exists(actor)) ? this.#router.query(actor, query, caller) : undefined;
  }

  #remember(scope: JobScope, { cleanMs, dueMs }: QueueStanding): void {
    const changes = (this.#scopes.get(scope)?.changes ?? 0) + 1;
    const never = Number.POSITIVE_INFINITY;
    const remembered = { dueMs: dueMs ?? never, cleanMs: cleanMs ?? never, changes };
    if (this.#scopes.has(scope)) Object.assign(this.#scopes.get(scope) as Remembered, remembered);
    else this.#scopes.set(scope, remembered);
    for (const wake of [...this.#wakers]) wake();
  }

  /** A promise that ends with the next change, when the signal aborts, or when it is time to look again. */
  #untilChanged(signal: AbortSignal): {
    readonly promise: Promise<void>;
    lookAgainAt(wallMs: number): void;
    end(): void;
  } {
    let wake = (): void => undefined;
    let timer: Timer | undefined;
    const promise = new Promise<void>((resolve) => {
      wake = resolve;
    });
    this.#wakers.add(wake);
    signal.addEventListener('abort', wake);
    return {
      promise,
      lookAgainAt: (wallMs) => {
        timer = this.#clock.after(Math.min(Math.max(wallMs - this.#clock.wallMs(), 0), LOOK_MS_MAX), wake);
      },
      end: () => {
        timer?.cancel();
        this.#wakers.delete(wake);
        signal.removeEventListener('abort', wake);
      },
    };
  }

  #scheduleCleaning(): void {
    this.#cleaning = this.#clock.after(CLEAN_EVERY_MS, () => {
      void this.#clean();
      this.#scheduleCleaning();
    });
  }

  async #clean(): Promise<void> {
    for (const [scope, remembered] of [...this.#scopes]) {
      try {
        while (this.#scopes.has(scope) && remembered.cleanMs <= this.#clock.wallMs()) {
          await this.#tell<Standing>(scope, { type: 'CleanJobs' });
        }
      } catch (cause) {
        if (cause instanceof ServiceError && cause.code === 'NOT_FOUND') this.#scopes.delete(scope);
        else this.#onFailure(scope, cause);
      }
    }
  }

  #newName(): string {
    return uuidV7(this.#clock.wallMs(), this.#random);
  }
}

function claimedBy({ job, token }: ClaimedJob): { readonly id: string; readonly token: string } {
  return { id: job.id, token };
}

function actorOf(scope: JobScope): ActorId {
  const actor = `${scope}/jobs`;
  assert(actorKindOf(actor) === 'jobs' && scope.split('/').length === 2, `${scope} is a repository`);
  return actor;
}
