import type { RecordMark } from '#runtime/log/log-entry.ts';
import { assert } from '#runtime/base/assert.ts';
import { Retries } from '#runtime/base/backoff.ts';
import { type Clock, sleep } from '#runtime/base/clock.ts';
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

/** Looks at the stream during one lease wait. */
const LEASE_POLLS = 16;

/** Time before an attempt is repeated, in milliseconds. */
const RETRY = { firstMs: 100, factor: 1.5, mostMs: 500 };

/** How a partition is opened. */
export interface OpeningOptions {
  readonly stream: LogStream;
  readonly partition: number;
  /** Name of this member. */
  readonly member: string;
  /** What this member has in its shards; undefined: nothing. */
  readonly position: ReceivedPosition | undefined;
  /** `[cluster] lease_ms`, the same on all members. */
  readonly leaseMs: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly report: LogReport;
  /** Longest body of a record in bytes, so that a simulation need not move megabytes. Default `BODY_BYTES_MAX`. */
  readonly bodyBytesMax?: number;
  /** Gives the opening up. */
  readonly signal?: AbortSignal;
  /** Takes every batch behind the position, in order, before the partition is opened. `reached` is behind it. */
  readonly take?: (batch: LogBatch, reached: LogPosition) => Promise<void> | void;
  readonly shards?: ShardsBehind;
  /** What a write waits for besides the stream. */
  readonly gate?: DurabilityGate;
  /** Asks the other replicas whether one of them has more than the log. */
  readonly replicas?: ReplicaCheck;
}

/** What keeps count of how far the shards behind a log may reach. */
export interface ShardsBehind {
  /**
   * Waited for before anything of a record is brought to the disk.
   *
   * @param newest the newest record the stream is known to hold
   * @param actor whose shard gets it; undefined: an actor is made or removed
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
  /** Newest batch, 0 without one. */
  readonly lastSequence: number;
  /** When the record that opened it was sent. */
  readonly sent: Moment;
  readonly opening: Opening;
}

/**
 * Opens a partition: reads its log to the end, waits until nobody can hold a read lease any more, and appends the
 * record of a new epoch behind the very record it read last. Only that append decides; members may try at once.
 *
 * Each round goes: catch up; wait the lease out, beginning anew when something is new; append. A round that ends in
 * doubt is simply repeated: the append of the next one expects the same sequence, so only one of them can count.
 *
 * @see Reliability: R5, R9, R11
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
  /** Who led the stream at the last look; undefined when nobody did. */
  #leader: string | undefined;
  /** Of the lease wait, time in which the stream had a leader. */
  #waitedMs = 0;
  /** Up to when time was looked at for the lease wait, so that none of it counts twice. */
  #lookedMs = 0;
  /** How often what was waited before came to say nothing, see {@link PartitionOpening.#waitAnew}. */
  #breaks = 0;
  /** Epoch at the first look: one that rises from it is somebody who is alive. */
  #firstEpoch: number | undefined;
  /** A replica that has more than the log, and since when that is so. */
  #ahead: { readonly position: ReplicaPosition; readonly sinceMs: number } | undefined;
  /** When the first append of the present end went out. */
  #sent: { readonly sequence: number; readonly moment: Moment } | undefined;

  constructor(options: OpeningOptions) {
    this.#options = options;
    this.#retries = new Retries(options.clock, options.random, RETRY);
    this.#opening = { member: options.member, nonce: Buffer.from(options.random.bytes(NONCE_BYTES)) };
    this.#decoder = new BatchDecoder(options.partition);
    this.#marks = new LogMarks(this.#decoder.fold.state);
  }

  /**
   * @throws {ServiceError} `NOT_OWNER` when somebody else opened it meanwhile, with the member as a detail;
   *   `DATA_CORRUPTED` when the log cannot be trusted; `NOT_FOUND` when it begins behind the position;
   *   `STORAGE_FULL`; `REQUEST_CANCELLED` when it was given up
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
        // An earlier append of this opening counted, only its answer was lost.
        if (owner.nonce.equals(this.#opening.nonce)) return this.#opened();
        throw ownedBy(owner.member, state.epoch);
      }
      const breaks = this.#breaks;
      // Asked last: what was acknowledged since, and lost, only the newest answers tell.
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
    if (this.#breaks === 0) this.#lookedMs = position?.receivedMs ?? clock.monotonicMs();
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
      // Before it is taken: shards may need their time.
      this.#lookedMs = clock.monotonicMs();
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

  /** @returns false when something new came, so that the wait begins anew */
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
      // While servers elect, the owner cannot renew its lease either: that time moves no ownership.
      if (state !== undefined && state.leader === this.#leader) this.#waitedMs += nowMs - this.#lookedMs;
      this.#leader = state?.leader;
      this.#lookedMs = nowMs;
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
   * Whether a replica has more than was read: the log grew since, or it has lost what that one has.
   *
   * @throws {ServiceError} `DATA_CORRUPTED` when that lasts
   * @see Reliability: R5, R9
   */
  async #isBehind(told: readonly ReplicaPosition[]): Promise<boolean> {
    const { clock, partition } = this.#options;
    const { state } = this.#decoder.fold;
    const other = told.find(({ identity }) => identity !== this.#identity);
    if (other !== undefined)
      throw logRegressed(
        partition,
        'other-stream',
        `its stream is '${this.#identity}', and ${other.member} knows it as '${other.identity}'`,
      );
    const nowMs = clock.monotonicMs();
    if (this.#ahead !== undefined && !isAhead(this.#ahead.position, state)) this.#ahead = undefined;
    const position = told.find((each) => isAhead(each, state));
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
   * The append says behind which sequence it goes, not behind which record: servers that lost their end while this
   * member waited may have grown to where they were. Looked at before it goes out, so that it spoils nobody's log, and
   * afterwards, when nothing can come in between any more.
   *
   * @param state before the append
   * @throws {ServiceError} `DATA_CORRUPTED`, `LOG_UNAVAILABLE`
   */
  async #requireSameEnd(state = this.#decoder.fold.state): Promise<void> {
    const { clock, partition, stream } = this.#options;
    if (state.validSequence === 0) return;
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

  /** Repeats what fails for want of a leader. What is given up is tried once: it may be what came of an append. */
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
   * The stream could not be reached, or was shorter than it had been. Where a gate makes up for what servers lose it
   * may be back without a record that was acknowledged, and that renewed a lease: time counts from now on.
   */
  #waitAnew(): void {
    const { clock, gate } = this.#options;
    if (gate === undefined) return;
    this.#breaks += 1;
    this.#waitedMs = 0;
    this.#lookedMs = clock.monotonicMs();
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
