import { branchActor } from '#actors/branch/branch-actor.ts';
import { jobsActor } from '#actors/jobs/jobs-actor.ts';
import { repositoryActor } from '#actors/repository/repository-actor.ts';
import type { ActorId } from '#runtime/actor/ports.ts';
import type { Turn } from '#runtime/commit/behaviour.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { defaultLimits } from '#runtime/config/options.ts';
import type { JsonValue } from '#runtime/content/values/json-value.ts';
import type { ShardConsumer, StartStep } from '#runtime/feed/consumer.ts';
import type { FeedItem } from '#runtime/feed/feed-batch.ts';
import { FeedRunner } from '#runtime/feed/feed-runner.ts';
import type { JobRecord } from '#runtime/jobs/job.ts';
import { enqueueJob, jobEnqueued, scopeOf, withOutbox } from '#runtime/jobs/outbox.ts';
import { silentLog } from '#runtime/telemetry/log-context.ts';
import { isBranchEvent } from '#runtime/tree/branch-events.ts';
import { jobsLimits } from '#server/host/host-limits.ts';
import { MemberJobs } from '#server/jobs/member-jobs.ts';
import { Engine, engineUser } from './engine.ts';
import { lookedAt } from './feed-reader.ts';
import { BRANCH, TestBranch } from './test-branch.ts';
import { until } from './until.ts';

/** A consumer that enqueues a job about each created node, with the commit of its position. */
export class OrderingConsumer implements ShardConsumer {
  readonly effects = 'shard';
  readonly name = 'orders';
  readonly isEverywhere = false;

  *start(): Generator<undefined, StartStep> {
    yield;
    return { isDone: true, state: null };
  }

  *consume(turn: Turn, item: FeedItem, state: JsonValue, branch: ActorId): Generator<undefined, JsonValue> {
    for (const { details, node_id: about } of item.changes?.changes ?? []) {
      if (details?.kinds.includes('created') !== true) continue;
      enqueueJob(turn, branch, { type: 'Order', about, payload: null });
      yield;
    }
    return state;
  }
}

/** A branch with {@link OrderingConsumer} and the queue of its repository, whose jobs nobody runs. */
export class OrderingBranch {
  readonly branch: TestBranch;
  readonly runner: FeedRunner;
  readonly jobs: MemberJobs;

  private constructor(branch: TestBranch, runner: FeedRunner, jobs: MemberJobs) {
    this.branch = branch;
    this.runner = runner;
    this.jobs = jobs;
  }

  static async open(folder: string): Promise<OrderingBranch> {
    const consumers = [new OrderingConsumer()];
    const branch = withOutbox(lookedAt(branchActor({ commitNodesMax: 1_000 }, consumers)));
    let opened: OrderingBranch | undefined;
    const engine = await Engine.open(folder, {
      kinds: [repositoryActor, branch, jobsActor(jobsLimits(defaultLimits))],
      events: (actor, happened) => {
        if (happened.some(isBranchEvent)) opened?.runner.notice(actor);
        if (happened.includes(jobEnqueued)) void opened?.jobs.deliver(actor);
      },
    });
    const environment = {
      router: engine.host,
      lifecycle: engine.host,
      clock: systemClock,
      random: systemRandom,
      log: silentLog,
    };
    const observer = { consumed: () => {}, failed: () => {} };
    opened = new OrderingBranch(
      new TestBranch(engine),
      new FeedRunner({ ...environment, consumers, observer }),
      new MemberJobs({ ...environment, workers: 0 }),
    );
    return opened;
  }

  /** Makes what is missing; the consumer has started then. */
  async prepare(): Promise<void> {
    await this.branch.prepare();
    await this.jobs.prepareSource(BRANCH);
    await this.tell({ type: 'RegisterConsumer', name: 'orders' });
    this.runner.notice(BRANCH);
    await this.settled();
  }

  /** Continues with what an earlier process left, as a start does. */
  async takeUp(actor: ActorId = BRANCH): Promise<void> {
    this.runner.notice(actor);
    await this.settled();
    await this.jobs.deliver(actor);
  }

  tell(command: object, actor: ActorId = BRANCH): Promise<unknown> {
    return this.branch.engine.host.command(actor, command, { caller: engineUser });
  }

  settled(): Promise<void> {
    return until(() => this.runner.behind.length === 0, 'the consumer has seen everything');
  }

  /** What the jobs in the queue are about. */
  async ordered(): Promise<readonly string[]> {
    const found: JobRecord[] = [];
    for (let offset = 0; ; offset += 100) {
      const page = await this.jobs.queue.list(scopeOf(BRANCH), { limit: 100, offset }, engineUser);
      found.push(...page);
      if (page.length < 100) return found.map(({ about }) => about).sort();
    }
  }

  async close(): Promise<void> {
    await this.runner.close();
    await this.jobs.drain(0);
    await this.branch.engine.close();
  }
}
