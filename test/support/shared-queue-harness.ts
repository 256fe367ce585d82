import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { NatsConnection } from '@nats-io/transport-node';
import { queueDefaults } from '#actors/jobs/actor-queue.ts';
import { jobsActor } from '#actors/jobs/jobs-actor.ts';
import { SharedQueue } from '#actors/jobs/shared-queue.ts';
import { NatsTickets } from '#cluster/jobs/nats-tickets.ts';
import { connectToNats } from '#cluster/nats/connection.ts';
import { Subjects } from '#cluster/nats/subjects.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { isJobWaiting } from '#runtime/jobs/job-waiting.ts';
import { scopeOf } from '#runtime/jobs/outbox.ts';
import type { ClaimedJob, JobScope } from '#runtime/jobs/ports.ts';
import type { QueueHarness } from '#test/runtime/jobs/queue-conformance.ts';
import { Engine, engineUser } from './engine.ts';
import { JOB_SCOPE, jobsLimits, OTHER_JOB_SCOPE } from './job-fixtures.ts';
import { testLink } from './member-seals.ts';
import { TestClock } from './test-clock.ts';

/** Time a ticket is its holder's, in milliseconds of the servers. */
export const TICKET_LEASE_MS = 1_000;

/** Time after which a ticket that finds nothing due is looked at again, in milliseconds of the servers. */
const LOOK_MS = 25;

/** Time within which what is due has to be handed out, in milliseconds. */
const HANDED_OUT_MS_MAX = 20_000;

/** Time in which what must not be handed out would be, in milliseconds. */
const WRONGLY_MS = 40;

/** Between two looks, in milliseconds. */
const POLL_MS = 5;

const scopes: readonly JobScope[] = [JOB_SCOPE, OTHER_JOB_SCOPE];

let made = 0;

/** One member of a cluster as far as jobs go: its own connection and queue, over actors all members reach. */
export interface QueueMember {
  readonly queue: SharedQueue;
  readonly connection: NatsConnection;
  readonly failures: unknown[];
  readonly counts: { issued: number; redelivered: number; idle: number };
}

/**
 * Real tickets in real NATS servers, and the actors of two repositories in one engine whose clock stands still. The
 * servers have a clock of their own, which goes on: tickets come back quickly, and the actors say what is due.
 */
export class SharedQueueHarness implements QueueHarness {
  readonly leaseMs = queueDefaults.leaseMs;
  readonly retryMsMax = queueDefaults.retries.mostMs * 1.1;
  readonly activeMax = jobsLimits.activeMax;
  readonly clock = new TestClock();
  readonly subjects: Subjects;
  readonly #urls: readonly string[];
  readonly #folder = mkdtempSync(join(tmpdir(), 'grove-test-'));
  readonly #waiting = new Set<readonly string[]>();
  #engine: Engine | undefined;
  #members: QueueMember[] = [];

  private constructor(urls: readonly string[]) {
    this.#urls = urls;
    made += 1;
    this.subjects = new Subjects(`jobs-${made}`);
  }

  static async open(urls: readonly string[]): Promise<SharedQueueHarness> {
    const harness = new SharedQueueHarness(urls);
    await harness.#start();
    return harness;
  }

  /** The member that owns the repositories. */
  get owner(): QueueMember {
    return this.#members[0] as QueueMember;
  }

  get queue(): SharedQueue {
    return this.owner.queue;
  }

  get engine(): Engine {
    return this.#engine as Engine;
  }

  /** A further member, that owns nothing. */
  async join(): Promise<QueueMember> {
    const connection = await connectToNats({ urls: this.#urls, name: 'jobs' });
    const failures: unknown[] = [];
    const counts = { issued: 0, redelivered: 0, idle: 0 };
    const tickets = await NatsTickets.open({
      sealed: testLink(connection),
      subjects: this.subjects,
      settings: { replicas: this.#urls.length, leaseMs: TICKET_LEASE_MS },
      clock: systemClock,
      report: (problem, cause) => failures.push(problem, cause),
    });
    const { host } = this.engine;
    const queue = new SharedQueue({
      router: host,
      lifecycle: host,
      clock: systemClock,
      random: systemRandom,
      tickets,
      pollMsMax: LOOK_MS,
      onFailure: (_scope, cause) => failures.push(cause),
      observer: {
        issued: () => (counts.issued += 1),
        redelivered: () => (counts.redelivered += 1),
        idle: () => (counts.idle += 1),
      },
    });
    const { claim } = queue;
    queue.claim = (types, signal, busy) => this.#noting(types, claim.call(queue, types, signal, busy));
    const member = { queue, connection, failures, counts };
    this.#members.push(member);
    return member;
  }

  async pass(ms: number): Promise<void> {
    await this.#settled();
    this.clock.advance(ms);
    await this.#settled();
  }

  async restart(): Promise<void> {
    await this.#stop();
    await this.#start();
  }

  async dispose(): Promise<void> {
    await this.#stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #start(): Promise<void> {
    this.#engine = await Engine.open(this.#folder, {
      kinds: [jobsActor(jobsLimits)],
      clock: this.clock,
      events: (actor, events) => {
        const ids = events.filter(isJobWaiting).map(({ id }) => id);
        if (ids.length > 0) this.owner.queue.announce(scopeOf(actor), ids);
      },
    });
    const { queue } = await this.join();
    for (const scope of scopes) await queue.recover(scope);
  }

  /** Nothing is said to the servers: what is held stays held for a lease. */
  async #stop(): Promise<void> {
    for (const { connection, queue } of this.#members) {
      queue.close();
      await connection.close();
    }
    this.#members = [];
    await this.engine.close();
  }

  #noting(
    types: readonly string[],
    claimed: Promise<ClaimedJob | undefined>,
  ): Promise<ClaimedJob | undefined> {
    const asked = [...types];
    this.#waiting.add(asked);
    return claimed.finally(() => this.#waiting.delete(asked));
  }

  /** Until nobody waits for what is due, and a little longer, for what must not be handed out. */
  async #settled(): Promise<void> {
    const endMs = performance.now() + HANDED_OUT_MS_MAX;
    while ((await this.#isOwed()) && performance.now() < endMs) await sleep(POLL_MS);
    if (this.#waiting.size > 0) await sleep(WRONGLY_MS);
  }

  async #isOwed(): Promise<boolean> {
    if (this.owner.queue.unissued > 0) return true;
    const wanted = new Set([...this.#waiting].flat());
    if (wanted.size === 0) return false;
    const nowMs = this.clock.wallMs();
    for (const scope of scopes) {
      const page = { limit: 100, offset: 0 };
      for (const { dueAtMs, heartbeatAtMs, state, type } of await this.queue.list(scope, page, engineUser)) {
        if (!wanted.has(type)) continue;
        if (state === 'scheduled' && dueAtMs <= nowMs) return true;
        // Somebody who waits takes back what nothing was heard of.
        if (state === 'running' && (heartbeatAtMs as number) + this.leaseMs <= nowMs) return true;
      }
    }
    return false;
  }
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
