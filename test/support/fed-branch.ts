import { branchActor } from '#actors/branch/branch-actor.ts';
import { repositoryActor } from '#actors/repository/repository-actor.ts';
import { actorKindOf } from '#runtime/actor/actor-id.ts';
import type { ActorId } from '#runtime/actor/ports.ts';
import { type Clock, systemClock } from '#runtime/base/time/clock.ts';
import { systemRandom } from '#runtime/base/random.ts';
import type { FeedConsumer } from '#runtime/feed/consumer.ts';
import type { ConsumerStatus } from '#runtime/feed/feed-messages.ts';
import { FeedRunner } from '#runtime/feed/feed-runner.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { silentLog } from '#runtime/telemetry/log-context.ts';
import { isBranchEvent } from '#runtime/tree/branch-events.ts';
import { Engine, type EngineSetup, engineUser } from './engine.ts';
import { type LookAt, lookedAt } from './feed-reader.ts';
import { BRANCH, CONTENT, TestBranch } from './test-branch.ts';
import { until } from './until.ts';

/** A branch on an engine with consumers of its feed, as a member runs them. */
export class FedBranch {
  readonly branch: TestBranch;
  readonly runner: FeedRunner;
  readonly consumed: string[];

  private constructor(branch: TestBranch, runner: FeedRunner, consumed: string[]) {
    this.branch = branch;
    this.runner = runner;
    this.consumed = consumed;
  }

  static async open(
    folder: string,
    consumers: readonly FeedConsumer[],
    isPrepared = false,
    { runnerClock = systemClock, ...setup }: Partial<EngineSetup> & { readonly runnerClock?: Clock } = {},
  ): Promise<FedBranch> {
    let runner: FeedRunner | undefined;
    const engine = await Engine.open(folder, {
      ...setup,
      kinds: [repositoryActor, lookedAt(branchActor({ commitNodesMax: 10_000 }, consumers))],
      events: (actor, happened) => {
        if (happened.some(isBranchEvent)) runner?.notice(actor);
      },
      opened: (actor) => {
        if (actorKindOf(actor) === 'branch') void runner?.opened(actor);
      },
    });
    const consumed: string[] = [];
    runner = new FeedRunner({
      router: engine.host,
      lifecycle: engine.host,
      clock: runnerClock,
      random: systemRandom,
      log: silentLog,
      consumers,
      observer: {
        consumed: (name, items) => void consumed.push(`${name} ${items}`),
        failed: (name) => void consumed.push(`${name} failed`),
      },
    });
    const branch = new TestBranch(engine);
    if (!isPrepared) await branch.prepare();
    return new FedBranch(branch, runner, consumed);
  }

  async close(): Promise<void> {
    await this.runner.close();
    await this.branch.engine.close();
  }

  look<T>(look: (reader: TableReader) => T, actor: ActorId = BRANCH): T {
    const query: LookAt = { type: 'LookAt', look };
    return this.branch.engine.host.query(actor, query, engineUser) as T;
  }

  tell(command: object, actor: ActorId = BRANCH): Promise<unknown> {
    return this.branch.engine.host.command(actor, command, { caller: engineUser });
  }

  /** Waits until every consumer has seen everything that was durable. */
  settled(): Promise<void> {
    return until(() => this.runner.behind.length === 0, 'the consumers have seen everything');
  }

  status(actor: ActorId = BRANCH): readonly ConsumerStatus[] {
    return this.branch.engine.host.query(actor, { type: 'ReadConsumers' }, engineUser) as ConsumerStatus[];
  }

  async commit(operations: readonly object[]): Promise<void> {
    await this.tell({ type: 'CommitOperations', workspace: CONTENT, commit: { message: 'm' }, operations });
  }
}
