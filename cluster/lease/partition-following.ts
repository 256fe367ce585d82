import type { Clock } from '#runtime/base/clock.ts';
import type { Random } from '#runtime/base/random.ts';
import type { Replica, StillShards } from '#runtime/commit/replica.ts';
import type { BehindFlush } from '#cluster/flush-journal/behind-flush.ts';
import type { LogReport } from '#cluster/replication/log-events.ts';
import { keptOf, type LogPosition, type ReceivedPosition } from '#cluster/replication/log-position.ts';
import { type LogNews, LogReader } from '#cluster/replication/log-reader.ts';
import type { LogStream } from '#cluster/replication/log-stream.ts';
import type { FlushedReplica } from './flushed-replica.ts';
import { withShards } from './shard-failure.ts';

/** What a partition is followed with. */
export interface FollowingOptions {
  readonly partition: number;
  readonly stream: LogStream;
  readonly clock: Clock;
  readonly random: Random;
  readonly report: LogReport;
  /** What is in the shards; undefined: nothing. */
  readonly position: ReceivedPosition | undefined;
  readonly flushed: FlushedReplica | undefined;
  /** @param newest behind everything it was given */
  readonly makeReplica: (newest: () => LogPosition | undefined) => Replica;
  /** Told of what was read, before it is applied. */
  readonly hear: (news: LogNews) => void;
  /** Told once when the replica was given everything that the stream had when it was reached first. */
  readonly onCaughtUp: () => void;
  /** Told when it cannot go on: a `ShardFailure` for what is wrong with the shards. Not when it was stopped. */
  readonly onFailure: (following: PartitionFollowing, cause: unknown) => void;
}

/** What was read, on its way to the replica. */
interface TakenNews {
  readonly sequence: number;
  readonly news: LogNews;
  /** Behind it; undefined behind a part of a batch. */
  readonly position: LogPosition | undefined;
}

/**
 * Follows the log of a partition: reads it as it grows, and brings what was read to a replica, in class `replica-disk`
 * once it is in the flush journal on the disk.
 *
 * @see Reliability: R2, R17
 */
export class PartitionFollowing {
  readonly replica: Replica;
  readonly #options: FollowingOptions;
  readonly #reader: LogReader;
  readonly #controller = new AbortController();
  /** Holds back what is not in the flush journal on the disk; undefined without one. */
  readonly #behind: BehindFlush<TakenNews> | undefined;
  readonly #done: Promise<void>;
  /** Behind everything the replica was given. */
  #given: LogPosition | undefined;
  #taken: LogPosition | undefined;
  /** The newest news that was read, and the newest that the replica was given. */
  #readTo = 0;
  #givenTo = 0;
  /** The last news of what the stream had when it was reached first, until the replica was given it. */
  #last: number | undefined;
  #failure: unknown;

  /** Begins in the next turn of the event loop's promises. */
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
        this.#tellCaughtUp();
      },
      isForgetful: flushed?.isKept === true,
    });
    this.#given = position;
    this.#taken = position;
    this.replica = makeReplica(() => this.#given);
    this.#behind = flushed?.holdBack((taken) => this.#apply(taken));
    this.#done = Promise.resolve().then(() => this.#run());
  }

  /** Behind everything that was read; undefined in the middle of a batch, and before anything was. */
  get position(): ReceivedPosition | undefined {
    return this.#reader.position;
  }

  /** Why it could not have gone on, when it found out while it was being stopped; undefined when nothing is wrong. */
  get failure(): unknown {
    return this.#failure;
  }

  /** Newest message that was read. */
  get sequence(): number {
    return this.#reader.sequence;
  }

  /** Behind everything the replica has taken; it may have been given more by now. */
  get taken(): LogPosition | undefined {
    return this.#taken;
  }

  /**
   * Lets `work` look at the shards while they stand still.
   *
   * @param stored where they stand when nothing was read
   * @param work gets a position everything before which is in them, and a signal that says when to stop
   * @returns undefined when there is no position, or `isWanted` says no when there is one
   */
  async still<Result>(
    stored: () => LogPosition | undefined,
    isWanted: () => boolean,
    work: (shards: StillShards, position: LogPosition, signal: AbortSignal) => Promise<Result>,
  ): Promise<Result | undefined> {
    // In a turn of its own, when the replica was given all the reader stands behind; what comes in between is applied
    // once more by whoever begins there.
    const position = await new Promise<LogPosition | undefined>((resolve) =>
      this.#options.clock.soon(() =>
        resolve((this.#behind === undefined ? keptOf(this.position) : this.#taken) ?? stored()),
      ),
    );
    if (!isWanted() || position === undefined) return undefined;
    return this.replica.still((shards) => work(shards, position, this.#controller.signal));
  }

  /** Brings what the replica was given to the shards. @returns where they stand then, if anything was read */
  async settle(): Promise<ReceivedPosition | undefined> {
    // When everything is taken the reader knows besides when it came, and an heir has waited since then.
    const isAllTaken = this.#taken?.sequence === this.position?.sequence;
    const position = isAllTaken ? this.position : this.#taken;
    await this.replica.settle();
    return position;
  }

  /** Nothing more is read when it resolves. */
  async stop(): Promise<void> {
    this.#controller.abort();
    await this.#done;
  }

  /** Resolves when the replica was given everything that was read and that the journal let pass. */
  async drain(): Promise<void> {
    // What a failed journal did not let pass is read again.
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
    this.#tellCaughtUp();
  }

  #tellCaughtUp(): void {
    if (this.#last === undefined || this.#givenTo < this.#last) return;
    this.#last = undefined;
    if (!this.#controller.signal.aborted) this.#options.onCaughtUp();
  }
}
