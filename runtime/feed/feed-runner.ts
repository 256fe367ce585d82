import { engineCaller } from '#runtime/actor/engine-caller.ts';
import type { ActorId, ActorLifecycle, Router } from '#runtime/actor/ports.ts';
import { type Backoff, backoffMs } from '#runtime/base/time/backoff.ts';
import type { Clock, Timer } from '#runtime/base/time/clock.ts';
import type { Random } from '#runtime/base/random.ts';
import { crashPoint } from '#runtime/commit/crash-point.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { Log } from '#runtime/telemetry/log-context.ts';
import type { FeedConsumer, OutsideConsumer } from './consumer.ts';
import type {
  ConsumeFeed,
  ConsumerBatch,
  ConsumerStep,
  IsFeedAhead,
  MoveConsumer,
  ReadConsumerBatch,
} from './feed-messages.ts';

/** Waits after a failed batch. */
const RETRIES: Backoff = { firstMs: 250, factor: 2, mostMs: 60_000 };

/** Batches of one consumer that are worked on at a time, over all branches: this many are in memory at most. */
const BATCHES_MAX = 4;

/** Told of the work of consumers. */
export interface FeedObserver {
  consumed(consumer: string, items: number): void;
  failed(consumer: string): void;
}

/** Dependencies of the runner. */
export interface FeedRunnerEnvironment {
  readonly router: Router;
  readonly lifecycle: Pick<ActorLifecycle, 'exists'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly consumers: readonly FeedConsumer[];
  readonly observer: FeedObserver;
}

/** A consumer in one branch that is not known to have seen everything. */
interface Follower {
  readonly branch: ActorId;
  readonly consumer: FeedConsumer;
  /** Whether entries may have come since its present batch was read. */
  isBehind: boolean;
  /** Whether what came since then must not wait for more. */
  isHurried: boolean;
  /** Whether it waits for more entries, see {@link FeedConsumer.delayMs}. */
  isDelayed: boolean;
  failures: number;
  error: unknown;
  retry: Timer | undefined;
}

type StepDone = Pick<ConsumerStep, 'items' | 'isComplete'>;

/** A consumer that is not known to have seen everything. */
export interface FollowerStatus {
  readonly branch: ActorId;
  readonly consumer: string;
  /** Failures since its last batch. */
  readonly failures: number;
  readonly error: unknown;
  /** Whether it waits for more entries, as it asked for. */
  readonly isDelayed: boolean;
}

/**
 * Lets consumers follow the feeds of branches on the member that owns them. It must be told of branches whose feed has
 * new entries, and at a start or after a failover of those that may have some.
 *
 * Each consumer takes a few batches at a time, in turn over the branches in which it is behind, each bounded: a consumer
 * that is far behind, slow or failing holds neither others nor memory. Who has seen everything is forgotten. After a failure the
 * batch is repeated later, at intervals that rise to a minute.
 */
export class FeedRunner {
  readonly #environment: FeedRunnerEnvironment;
  readonly #followers = new Map<string, Follower>();
  /** Of each consumer, those that wait for their next batch, in order. */
  readonly #waiting: ReadonlyMap<FeedConsumer, Set<Follower>>;
  readonly #batches: ReadonlyMap<FeedConsumer, Set<Promise<void>>>;
  readonly #engine = engineCaller('');
  readonly #ending = new AbortController();

  constructor(environment: FeedRunnerEnvironment) {
    const { consumers } = environment;
    this.#environment = environment;
    this.#waiting = new Map(consumers.map((consumer) => [consumer, new Set()]));
    this.#batches = new Map(consumers.map((consumer) => [consumer, new Set()]));
  }

  /** Consumers that have not seen everything, as far as is known here. */
  get behind(): readonly FollowerStatus[] {
    return [...this.#followers.values()].map(({ branch, consumer, error, failures, isDelayed }) => {
      return { branch, consumer: consumer.name, error, failures, isDelayed };
    });
  }

  /**
   * Whether a consumer with effects elsewhere is not known to have seen everything of a branch, or is given some of it. What
   * others keep is removed with the branch.
   */
  isFollowing(branch: ActorId): boolean {
    const { consumers } = this.#environment;
    return consumers.some(
      (consumer) => consumer.effects === 'elsewhere' && this.#followers.has(keyOf(branch, consumer)),
    );
  }

  /**
   * A branch was opened or restored. Consumers that have something to do there continue: after a start or a restore nothing else may
   * tell of them before the next commit. Never rejects.
   */
  async opened(branch: ActorId): Promise<void> {
    if (this.#environment.consumers.length === 0) return;
    const query: IsFeedAhead = { type: 'IsFeedAhead' };
    // The message that opens the branch comes first.
    await null;
    const isAhead = await Promise.resolve()
      .then(() => this.#environment.router.query(branch, query, this.#engine))
      .catch(() => true);
    if (isAhead === true) this.notice(branch);
  }

  /** A branch may have entries that consumers have not seen. */
  notice(branch: ActorId): void {
    if (this.#ending.signal.aborted) return;
    for (const consumer of this.#environment.consumers) {
      const known = this.#followers.get(keyOf(branch, consumer));
      if (known === undefined) this.#later(this.#follow(branch, consumer), consumer.delayMs ?? 0);
      else known.isBehind = true;
    }
  }

  /** As {@link notice}, for one consumer, which takes its next batch without a delay. */
  hurry(branch: ActorId, name: string): void {
    if (this.#ending.signal.aborted) return;
    for (const consumer of this.#environment.consumers) {
      if (consumer.name !== name) continue;
      const known = this.#followers.get(keyOf(branch, consumer));
      const follower = known ?? this.#follow(branch, consumer);
      follower.isBehind = true;
      follower.isHurried = true;
      // A failed batch is not repeated sooner, and what came during one in progress follows it.
      if (known !== undefined && (known.retry === undefined || known.failures > 0)) continue;
      follower.retry?.cancel();
      this.#again(follower);
    }
  }

  #follow(branch: ActorId, consumer: FeedConsumer): Follower {
    const flags = { isBehind: true, isHurried: false, isDelayed: false };
    const follower: Follower = {
      branch,
      consumer,
      ...flags,
      failures: 0,
      error: undefined,
      retry: undefined,
    };
    this.#followers.set(keyOf(branch, consumer), follower);
    return follower;
  }

  #later(follower: Follower, waitMs: number): void {
    if (waitMs === 0) {
      this.#again(follower);
      return;
    }
    follower.isDelayed = true;
    follower.retry = this.#environment.clock.after(waitMs, () => this.#again(follower));
  }

  /** Takes no more batches and waits for those in progress, whose consumers are asked to stop. */
  async close(): Promise<void> {
    this.#ending.abort();
    for (const { retry } of this.#followers.values()) retry?.cancel();
    for (const waiting of this.#waiting.values()) waiting.clear();
    await Promise.all([...this.#batches.values()].flatMap((batches) => [...batches]));
    this.#followers.clear();
  }

  #run(consumer: FeedConsumer): void {
    const waiting = this.#waiting.get(consumer) as Set<Follower>;
    const batches = this.#batches.get(consumer) as Set<Promise<void>>;
    for (const follower of waiting) {
      if (batches.size >= BATCHES_MAX) return;
      waiting.delete(follower);
      const batch: Promise<void> = this.#batch(follower).finally(() => {
        batches.delete(batch);
        this.#run(consumer);
      });
      batches.add(batch);
    }
  }

  /** One batch of a consumer. Never rejects. */
  async #batch(follower: Follower): Promise<void> {
    const { clock, observer } = this.#environment;
    const startedMs = clock.monotonicMs();
    follower.isBehind = false;
    follower.isHurried = false;
    try {
      const { isComplete, items } = await this.#step(follower);
      follower.failures = 0;
      follower.error = undefined;
      if (items > 0) observer.consumed(follower.consumer.name, items);
      if (this.#ending.signal.aborted) return;
      if (isComplete && !follower.isBehind) {
        this.#followers.delete(keyOf(follower.branch, follower.consumer));
        return;
      }
      // As much time as the batch took is for others. What came meanwhile waits as what comes after a pause does.
      const restMs = clock.monotonicMs() - startedMs;
      const delayMs = isComplete && !follower.isHurried ? (follower.consumer.delayMs ?? 0) : 0;
      follower.isDelayed = delayMs > restMs;
      follower.retry = clock.after(Math.max(restMs, delayMs), () => this.#again(follower));
    } catch (error) {
      this.#fail(follower, error);
    }
  }

  async #step(follower: Follower): Promise<StepDone> {
    const { branch, consumer } = follower;
    const { lifecycle, router } = this.#environment;
    try {
      if (consumer.effects === 'elsewhere') return await this.#outside(branch, consumer);
      const command: ConsumeFeed = { type: 'ConsumeFeed', name: consumer.name };
      return (await router.command(branch, command, { caller: this.#engine })) as ConsumerStep;
    } catch (error) {
      const mayBeGone = error instanceof ServiceError && error.code === 'NOT_FOUND';
      if (!mayBeGone || (await lifecycle.exists(branch))) throw error;
      // Removed, with everything its consumers kept there.
      return { items: 0, isComplete: true };
    }
  }

  async #outside(branch: ActorId, consumer: OutsideConsumer): Promise<StepDone> {
    const { router } = this.#environment;
    const { name } = consumer;
    const { signal } = this.#ending;
    const query: ReadConsumerBatch = { type: 'ReadConsumerBatch', name };
    const { batch, from } = (await router.query(branch, query, this.#engine)) as ConsumerBatch;
    if (batch === null) return { items: 0, isComplete: true };
    const { isComplete, items, position, start } = batch;
    if (start !== undefined) await consumer.start(branch, start, signal);
    else if (items.length > 0) await consumer.consume(branch, items, signal);
    else return { items: 0, isComplete };
    crashPoint('before-consumer-move');
    const move: MoveConsumer = { type: 'MoveConsumer', name, from, to: position };
    await router.command(branch, move, { caller: this.#engine });
    return { items: items.length, isComplete };
  }

  #again(follower: Follower): void {
    follower.retry = undefined;
    follower.isDelayed = false;
    this.#waiting.get(follower.consumer)?.add(follower);
    this.#run(follower.consumer);
  }

  #fail(follower: Follower, error: unknown): void {
    const { clock, log, observer, random } = this.#environment;
    if (this.#ending.signal.aborted) return;
    const { branch, consumer, failures } = follower;
    follower.error = error;
    follower.failures = failures + 1;
    observer.failed(consumer.name);
    log.warn('a consumer of a change feed failed; it tries again', {
      consumer: consumer.name,
      actor: branch,
      failures: follower.failures,
      error,
    });
    follower.retry = clock.after(backoffMs(RETRIES, failures, random), () => this.#again(follower));
  }
}

function keyOf(branch: ActorId, { name }: FeedConsumer): string {
  return `${name}\0${branch}`;
}
