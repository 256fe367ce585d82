import type { ActorId } from '#runtime/actor/ports.ts';
import { type Backoff, backoffMs } from '#runtime/base/time/backoff.ts';
import type { Clock, Timer } from '#runtime/base/time/clock.ts';
import { type Random, uuidV7 } from '#runtime/base/random.ts';
import { crashPoint } from '#runtime/commit/crash-point.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { JobRequest, NewJob } from '#runtime/jobs/job.ts';
import { jobIdOf } from '#runtime/jobs/job-id.ts';
import { scopeOf } from '#runtime/jobs/outbox.ts';
import type { Queue } from '#runtime/jobs/ports.ts';
import type { Log } from '#runtime/telemetry/log-context.ts';

/** Waits after a failure. */
const RETRIES: Backoff = { firstMs: 250, factor: 2, mostMs: 60_000 };

/** Dependencies of {@link AnnouncedJobs}. */
export interface AnnouncedJobsEnvironment {
  readonly queue: Queue;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/**
 * Enqueues jobs that actors announce by events. Unlike a job in an outbox, an announced one is lost when the process ends
 * before it is enqueued, so the actor must announce it again after it is opened. A failed attempt is repeated until it
 * succeeds. The keys of the jobs recognize repetitions.
 */
export class AnnouncedJobs {
  readonly #environment: AnnouncedJobsEnvironment;
  readonly #retries = new Map<string, Timer>();
  readonly #running = new Set<Promise<void>>();
  #isClosed = false;

  constructor(environment: AnnouncedJobsEnvironment) {
    this.#environment = environment;
  }

  /** Enqueues a job of the repository of an actor, in the background. */
  enqueue(actor: ActorId, request: JobRequest): void {
    this.#try(actor, this.#jobOf(actor, request), 0);
  }

  /** Enqueues a job that is announced as well. Resolves when it is in the queue. Rejects as a queue does. */
  async enqueueNow(actor: ActorId, request: JobRequest): Promise<void> {
    const { queue } = this.#environment;
    await queue.prepare(scopeOf(actor));
    await queue.enqueue(scopeOf(actor), this.#jobOf(actor, request));
  }

  #jobOf(actor: ActorId, request: JobRequest): NewJob {
    const { clock, random } = this.#environment;
    const repositoryPart = decodeURIComponent(scopeOf(actor).split('/')[1] as string);
    return { ...request, id: jobIdOf(uuidV7(clock.wallMs(), random), repositoryPart) };
  }

  /** Stops retrying and waits for attempts in progress. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const timer of this.#retries.values()) timer.cancel();
    this.#retries.clear();
    await Promise.all(this.#running);
  }

  #try(actor: ActorId, job: NewJob, count: number): void {
    if (this.#isClosed) return;
    const attempt = this.#attempt(actor, job, count).finally(() => this.#running.delete(attempt));
    this.#running.add(attempt);
  }

  /** Never rejects. */
  async #attempt(actor: ActorId, job: NewJob, count: number): Promise<void> {
    const { clock, log, queue, random } = this.#environment;
    const scope = scopeOf(actor);
    this.#retries.delete(job.id);
    try {
      crashPoint('before-job-announced');
      await queue.prepare(scope);
      await queue.enqueue(scope, job);
    } catch (error) {
      // The repository has been removed.
      if (this.#isClosed || (error instanceof ServiceError && error.code === 'NOT_FOUND')) return;
      log.warn('a job could not be enqueued; it is tried again', { actor, type: job.type, error });
      const again = (): void => this.#try(actor, job, count + 1);
      this.#retries.set(job.id, clock.after(backoffMs(RETRIES, count, random), again));
    }
  }
}
