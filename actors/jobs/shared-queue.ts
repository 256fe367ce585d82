import { assert } from '#runtime/base/assert.ts';
import { type Backoff, backoffMs } from '#runtime/base/time/backoff.ts';
import type { Timer } from '#runtime/base/time/clock.ts';
import type { Random } from '#runtime/base/random.ts';
import type { JsonValue } from '#runtime/content/values/json-value.ts';
import { crashPoint } from '#runtime/commit/crash-point.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { Delivery } from '#runtime/actor/ports.ts';
import type { ClaimedJob, FailureOutcome, JobScope } from '#runtime/jobs/ports.ts';
import type { JobTicket, JobTickets } from '#runtime/jobs/tickets.ts';
import { ActorQueue, type ActorQueueEnvironment, FAILED_RETRY_MS } from './actor-queue.ts';
import type { JobClaimed, QueueReply } from './messages.ts';

/** Receives events of a queue; its methods must not throw. */
export interface SharedQueueObserver {
  /** The message servers have stored a ticket. */
  issued(): void;
  /** A ticket was delivered again, because an earlier receiver did not use it up. */
  redelivered(): void;
  /** A ticket found no active job. */
  idle(): void;
}

/** Dependencies of the queue of several processes. */
export interface SharedQueueEnvironment extends ActorQueueEnvironment {
  readonly tickets: JobTickets;
  readonly observer: SharedQueueObserver;
  /** Called when the queue of a repository cannot be reached or a ticket cannot be issued; it is tried again. */
  readonly onFailure: (scope: JobScope, cause: unknown) => void;
  /** Default: {@link POLL_MS_MAX}; tests set it lower. */
  readonly pollMsMax?: number;
}

/** Longest delay of a ticket that found its job claimed or not due, in milliseconds. */
const POLL_MS_MAX = 60_000;

/** Shortest such delay, in milliseconds: a job that is due now was found by another worker. */
const LOOK_MS_MIN = 20;

/** Delays of tickets for jobs of types this member does not handle. Other members may, during an upgrade. */
const STRANGE: Backoff = { firstMs: 250, factor: 2, mostMs: 30_000 };

/** Backoff after a ticket could not be issued. */
const ISSUE_RETRIES: Backoff = { firstMs: 250, factor: 2, mostMs: 10_000 };

/** Most tickets issued concurrently. */
const ISSUED_AT_ONCE = 32;

/** Interval between two removals of expired final jobs, in milliseconds. @see docs/interface/jobs.md#attempts */
const CLEAN_EVERY_MS = 3_600_000;

/**
 * The `Queue` of all members of a cluster. The jobs actor of a repository stores its jobs and their claims. A *ticket*
 * announces that a job can be claimed, and is delivered to a free worker.
 *
 * Invariants:
 * 1. For every active job there is a ticket that is not used up, or the owner of its repository is about to issue one.
 *    The owner issues a ticket after the commit that enqueued the job, and for all active jobs when it becomes the
 *    owner.
 * 2. A ticket is used up only by the attempt that ended a job, or by a worker whose claim was answered that the
 *    repository has no active job. Hence there are never fewer tickets than active jobs.
 * 3. An attempt that lost its claim does not use up its ticket: another attempt may depend on it.
 *
 * Enforcement: test/runtime/jobs/queue-conformance.ts, test/cluster/jobs.
 */
export class SharedQueue extends ActorQueue {
  readonly #tickets: JobTickets;
  readonly #observer: SharedQueueObserver;
  readonly #onFailure: SharedQueueEnvironment['onFailure'];
  readonly #pollMsMax: number;
  readonly #chance: Random;
  /** Tickets of the attempts in this process, by token. */
  readonly #held = new Map<string, JobTicket>();
  /** Jobs whose tickets are to be issued, in order. */
  readonly #unissued = new Map<string, JobScope>();
  /** Repositories with jobs that this member owns or has owned. */
  readonly #scopes = new Set<JobScope>();
  #issuing: Promise<void> | undefined;
  #retry: Timer | undefined;
  #failures = 0;
  #cleaning: Timer | undefined;
  #isClosed = false;

  constructor(environment: SharedQueueEnvironment) {
    super(environment);
    this.#tickets = environment.tickets;
    this.#observer = environment.observer;
    this.#onFailure = environment.onFailure;
    this.#pollMsMax = environment.pollMsMax ?? POLL_MS_MAX;
    this.#chance = environment.random;
    this.#tickets.onCancelled((id) => this.loseJob(id));
    this.#scheduleCleaning();
  }

  /** Jobs whose tickets are still to be issued. */
  get unissued(): number {
    return this.#unissued.size;
  }

  /** Issues tickets for jobs of a repository this member owns. Failed attempts are repeated until they succeed. */
  announce(scope: JobScope, ids: readonly string[]): void {
    if (this.#isClosed) return;
    for (const id of ids) this.#unissued.set(id, scope);
    this.#scopes.add(scope);
    if (this.#retry === undefined) this.#issue();
  }

  /**
   * Recovers the queue of a repository this member has taken over. It issues tickets for all active jobs, because the
   * former owner may not have issued them.
   *
   * @returns whether the repository has a queue
   */
  async recover(scope: JobScope): Promise<boolean> {
    const ids = (await this.ask(scope, { type: 'ListActiveJobs' }, this.engine)) as
      | readonly string[]
      | undefined;
    if (ids === undefined) return false;
    this.announce(scope, ids);
    return true;
  }

  /** Takes and issues no further tickets. The next owner issues them. */
  close(): void {
    this.#isClosed = true;
    this.#cleaning?.cancel();
    this.#retry?.cancel();
    this.#tickets.close();
  }

  async claim(
    types: readonly string[],
    signal: AbortSignal,
    busy: () => readonly string[] = () => [],
  ): Promise<ClaimedJob | undefined> {
    assert(types.length > 0, 'a worker handles some type of job');
    while (!signal.aborted) {
      const ticket = await this.#tickets.take(signal);
      if (ticket === undefined) return undefined;
      if (ticket.deliveries > 1) this.#observer.redelivered();
      const claim = await this.#claimWith(ticket, types, busy());
      if (claim !== undefined) return claim;
    }
    return undefined;
  }

  override async heartbeat(claim: ClaimedJob, progress?: number): Promise<boolean> {
    const isHeld = await super.heartbeat(claim, progress);
    if (isHeld) this.#held.get(claim.token)?.working();
    return isHeld;
  }

  override async complete(claim: ClaimedJob, result: JsonValue): Promise<boolean> {
    const isHeld = await super.complete(claim, result);
    const ticket = this.#letGo(claim);
    if (isHeld) ticket?.used();
    return isHeld;
  }

  override async release(claim: ClaimedJob): Promise<boolean> {
    const isHeld = await super.release(claim);
    const ticket = this.#letGo(claim);
    if (isHeld) ticket?.again(0);
    return isHeld;
  }

  override async cancel(scope: JobScope, id: string, delivery: Delivery): Promise<void> {
    await super.cancel(scope, id, delivery);
    this.#tickets.tellCancelled(id);
  }

  protected override failed(claim: ClaimedJob, outcome: FailureOutcome, retryAfterMs: number): void {
    const ticket = this.#letGo(claim);
    if (outcome === 'dead') ticket?.used();
    else if (outcome === 'retried') ticket?.again(Math.min(retryAfterMs, this.#pollMsMax));
  }

  protected override lose(token: string): void {
    super.lose(token);
    this.#held.delete(token);
  }

  async #claimWith(
    ticket: JobTicket,
    types: readonly string[],
    busy: readonly string[],
  ): Promise<ClaimedJob | undefined> {
    try {
      const { answer, claim } = await this.claimFrom(ticket.scope, types, busy);
      if (claim === undefined) this.#putBack(ticket, answer);
      else this.#held.set(claim.token, ticket);
      return claim;
    } catch (cause) {
      // The repository has been removed, and its jobs with it.
      if (cause instanceof ServiceError && cause.code === 'NOT_FOUND') ticket.used();
      else {
        this.#onFailure(ticket.scope, cause);
        ticket.again(FAILED_RETRY_MS);
      }
      return undefined;
    }
  }

  #putBack(ticket: JobTicket, { active, waitMs }: JobClaimed): void {
    if (active === 0) {
      this.#observer.idle();
      ticket.used();
      return;
    }
    // The active jobs are of types this member does not handle, or of callers who have their share of it.
    const untilMs = waitMs ?? backoffMs(STRANGE, ticket.deliveries - 1, this.#chance);
    ticket.again(Math.min(Math.max(untilMs, LOOK_MS_MIN), this.#pollMsMax));
  }

  #letGo({ token }: ClaimedJob): JobTicket | undefined {
    const ticket = this.#held.get(token);
    this.#held.delete(token);
    return ticket;
  }

  /** Starts to issue the outstanding tickets, unless that is in progress. */
  #issue(): void {
    this.#retry = undefined;
    this.#issuing ??= this.#issueAll().finally(() => {
      this.#issuing = undefined;
      if (this.#isClosed || this.#unissued.size === 0) return;
      const waitMs = this.#failures === 0 ? 0 : backoffMs(ISSUE_RETRIES, this.#failures - 1, this.#chance);
      this.#retry = this.clock.after(waitMs, () => this.#issue());
    });
  }

  /** Never rejects; stops at the first failure. */
  async #issueAll(): Promise<void> {
    while (this.#unissued.size > 0 && !this.#isClosed) {
      const some = [...this.#unissued].slice(0, ISSUED_AT_ONCE);
      const outcomes = await Promise.allSettled(some.map(([id, scope]) => this.#issueOne(id, scope)));
      const failed = outcomes.find(({ status }) => status === 'rejected');
      if (failed !== undefined) {
        this.#failures += 1;
        return;
      }
      this.#failures = 0;
    }
  }

  async #issueOne(id: string, scope: JobScope): Promise<void> {
    crashPoint('before-job-ticket');
    try {
      await this.#tickets.issue(scope, id);
    } catch (cause) {
      this.#onFailure(scope, cause);
      throw cause;
    }
    this.#unissued.delete(id);
    this.#observer.issued();
  }

  #scheduleCleaning(): void {
    this.#cleaning = this.clock.after(CLEAN_EVERY_MS, () => {
      void this.#clean();
      this.#scheduleCleaning();
    });
  }

  /** Removes expired final jobs and issues all tickets again, because their stream may have been deleted. */
  async #clean(): Promise<void> {
    for (const scope of [...this.#scopes]) {
      try {
        let isMore = true;
        while (isMore && !this.#isClosed) {
          const { status } = await this.tell<QueueReply>(scope, { type: 'CleanJobs' });
          isMore = status.cleanMs !== null && status.cleanMs <= this.clock.wallMs();
        }
        await this.recover(scope);
      } catch (cause) {
        if (cause instanceof ServiceError && cause.code === 'NOT_FOUND') this.#scopes.delete(scope);
        else this.#onFailure(scope, cause);
      }
    }
  }
}
