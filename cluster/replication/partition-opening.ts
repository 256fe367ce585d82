import type { RecordMark } from '#runtime/log/log-entry.ts';
import { assert } from '#runtime/base/assert.ts';
import { Retries } from '#runtime/base/time/backoff.ts';
import { type Clock, sleep } from '#runtime/base/time/clock.ts';
import type { Random } from '#runtime/base/random.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { BatchDecoder, type LogBatch } from './batch-decoder.ts';
import { type DurabilityGate, isAhead, type ReplicaCheck, type ReplicaPosition } from './durability-gate.ts';
import { isUnavailable, logFull, logRegressed, ownedBy } from './log-errors.ts';
import type { LogReport } from './log-events.ts';
import type { LogFold } from './log-fold.ts';
import { LogMarks } from './log-marks.ts';
import { type LogPosition, positionOf, type ReceivedPosition, stateAt } from './log-position.ts';
import type { AppendOutcome, LogStream } from './log-stream.ts';
import { isRefusedByLeader } from './outcome-resolution.ts';
import { PendingActors } from './pending-actors.ts';
import type { Moment } from './read-lease.ts';
import { encodeOpening, encodeRecord, NONCE_BYTES, type Opening, RecordKind } from './record-format.ts';
import { leaveRefusingLeader } from './refusing-leader.ts';
import { messagesUpTo, REGRESSION_CONFIRM_MS, REGRESSION_POLL_MS, stateReaching } from './stream-checks.ts';

/** Number of checks of the stream during one lease wait. */
const LEASE_POLLS = 16;

/** Delays before an attempt is repeated, in milliseconds. */
const RETRY = { firstMs: 100, factor: 1.5, mostMs: 500 };

/** Options for opening a partition. */
export interface OpeningOptions {
  readonly stream: LogStream;
  readonly partition: number;
  /** Name of this member. */
  readonly member: string;
  /** Position of this member's shards; undefined when there are none. */
  readonly position: ReceivedPosition | undefined;
  /** `[cluster] lease_ms`, the same on all members. */
  readonly leaseMs: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly report: LogReport;
  /**
   * Maximum length of a record's body in bytes, so that a simulation need not move megabytes. Default `BODY_BYTES_MAX`.
   */
  readonly bodyBytesMax?: number;
  /** Cancels the opening. */
  readonly signal?: AbortSignal;
  /**
   * Receives every batch after the position, in order, before the partition is opened. `reached` is after the batch.
   */
  readonly take?: (batch: LogBatch, reached: LogPosition) => Promise<void> | void;
  readonly shards?: ShardsBehind;
  /** Additional condition of a write besides the stream. */
  readonly gate?: DurabilityGate;
  /** Asks the other replicas whether one of them has more than the log. */
  readonly replicas?: ReplicaCheck;
}

/** Tracks how far the shards behind a log may reach. */
export interface ShardsBehind {
  /**
   * Awaited before any effect of a record is written to the disk.
   *
   * @param newest the newest record that the stream is known to have
   * @param actor whose shard gets it; undefined: an actor is created or removed
   */
  before(sequence: number, newest: () => LogPosition, actor?: string): Promise<void>;
  /** The shard of an actor has everything up to a record on the disk. */
  applied(actor: string, sequence: number, mark: RecordMark | undefined): void;
}

/** A partition that was just opened. */
export interface OpenedPartition {
  readonly identity: string;
  readonly fold: LogFold;
  readonly marks: LogMarks;
  readonly pending: PendingActors;
  /** Sequence of the newest batch, 0 without one. */
  readonly lastSequence: number;
  /** Time at which the opening record was sent. */
  readonly sent: Moment;
  readonly opening: Opening;
}

/**
 * Opens a partition: reads its log to the end, waits until no member can hold a read lease any more, and appends the
 * record of a new epoch after exactly the record that it read last. Only that append decides; members may try
 * concurrently.
 *
 * Each round consists of three steps: catch up; wait for the lease, starting again when there is a new record;
 * append. A round with an unknown outcome is repeated: the append of the next one expects the same sequence, so only
 * one of them can count.
 *
 * @see docs/partition-log.md#opening-a-partition
 */
export class PartitionOpening {
  readonly #options: OpeningOptions;
  readonly #retries: Retries;
  readonly #opening: Opening;
  readonly #pending = new PendingActors();
  #decoder: BatchDecoder;
  #identity = '';
  #marks: LogMarks;
  #lastSequence = 0;
  /** Leader of the stream at the last check; undefined without one. */
  #leader: string | undefined;
  /** Part of the lease wait in which the stream had a leader. */
  #waitedMs = 0;
  /** End of the time that is counted in the lease wait, so that none of it counts twice. */
  #checkedMs = 0;
  /** Number of times the wait so far became invalid, see {@link PartitionOpening.#waitAnew}. */
  #breaks = 0;
  /** Epoch at the first check: a higher one later is from a running member. */
  #firstEpoch: number | undefined;
  /** A replica that has more than the log, and the time since which it has. */
  #ahead: { readonly position: ReplicaPosition; readonly sinceMs: number } | undefined;
  /** Time of the first append after the current end. */
  #sent: { readonly sequence: number; readonly moment: Moment } | undefined;

  constructor(options: OpeningOptions) {
    this.#options = options;
    this.#retries = new Retries(options.clock, options.random, RETRY);
    this.#opening = { member: options.member, nonce: Buffer.from(options.random.bytes(NONCE_BYTES)) };
    this.#decoder = new BatchDecoder(options.partition);
    this.#marks = new LogMarks(this.#decoder.fold.state);
  }

  /**
   * @throws {ServiceError} `NOT_OWNER` when another member opened it meanwhile, with the member as a detail;
   *   `DATA_CORRUPTED` when the log cannot be trusted; `NOT_FOUND` when it begins after the position;
   *   `STORAGE_FULL`; `REQUEST_CANCELLED` when it was cancelled
   */
  async run(): Promise<OpenedPartition> {
    await this.#untilReachable(() => this.#begin());
    for (;;) {
      this.#requireWanted();
      await this.#untilReachable(() => this.#catchUp());
      const { state } = this.#decoder.fold;
      this.#firstEpoch ??= state.epoch;
      if (state.epoch > this.#firstEpoch) {
        const owner = state.owner;
        assert(owner !== undefined, 'an epoch that was opened here has an owner');
        // An earlier append of this opening counted, only its reply was lost.
        if (owner.nonce.equals(this.#opening.nonce)) return this.#opened();
        throw ownedBy(owner.member, state.epoch);
      }
      const breaks = this.#breaks;
      // Asked last: only the newest answers show records that were acknowledged and lost since.
      if (!(await this.#waitedOut()) || (await this.#isBehind(await this.#askReplicas()))) continue;
      await this.#untilReachable(() => this.#requireSameEnd());
      if (this.#breaks > breaks) continue;
      const outcome = await this.#append();
      if (outcome.kind === 'stored') {
        await this.#untilReachable(() => this.#requireSameEnd(state));
        return this.#opened();
      }
      if (outcome.kind === 'full') throw logFull(outcome.reason);
      if (isRefusedByLeader(outcome)) await this.#leaveLeader();
      if (outcome.kind === 'unknown') await this.#pause();
    }
  }

  async #begin(): Promise<void> {
    const { stream, partition, position, clock } = this.#options;
    const { fold, identity, isAtOnce } = await stateAt(stream, partition, position, clock);
    this.#decoder = new BatchDecoder(partition, fold);
    this.#marks = new LogMarks(fold);
    this.#identity = identity;
    this.#lastSequence = position?.sequence ?? 0;
    if (!isAtOnce) this.#waitAnew();
    if (this.#breaks === 0) this.#checkedMs = position?.receivedMs ?? clock.monotonicMs();
  }

  /** Reads to the end of the stream. */
  async #catchUp(): Promise<void> {
    const { stream, partition, clock } = this.#options;
    const from = { identity: this.#identity, sequence: this.#decoder.fold.state.sequence };
    const { isAtOnce, lastSequence, leader } = await stateReaching(stream, partition, from, clock);
    if (!isAtOnce) this.#waitAnew();
    this.#leader = leader;
    const known = { identity: this.#identity, sequence: lastSequence };
    for await (const message of messagesUpTo(stream, partition, from.sequence + 1, known, clock)) {
      // Before it is passed on: shards may need time.
      this.#checkedMs = clock.monotonicMs();
      this.#waitedMs = 0;
      const step = this.#decoder.take(message);
      this.#marks.add(this.#decoder.fold.state);
      this.#options.gate?.stored(this.#identity, message, this.#decoder.fold.state);
      if (step.kind === 'void') this.#options.report({ ...step, kind: 'void-record' });
      if (step.kind !== 'batch') continue;
      const { batch } = step;
      this.#lastSequence = batch.sequence;
      const actors = new Set(batch.entries.map(({ actor }) => actor));
      this.#pending.add(actors, batch.firstSequence, batch.sequence, batch.mark);
      await this.#options.take?.(batch, positionOf(this.#identity, this.#decoder.fold.state));
      this.#requireWanted();
    }
  }

  /** @returns false when there was a new record, so that the wait starts again */
  async #waitedOut(): Promise<boolean> {
    const { stream, leaseMs, clock } = this.#options;
    const { sequence, epoch, isClosed } = this.#decoder.fold.state;
    if (epoch === 0 || isClosed) return true;
    while (this.#waitedMs < leaseMs) {
      await sleep(clock, leaseMs / LEASE_POLLS);
      this.#requireWanted();
      const state = await stream.state().catch((error: unknown) => {
        if (isUnavailable(error)) return undefined;
        throw error;
      });
      const nowMs = clock.monotonicMs();
      if (state !== undefined && state.lastSequence !== sequence) return false;
      // During an election the owner cannot renew its lease either: that time does not count.
      if (state !== undefined && state.leader === this.#leader) this.#waitedMs += nowMs - this.#checkedMs;
      this.#leader = state?.leader;
      this.#checkedMs = nowMs;
    }
    return true;
  }

  async #append(): Promise<AppendOutcome> {
    const { stream, partition, clock } = this.#options;
    const { sequence, epoch, chain, clock: logClock } = this.#decoder.fold.state;
    const fields = {
      kind: RecordKind.open,
      partition,
      entries: 0,
      epoch: epoch + 1,
      batch: 0,
      clock: logClock,
      previousChain: chain,
    };
    const record = encodeRecord(fields, encodeOpening(this.#opening));
    if (this.#sent?.sequence !== sequence) {
      this.#sent = { sequence, moment: { monotonicMs: clock.monotonicMs(), wallMs: clock.wallMs() } };
    }
    const outcome = await stream.append(sequence, record.bytes);
    if (outcome.kind !== 'stored') return outcome;
    assert(outcome.sequence === sequence + 1, `stored at ${outcome.sequence}, expected ${sequence + 1}`);
    this.#decoder.fold.own(outcome.sequence, { ...fields, chain: record.chain }, this.#opening);
    const message = { sequence: outcome.sequence, bytes: record.bytes };
    this.#options.gate?.stored(this.#identity, message, this.#decoder.fold.state);
    return outcome;
  }

  #askReplicas(): Promise<readonly ReplicaPosition[]> {
    const { replicas, signal } = this.#options;
    if (replicas === undefined) return Promise.resolve([]);
    return replicas.ask(this.#decoder.fold.state, signal);
  }

  /**
   * Returns whether a replica has more than was read: the log grew since, or it has lost that replica's records.
   *
   * @throws {ServiceError} `DATA_CORRUPTED` when that persists
   * @see docs/partition-log.md#opening-a-partition
   */
  async #isBehind(positions: readonly ReplicaPosition[]): Promise<boolean> {
    const { clock, partition } = this.#options;
    const { state } = this.#decoder.fold;
    const other = positions.find(({ identity }) => identity !== this.#identity);
    if (other !== undefined)
      throw logRegressed(
        partition,
        'other-stream',
        `its stream is '${this.#identity}', and ${other.member} knows it as '${other.identity}'`,
      );
    const nowMs = clock.monotonicMs();
    if (this.#ahead !== undefined && !isAhead(this.#ahead.position, state)) this.#ahead = undefined;
    const position = positions.find((each) => isAhead(each, state));
    if (position === undefined) return false;
    this.#ahead ??= { position, sinceMs: nowMs };
    if (nowMs - this.#ahead.sinceMs >= REGRESSION_CONFIRM_MS)
      throw logRegressed(
        partition,
        'shorter',
        `it ends at record ${state.sequence}, and ${position.member} has ${position.sequence}`,
      );
    await sleep(clock, REGRESSION_POLL_MS);
    return true;
  }

  /**
   * Checks that the stream still ends with the record that was read last. The append states only the sequence of that
   * record: servers that lost their end while this member waited may have grown to the same sequence with other records.
   * Checked before the append is sent, so that it damages no other log, and afterwards, when no record can be inserted
   * any more.
   *
   * @param state before the append
   * @throws {ServiceError} `DATA_CORRUPTED`, `LOG_UNAVAILABLE`
   */
  async #requireSameEnd(state = this.#decoder.fold.state): Promise<void> {
    const { clock, partition, stream } = this.#options;
    const { isAtOnce } = await stateAt(stream, partition, positionOf(this.#identity, state), clock);
    if (!isAtOnce) this.#waitAnew();
  }

  #opened(): OpenedPartition {
    const { epoch } = this.#decoder.fold.state;
    this.#options.report({ kind: 'opened', epoch, waitedMs: this.#waitedMs });
    assert(this.#sent !== undefined, 'an opening that counts was sent');
    return {
      identity: this.#identity,
      fold: this.#decoder.fold,
      marks: this.#marks,
      pending: this.#pending,
      lastSequence: this.#lastSequence,
      sent: this.#sent.moment,
      opening: this.#opening,
    };
  }

  /**
   * Repeats a step that fails for lack of a leader. When it is cancelled, it is tried once: an append may have
   * succeeded.
   */
  async #untilReachable(step: () => Promise<void>): Promise<void> {
    for (;;) {
      try {
        return await step();
      } catch (error) {
        if (!isUnavailable(error)) throw error;
      }
      await this.#pause();
      this.#waitAnew();
    }
  }

  /**
   * Starts the wait for the lease again, after the stream could not be reached or was shorter than before. With a gate
   * the stream may have lost an acknowledged record that renewed the lease.
   */
  #waitAnew(): void {
    const { clock, gate } = this.#options;
    if (gate === undefined) return;
    this.#breaks += 1;
    this.#waitedMs = 0;
    this.#checkedMs = clock.monotonicMs();
  }

  async #leaveLeader(): Promise<void> {
    const { clock, stream } = this.#options;
    await leaveRefusingLeader(stream, clock, () => this.#requireWanted());
  }

  async #pause(): Promise<void> {
    await this.#retries.wait();
    this.#requireWanted();
  }

  #requireWanted(): void {
    if (this.#options.signal?.aborted === true) throw new ServiceError('REQUEST_CANCELLED');
  }
}
