import { ENDING_PAGE, type ForgetEnding, type ListEnding, type NoteEnding } from '#actors/tenant/messages.ts';
import { actorId, actorKindOf } from '#runtime/actor/actor-id.ts';
import { engineCaller } from '#runtime/actor/engine-caller.ts';
import type { ActorId, ActorLifecycle, Router } from '#runtime/actor/ports.ts';
import { type Backoff, Retries } from '#runtime/base/time/backoff.ts';
import type { Clock } from '#runtime/base/time/clock.ts';
import type { Random } from '#runtime/base/random.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { FeedConsumer } from '#runtime/feed/consumer.ts';
import { EndedBranches } from '#runtime/feed/ended-branches.ts';
import type { RegisterConsumer } from '#runtime/feed/feed-messages.ts';
import { FeedRunner, type FollowerStatus } from '#runtime/feed/feed-runner.ts';
import type { Log } from '#runtime/telemetry/log-context.ts';
import type { Metrics } from '#runtime/telemetry/metrics.ts';
import type { MemberJobs } from '#server/jobs/member-jobs.ts';
import { registeredTenants } from '#server/registry/registered-repositories.ts';

/** Dependencies of a member's consumers. */
export interface MemberFeedsEnvironment {
  readonly router: Router;
  readonly lifecycle: ActorLifecycle;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly consumers: readonly FeedConsumer[];
  /** Keeps the branches that a start has to look at, and lets their commits enqueue jobs. */
  readonly jobs: Pick<MemberJobs, 'prepareSource'>;
}

/** Parts of the id of a branch without its kind. */
const BRANCH_PARTS = 3;

/** Parts of the id of a repository without its kind. */
const REPOSITORY_PARTS = 2;

/** Waits before the records of removed branches are read again after a failure. */
const TAKE_UP_RETRIES: Backoff = { firstMs: 250, factor: 2, mostMs: 30_000 };

/** The consumers of the change feeds of branches on a member. */
export class MemberFeeds {
  readonly #environment: MemberFeedsEnvironment;
  readonly #runner: FeedRunner;
  readonly #ended: EndedBranches;
  #taking: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(environment: MemberFeedsEnvironment) {
    const { metrics } = environment;
    const items = metrics.counter('svc_feed_items_total', 'Steps of consumers of change feeds.');
    const failures = metrics.counter('svc_feed_failures_total', 'Failures of consumers of change feeds.');
    this.#environment = environment;
    this.#runner = new FeedRunner({
      ...environment,
      observer: { consumed: (_consumer, count) => items.add(count), failed: () => failures.add() },
    });
    this.#ended = new EndedBranches({
      ...environment,
      isRemoved: async (branch) =>
        !this.#runner.isFollowing(branch) && !(await environment.lifecycle.exists(branch)),
      forget: (branch) => this.#tellTenant(branch, 'ForgetEnding', [branch]),
    });
    metrics.gauge(
      'svc_feed_behind',
      'Consumers of change feeds that have not seen everything and do not wait for more.',
      () => this.behind.length,
    );
  }

  /** Consumers that have not seen everything and do not wait for more, with their last errors. */
  get behind(): readonly FollowerStatus[] {
    return this.#runner.behind.filter(({ isDelayed }) => !isDelayed);
  }

  /** An actor was opened or restored: consumers of a branch continue there. */
  opened(actor: ActorId): void {
    if (actorKindOf(actor) === 'branch') void this.#runner.opened(actor);
  }

  /** A branch may have changes that consumers have not seen. */
  notice(branch: ActorId): void {
    this.#runner.notice(branch);
  }

  /**
   * Registers a consumer in a branch. The repository keeps the branch first, so that every start lets the consumer
   * continue there, and finds the jobs that it enqueues.
   *
   * @throws {ServiceError} `NOT_FOUND`, `VALIDATION_FAILED` for an unknown consumer
   */
  async register(branch: ActorId, name: string): Promise<void> {
    const { router } = this.#environment;
    await this.keep(branch);
    const register: RegisterConsumer = { type: 'RegisterConsumer', name };
    await router.command(branch, register, { caller: engineCaller('') });
    this.notice(branch);
  }

  /** Keeps a branch, so that every start lets its consumers continue there. @throws {ServiceError} `NOT_FOUND` */
  async keep(branch: ActorId): Promise<void> {
    await this.#environment.jobs.prepareSource(branch);
  }

  /** Lets a consumer take at once what it has not seen of a branch. */
  hurry(branch: ActorId, name: string): void {
    this.#runner.hurry(branch, name);
  }

  /** Branches of a tenant of this member are about to be removed. */
  ending(branches: readonly ActorId[]): void {
    this.#ended.notice(branches);
  }

  /** Tells consumers in the background of branches whose removal was recorded earlier, in tenants that this member took over. */
  takeUp(isMine: (actor: ActorId) => boolean): void {
    if (this.#ended.hasConsumers) this.#taking = this.#taking.then(() => this.#takeUp(isMine));
  }

  /** The lifecycle of actors, which records the removal of branches before it begins. */
  get lifecycle(): ActorLifecycle {
    const { lifecycle } = this.#environment;
    return {
      exists: (actor) => lifecycle.exists(actor),
      create: (actor, precondition) => lifecycle.create(actor, precondition),
      fork: (source, target) => lifecycle.fork(source, target),
      namesUnder: (owner) => lifecycle.namesUnder(owner),
      destroyUnder: async (owner) => {
        const branches = this.#ended.hasConsumers ? await this.#branchesUnder(owner) : [];
        await this.#tellTenant(owner, 'NoteEnding', branches);
        await lifecycle.destroyUnder(owner);
      },
    };
  }

  /** Takes no more batches, and tells nobody else. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([this.#runner.close(), this.#ended.close()]);
  }

  /** Ids of the branches of a repository, or of one branch. */
  async #branchesUnder(owner: string): Promise<readonly ActorId[]> {
    const { lifecycle } = this.#environment;
    const parts = owner.split('/').map(decodeURIComponent);
    const isOne = parts.length === BRANCH_PARTS;
    if (!isOne && parts.length !== REPOSITORY_PARTS) return [];
    const names = isOne ? [] : await lifecycle.namesUnder(owner);
    const ids = isOne ? [`${owner}/branch`] : names.map((name) => actorId(...parts, name, 'branch'));
    const branches: ActorId[] = [];
    for (const id of ids) if (await lifecycle.exists(id)) branches.push(id);
    return branches;
  }

  /** @param actor one under the tenant */
  async #tellTenant(
    actor: string,
    type: (NoteEnding | ForgetEnding)['type'],
    branches: readonly ActorId[],
  ): Promise<void> {
    const { router } = this.#environment;
    const tenant = decodeURIComponent(actor.split('/')[0] as string);
    for (let from = 0; from < branches.length; from += ENDING_PAGE) {
      const command = { type, branches: branches.slice(from, from + ENDING_PAGE) };
      await router.command(actorId(tenant, 'tenant'), command, { caller: engineCaller(tenant) });
    }
  }

  /** Never rejects. A failure is repeated until it succeeds. */
  async #takeUp(isMine: (actor: ActorId) => boolean): Promise<void> {
    const { clock, log, random, router } = this.#environment;
    const retries = new Retries(clock, random, TAKE_UP_RETRIES);
    while (!this.#isClosed) {
      try {
        for (const tenant of await registeredTenants(router))
          if (isMine(actorId(tenant, 'tenant'))) await this.#takeUpTenant(tenant);
        return;
      } catch (error) {
        // Before the first start of a cluster is complete there is no tenant yet.
        if (error instanceof ServiceError && error.code === 'NOT_FOUND') return;
        log.warn('removed branches could not be listed for consumers of change feeds; it is tried again', {
          error,
        });
      }
      await retries.wait();
    }
  }

  async #takeUpTenant(tenant: string): Promise<void> {
    const { router } = this.#environment;
    for (let after: ActorId | undefined; !this.#isClosed; ) {
      const list: ListEnding = { type: 'ListEnding', ...(after === undefined ? {} : { after }) };
      const answer = await router.query(actorId(tenant, 'tenant'), list, engineCaller(tenant));
      const branches = answer as readonly ActorId[];
      this.#ended.notice(branches);
      if (branches.length < ENDING_PAGE) return;
      after = branches.at(-1);
    }
  }
}
