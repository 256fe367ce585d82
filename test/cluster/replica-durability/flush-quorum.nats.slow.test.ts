import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { FlushChannel, FlushConfirmation } from '#cluster/replica-durability/flush-channel.ts';
import { FlushJournal } from '#cluster/replica-durability/flush-journal.ts';
import { FlushQuorum } from '#cluster/replica-durability/flush-quorum.ts';
import { LogReader } from '#cluster/replication/log-reader.ts';
import type { PartitionLog } from '#cluster/replication/partition-log.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { FaultyFileSystem } from '#test/support/faulty-file-system.ts';
import { numberedEntry } from '#test/support/log-entries.ts';
import { type LogClient, logClient, newPartition } from '#test/support/log-partition.ts';
import { sharedNatsCluster } from '#test/support/nats-cluster.ts';
import { type LogHarness, logConformance } from '#test/runtime/log/log-conformance.ts';

const STALL_MS = 300;
const cluster = sharedNatsCluster(1);
let client: LogClient;

beforeAll(async () => {
  client = await logClient(cluster());
});

afterAll(async () => {
  await client.close();
});

/** Confirmations of a follower to an owner in one process; they can be held back. */
class Told implements FlushChannel {
  isHeldBack = false;
  readonly #listeners = new Set<(confirmation: FlushConfirmation) => void>();
  #last: FlushConfirmation | undefined;

  tell(_partition: number, confirmation: FlushConfirmation): void {
    this.#last = confirmation;
    if (!this.isHeldBack) for (const listener of this.#listeners) listener(confirmation);
  }

  ask(partition: number): void {
    if (this.#last !== undefined) this.tell(partition, this.#last);
  }

  onConfirmation(_partition: number, listener: (confirmation: FlushConfirmation) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  onRequest(): () => void {
    return () => undefined;
  }
}

/** A partition whose owner waits for its own flush journal and for that of one follower. */
class KeptPartition implements LogHarness {
  readonly told = new Told();
  readonly partition: number;
  readonly #files = new FaultyFileSystem();
  readonly #following = new AbortController();
  #journal: FlushJournal | undefined;
  #quorum: FlushQuorum | undefined;
  #done: Promise<void> = Promise.resolve();

  private constructor(partition: number) {
    this.partition = partition;
  }

  static async make(): Promise<KeptPartition> {
    const kept = new KeptPartition(await newPartition(client, 1));
    kept.#done = kept.#follow();
    return kept;
  }

  async open(): Promise<PartitionLog> {
    await this.#journal?.close();
    this.#quorum?.close();
    const journal = await this.#openJournal('/owner', () => this.#quorum?.flushed());
    this.#journal = journal;
    const quorum = new FlushQuorum({
      partition: this.partition,
      member: 'm1',
      journal,
      channel: this.told,
      clock: systemClock,
      stallMs: STALL_MS,
      wanted: () => ['m1', 'm2'],
      learned: () => undefined,
    });
    this.#quorum = quorum;
    const log = await client.open(this.partition, 'm1', { gate: quorum });
    quorum.begin(log);
    await quorum.whenOpened();
    return log;
  }

  async dispose(): Promise<void> {
    this.#following.abort();
    await this.#done;
    this.#quorum?.close();
    await this.#journal?.close();
  }

  async #follow(): Promise<void> {
    const journal = await this.#openJournal('/follower', () => {
      const {
        chain,
        epoch,
        validSequence: sequence,
      } = journal.flushed ?? { chain: Buffer.alloc(0), epoch: 0, validSequence: 0 };
      this.told.tell(this.partition, { member: 'm2', epoch, sequence, chain });
    });
    const reader = new LogReader({
      stream: client.stream(this.partition),
      partition: this.partition,
      position: undefined,
      clock: systemClock,
      random: systemRandom,
      report: () => undefined,
      stored: (identity, message, state) => journal.add(identity, message, state),
    });
    for await (const _ of reader.read(this.#following.signal));
    await journal.close();
  }

  #openJournal(folder: string, onFlush: () => void): Promise<FlushJournal> {
    const files = this.#files;
    return FlushJournal.open({ files, folder, clock: systemClock, random: systemRandom, onFlush });
  }
}

logConformance('a partition in class replica-disk', () => KeptPartition.make());

describe('the owner of a partition in class replica-disk', () => {
  let kept: KeptPartition;
  let log: PartitionLog;

  afterEach(async () => {
    await log.close();
    await kept.dispose();
  });

  it('acknowledges nothing without a follower, refuses new writes after a while, and resumes with one [CLU-008]', async () => {
    kept = await KeptPartition.make();
    log = await kept.open();
    await log.append(numberedEntry('a', 1));
    kept.told.isHeldBack = true;
    const before = log.lastSequence;
    let isAnswered = false;
    const waiting = log.append(numberedEntry('a', 2)).then((sequence) => {
      isAnswered = true;
      return sequence;
    });
    // The stream has it; whether this member is still the owner only the followers know.
    const asked = log.barrier();
    const refused = async (): Promise<unknown> => {
      for (;;) {
        const answer = await Promise.race([
          log.append(numberedEntry('a', 3)).catch((error: unknown) => error),
          new Promise((resolve) => setTimeout(resolve, 20)),
        ]);
        if (answer !== undefined) return answer;
      }
    };
    expect(await refused()).toMatchObject({
      code: 'LOG_UNAVAILABLE',
      message: expect.stringContaining('No second member'),
    });
    expect([isAnswered, log.lastSequence]).toEqual([false, before]);
    // Records that no follower confirms renew nothing.
    while (log.lease.isValid()) await new Promise((resolve) => setTimeout(resolve, 10));
    await expect(log.barrier()).rejects.toMatchObject({ code: 'LOG_UNAVAILABLE' });
    kept.told.isHeldBack = false;
    expect(await asked).toBeGreaterThan(before);
    expect(log.lease.isValid()).toBe(true);
    expect(await waiting).toBeGreaterThan(before);
    expect(await log.append(numberedEntry('a', 4))).toBe(log.lastSequence);
  });

  it('is released quickly without a follower, and reports an unknown outcome', async () => {
    kept = await KeptPartition.make();
    log = await kept.open();
    kept.told.isHeldBack = true;
    const waiting = log.append(numberedEntry('a', 1)).catch((error: { code: string }) => error.code);
    const startedMs = performance.now();
    await log.close();
    expect(await waiting).toBe('WRITES_STOPPED');
    expect(performance.now() - startedMs).toBeLessThan(8000);
  });
});
