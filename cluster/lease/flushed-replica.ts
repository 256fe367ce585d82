import { type Clock, sleep } from '#runtime/base/clock.ts';
import type { FileSystem } from '#runtime/base/file-system.ts';
import type { Random } from '#runtime/base/random.ts';
import type { FlushChannel } from '#cluster/flush-journal/flush-channel.ts';
import { FlushJournal, type FlushMark, type FlushWindow } from '#cluster/flush-journal/flush-journal.ts';
import { FlushQuorum } from '#cluster/flush-journal/flush-quorum.ts';
import { ReplicaSurvey } from '#cluster/flush-journal/replica-survey.ts';
import { reseed } from '#cluster/flush-journal/reseed.ts';
import { noStanding, type Standing, type StandingChannel } from '#cluster/flush-journal/standing.ts';
import { isUnavailable, logRegressed, logUnavailable } from '#cluster/replication/log-errors.ts';
import type { LogReport } from '#cluster/replication/log-events.ts';
import type { LogPosition } from '#cluster/replication/log-position.ts';
import type { LogStream } from '#cluster/replication/log-stream.ts';
import type { FoldState } from '#cluster/replication/log-fold.ts';
import type { StoredMessage } from '#cluster/replication/log-stream.ts';
import { stateReaching } from '#cluster/replication/stream-checks.ts';

/** Time before the servers are asked again, in milliseconds. */
const RETRY_MS = 200;

/** How long a stream is mended only with all keepers, in milliseconds: they may be starting. */
const ALL_KEEPERS_MS = 10_000;

/** How the replicas of a partition know of each other. */
export interface ReplicasEnvironment {
  readonly standings: StandingChannel;
  /** How many other members are heard of. */
  readonly others: () => number;
  /** Of class `replica-disk`; undefined in another. */
  readonly flush: FlushEnvironment | undefined;
}

/** What class `replica-disk` needs. */
export interface FlushEnvironment {
  readonly channel: FlushChannel;
  /** Members that should keep the partition at present, the owner among them. */
  readonly keepersWanted: () => readonly string[];
  readonly window?: FlushWindow;
}

/** What a member's side of a partition has. */
export interface FlushedReplicaOptions extends ReplicasEnvironment {
  readonly partition: number;
  readonly member: string;
  /** Of the partition. */
  readonly folder: string;
  readonly stream: LogStream;
  readonly files: FileSystem;
  readonly clock: Clock;
  readonly random: Random;
  readonly report: LogReport;
  /** The disk of the journal failed; told to the owner's log besides. */
  readonly onDiskFailure: (cause: unknown) => void;
}

/**
 * One member's side of a partition as the other replicas see it: what it tells them, what it asks them, and in class
 * `replica-disk` what it has of the log on its disk besides the shards.
 *
 * @see Reliability: Durability classes, R5, R9
 */
export class FlushedReplica {
  readonly #options: FlushedReplicaOptions;
  readonly survey: ReplicaSurvey;
  #journal: FlushJournal | undefined;
  #opening: Promise<FlushJournal> | undefined;
  /** What is known to be on the disk although the journal failed. */
  #trustedUpTo: number | undefined;
  #quorum: FlushQuorum | undefined;
  #stopTelling: (() => void) | undefined;
  #mendingSinceMs: number | undefined;

  constructor(options: FlushedReplicaOptions) {
    this.#options = options;
    const { clock, flush, member, others, partition, standings } = options;
    this.survey = new ReplicaSurvey({
      partition,
      member,
      standings,
      others,
      clock,
      keepers: flush === undefined ? undefined : () => this.#journal?.keepers,
    });
  }

  /** Whether there is a journal, open or not. */
  get isKept(): boolean {
    return this.#options.flush !== undefined;
  }

  /** The journal, once it is open; undefined in another class. */
  get journal(): FlushJournal | undefined {
    return this.#journal;
  }

  /** How long the owner's writes have waited for a follower, in milliseconds. */
  get waitedMs(): number {
    return this.#quorum?.waitedMs ?? 0;
  }

  /** Opens the journal, anew after a disk failed. @throws {ServiceError} `DATA_CORRUPTED` */
  async open(): Promise<void> {
    if (this.#options.flush === undefined) return;
    if (this.#journal?.failure !== undefined) await this.#letGo();
    this.#opening ??= this.#openJournal();
    try {
      this.#journal = await this.#opening;
    } catch (error) {
      this.#opening = undefined;
      throw error;
    }
  }

  /**
   * Waits until the stream has what this member has, as long as the servers cannot be reached.
   *
   * @param position of the shards
   * @throws {ServiceError} `DATA_CORRUPTED` when it lastingly has not
   */
  async requireStream(position: LogPosition | undefined, signal: AbortSignal): Promise<void> {
    const { clock, partition, stream } = this.#options;
    while (!signal.aborted) {
      try {
        const mark = this.#journal?.flushed;
        if (position !== undefined) await stateReaching(stream, partition, position, clock);
        if (mark === undefined) return;
        const { firstSequence } = await stateReaching(stream, partition, mark, clock);
        if (firstSequence > mark.sequence) return;
        // What is read again is not given to the journal again: it has to be the same.
        await this.#requireSame(Math.max(firstSequence, position?.sequence ?? 1), mark.sequence);
        return;
      } catch (error) {
        if (!isUnavailable(error)) throw error;
      }
      await sleep(clock, RETRY_MS);
    }
  }

  /** Takes what a follower reads. */
  stored(identity: string, message: StoredMessage, state: FoldState): void {
    this.#journal?.add(identity, message, state);
  }

  /** From now on the owner is told what is on this disk. */
  startTelling(): void {
    const { flush, partition } = this.#options;
    this.#stopTelling ??= flush?.channel.onAsked(partition, () => this.#tell(this.#journal?.flushed));
  }

  /** What is flushed is told nobody any more. */
  stopTelling(): void {
    this.#stopTelling?.();
    this.#stopTelling = undefined;
  }

  /** What an opening of this member waits for besides the stream; undefined in another class. */
  beginOwning(stallMs: number): FlushQuorum | undefined {
    const { clock, flush, member, partition } = this.#options;
    const journal = this.#journal;
    if (flush === undefined || journal === undefined) return undefined;
    this.stopOwning();
    const { channel, keepersWanted: wanted } = flush;
    const learned = () => this.survey.learned;
    this.#quorum = new FlushQuorum({ partition, member, journal, channel, clock, stallMs, wanted, learned });
    return this.#quorum;
  }

  /** The partition is not this member's any more. */
  stopOwning(): void {
    this.#quorum?.close();
    this.#quorum = undefined;
  }

  /** To be called before a position is stored: no position may be ahead of the journal on the disk. */
  async beforePosition({ sequence }: LogPosition): Promise<void> {
    const journal = this.#journal;
    if (journal !== undefined) await journal.whenFlushed(Math.min(sequence, journal.newest?.sequence ?? 0));
  }

  /** What this member says of itself. @param position of its shards */
  async standing(position: LogPosition | undefined): Promise<Standing> {
    const { member } = this.#options;
    // A failed one is opened anew by whoever goes on with it.
    if (this.#journal === undefined) await this.open();
    const mark = this.#journal?.flushed;
    const keepers = this.#journal?.keepers;
    const best = mark !== undefined && mark.sequence >= (position?.sequence ?? 0) ? mark : position;
    if (best === undefined) return { ...noStanding(member), keepers };
    const { chain, epoch, identity, sequence } = best;
    return { member, identity, epoch, sequence, chain: chain.toString('hex'), keepers };
  }

  /**
   * Tries to have the stream go on where this member's journal ends: waits for others to mend it, or mends it.
   *
   * @param position of the shards
   * @returns why it cannot be gone on with, for people; undefined when it can
   * @throws {ServiceError} `DATA_CORRUPTED` when only an operator can decide
   */
  async mend(position: LogPosition | undefined): Promise<string | undefined> {
    const { clock, member, partition, report, stream } = this.#options;
    this.#mendingSinceMs ??= clock.monotonicMs();
    await this.open();
    const journal = this.#journal;
    const reached = Math.max(position?.sequence ?? 0, journal?.flushed?.sequence ?? 0);
    try {
      const state = await stream.state();
      if (state.lastSequence >= reached) {
        this.#mendingSinceMs = undefined;
        return undefined;
      }
      if (journal === undefined) return 'in this durability class nothing can bring back what it lost';
      if (reached > (journal.flushed?.sequence ?? 0)) return 'the shards have more than the flush journal';
      const waitsForAll = clock.monotonicMs() - this.#mendingSinceMs < ALL_KEEPERS_MS;
      const { survey } = this;
      const outcome = await reseed({ stream, partition, member, journal, survey, report, waitsForAll });
      if (outcome.kind === 'waiting') return outcome.reason;
      this.#mendingSinceMs = undefined;
      return undefined;
    } catch (error) {
      if (isUnavailable(error)) return 'the servers cannot be reached';
      throw error;
    }
  }

  /** Lets go of the files. */
  async close(): Promise<void> {
    this.stopTelling();
    this.stopOwning();
    await this.#letGo();
  }

  async #letGo(): Promise<void> {
    const journal = this.#journal;
    this.#journal = undefined;
    this.#opening = undefined;
    if (journal === undefined) return;
    if (journal.failure !== undefined) this.#trustedUpTo = journal.flushed?.sequence ?? 0;
    // The failure that led here was told.
    await journal.close().catch(() => undefined);
  }

  #openJournal(): Promise<FlushJournal> {
    const { clock, files, flush, folder, random } = this.#options;
    return FlushJournal.open({
      files,
      folder: `${folder}/flush-journal`,
      clock,
      random,
      onFlush: (mark) => this.#onFlush(mark),
      onFailure: (cause) => {
        this.#quorum?.failed(cause);
        this.#options.onDiskFailure(cause);
      },
      ...(this.#trustedUpTo === undefined ? {} : { trustedUpTo: this.#trustedUpTo }),
      ...(flush?.window === undefined ? {} : { window: flush.window }),
    });
  }

  #onFlush(mark: FlushMark): void {
    this.#quorum?.flushed();
    if (this.#stopTelling !== undefined) this.#tell(mark);
  }

  #tell(mark: FlushMark | undefined): void {
    const { flush, member, partition } = this.#options;
    if (mark === undefined || mark.validSequence === 0) return;
    // The epoch is that of the newest record that counts.
    const { chain, epoch, validSequence: sequence } = mark;
    flush?.channel.tell(partition, { member, epoch, sequence, chain });
  }

  /** Compares messages of the stream with those of the journal, as far back as it goes. */
  async #requireSame(from: number, last: number): Promise<void> {
    const { partition, stream } = this.#options;
    const journal = this.#journal as FlushJournal;
    const first = Math.max(journal.first, Math.min(from, last));
    const own = journal.read(first, last);
    let next = first;
    for await (const stored of stream.range(first, last)) {
      const { done, value } = await own.next();
      if (done === true || !stored.bytes.equals(value.bytes))
        throw logRegressed(
          partition,
          'other-record',
          `record ${stored.sequence} is another than the flush journal of this member has`,
        );
      next = stored.sequence + 1;
    }
    if (next <= last) throw logUnavailable(`record ${next} is not there at present`);
  }
}
