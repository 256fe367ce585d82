import type { Clock } from '#runtime/base/time/clock.ts';
import type { Random } from '#runtime/base/random.ts';
import type { Replica, StillShards } from '#runtime/commit/replica.ts';
import type { FlushGate } from '#cluster/replica-durability/flush-gate.ts';
import type { LogReport } from '#cluster/replication/log-events.ts';
import { keptOf, type LogPosition, type ReceivedPosition } from '#cluster/replication/log-position.ts';
import { type LogNews, LogReader } from '#cluster/replication/log-reader.ts';
import type { LogStream } from '#cluster/replication/log-stream.ts';
import type { FlushedReplica } from '#cluster/replica-durability/flushed-replica.ts';
import { withShards } from './shard-failure.ts';

/** Options for following a partition. */
export interface FollowingOptions {
  readonly partition: number;
  readonly stream: LogStream;
  readonly clock: Clock;
  readonly random: Random;
  readonly report: LogReport;
  /** Position of the shards; undefined when there are none. */
  readonly position: ReceivedPosition | undefined;
  readonly flushed: FlushedReplica | undefined;
  /** @param newest position after everything it was given */
  readonly makeReplica: (newest: () => LogPosition | undefined) => Replica;
  /** Receives everything that was read, before it is applied. */
  readonly hear: (news: LogNews) => void;
  /** Called once, when the replica was given everything that the stream contained when it was first reached. */
  readonly onCaughtUp: () => void;
  /** Called when following fails: with a `ShardFailure` for errors of the shards. Not called after a stop. */
  readonly onFailure: (following: PartitionFollowing, cause: unknown) => void;
}

/** A record that was read and not yet given to the replica. */
interface TakenNews {
  readonly sequence: number;
  readonly news: LogNews;
  /** Position after it; undefined after a part of a batch. */
  readonly position: LogPosition | undefined;
}

/**
 * Follows the log of a partition: reads it as it grows, and gives the records to a replica, in class `replica-disk`
 * once they are in the flush journal on the disk.
 *
 * @see docs/partition-log.md#followers
 */
export class PartitionFollowing {
  readonly replica: Replica;
  readonly #options: FollowingOptions;
  readonly #reader: LogReader;
  readonly #controller = new AbortController();
  /** Holds back records that are not in the flush journal on the disk; undefined without one. */
  readonly #behind: FlushGate<TakenNews> | undefined;
  readonly #done: Promise<void>;
  /** Position after everything the replica was given. */
  #given: LogPosition | undefined;
  #taken: LogPosition | undefined;
  /** The newest record that was read, and the newest that the replica was given. */
  #readTo = 0;
  #givenTo = 0;
  /** The last record that the stream contained when it was first reached, until the replica was given it. */
  #last: number | undefined;
  #failure: unknown;

  /** Starts in the next microtask. */
  constructor(options: FollowingOptions) {
    this.#options = options;
    const { clock, flushed, makeReplica, partition, position, random, report, stream } = options;
    this.#reader = new LogReader({
      stream,
      partition,
      position,
      clock,
      random,
      report,
      stored: (identity, message, state) => flushed?.stored(identity, message, state),
      atEnd: () => {
        this.#last = this.#readTo;
        this.#reportCaughtUp();
      },
      isForgetful: flushed?.isKept === true,
    });
    this.#given = position;
    this.#taken = position;
    this.replica = makeReplica(() => this.#given);
    this.#behind = flushed?.openGate((taken) => this.#apply(taken));
    this.#done = Promise.resolve().then(() => this.#run());
  }

  /** Position after everything that was read; undefined in the middle of a batch, and before the first record. */
  get position(): ReceivedPosition | undefined {
    return this.#reader.position;
  }

  /** An error that was found while it was being stopped; undefined without one. */
  get failure(): unknown {
    return this.#failure;
  }

  /** Newest message that was read. */
  get sequence(): number {
    return this.#reader.sequence;
  }

  /** Position after everything the replica has accepted; it may have been given more by now. */
  get taken(): LogPosition | undefined {
    return this.#taken;
  }

  /**
   * Runs `work` on the shards while no record is applied to them.
   *
   * @param stored position of the shards when nothing was read
   * @param work receives the position that the shards have reached, and a signal that asks it to stop
   * @returns undefined when there is no position, or when `isWanted` returns false for it
   */
  async still<Result>(
    stored: () => LogPosition | undefined,
    isWanted: () => boolean,
    work: (shards: StillShards, position: LogPosition, signal: AbortSignal) => Promise<Result>,
  ): Promise<Result | undefined> {
    // In a separate turn, when the replica was given everything before the reader's position. A reader that starts
    // there applies the records in between once more.
    const position = await new Promise<LogPosition | undefined>((resolve) =>
      this.#options.clock.soon(() =>
        resolve((this.#behind === undefined ? keptOf(this.position) : this.#taken) ?? stored()),
      ),
    );
    if (!isWanted() || position === undefined) return undefined;
    return this.replica.still((shards) => work(shards, position, this.#controller.signal));
  }

  /** Writes everything the replica was given to the shards. @returns their new position, if anything was read */
  async settle(): Promise<ReceivedPosition | undefined> {
    // When everything is accepted the reader also knows the time of receipt, from which a successor counts its wait.
    const isAllTaken = this.#taken?.sequence === this.position?.sequence;
    const position = isAllTaken ? this.position : this.#taken;
    await this.replica.settle();
    return position;
  }

  /** Resolves when no more is read. */
  async stop(): Promise<void> {
    this.#controller.abort();
    await this.#done;
  }

  /** Resolves when the replica was given everything that was read and passed by the journal. */
  async drain(): Promise<void> {
    // Records that a failed journal held back are read again.
    await this.#behind?.drain().catch(() => undefined);
  }

  /** Never rejects. */
  async #run(): Promise<void> {
    const { flushed, hear, onFailure, position } = this.#options;
    const { signal } = this.#controller;
    try {
      await flushed?.requireStream(position, signal);
      for await (const news of this.#reader.read(signal)) {
        hear(news);
        const sequence = news.kind === 'batch' ? news.batch.sequence : news.sequence;
        const taken = { sequence, news, position: keptOf(this.position) };
        this.#readTo = sequence;
        await (this.#behind === undefined ? this.#apply(taken) : this.#behind.take(taken));
      }
    } catch (cause) {
      if (signal.aborted) this.#failure = cause;
      else onFailure(this, cause);
    }
  }

  async #apply({ news, position, sequence }: TakenNews): Promise<void> {
    this.#given = position ?? this.#given;
    if (news.kind === 'batch') await withShards(() => this.replica.take(news.batch));
    this.#taken = position ?? this.#taken;
    this.#givenTo = sequence;
    this.#reportCaughtUp();
  }

  #reportCaughtUp(): void {
    if (this.#last === undefined || this.#givenTo < this.#last) return;
    this.#last = undefined;
    if (!this.#controller.signal.aborted) this.#options.onCaughtUp();
  }
}
