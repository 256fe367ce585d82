import { engineCaller } from '#runtime/actor/engine-caller.ts';
import type { ActorId, Router } from '#runtime/actor/ports.ts';
import { type Backoff, backoffMs } from '#runtime/base/time/backoff.ts';
import type { Clock, Timer } from '#runtime/base/time/clock.ts';
import type { Random } from '#runtime/base/random.ts';
import { crashPoint } from '#runtime/commit/crash-point.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { Log } from '#runtime/telemetry/log-context.ts';
import type { NewJob } from './job.ts';
import { type EmptyOutbox, OUTBOX_PAGE, type ReadOutbox, scopeOf } from './outbox.ts';
import type { Queue } from './ports.ts';

/** Waits after a failed delivery. */
const RETRIES: Backoff = { firstMs: 250, factor: 2, mostMs: 60_000 };

/** Dependencies of the relay. */
export interface RelayEnvironment {
  readonly router: Router;
  readonly queue: Queue;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** The delivery of one actor's outbox. */
interface Delivery {
  /** Settles after the present round and the next one. */
  current: Promise<void>;
  /** The round that begins after the present one. */
  next: Promise<void> | undefined;
}

/**
 * Moves jobs from the outboxes of actors to the queue: enqueues them there, then removes them here. After a crash in
 * between they are enqueued again, and the queue recognizes them by their ids. A failed delivery is retried until it
 * succeeds.
 *
 * The relay must be notified of outboxes that are not empty: by the event {@link jobEnqueued} while the process runs,
 * and at a start by the component that knows which actors may have enqueued before.
 */
export class OutboxRelay {
  readonly #environment: RelayEnvironment;
  readonly #deliveries = new Map<ActorId, Delivery>();
  readonly #retries = new Map<ActorId, { readonly timer: Timer; readonly count: number }>();
  readonly #engine = engineCaller('');
  #isClosed = false;

  constructor(environment: RelayEnvironment) {
    this.#environment = environment;
  }

  /**
   * Delivers the outbox of an actor. Resolves when all jobs that were in it at the call are in the queue, or when the
   * delivery failed and a retry is scheduled.
   */
  deliver(actor: ActorId): Promise<void> {
    if (this.#isClosed) return Promise.resolve();
    const running = this.#deliveries.get(actor);
    if (running === undefined) {
      const delivery: Delivery = { current: this.#round(actor), next: undefined };
      this.#deliveries.set(actor, delivery);
      void this.#follow(actor, delivery);
      return delivery.current;
    }
    // Jobs committed after the present round read the outbox belong to the next one.
    running.next ??= running.current.then(() => this.#round(actor));
    return running.next;
  }

  /** Stops retrying and waits for deliveries in progress. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const { timer } of this.#retries.values()) timer.cancel();
    this.#retries.clear();
    await Promise.all([...this.#deliveries.values()].map(({ current, next }) => next ?? current));
  }

  async #follow(actor: ActorId, delivery: Delivery): Promise<void> {
    for (;;) {
      await delivery.current;
      if (delivery.next === undefined) break;
      delivery.current = delivery.next;
      delivery.next = undefined;
    }
    this.#deliveries.delete(actor);
  }

  async #round(actor: ActorId): Promise<void> {
    const retry = this.#retries.get(actor);
    retry?.timer.cancel();
    try {
      await this.#empty(actor);
      this.#retries.delete(actor);
    } catch (error) {
      // The actor has been removed together with its jobs.
      const isGone = error instanceof ServiceError && error.code === 'NOT_FOUND';
      if (isGone || this.#isClosed) this.#retries.delete(actor);
      else this.#retryLater(actor, retry?.count ?? 0, error);
    }
  }

  async #empty(actor: ActorId): Promise<void> {
    const { queue, router } = this.#environment;
    const read: ReadOutbox = { type: 'ReadOutbox' };
    for (;;) {
      const jobs = (await router.query(actor, read, this.#engine)) as readonly NewJob[];
      if (jobs.length === 0) return;
      crashPoint('before-job-relay');
      await queue.prepare(scopeOf(actor));
      for (const job of jobs) await queue.enqueue(scopeOf(actor), job);
      crashPoint('after-job-relay');
      const empty: EmptyOutbox = { type: 'EmptyOutbox', ids: jobs.map(({ id }) => id) };
      await router.command(actor, empty, { caller: this.#engine });
      if (jobs.length < OUTBOX_PAGE) return;
    }
  }

  #retryLater(actor: ActorId, count: number, error: unknown): void {
    const { clock, log, random } = this.#environment;
    log.warn('jobs could not be enqueued; they stay in the outbox', { actor, error });
    const timer = clock.after(backoffMs(RETRIES, count, random), () => void this.deliver(actor));
    this.#retries.set(actor, { timer, count: count + 1 });
  }
}
