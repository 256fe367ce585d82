import { Retries } from '#runtime/base/backoff.ts';
import type { Clock } from '#runtime/base/clock.ts';
import type { FileSystem } from '#runtime/base/file-system.ts';
import type { Random } from '#runtime/base/random.ts';
import { BehindFlush } from '#cluster/flush-journal/behind-flush.ts';
import type { FlushChannel } from '#cluster/flush-journal/flush-channel.ts';
import {
  FlushJournal,
  type FlushMark,
  type FlushWindow,
  flushWindow,
} from '#cluster/flush-journal/flush-journal.ts';
import { FlushQuorum, type StatementLog } from '#cluster/flush-journal/flush-quorum.ts';
import { encodeKeepers, noKeepers } from '#cluster/flush-journal/keepers.ts';
import { ReplicaSurvey } from '#cluster/flush-journal/replica-survey.ts';
import { reseed } from '#cluster/flush-journal/reseed.ts';
import { keepAside, type SupersededEnd, supersededEnd } from '#cluster/flush-journal/superseded-end.ts';
import { noStanding, type Standing, type StandingChannel } from '#cluster/flush-journal/standing.ts';
import { isTruncated, isUnavailable, logRegressed, logUnavailable } from '#cluster/replication/log-errors.ts';
import type { LogReport } from '#cluster/replication/log-events.ts';
import { type LogPosition, stateAt } from '#cluster/replication/log-position.ts';
import type { FoldState } from '#cluster/replication/log-fold.ts';
import type { LogStream, StoredMessage, StreamState } from '#cluster/replication/log-stream.ts';
import { stateReaching } from '#cluster/replication/stream-checks.ts';
import type { ShardPositions } from './shard-positions.ts';

/** Time before the servers are asked again, in milliseconds. */
const RETRY = { firstMs: 200, factor: 1.5, mostMs: 1_000 };

/** Folder of the flush journal, in that of the partition. */
const JOURNAL = 'flush-journal';

/** Folder of what others wrote over, in that of the partition. */
const SUPERSEDED = 'superseded';

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

/** A server that was asked to leave the lead of a stream to another, and all servers that may lead it. */
export type DoubtedLeader = Pick<StreamState, 'leader' | 'servers'>;

/** What a member's side of a partition has. */
export interface FlushedReplicaOptions extends ReplicasEnvironment {
  readonly partition: number;
  readonly member: string;
  /** Of the partition. */
  readonly folder: string;
  readonly shards: ShardPositions;
  readonly stream: LogStream;
  readonly files: FileSystem;
  readonly clock: Clock;
  readonly random: Random;
  readonly report: LogReport;
  /** The disk of the journal failed; told to the owner's log besides. */
  readonly onDiskFailure: (cause: unknown) => void;
}

/**
 * One member's side of a partition as the other replicas see it: what it tells them, what it asks them, and what it
 * has of the log on its disk besides the shards. In class `replica-disk` that is a flush journal. In the others it is
 * what the shards say themselves, and a journal that class left behind: what was acknowledged by it has to be in the
 * stream all the same. It is removed when the stream may not lose that any more.
 *
 * @see Reliability: Durability classes, R5, R9
 */
export class FlushedReplica {
  readonly #options: FlushedReplicaOptions;
  readonly survey: ReplicaSurvey;
  #journal: FlushJournal | undefined;
  /** Of class `replica-disk`, in another one. */
  #left: FlushJournal | undefined;
  /** Since when the stream is known to have what {@link #left} has. */
  #leftBehindMs: number | undefined;
  #opening: Promise<void> | undefined;
  /** What is known to be on the disk although the journal failed. */
  #trustedUpTo: number | undefined;
  #quorum: FlushQuorum | undefined;
  #stopTelling: (() => void) | undefined;
  #mendingSinceMs: number | undefined;
  /** While the journal is let go of to lose its end: nobody else opens it. */
  #cutting: Promise<void> | undefined;

  constructor(options: FlushedReplicaOptions) {
    this.#options = options;
    const { clock, flush, member, others, partition, standings } = options;
    this.survey = new ReplicaSurvey({
      partition,
      member,
      standings,
      others,
      clock,
      keepers: () => this.#kept?.keepers,
      needsMajority: flush !== undefined,
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

  /** Who is missing to open the partition in class `replica-disk`, for people; undefined while nobody is. */
  get lack(): string | undefined {
    const { lack } = this.survey;
    return lack === undefined ? undefined : `durability replica-disk needs other members to open it: ${lack}`;
  }

  /** What there is of a journal, in whatever class. */
  get #kept(): FlushJournal | undefined {
    return this.#journal ?? this.#left;
  }

  /**
   * Opens what is on the disk besides the shards, anew after a disk failed.
   *
   * @param position of the shards
   * @throws {ServiceError} `DATA_CORRUPTED`
   */
  async open(position: LogPosition | undefined): Promise<void> {
    if (this.#journal?.failure !== undefined) await this.#letGo();
    this.#opening ??= this.#openFiles();
    try {
      await this.#opening;
    } catch (error) {
      this.#opening = undefined;
      throw error;
    }
    // In this class shards have nothing the journal has not: they went on in another class, or with a snapshot.
    const journal = this.#journal;
    if (journal !== undefined && isBehind(journal.newest, position)) journal.forgetKeepers();
  }

  /**
   * Waits until the stream has what this member has, as long as the servers cannot be reached.
   *
   * @param position of the shards
   * @returns in class `replica-disk` false when it had not, or could not be reached, at first: it may have lost what was
   *   acknowledged
   * @throws {ServiceError} `DATA_CORRUPTED` when it lastingly has not
   */
  async requireStream(position: LogPosition | undefined, signal: AbortSignal): Promise<boolean> {
    const { clock, partition, random, stream } = this.#options;
    const retries = new Retries(clock, random, RETRY);
    for (let isFirst = true; !signal.aborted; isFirst = false) {
      try {
        const reached =
          position === undefined ? undefined : await stateReaching(stream, partition, position, clock);
        await this.#requireNewest(position);
        const isKeptAtOnce = await this.#requireKept(position);
        this.#leftBehindMs ??= clock.monotonicMs();
        return !this.isKept || (isFirst && reached?.isAtOnce !== false && isKeptAtOnce);
      } catch (error) {
        if (!isUnavailable(error)) throw error;
      }
      await retries.wait();
    }
    return false;
  }

  /** What lets pass only what is in the journal on the disk; undefined without one. */
  holdBack<Item extends { readonly sequence: number }>(
    apply: (item: Item) => Promise<void>,
  ): BehindFlush<Item> | undefined {
    return this.#journal && new BehindFlush(this.#journal, apply);
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

  /**
   * To be called before shards are given anything of a record, see {@link ShardPositions.cover}. With a journal they get
   * only what is in that.
   */
  async beforeShards(sequence: number, newest: () => LogPosition, actor?: string): Promise<void> {
    if (!this.isKept) await this.#options.shards.cover(sequence, newest(), actor);
  }

  /** To be called before a position is stored: no position may be ahead of the journal on the disk. */
  async beforePosition(position: LogPosition): Promise<void> {
    const { sequence } = position;
    const journal = this.#journal;
    if (journal !== undefined) await journal.whenFlushed(Math.min(sequence, journal.newest?.sequence ?? 0));
    else await this.#removeLeft(position);
  }

  /**
   * To be called when the partition was opened. In a class without journals nobody keeps it: who comes back in class
   * `replica-disk` must not wait for those who did once, of whom some may be gone for good.
   */
  releaseKeepers(log: StatementLog): void {
    const keepers = this.#left?.keepers ?? this.survey.learned;
    if (this.isKept || keepers === undefined || keepers.new.length === 0) return;
    // Without it the next opening says so.
    log.state(encodeKeepers(noKeepers)).catch(() => undefined);
  }

  /** What this member says of itself. @param position of its shards */
  async standing(position: LogPosition | undefined): Promise<Standing> {
    const { member } = this.#options;
    await this.#cutting;
    // A failed one is opened anew by whoever goes on with it.
    if (this.#journal?.failure === undefined) await this.open(position);
    const keepers = this.#kept?.keepers;
    let best: LogPosition | undefined = this.#kept?.flushed;
    for (const other of [this.#options.shards.newest, position]) if (isBehind(best, other)) best = other;
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
    await this.open(position);
    const journal = this.#kept;
    const reached = this.#reached(position);
    try {
      const state = await stream.state();
      if (state.lastSequence >= reached) {
        this.#mendingSinceMs = undefined;
        return undefined;
      }
      if (journal === undefined)
        return 'in this durability class only the servers can bring back what it lost';
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

  /**
   * Has another server lead the stream when the one that does lacks what this member has: its own copy may be damaged,
   * and those of the others whole.
   *
   * @param position of the shards
   * @returns who was asked, and who may lead; undefined when nobody was: the leader has it, or none could be reached
   */
  async doubtLeader(position: LogPosition | undefined): Promise<DoubtedLeader | undefined> {
    const { report, stream } = this.#options;
    try {
      const { lastSequence, leader, servers } = await stream.state();
      if (lastSequence >= this.#reached(position)) return undefined;
      if (servers.length > 1) {
        await stream.stepDown();
        report({ kind: 'leader-doubted', leader, lastSequence });
      }
      return { leader, servers };
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      return undefined;
    }
  }

  /**
   * What of the journal others wrote over, so that it was never acknowledged.
   *
   * @returns undefined while that is not known, and in another class
   * @throws {ServiceError} `DATA_CORRUPTED`
   */
  async superseded(): Promise<SupersededEnd | undefined> {
    if (this.#journal === undefined) return undefined;
    try {
      const { partition, stream } = this.#options;
      return await supersededEnd({ stream, partition, journal: this.#journal, survey: this.survey });
    } catch (error) {
      if (isUnavailable(error)) return undefined;
      throw error;
    }
  }

  /**
   * Gives up what {@link superseded} told: keeps a copy of it, then ends the journal before it. What is before stays, for
   * others may rely on it.
   *
   * @param forget makes the shards of this member those of an empty one: they may have something of it
   * @returns where the copy is
   */
  async setAside(end: SupersededEnd, forget: () => Promise<void>): Promise<string> {
    const { files, folder } = this.#options;
    const journal = this.#journal as FlushJournal;
    const path = await keepAside(files, `${folder}/${SUPERSEDED}`, journal, end);
    await forget();
    const cut = Promise.withResolvers<void>();
    this.#cutting = cut.promise;
    try {
      await this.#letGo();
      this.#trustedUpTo = end.first - 1;
      await this.open(undefined);
    } finally {
      this.#cutting = undefined;
      cut.resolve();
    }
    return path;
  }

  /** Lets go of the files. */
  async close(): Promise<void> {
    this.stopTelling();
    this.stopOwning();
    await this.#letGo();
  }

  /** The newest record this member has, or may have something of. @param position of the shards */
  #reached(position: LogPosition | undefined): number {
    const known = [position, this.#options.shards.newest, this.#kept?.flushed];
    return Math.max(0, ...known.map((each) => each?.sequence ?? 0));
  }

  async #letGo(): Promise<void> {
    const journal = this.#journal;
    const left = this.#left;
    this.#journal = undefined;
    this.#left = undefined;
    this.#leftBehindMs = undefined;
    this.#opening = undefined;
    await left?.close();
    if (journal === undefined) return;
    if (journal.failure !== undefined) this.#trustedUpTo = journal.flushed?.sequence ?? 0;
    // The failure that led here was told.
    await journal.close().catch(() => undefined);
  }

  async #openFiles(): Promise<void> {
    const { clock, files, flush, folder, random } = this.#options;
    await this.#options.shards.verify();
    this.#options.shards.look();
    if (flush !== undefined) {
      this.#journal = await this.#openJournal();
      return;
    }
    if (!(await this.#hasJournal())) return;
    const left = await FlushJournal.open({ files, folder: `${folder}/${JOURNAL}`, clock, random });
    if (left.newest === undefined) await left.close();
    else this.#left = left;
  }

  async #hasJournal(): Promise<boolean> {
    const { files, folder } = this.#options;
    try {
      return (await files.readdir(`${folder}/${JOURNAL}`)).length > 0;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      return false;
    }
  }

  async #openJournal(): Promise<FlushJournal> {
    const { clock, files, flush, folder, random } = this.#options;
    const journal = await FlushJournal.open({
      files,
      folder: `${folder}/${JOURNAL}`,
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
    // What is behind it was cut off, and what comes there from now on is as good as anything.
    this.#trustedUpTo = undefined;
    return journal;
  }

  /** Once the servers have flushed what it has, and the shards have it, nobody needs it any more. */
  async #removeLeft(position: LogPosition): Promise<void> {
    const left = this.#left;
    const sinceMs = this.#leftBehindMs;
    if (left === undefined || sinceMs === undefined || isBehind(position, left.flushed)) return;
    if (this.#options.clock.monotonicMs() - sinceMs < flushWindow.keepMs) return;
    this.#left = undefined;
    // What is still there is found at the next start.
    await left.remove().catch(() => undefined);
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

  /** The stream has to have the newest record shards have something of, unless it was cut behind it. */
  async #requireNewest(position: LogPosition | undefined): Promise<void> {
    const { clock, partition, shards, stream } = this.#options;
    const { newest } = shards;
    if (newest === undefined || !isBehind(position, newest)) return;
    try {
      await stateAt(stream, partition, newest, clock);
    } catch (error) {
      if (!isTruncated(error)) throw error;
    }
  }

  /**
   * The stream has to have what a journal has that the shards need not have.
   *
   * @returns whether the first look saw it so
   */
  async #requireKept(position: LogPosition | undefined): Promise<boolean> {
    const { clock, partition, stream } = this.#options;
    const mark = this.#kept?.flushed;
    if (mark === undefined || isBehind(mark, position)) return true;
    const { firstSequence, isAtOnce } = await stateReaching(stream, partition, mark, clock);
    // What is read again is not given to the journal again: it has to be the same.
    if (firstSequence <= mark.sequence)
      await this.#requireSame(Math.max(firstSequence, position?.sequence ?? 1), mark.sequence);
    return isAtOnce;
  }

  /** Compares messages of the stream with those of the journal, as far back as it goes. */
  async #requireSame(from: number, last: number): Promise<void> {
    const { partition, stream } = this.#options;
    const journal = this.#kept as FlushJournal;
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

/** Whether a place in the log is before another; nothing is before everything. */
function isBehind(
  place: Pick<LogPosition, 'sequence'> | undefined,
  other: Pick<LogPosition, 'sequence'> | undefined,
): boolean {
  return (place?.sequence ?? 0) < (other?.sequence ?? 0);
}
