import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { LogPosition } from '#cluster/replication/log-position.ts';
import type { PartitionLog } from '#cluster/replication/partition-log.ts';
import { assert } from '#runtime/base/assert.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { entriesOf, numberedEntry, numberOf } from '#test/support/log-entries.ts';
import { type LogClient, logClient, newPartition, streamOf } from '#test/support/log-partition.ts';
import { sharedNatsCluster } from '#test/support/nats-cluster.ts';
import { logConformance } from '#test/runtime/log/log-conformance.ts';

const cluster = sharedNatsCluster(3);
let client: LogClient;

beforeAll(async () => {
  client = await logClient(cluster());
});

afterAll(async () => {
  await client.close();
});

logConformance('a partition over three nats-servers', async () => {
  const partition = await newPartition(client, 3);
  return { open: () => client.open(partition, 'm1'), dispose: () => Promise.resolve() };
});

/** How often two members open one partition at the same time. */
const ROUNDS = 1000;

/** Refusals that say for certain that an entry is in no log. */
const CERTAIN = new Set(['NOT_OWNER', 'STORAGE_FULL', 'LOG_UNAVAILABLE', 'OVERLOADED', 'SHUTTING_DOWN']);

/** What became of appended entries, by number. */
interface Outcomes {
  readonly done: number[];
  readonly failed: number[];
  readonly unknown: number[];
}

/** Appends from several sides until it is told to stop. */
class Appender {
  readonly outcomes: Outcomes = { done: [], failed: [], unknown: [] };
  readonly #log: PartitionLog;
  readonly #sides: Promise<void>[];
  #next = 0;
  #isStopped = false;

  constructor(log: PartitionLog, sides: number) {
    this.#log = log;
    this.#sides = Array.from({ length: sides }, () => this.#run());
  }

  /** Waits until so many more entries are acknowledged. */
  async more(count: number): Promise<void> {
    const wanted = this.outcomes.done.length + count;
    while (this.outcomes.done.length < wanted) await new Promise((resolve) => setTimeout(resolve, 5));
  }

  async stop(): Promise<Outcomes> {
    this.#isStopped = true;
    await Promise.all(this.#sides);
    return this.outcomes;
  }

  async #run(): Promise<void> {
    while (!this.#isStopped) {
      const number = this.#next++;
      try {
        await this.#log.append(numberedEntry('t/r/main/branch', number));
        this.outcomes.done.push(number);
      } catch (error) {
        const isCertain = error instanceof ServiceError && CERTAIN.has(error.code);
        (isCertain ? this.outcomes.failed : this.outcomes.unknown).push(number);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }
  }
}

/** Every acknowledged entry is there once, every refused one is not, no other one is there twice. */
async function expectKept(log: PartitionLog, { done, failed }: Outcomes): Promise<void> {
  const counts = new Map<number, number>();
  for (const entry of await entriesOf(log))
    counts.set(numberOf(entry), (counts.get(numberOf(entry)) ?? 0) + 1);
  expect(done.filter((number) => counts.get(number) !== 1)).toEqual([]);
  expect(failed.filter((number) => counts.has(number))).toEqual([]);
  expect([...counts.values()].filter((count) => count > 1)).toEqual([]);
}

async function leaderOf(partition: number): Promise<string> {
  for (;;) {
    const state = await client
      .stream(partition)
      .state()
      .catch(() => undefined);
    if (state !== undefined && state.leader !== '') return state.leader;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

describe('a partition whose servers fail', () => {
  it('loses and doubles nothing when the leader of its stream is killed again and again', async () => {
    const partition = await newPartition(client, 3);
    const log = await client.open(partition, 'm1');
    const appender = new Appender(log, 16);
    for (let round = 0; round < 3; round += 1) {
      await appender.more(500);
      const leader = cluster().server(await leaderOf(partition));
      await leader.kill();
      await appender.more(500);
      leader.start();
      await cluster().ready();
    }
    const outcomes = await appender.stop();
    expect(outcomes.unknown).toEqual([]);
    expect(log.ended).toBeUndefined();
    await expectKept(log, outcomes);
    await log.close();
    const reopened = await client.open(partition, 'm2');
    await expectKept(reopened, outcomes);
    await reopened.close();
  });

  it('loses and duplicates nothing when the leader of its stream is paused and resumes', async () => {
    const partition = await newPartition(client, 3);
    const log = await client.open(partition, 'm1');
    const appender = new Appender(log, 16);
    await appender.more(500);
    const leader = cluster().server(await leaderOf(partition));
    await leader.pause();
    await appender.more(500);
    leader.resume();
    await appender.more(500);
    const outcomes = await appender.stop();
    expect(outcomes.unknown).toEqual([]);
    await expectKept(log, outcomes);
    await log.close();
  });
});

describe('a partition that only one server of three is left of', () => {
  it('takes nothing, holds no lease, and has lost nothing when the others come back', async () => {
    const partition = await newPartition(client, 3);
    const [left, ...others] = cluster().servers;
    const connected = await logClient(cluster(), [left?.url as string]);
    const log = await connected.open(partition, 'm1');
    for (let number = 0; number < 20; number += 1) await log.append(numberedEntry('t/r/main/branch', number));
    await Promise.all(others.map((server) => server.kill()));
    const held = log.append(numberedEntry('t/r/main/branch', 20));
    let refused: unknown;
    while (refused === undefined) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      // Some are taken and wait with the first one; they are not what is looked at here.
      const more = log.append({ ...numberedEntry('t/r/other/branch', 0), writes: [] });
      more.catch((error: unknown) => {
        refused = error;
      });
    }
    expect(refused).toMatchObject({ code: 'LOG_UNAVAILABLE' });
    expect(log.lease.isValid()).toBe(false);
    for (const server of others) server.start();
    await cluster().ready();
    await held;
    const kept = (await entriesOf(log)).filter(({ actor }) => actor === 't/r/main/branch').map(numberOf);
    expect(kept).toEqual(Array.from({ length: 21 }, (_, number) => number));
    await log.close();
    await connected.close();
  });
});

describe('two members that open one partition at once', () => {
  it('lets one of them have each epoch, a thousand rounds long', async () => {
    const partition = await newPartition(client, 3);
    const other = await logClient(cluster());
    const epochs: number[] = [];
    let both = 0;
    let position: LogPosition | undefined;
    for (let round = 0; round < ROUNDS; round += 1) {
      const options = { leaseMs: 20, position };
      const tries = await Promise.allSettled([
        client.open(partition, 'm1', options),
        other.open(partition, 'm2', options),
      ]);
      const refusals = tries.flatMap((each) =>
        each.status === 'rejected' ? [each.reason as ServiceError] : [],
      );
      expect(refusals.every(({ code }) => code === 'NOT_OWNER')).toBe(true);
      const logs = tries
        .flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
        .sort((a, b) => a.epoch - b.epoch);
      epochs.push(...logs.map(({ epoch }) => epoch));
      const [earlier, owner = earlier] = logs;
      // One that looked after the other had opened took it over, and that one finds out.
      if (earlier !== owner) {
        both += 1;
        await expect(earlier?.append(numberedEntry('t/r/main/branch', 0))).rejects.toMatchObject({
          code: 'NOT_OWNER',
        });
      }
      assert(owner !== undefined, 'one of them opens it');
      owner.released('t/r/main/branch', await owner.append(numberedEntry('t/r/main/branch', round + 1)));
      position = owner.releasedPosition;
      await owner.close();
    }
    expect(epochs).toEqual(Array.from({ length: ROUNDS + both }, (_, index) => index + 1));
    expect(both).toBeLessThan(ROUNDS / 2);
    const last = await client.open(partition, 'm1');
    expect((await entriesOf(last)).map(numberOf)).toEqual(
      Array.from({ length: ROUNDS }, (_, round) => round + 1),
    );
    await last.close();
    await other.close();
  });

  it('accepts nothing more from a replaced owner, including its pending writes [CLU-004]', async () => {
    const partition = await newPartition(client, 3);
    const other = await logClient(cluster());
    const first = await client.open(partition, 'm1');
    await first.append(numberedEntry('t/r/main/branch', 0));
    const second = await other.open(partition, 'm2');
    expect(first.lease.isValid()).toBe(false);
    const late = Array.from({ length: 50 }, (_, number) =>
      first.append(numberedEntry('t/r/main/branch', 100 + number)),
    );
    const outcomes = await Promise.allSettled(late);
    for (const outcome of outcomes)
      expect(outcome).toMatchObject({
        status: 'rejected',
        reason: { code: 'NOT_OWNER', details: { member: 'm2' } },
      });
    await second.append(numberedEntry('t/r/main/branch', 1));
    expect((await entriesOf(second)).map(numberOf)).toEqual([0, 1]);
    await second.close();
    await other.close();
  });
});

it('names its streams as the servers do', async () => {
  const partition = await newPartition(client, 3);
  expect((await client.stream(partition).state()).identity).toContain(streamOf(partition));
});
