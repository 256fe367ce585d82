import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { jobsActor } from '#actors/jobs/jobs-actor.ts';
import { queueDefaults } from '#actors/jobs/actor-queue.ts';
import { LocalQueue } from '#actors/jobs/local-queue.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { Engine, engineUser } from '#test/support/engine.ts';
import { JOB_SCOPE, jobsLimits, OTHER_JOB_SCOPE } from '#test/support/job-fixtures.ts';
import { settle, TestClock } from '#test/support/test-clock.ts';
import { type QueueHarness, queueConformance } from '#test/runtime/jobs/queue-conformance.ts';

/** A real journal and host over a folder, on a clock that stands still. */
class LocalHarness implements QueueHarness {
  readonly leaseMs = queueDefaults.leaseMs;
  readonly retryMsMax = queueDefaults.retries.mostMs * 1.1;
  readonly activeMax = jobsLimits.activeMax;
  readonly #folder = mkdtempSync(join(tmpdir(), 'grove-test-'));
  readonly #clock = new TestClock();
  #engine: Engine | undefined;
  #queue: LocalQueue | undefined;

  get queue(): LocalQueue {
    return this.#queue as LocalQueue;
  }

  async start(): Promise<this> {
    this.#engine = await Engine.open(this.#folder, { kinds: [jobsActor(jobsLimits)], clock: this.#clock });
    this.#queue = new LocalQueue({
      router: this.#engine.host,
      lifecycle: this.#engine.host,
      clock: this.#clock,
      random: systemRandom,
      onFailure: (_scope, cause) => {
        throw cause;
      },
    });
    for (const scope of [JOB_SCOPE, OTHER_JOB_SCOPE]) await this.#queue.recover(scope);
    return this;
  }

  async pass(ms: number): Promise<void> {
    await this.#quiet();
    this.#clock.advance(ms);
    await this.#quiet();
  }

  async restart(): Promise<void> {
    this.#queue?.close();
    await this.#engine?.close();
    await this.start();
  }

  async dispose(): Promise<void> {
    this.#queue?.close();
    await this.#engine?.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** Until what was sent before has been answered: a command of each actor goes through its mailbox. */
  async #quiet(): Promise<void> {
    for (let round = 0; round < 2; round++) {
      for (const scope of [JOB_SCOPE, OTHER_JOB_SCOPE]) {
        await this.queue.removeAll(scope, [], { caller: engineUser });
      }
      await settle(4);
    }
  }
}

queueConformance('LocalQueue', () => new LocalHarness().start());
