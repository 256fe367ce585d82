import type { ReadPendingSince } from '#actors/branch/index-messages.ts';
import { LocalQueue } from '#actors/jobs/local-queue.ts';
import { SharedQueue } from '#actors/jobs/shared-queue.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import { engineCaller } from '#runtime/actor/engine-caller.ts';
import type { ActorId, ActorLifecycle, Router } from '#runtime/actor/ports.ts';
import type { Clock, Timer } from '#runtime/base/time/clock.ts';
import type { Random } from '#runtime/base/random.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { JobRequest } from '#runtime/jobs/job.ts';
import type { JobHandler } from '#runtime/jobs/job-handler.ts';
import { type AllowJobs, scopeOf } from '#runtime/jobs/outbox.ts';
import { OutboxRelay } from '#runtime/jobs/outbox-relay.ts';
import type { JobScope, Queue } from '#runtime/jobs/ports.ts';
import type { JobTickets } from '#runtime/jobs/tickets.ts';
import type { Log } from '#runtime/telemetry/log-context.ts';
import type { Metrics } from '#runtime/telemetry/metrics.ts';
import { AnnouncedJobs } from './announced-jobs.ts';
import { JobRunner } from './job-runner.ts';
import { PropertyIndexBuild, propertyIndexJob } from './property-index-build.ts';
import { registeredRepositories } from '#server/registry/registered-repositories.ts';
import { RevisionHistoryCopy } from './revision-history-copy.ts';

/** Dependencies of a member's jobs. */
export interface MemberJobsEnvironment {
  readonly router: Router;
  readonly lifecycle: ActorLifecycle;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Number of concurrent jobs; 0: none. */
  readonly workers: number;
  /** Handlers besides the built-in ones. */
  readonly handlers?: readonly JobHandler[];
  /** Announces jobs to the members of a cluster; undefined for a single process. */
  readonly tickets?: JobTickets;
  readonly metrics?: Metrics;
}

/** Time after which a failed recovery of pending jobs is repeated, in milliseconds. */
const TAKE_UP_RETRY_MS = 5_000;

/** The background jobs of a member: the queue, the relay from outboxes to it, and the workers. */
export class MemberJobs {
  readonly queue: Queue;
  readonly #queue: LocalQueue | SharedQueue;
  readonly #clock: Clock;
  readonly #relay: OutboxRelay;
  readonly #announced: AnnouncedJobs;
  readonly #runner: JobRunner;
  readonly #router: Router;
  readonly #lifecycle: ActorLifecycle;
  readonly #log: Log;
  #recovery: Promise<void> = Promise.resolve();
  /** Filters for the actors that this member took over since the last recovery began. */
  readonly #taken: ((actor: ActorId) => boolean)[] = [];
  /** Filter for the actors whose recovery must be repeated. */
  #later: (actor: ActorId) => boolean = () => false;
  #again: Timer | undefined;
  #isDraining = false;

  constructor(environment: MemberJobsEnvironment) {
    const { clock, handlers = [], log, random, router, workers } = environment;
    this.#router = router;
    this.#lifecycle = environment.lifecycle;
    this.#clock = clock;
    this.#log = log;
    this.#queue = openQueue(environment);
    this.queue = this.#queue;
    this.#relay = new OutboxRelay({ router, queue: this.#queue, clock, random, log });
    this.#announced = new AnnouncedJobs({ queue: this.#queue, clock, random, log });
    const own = [new RevisionHistoryCopy(router, clock), new PropertyIndexBuild(router, clock)];
    this.#runner = new JobRunner({
      queue: this.#queue,
      handlers: [...own, ...handlers],
      clock,
      log,
      workers,
    });
  }

  /** Number of concurrent jobs. */
  get workers(): number {
    return this.#runner.workers;
  }

  /** Types of jobs with a handler here. */
  get types(): readonly string[] {
    return this.#runner.types;
  }

  /** Creates the queue of a repository; before the commit that enqueues its first job. */
  prepare(scope: JobScope): Promise<void> {
    return this.#queue.prepare(scope);
  }

  /**
   * Lets the commits of a branch enqueue jobs; before the first one that does. The queue of its repository keeps the
   * branch first, so that a start always finds its outbox.
   */
  async prepareSource(branch: ActorId): Promise<void> {
    await this.#queue.prepareSource(scopeOf(branch), branch);
    const allow: AllowJobs = { type: 'AllowJobs' };
    await this.#router.command(branch, allow, { caller: engineCaller('') });
  }

  /** Delivers an actor's committed jobs to the queue, see {@link OutboxRelay.deliver}. */
  deliver(actor: ActorId): Promise<void> {
    return this.#relay.deliver(actor);
  }

  /** Enqueues a job that an actor of this member announced, see {@link AnnouncedJobs}. */
  announced(actor: ActorId, request: JobRequest): void {
    this.#announced.enqueue(actor, request);
  }

  /**
   * Resolves when the job that builds the pending property indexes of a branch is in the queue, so that it is listed when
   * the write that made them pending is answered. Never rejects: the owner of the branch enqueues it in any case.
   */
  async indexBuildListed(branch: ActorId): Promise<void> {
    const query: ReadPendingSince = { type: 'ReadPendingSince' };
    try {
      const since = (await this.#router.query(branch, query, engineCaller(''))) as string | null;
      if (since !== null) await this.#announced.enqueueNow(branch, propertyIndexJob(branch, since));
    } catch (error) {
      this.#log.debug('the job of an index is listed later', { actor: branch, error });
    }
  }

  /** Announces to free workers that jobs of this member's repositories may be claimed. */
  waiting(actor: ActorId, ids: readonly string[]): void {
    if (this.#queue instanceof SharedQueue) this.#queue.announce(scopeOf(actor), ids);
  }

  /**
   * Starts the workers.
   *
   * @param takesAllUp whether pending jobs of earlier processes are recovered in the background, in every repository;
   *   in a cluster each member recovers those of its own repositories, see {@link takeUp}
   */
  start(takesAllUp: boolean): void {
    this.#runner.start();
    if (takesAllUp) this.takeUp(() => true);
  }

  /**
   * Recovers in the background the pending jobs of repositories whose actors this member took over: for every
   * repository that has ever had a job, its queue and the outboxes of its repository actor and of the branches that may
   * enqueue.
   */
  takeUp(isMine: (actor: ActorId) => boolean): void {
    this.#taken.push(isMine);
    // Actors that are added during a recovery are handled by the next one.
    if (this.#taken.length === 1) this.#recovery = this.#recovery.then(() => this.#recover());
  }

  /**
   * Takes no more jobs and returns those under way, for up to `graceMs`; actors must still be available.
   */
  async drain(graceMs: number): Promise<void> {
    this.#isDraining = true;
    this.#again?.cancel();
    await this.#runner.drain(graceMs);
    await this.#announced.close();
    await this.#relay.close();
    await this.#recovery;
    this.#queue.close();
  }

  /** Never rejects. A failed recovery is repeated. */
  async #recover(): Promise<void> {
    const taken = this.#taken.splice(0);
    const failed = new Set<JobScope>();
    try {
      for await (const { parts, tenant } of registeredRepositories(this.#router)) {
        for (const part of parts) {
          if (this.#isDraining) return;
          const scope = actorId(tenant, part);
          if (!taken.some((isMine) => isMine(`${scope}/repository`))) continue;
          if (!(await this.#recoverRepository(scope))) failed.add(scope);
        }
      }
    } catch (error) {
      // Before the first start of a cluster is complete there is no tenant yet, hence no job.
      if (error instanceof ServiceError && error.code === 'NOT_FOUND') return;
      this.#log.error('jobs of earlier processes could not be found; it is tried again', { error });
      this.#takeUpLater((actor) => taken.some((isMine) => isMine(actor)));
      return;
    }
    if (failed.size > 0) this.#takeUpLater((actor) => failed.has(scopeOf(actor)));
  }

  #takeUpLater(isMine: (actor: ActorId) => boolean): void {
    if (this.#isDraining) return;
    this.#again?.cancel();
    const before = this.#later;
    this.#later = (actor) => isMine(actor) || before(actor);
    this.#again = this.#clock.after(TAKE_UP_RETRY_MS, () => {
      const later = this.#later;
      this.#later = () => false;
      this.takeUp(later);
    });
  }

  /** @returns whether it was recovered */
  async #recoverRepository(scope: JobScope): Promise<boolean> {
    try {
      if (!(await this.#queue.recover(scope))) return true;
      await this.#relay.deliver(`${scope}/repository`);
      for (const actor of await this.#queue.sources(scope)) {
        if (this.#isDraining) return true;
        if (await this.#lifecycle.exists(actor)) await this.#relay.deliver(actor);
        else await this.#queue.forgetSource(scope, actor);
      }
      return true;
    } catch (error) {
      this.#log.error('jobs of a repository could not be resumed; it is tried again', {
        repository: scope,
        error,
      });
      return false;
    }
  }
}

function openQueue(environment: MemberJobsEnvironment): LocalQueue | SharedQueue {
  const { log, metrics, tickets } = environment;
  const onFailure = (repository: JobScope, error: unknown): void =>
    log.error('jobs of a repository cannot be read', { repository, error });
  if (tickets === undefined) return new LocalQueue({ ...environment, onFailure });
  const issued = metrics?.counter(
    'svc_job_tickets_issued_total',
    'Tickets issued for jobs of own repositories.',
  );
  const again = metrics?.counter(
    'svc_job_tickets_redelivered_total',
    'Tickets taken that others had before.',
  );
  const idle = metrics?.counter('svc_job_tickets_idle_total', 'Tickets taken that found no job.');
  const queue = new SharedQueue({
    ...environment,
    tickets,
    onFailure,
    observer: {
      issued: () => issued?.add(),
      redelivered: () => again?.add(),
      idle: () => idle?.add(),
    },
  });
  metrics?.gauge(
    'svc_job_tickets_unissued',
    'Jobs whose tickets are still to be issued.',
    () => queue.unissued,
  );
  return queue;
}
