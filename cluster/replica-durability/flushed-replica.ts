import { Retries } from '#runtime/base/time/backoff.ts';
import type { Clock } from '#runtime/base/time/clock.ts';
import type { FileSystem } from '#runtime/base/files/file-system.ts';
import type { Random } from '#runtime/base/random.ts';
import { FlushGate } from './flush-gate.ts';
import type { FlushChannel } from './flush-channel.ts';
import { FlushJournal, type FlushMark, type FlushWindow, flushWindow } from './flush-journal.ts';
import { FlushQuorum, type StatementLog } from './flush-quorum.ts';
import { encodeVoters, noVoters } from './voters.ts';
import { ReplicaSurvey } from './replica-survey.ts';
import { reseed } from './reseed.ts';
import { copyEnd, type SupersededEnd, supersededEnd } from './superseded-end.ts';
import { noReplicaStatus, type ReplicaStatus, type ReplicaStatusChannel } from './replica-status.ts';
import { isTruncated, isUnavailable, logRegressed, logUnavailable } from '#cluster/replication/log-errors.ts';
import type { LogReport } from '#cluster/replication/log-events.ts';
import { type LogPosition, stateAt } from '#cluster/replication/log-position.ts';
import type { FoldState } from '#cluster/replication/log-fold.ts';
import type { LogStream, StoredMessage, StreamState } from '#cluster/replication/log-stream.ts';
import { stateReaching } from '#cluster/replication/stream-checks.ts';
import type { ShardPositions } from '#cluster/replication/shard-positions.ts';

/** Delays before the servers are asked again, in milliseconds. */
const RETRY = { firstMs: 200, factor: 1.5, mostMs: 1_000 };

/** Folder of the flush journal, in that of the partition. */
const JOURNAL = 'flush-journal';

/** Folder of overwritten records, in that of the partition. */
const SUPERSEDED = 'superseded';

/** Time for which a stream is repaired only with all voters, in milliseconds: they may be starting. */
const ALL_VOTERS_MS = 10_000;

/** Communication between the replicas of a partition. */
export interface ReplicasEnvironment {
  readonly statuses: ReplicaStatusChannel;
  /** Returns the number of other present members. */
  readonly others: () => number;
  /** Set in class `replica-disk`; undefined in another. */
  readonly flush: FlushEnvironment | undefined;
}

/** Dependencies of class `replica-disk`. */
export interface FlushEnvironment {
  readonly channel: FlushChannel;
  /** Returns the members that should be voters at present, the owner among them. */
  readonly votersWanted: () => readonly string[];
  readonly window?: FlushWindow;
}

/** A server that was asked to step down as leader of a stream, and all servers that may lead it. */
export type LeaderChangeRequest = Pick<StreamState, 'leader' | 'servers'>;

/** Dependencies of a member's side of a partition. */
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
  /** Called when the disk of the journal failed; the owner's log is notified as well. */
  readonly onDiskFailure: (cause: unknown) => void;
}

/**
 * One member's side of a partition towards the other replicas: its reports to them, its requests, and the records of
 * the log that it has on its disk besides the shards. In class `replica-disk` these are in a flush journal. In the
 * other classes they are the positions that the shards store, and a journal left over from that class: the stream
 * must contain the records acknowledged by it. The journal is removed when the stream can no longer lose them.
 *
 * @see docs/partition-log.md#a-log-that-lost-its-end
 */
export class FlushedReplica {
  readonly #options: FlushedReplicaOptions;
  readonly survey: ReplicaSurvey;
  #journal: FlushJournal | undefined;
  /** Journal left over from class `replica-disk`, in another class. */
  #left: FlushJournal | undefined;
  /** Time since which the stream is known to have the records of {@link #left}. */
  #leftBehindMs: number | undefined;
  #opening: Promise<void> | undefined;
  /** Sequence that is known to be on the disk although the journal failed. */
  #trustedUpTo: number | undefined;
  #quorum: FlushQuorum | undefined;
  #stopReporting: (() => void) | undefined;
  #repairingSinceMs: number | undefined;
  /** Set while the journal is closed to truncate its end: no other code opens it. */
  #cutting: Promise<void> | undefined;

  constructor(options: FlushedReplicaOptions) {
    this.#options = options;
    const { clock, flush, member, others, partition, statuses } = options;
    this.survey = new ReplicaSurvey({
      partition,
      member,
      statuses,
      others,
      clock,
      voters: () => this.#kept?.voters,
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

  /** Time for which the owner's writes have waited for a follower, in milliseconds. */
  get waitedMs(): number {
    return this.#quorum?.waitedMs ?? 0;
  }

  /**
   * The members that are missing to open the partition in class `replica-disk`, for operators; undefined without any.
   */
  get missingVoters(): string | undefined {
    const missing = this.survey.missingVoters;
    return missing === undefined
      ? undefined
      : `durability replica-disk needs other members to open it: ${missing}`;
  }

  /** The journal, in any class. */
  get #kept(): FlushJournal | undefined {
    return this.#journal ?? this.#left;
  }

  /**
   * Opens the files besides the shards, again after a failure of the disk.
   *
   * @param position of the shards
   * @throws {ServiceError} `DATA_CORRUPTED`
   */
  async open(position: LogPosition | undefined): Promise<void> {
    if (this.#journal?.failure !== undefined) await this.#closeJournal();
    this.#opening ??= this.#openFiles();
    try {
      await this.#opening;
    } catch (error) {
      this.#opening = undefined;
      throw error;
    }
    // In this class shards are never ahead of the journal: these were written in another class, or come from a
    // snapshot.
    const journal = this.#journal;
    if (journal !== undefined && isBehind(journal.newest, position)) journal.forgetVoters();
  }

  /**
   * Waits until the stream has the records of this member, as long as the servers cannot be reached.
   *
   * @param position of the shards
   * @returns false, in class `replica-disk`, when it first lacked them, or could not be reached: then it may have lost
   *   acknowledged records
   * @throws {ServiceError} `DATA_CORRUPTED` when it permanently lacks them
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

  /** Returns a gate that passes only items in the journal on the disk; undefined without a journal. */
  openGate<Item extends { readonly sequence: number }>(
    apply: (item: Item) => Promise<void>,
  ): FlushGate<Item> | undefined {
    return this.#journal && new FlushGate(this.#journal, apply);
  }

  /** Adds a record that a follower reads. */
  stored(identity: string, message: StoredMessage, state: FoldState): void {
    this.#journal?.add(identity, message, state);
  }

  /** Starts to report this disk's records to the owner. */
  startReporting(): void {
    const { flush, partition } = this.#options;
    this.#stopReporting ??= flush?.channel.onRequest(partition, () => this.#tell(this.#journal?.flushed));
  }

  /** Stops the reports about flushed records. */
  stopReporting(): void {
    this.#stopReporting?.();
    this.#stopReporting = undefined;
  }

  /** Returns what an opening of this member waits for besides the stream; undefined in another class. */
  beginOwning(stallMs: number): FlushQuorum | undefined {
    const { clock, flush, member, partition } = this.#options;
    const journal = this.#journal;
    if (flush === undefined || journal === undefined) return undefined;
    this.stopOwning();
    const { channel, votersWanted: wanted } = flush;
    const learned = () => this.survey.learned;
    this.#quorum = new FlushQuorum({ partition, member, journal, channel, clock, stallMs, wanted, learned });
    return this.#quorum;
  }

  /** Called when this member no longer owns the partition. */
  stopOwning(): void {
    this.#quorum?.close();
    this.#quorum = undefined;
  }

  /**
   * To be called before a record is applied to shards, see {@link ShardPositions.cover}. With a journal they get
   * only records that it has.
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
   * To be called when the partition was opened. In a class without journals it records that there are no voters: a
   * member that comes back in class `replica-disk` must not wait for former voters, some of which may be gone
   * permanently.
   */
  releaseVoters(log: StatementLog): void {
    const voters = this.#left?.voters ?? this.survey.learned;
    if (this.isKept || voters === undefined || voters.new.length === 0) return;
    // Without the record the next opening repeats it.
    log.state(encodeVoters(noVoters)).catch(() => undefined);
  }

  /** Returns this member's status. @param position of its shards */
  async status(position: LogPosition | undefined): Promise<ReplicaStatus> {
    const { member } = this.#options;
    await this.#cutting;
    // A failed journal is opened again by the role that continues with it.
    if (this.#journal?.failure === undefined) await this.open(position);
    const voters = this.#kept?.voters;
    let best: LogPosition | undefined = this.#kept?.flushed;
    for (const other of [this.#options.shards.newest, position]) if (isBehind(best, other)) best = other;
    if (best === undefined) return { ...noReplicaStatus(member), voters };
    const { chain, epoch, identity, sequence } = best;
    return { member, identity, epoch, sequence, chain: chain.toString('hex'), voters };
  }

  /**
   * Tries to extend the stream to the end of this member's journal: waits for other members to repair it, or repairs
   * it.
   *
   * @param position of the shards
   * @returns why the stream is not usable yet, for operators; undefined when it is
   * @throws {ServiceError} `DATA_CORRUPTED` when an operator must decide
   */
  async mend(position: LogPosition | undefined): Promise<string | undefined> {
    const { clock, member, partition, report, stream } = this.#options;
    this.#repairingSinceMs ??= clock.monotonicMs();
    await this.open(position);
    const journal = this.#kept;
    const reached = this.#reached(position);
    try {
      const state = await stream.state();
      if (state.lastSequence >= reached) {
        this.#repairingSinceMs = undefined;
        return undefined;
      }
      if (journal === undefined)
        return 'in this durability class only the servers can restore its lost records';
      if (reached > (journal.flushed?.sequence ?? 0)) return 'the shards are ahead of the flush journal';
      const waitsForAll = clock.monotonicMs() - this.#repairingSinceMs < ALL_VOTERS_MS;
      const { survey } = this;
      const outcome = await reseed({ stream, partition, member, journal, survey, report, waitsForAll });
      if (outcome.kind === 'waiting') return outcome.reason;
      this.#repairingSinceMs = undefined;
      return undefined;
    } catch (error) {
      if (isUnavailable(error)) return 'the servers cannot be reached';
      throw error;
    }
  }

  /**
   * Requests another leader of the stream when the current one lacks records of this member: its own copy may be
   * damaged, and the others intact.
   *
   * @param position of the shards
   * @returns the server that was asked, and those that may lead; undefined when the leader has the records, or no
   *   server could be reached
   */
  async requestOtherLeader(position: LogPosition | undefined): Promise<LeaderChangeRequest | undefined> {
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
   * Returns the part of the journal that was overwritten in the log, so that it was never acknowledged.
   *
   * @returns undefined while that is unknown, and in another class
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
   * Gives up the result of {@link superseded}: keeps a copy of it, then truncates the journal before it. Earlier
   * records stay, because other members may rely on them.
   *
   * @param forget empties the shards of this member, which may have effects of these records
   * @returns path of the copy
   */
  async setAside(end: SupersededEnd, forget: () => Promise<void>): Promise<string> {
    const { files, folder } = this.#options;
    const journal = this.#journal as FlushJournal;
    const path = await copyEnd(files, `${folder}/${SUPERSEDED}`, journal, end);
    await forget();
    const cut = Promise.withResolvers<void>();
    this.#cutting = cut.promise;
    try {
      await this.#closeJournal();
      this.#trustedUpTo = end.first - 1;
      await this.open(undefined);
    } finally {
      this.#cutting = undefined;
      cut.resolve();
    }
    return path;
  }

  /** Closes the files. */
  async close(): Promise<void> {
    this.stopReporting();
    this.stopOwning();
    await this.#closeJournal();
  }

  /** Returns the newest record that this member has, or may have effects of. @param position of the shards */
  #reached(position: LogPosition | undefined): number {
    const known = [position, this.#options.shards.newest, this.#kept?.flushed];
    return Math.max(0, ...known.map((each) => each?.sequence ?? 0));
  }

  async #closeJournal(): Promise<void> {
    const journal = this.#journal;
    const left = this.#left;
    this.#journal = undefined;
    this.#left = undefined;
    this.#leftBehindMs = undefined;
    this.#opening = undefined;
    await left?.close();
    if (journal === undefined) return;
    if (journal.failure !== undefined) this.#trustedUpTo = journal.flushed?.sequence ?? 0;
    // The original failure was reported already.
    await journal.close().catch(() => undefined);
  }

  async #openFiles(): Promise<void> {
    const { clock, files, flush, folder, random } = this.#options;
    await this.#options.shards.verify();
    this.#options.shards.inspect();
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
    // Everything after it was truncated, and new records can be trusted.
    this.#trustedUpTo = undefined;
    return journal;
  }

  /** Removes the left-over journal once the servers have flushed its records, and the shards have them. */
  async #removeLeft(position: LogPosition): Promise<void> {
    const left = this.#left;
    const sinceMs = this.#leftBehindMs;
    if (left === undefined || sinceMs === undefined || isBehind(position, left.flushed)) return;
    if (this.#options.clock.monotonicMs() - sinceMs < flushWindow.keepMs) return;
    this.#left = undefined;
    // The next start finds files that remain.
    await left.remove().catch(() => undefined);
  }

  #onFlush(mark: FlushMark): void {
    this.#quorum?.flushed();
    if (this.#stopReporting !== undefined) this.#tell(mark);
  }

  #tell(mark: FlushMark | undefined): void {
    const { flush, member, partition } = this.#options;
    if (mark === undefined) return;
    // The epoch is that of the newest record that counts.
    const { chain, epoch, validSequence: sequence } = mark;
    flush?.channel.tell(partition, { member, epoch, sequence, chain });
  }

  /** Checks that the stream has the newest record of which shards have effects, unless it was truncated after it. */
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
   * Checks that the stream has the journal's records that the shards may lack.
   *
   * @returns whether the first check succeeded
   */
  async #requireKept(position: LogPosition | undefined): Promise<boolean> {
    const { clock, partition, stream } = this.#options;
    const mark = this.#kept?.flushed;
    if (mark === undefined || isBehind(mark, position)) return true;
    const { firstSequence, isAtOnce } = await stateReaching(stream, partition, mark, clock);
    // A record that is read again is not added to the journal again: it must be the same.
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
          `record ${stored.sequence} differs from the one in the flush journal of this member`,
        );
      next = stored.sequence + 1;
    }
    if (next <= last) throw logUnavailable(`record ${next} is missing at present`);
  }
}

/** Returns whether a position in the log is before another; undefined is before all others. */
function isBehind(
  place: Pick<LogPosition, 'sequence'> | undefined,
  other: Pick<LogPosition, 'sequence'> | undefined,
): boolean {
  return (place?.sequence ?? 0) < (other?.sequence ?? 0);
}
