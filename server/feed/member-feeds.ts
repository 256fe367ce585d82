import { actorId, actorKindOf } from '#runtime/actor/actor-id.ts';
import { engineCaller } from '#runtime/actor/engine-caller.ts';
import type { ActorId, ActorLifecycle, Router } from '#runtime/actor/ports.ts';
import type { Clock } from '#runtime/base/time/clock.ts';
import type { Random } from '#runtime/base/random.ts';
import type { FeedConsumer } from '#runtime/feed/consumer.ts';
import type { RegisterConsumer } from '#runtime/feed/feed-messages.ts';
import { FeedRunner, type FollowerStatus } from '#runtime/feed/feed-runner.ts';
import { scopeOf } from '#runtime/jobs/outbox.ts';
import type { Queue } from '#runtime/jobs/ports.ts';
import type { Log } from '#runtime/telemetry/log-context.ts';
import type { Metrics } from '#runtime/telemetry/metrics.ts';

/** Dependencies of a member's consumers. */
export interface MemberFeedsEnvironment {
  readonly router: Router;
  readonly lifecycle: ActorLifecycle;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly consumers: readonly FeedConsumer[];
  /** Keeps the branches that a start has to look at. */
  readonly queue: Pick<Queue, 'prepareSource'>;
}

/** Parts of the id of a branch without its kind. */
const BRANCH_PARTS = 3;

/** The consumers of the change feeds of branches on a member. */
export class MemberFeeds {
  readonly #environment: MemberFeedsEnvironment;
  readonly #runner: FeedRunner;

  constructor(environment: MemberFeedsEnvironment) {
    const { metrics } = environment;
    const items = metrics.counter('svc_feed_items_total', 'Steps of consumers of change feeds.');
    const failures = metrics.counter('svc_feed_failures_total', 'Failures of consumers of change feeds.');
    this.#environment = environment;
    this.#runner = new FeedRunner({
      ...environment,
      observer: { consumed: (_consumer, count) => items.add(count), failed: () => failures.add() },
    });
    metrics.gauge(
      'svc_feed_behind',
      'Consumers of change feeds that have not seen everything.',
      () => this.#runner.behind.length,
    );
  }

  /** Consumers that have not seen everything, with their last errors. */
  get behind(): readonly FollowerStatus[] {
    return this.#runner.behind;
  }

  /** An actor was opened or restored: consumers of a branch continue there. */
  opened(actor: ActorId): void {
    if (actorKindOf(actor) === 'branch') void this.#runner.opened(actor);
  }

  /** A branch may have changes that consumers have not seen, or was deleted. */
  notice(branch: ActorId): void {
    this.#runner.notice(branch);
  }

  /**
   * Registers a consumer in a branch. The repository keeps the branch first, so that every start lets the consumer
   * continue there.
   *
   * @throws {ServiceError} `NOT_FOUND`, `VALIDATION_FAILED` for an unknown consumer
   */
  async register(branch: ActorId, name: string): Promise<void> {
    const { queue, router } = this.#environment;
    await queue.prepareSource(scopeOf(branch), branch);
    const register: RegisterConsumer = { type: 'RegisterConsumer', name };
    await router.command(branch, register, { caller: engineCaller('') });
    this.notice(branch);
  }

  /** The lifecycle of actors, which tells consumers of deleted branches. */
  get lifecycle(): ActorLifecycle {
    const { lifecycle } = this.#environment;
    return {
      exists: (actor) => lifecycle.exists(actor),
      create: (actor, precondition) => lifecycle.create(actor, precondition),
      fork: (source, target) => lifecycle.fork(source, target),
      namesUnder: (owner) => lifecycle.namesUnder(owner),
      destroyUnder: async (owner) => {
        const branches = await this.#branchesUnder(owner);
        await lifecycle.destroyUnder(owner);
        for (const branch of branches) this.notice(branch);
      },
    };
  }

  /** Takes no more batches. */
  close(): Promise<void> {
    return this.#runner.close();
  }

  /** Ids that the branches of a repository, or one branch, have or would have. */
  async #branchesUnder(owner: string): Promise<readonly ActorId[]> {
    const { consumers, lifecycle } = this.#environment;
    if (consumers.length === 0) return [];
    const parts = owner.split('/').map(decodeURIComponent);
    if (parts.length === BRANCH_PARTS) return [actorId(...parts, 'branch')];
    if (parts.length > BRANCH_PARTS) return [];
    const names = await lifecycle.namesUnder(owner);
    return names.map((name) => actorId(...parts, name, 'branch'));
  }
}
