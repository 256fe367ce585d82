import { assert } from '#runtime/base/assert.ts';
import { Retries } from '#runtime/base/time/backoff.ts';
import { sleep } from '#runtime/base/time/clock.ts';
import { compareRevisions, type Revision } from '#runtime/content/revision.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { entrySize } from '#runtime/log/entry-codec.ts';
import { ENTRY_BYTES_MAX, type LogEntry, type LogRecord, type RecordMark } from '#runtime/log/log-entry.ts';
import type { Log, PendingRange } from '#runtime/log/ports.ts';
import { BatchDecoder } from './batch-decoder.ts';
import type { Flight, Sending, Unconfirmed } from './batches-under-way.ts';
import { EntryBatch, type BatchPart } from './entry-batch.ts';
import type { DurabilityGate } from './durability-gate.ts';
import { isTruncated, isUnavailable, logCorrupted, logFull, logUnavailable } from './log-errors.ts';
import type { FoldState, JudgedRecord, LogFold } from './log-fold.ts';
import type { LogMarks } from './log-marks.ts';
import { LeaseRenewals } from './lease-renewals.ts';
import { type LogPosition, positionOf } from './log-position.ts';
import type { AppendOutcome } from './log-stream.ts';
import { leaveRefusingLeader } from './refusing-leader.ts';
import { resolveOutcomes, type UnresolvedWriter } from './outcome-resolution.ts';
import { type OpenedPartition, type OpeningOptions, PartitionOpening } from './partition-opening.ts';
import type { PendingActors } from './pending-actors.ts';
import { type Moment, ReadLease } from './read-lease.ts';
import { BODY_BYTES_MAX, encodeRecord, type RecordFields, RecordKind } from './record-format.ts';
import { messagesUpTo } from './stream-checks.ts';

/**
 * Maximum number of pending appends.
 *
 * @see docs/partition-log.md#appends-under-way
 */
export const IN_FLIGHT_MAX = 64;

/** Maximum encoded bytes that wait behind the pending appends. */
const WAITING_BYTES_MAX = 64 * 1024 * 1024;

/** Delays before reading starts again. */
const READ_RETRY = { firstMs: 100, factor: 1.5, mostMs: 1_000 };

/** Time that `close` gives to pending appends, in milliseconds; then their outcome stays unknown. */
const CLOSE_MS_MAX = 10_000;

/** Part of that time for stored records that the gate does not pass: they wait for another member. */
const CLOSE_UNCONFIRMED_MS_MAX = 2000;

/** Maximum number of records, and bytes of batches, that wait for the gate before no more are sent. */
const UNCONFIRMED_RECORDS_MAX = 1024;
const UNCONFIRMED_BYTES_MAX = 64 * 1024 * 1024;

/** A record that the stream has, and the surrounding moments of this process. */
export interface NewestStored {
  readonly sequence: number;
  readonly sent: Moment;
  readonly seen: Moment;
}

/** Predecessor of the next append. */
type Tail = Pick<FoldState, 'sequence' | 'chain' | 'clock'>;

/** Options for writing the log. */
interface WritingOptions extends Omit<OpeningOptions, 'position' | 'signal' | 'take'> {}

/**
 * Opens a partition for writing.
 *
 * @throws {ServiceError} as {@link PartitionOpening.run}
 */
export async function openPartition(options: OpeningOptions): Promise<PartitionLog> {
  return new PartitionLog(options, await new PartitionOpening(options).run());
}

/**
 * The log of one partition over its stream, for the member that owns it: the `Log` of a cluster. Sequences are
 * positions in the stream, so they rise, with gaps where a message is not the end of a batch.
 *
 * Group commit and pipelining: entries are collected in a batch as long as {@link IN_FLIGHT_MAX} appends are pending,
 * else until the end of the turn. Each append expects the message before it, so they are stored in order or not
 * at all.
 *
 * Invariants:
 * 1. A promise resolves only after those of all entries before it, and when the record of its entry counts for
 *    every reader. The acknowledgement of an append is not sufficient: one before it may have failed.
 * 2. As soon as one append is not plainly acknowledged, nothing more is acknowledged and nothing more is sent until
 *    the stream shows the outcome of all pending appends, which it does after a new epoch of this member.
 * 3. An entry rejected with `NOT_OWNER`, `STORAGE_FULL` or `LOG_UNAVAILABLE` is in no reader's log, now and in future.
 * 4. The state of the fold moves only over records that the stream is known to have.
 * 5. With a gate, entries are acknowledged, and can be read, when it has passed their record; until then their
 *    record counts, but only its writer knows. The lease is renewed, and a barrier passed, in the same way: a stream
 *    that lost the opening record of another owner accepts records of this one, but members that have it do not confirm
 *    them.
 *
 * Enforcement: test/cluster/replication/partition-log.sim.test.ts, partition-log.nats.test.ts.
 *
 * @see docs/partition-log.md
 */
export class PartitionLog implements Log {
  /** Whether reads may be answered without asking the log. */
  readonly lease: ReadLease;
  readonly #options: WritingOptions;
  readonly #opened: OpenedPartition;
  readonly #fold: LogFold;
  readonly #marks: LogMarks;
  readonly #pending: PendingActors;
  readonly #gate: DurabilityGate | undefined;
  /** Oldest first. */
  #unconfirmed: Unconfirmed[] = [];
  #unconfirmedBytes = 0;
  readonly #renewals: LeaseRenewals;
  /** First stored record that the gate had not passed when the log ended. */
  #unshownFrom: number | undefined;
  #lastSequence: number;
  /** Number of the next record; the opening had 0. */
  #nextBatch = 1;
  #tail: Tail;
  /** Oldest first. */
  #inFlight: Flight[] = [];
  #sending: Sending | undefined;
  /** Oldest first; the newest one is being filled. */
  #waiting: EntryBatch[] = [];
  #waitingBytes = 0;
  #isScheduled = false;
  /** Time since which outcomes are unknown; undefined when all are known. */
  #unresolvedSinceMs: number | undefined;
  /** Why the leader refused appends that have no outcome yet. */
  #refusedFor: string | undefined;
  /** Whether that refusal still needs a reaction. */
  #isRefused = false;
  /** Set for the rest of this turn. */
  #full: ServiceError | undefined;
  /** Why it permanently accepts nothing more. */
  #ended: ServiceError | undefined;
  #closing: Promise<void> | undefined;
  /** Aborted when it has ended. */
  readonly #over = new AbortController();
  #quietWaiters: (() => void)[] = [];
  #newestStored: NewestStored;

  /** Use {@link openPartition}. */
  constructor(options: WritingOptions, opened: OpenedPartition) {
    this.#options = options;
    this.#opened = opened;
    this.#fold = opened.fold;
    this.#marks = opened.marks;
    this.#pending = opened.pending;
    this.#lastSequence = opened.lastSequence;
    this.#tail = opened.fold.state;
    this.lease = new ReadLease(options.clock, options.leaseMs);
    this.#renewals = new LeaseRenewals(this.lease);
    this.#renewals.add(opened.fold.state.sequence, opened.sent);
    this.#newestStored = {
      sequence: opened.fold.state.sequence,
      sent: opened.sent,
      seen: this.lease.moment(),
    };
    this.#gate = options.gate;
    this.#gate?.listen({
      confirmed: () => this.#confirmed(),
      failed: (cause) => {
        if (this.#ended === undefined) this.#stopFlushing(cause);
      },
    });
    // The gate may have passed the opening before it had a listener.
    this.#confirmed();
  }

  /** The newest record of this log that the stream is known to have. */
  get newestStored(): NewestStored {
    return this.#newestStored;
  }

  get lastSequence(): number {
    return this.#lastSequence;
  }

  get lastClock(): Revision {
    return this.#fold.state.clock;
  }

  /** The epoch of new records. It rises after an unknown outcome. */
  get epoch(): number {
    return this.#fold.state.epoch;
  }

  /** Position up to which the stream is known, durable in the class or not. */
  get storedPosition(): LogPosition {
    const { state } = this.#fold;
    return { ...positionOf(this.#opened.identity, state), sequence: state.sequence };
  }

  /** Why it accepts nothing more: `NOT_OWNER`, `WRITES_STOPPED`, `SHUTTING_DOWN`; undefined while it does. */
  get ended(): ServiceError | undefined {
    return this.#ended;
  }

  /**
   * Position up to which everything is in the shards: a member stores it on its disk, and may truncate the log behind
   * it. Earlier records can no longer be read through this log.
   */
  get releasedPosition(): LogPosition {
    const { state } = this.#fold;
    const unshown = this.#unconfirmed[0]?.firstSequence ?? this.#unshownFrom;
    const kept = this.#pending.first ?? unshown ?? state.firstChunk;
    const released = kept === undefined ? state : this.#marks.before(kept - 1);
    this.#marks.restart(released);
    return positionOf(this.#opened.identity, released);
  }

  append(entry: LogEntry): Promise<number> {
    const refusal = this.#refusal() ?? this.#gate?.refusal();
    if (refusal !== undefined) return Promise.reject(refusal);
    try {
      const bytes = entrySize(entry);
      if (bytes > ENTRY_BYTES_MAX) throw new ServiceError('COMMIT_TOO_LARGE');
      if (this.#waitingBytes > 0 && this.#waitingBytes + bytes > WAITING_BYTES_MAX)
        throw new ServiceError('OVERLOADED');
      const durable = this.#batchFor(bytes).add(entry, bytes);
      this.#waitingBytes += bytes;
      this.#schedule();
      return durable;
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /**
   * Proves that this member was the owner at some moment after the call, whatever the clocks do and the servers lost,
   * and renews the lease. Pending entries carry the proof; otherwise a separate record does.
   *
   * @returns the sequence that a strict read must have reached
   * @throws {ServiceError} as {@link append}
   */
  barrier(): Promise<number> {
    const refusal = this.#refusal() ?? this.#gate?.stalled();
    if (refusal !== undefined) return Promise.reject(refusal);
    const passed = this.#batchFor(0).wait();
    this.#schedule();
    return passed;
  }

  /** Appends an empty record, to find out whether another member owns the partition: then this log ends. */
  probe(): void {
    // Its error is reported as an event.
    this.state(new Uint8Array(0)).catch(() => undefined);
  }

  /**
   * Appends a record without entries that makes a statement about the log itself.
   *
   * @returns its sequence, once the stream has it
   * @throws {ServiceError} as {@link append}
   */
  state(statement: Uint8Array): Promise<number> {
    const refusal = this.#refusal();
    if (refusal !== undefined) return Promise.reject(refusal);
    const batch = new EntryBatch(this.#options.bodyBytesMax ?? BODY_BYTES_MAX, statement);
    this.#waiting.push(batch);
    const stated = batch.wait();
    this.#schedule();
    return stated;
  }

  /** See the port. While the servers cannot be reached it waits for them. */
  async *read(afterSequence: number): AsyncGenerator<LogRecord, void, void> {
    const until = this.#lastSequence;
    if (until <= afterSequence) return;
    const { stream, partition, clock, random } = this.#options;
    const retries = new Retries(clock, random, READ_RETRY);
    const decoder = new BatchDecoder(partition, this.#marks.before(afterSequence));
    const known = { identity: this.#opened.identity, sequence: until };
    while (decoder.fold.state.sequence < until) {
      try {
        for await (const message of messagesUpTo(
          stream,
          partition,
          decoder.fold.state.sequence + 1,
          known,
          clock,
        )) {
          retries.reset();
          const step = decoder.take(message);
          if (step.kind === 'batch' && step.batch.sequence > afterSequence) yield step.batch;
        }
      } catch (error) {
        if (!isUnavailable(error)) throw error;
        if (this.#ended !== undefined) throw this.#ended;
        await retries.wait();
      }
    }
  }

  released(actor: string, sequence: number): void {
    assert(sequence <= this.#lastSequence, `released ${sequence}, the log ends at ${this.#lastSequence}`);
    this.#pending.released(actor, sequence);
  }

  applied(actor: string, sequence: number, mark: RecordMark | undefined): void {
    this.#options.shards?.applied(actor, sequence, mark);
  }

  markOf(actor: string, sequence: number): RecordMark | undefined {
    return this.#pending.markOf(actor, sequence);
  }

  pending(): ReadonlyMap<string, PendingRange> {
    return this.#pending.ranges();
  }

  /** Resolves at once under the lease, else by a {@link barrier}. */
  confirm(): Promise<void> | undefined {
    return this.lease.isValid() ? undefined : this.barrier().then(() => undefined);
  }

  /**
   * Acknowledged records are as durable as the class of the servers; this member may have to store its position first.
   */
  async flush(actor?: string): Promise<number> {
    const sequence = this.#lastSequence;
    const newest = (): LogPosition => positionOf(this.#opened.identity, this.#fold.state);
    await this.#options.shards?.before(sequence, newest, actor);
    return sequence;
  }

  /**
   * Makes pending entries durable, then releases the partition in the log, so that no member must wait for its
   * lease. Entries whose outcome is unknown after {@link CLOSE_MS_MAX} are rejected with `WRITES_STOPPED`.
   */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /**
   * Ends the log at once. Pending entries are rejected with `WRITES_STOPPED`: their outcome is unknown. The
   * next owner waits for the lease.
   */
  abandon(): void {
    if (this.#ended !== undefined) return;
    this.#end(new ServiceError('WRITES_STOPPED', 'The log was closed before the servers answered.'));
  }

  #refusal(): ServiceError | undefined {
    if (this.#ended !== undefined) return this.#ended;
    if (this.#closing !== undefined) return new ServiceError('SHUTTING_DOWN');
    if (this.#full !== undefined) return this.#full;
    const { stream, clock, leaseMs } = this.#options;
    if (!stream.isConnected) return logUnavailable('no connection to the servers');
    // Earlier appends are still waited for; no more should accumulate behind them.
    if (this.#unresolvedSinceMs !== undefined && clock.monotonicMs() - this.#unresolvedSinceMs > leaseMs)
      return this.#refusedFor === undefined
        ? logUnavailable('the last append was not answered')
        : logFull(this.#refusedFor);
    return undefined;
  }

  #batchFor(bytes: number): EntryBatch {
    const filling = this.#waiting.at(-1);
    if (filling?.takes(bytes) === true) return filling;
    const batch = new EntryBatch(this.#options.bodyBytesMax ?? BODY_BYTES_MAX);
    this.#waiting.push(batch);
    return batch;
  }

  /** Sends in a later turn, so that all entries of one turn of the event loop share a record. */
  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#options.clock.soon(() => {
      this.#isScheduled = false;
      this.#send();
    });
  }

  #send(): void {
    while (this.#ended === undefined && this.#unresolvedSinceMs === undefined) {
      if (this.#isRefused) {
        // Earlier appends are answered soon; then its outcome is determined, unless an epoch has replaced it.
        if (this.#inFlight.length === 0) void this.#pause(() => this.#leaveLeader());
        return;
      }
      if (this.#inFlight.length >= IN_FLIGHT_MAX || this.#isGateFull) return;
      this.#sending ??= this.#nextBatchToSend();
      if (this.#sending === undefined) break;
      const { batch, parts } = this.#sending;
      const part = parts.next().value;
      assert(part !== undefined, 'a batch ends with something else than a chunk');
      const isLast = part.kind !== RecordKind.chunk;
      if (isLast) this.#sending = undefined;
      this.#sendPart(batch, part, isLast);
    }
    this.#wakeIfQuiet();
  }

  #nextBatchToSend(): Sending | undefined {
    for (let batch = this.#waiting.shift(); batch !== undefined; batch = this.#waiting.shift()) {
      this.#waitingBytes -= batch.bytes;
      if (!batch.isEmpty) return { batch, parts: batch.parts() };
    }
    return undefined;
  }

  #sendPart(batch: EntryBatch, { kind, entries, body }: BatchPart, isLast: boolean): void {
    const tail = this.#tail;
    const clock = compareRevisions(batch.clock, tail.clock) > 0 ? batch.clock : tail.clock;
    const { bytes, record } = this.#seal({ kind, entries, clock, previousChain: tail.chain }, body);
    const sent = this.lease.moment();
    const flight: Flight = {
      batch,
      isLast,
      record,
      bytes,
      expected: tail.sequence,
      sent,
      arrival: Promise.resolve(),
      outcome: undefined,
    };
    this.#inFlight.push(flight);
    this.#tail = { sequence: tail.sequence + 1, chain: record.chain, clock };
    flight.arrival = this.#options.stream.append(tail.sequence, bytes).then(
      (outcome) => this.#arrived(flight, outcome),
      (cause: unknown) => this.#arrived(flight, { kind: 'unknown', reason: String(cause) }),
    );
  }

  #seal(
    fields: Omit<RecordFields, 'partition' | 'epoch' | 'batch'>,
    body: Uint8Array,
  ): { readonly bytes: Buffer; readonly record: JudgedRecord } {
    const { partition } = this.#options;
    const all = { ...fields, partition, epoch: this.#fold.state.epoch, batch: this.#nextBatch };
    this.#nextBatch += 1;
    const { bytes, chain } = encodeRecord(all, body);
    return { bytes, record: { ...all, chain } };
  }

  #arrived(flight: Flight, outcome: AppendOutcome): void {
    flight.outcome = outcome;
    if (outcome.kind === 'unknown' && outcome.isRefused === true) {
      this.#refusedFor = outcome.reason;
      this.#isRefused = true;
    }
    if (this.#unresolvedSinceMs !== undefined || this.#ended !== undefined) return;
    for (let head = this.#inFlight[0]; head?.outcome !== undefined; head = this.#inFlight[0]) {
      const { expected, outcome: answer } = head;
      if (answer.kind !== 'stored') {
        void this.#pause(() => this.#resolve(expected, answer));
        return;
      }
      if (answer.sequence !== expected + 1) {
        const what = `it was stored there, and expected at ${expected + 1}`;
        this.#quarantine(logCorrupted(this.#options.partition, answer.sequence, what));
        return;
      }
      const firstSequence = this.#fold.state.firstChunk ?? answer.sequence;
      this.#fold.own(answer.sequence, head.record);
      this.#stored(answer.sequence, head.bytes);
      this.#accept(head, firstSequence);
    }
    this.#schedule();
  }

  /** The oldest pending append counts, and the fold is after it. */
  #accept(flight: Flight, firstSequence: number): void {
    assert(this.#inFlight.shift() === flight, 'appends are accepted in order');
    const { state } = this.#fold;
    this.#newestStored = { sequence: state.sequence, sent: flight.sent, seen: this.lease.moment() };
    this.#marks.add(state);
    const { batch } = flight;
    if (batch.isStatement) batch.resolve(state.sequence);
    else this.#renewals.add(state.sequence, flight.sent, batch.entries === 0 ? batch : undefined);
    if (flight.isLast && batch.entries > 0) {
      const { chain, epoch, sequence } = state;
      this.#unconfirmed.push({ batch, firstSequence, sequence, mark: { epoch, chain } });
      this.#unconfirmedBytes += batch.bytes;
    }
    this.#confirmed();
  }

  #stored(sequence: number, bytes: Buffer): void {
    this.#gate?.stored(this.#opened.identity, { sequence, bytes }, this.#fold.state);
  }

  /** Acknowledges entries that are durable in the class. */
  #confirmed(): void {
    const confirmed = this.#gate?.confirmed ?? Number.POSITIVE_INFINITY;
    const wasFull = this.#isGateFull;
    for (let head = this.#unconfirmed[0]; head !== undefined && head.sequence <= confirmed; ) {
      const { batch, firstSequence, mark, sequence } = head;
      this.#unconfirmed.shift();
      this.#unconfirmedBytes -= batch.bytes;
      this.#lastSequence = sequence;
      this.#pending.add(batch.actors, firstSequence, sequence, mark);
      batch.resolve(sequence);
      head = this.#unconfirmed[0];
    }
    this.#renewals.confirm(confirmed);
    if (wasFull && !this.#isGateFull) this.#schedule();
    this.#wakeIfQuiet();
  }

  get #isGateFull(): boolean {
    return (
      this.#renewals.length >= UNCONFIRMED_RECORDS_MAX || this.#unconfirmedBytes >= UNCONFIRMED_BYTES_MAX
    );
  }

  /** Sends nothing until all outcomes are known. @param find determines them */
  async #pause(find: () => Promise<void>): Promise<void> {
    this.#unresolvedSinceMs = this.#options.clock.monotonicMs();
    try {
      await find();
    } catch (error) {
      if (this.#ended === undefined) this.#give(error);
    }
    if (this.#ended !== undefined) return;
    this.#unresolvedSinceMs = undefined;
    if (!this.#isRefused) this.#refusedFor = undefined;
    this.#tail = this.#fold.state;
    this.#schedule();
  }

  /** Determines the outcome of all pending appends. @param outcome of the oldest one, which was to follow `expected` */
  async #resolve(expected: number, outcome: AppendOutcome): Promise<void> {
    const { report, clock } = this.#options;
    const sinceMs = clock.monotonicMs();
    const reason = 'reason' in outcome ? outcome.reason : 'the stream ends elsewhere';
    report({ kind: 'outcome-unknown', sequence: expected + 1, reason });
    // All of these are answered soon, and appends that arrive meanwhile need not disturb a new epoch.
    if (outcome.kind !== 'unknown') await Promise.all(this.#inFlight.map(({ arrival }) => arrival));
    if (outcome.kind === 'full') this.#refuseAll(outcome.reason);
    else {
      const sentAgain = (await resolveOutcomes(this.#unresolved())) ? this.#sendAgain() : 0;
      report({ kind: 'resolved', epoch: this.epoch, sentAgain, tookMs: clock.monotonicMs() - sinceMs });
    }
  }

  /** Requests another leader after a refusal that came when an epoch had replaced the refused append. */
  async #leaveLeader(): Promise<void> {
    const { clock, requireWanted, stream } = this.#unresolved();
    this.#isRefused = false;
    await leaveRefusingLeader(stream, clock, requireWanted);
  }

  #unresolved(): UnresolvedWriter {
    return {
      ...this.#options,
      opening: this.#opened.opening,
      identity: this.#opened.identity,
      fold: this.#fold,
      oldest: () => this.#inFlight[0],
      isKeptByOthers: this.#gate !== undefined,
      newestSent: () => this.#tail.sequence,
      askReplicas: () => this.#gate && this.#options.replicas?.ask(this.#fold.state, this.#over.signal),
      counts: (firstSequence) => this.#accept(this.#inFlight[0] as Flight, firstSequence),
      stored: (sequence, bytes) => this.#stored(sequence, bytes),
      nextBatch: () => this.#nextBatch++,
      renew: (sent) => {
        this.#renewals.add(this.#fold.state.sequence, sent);
        this.#confirmed();
      },
      moment: () => this.lease.moment(),
      takeRefusal: () => {
        const isRefused = this.#isRefused;
        this.#isRefused = false;
        return isRefused;
      },
      requireWanted: () => {
        if (this.#ended !== undefined) throw this.#ended;
      },
    };
  }

  /** Sends pending batches again, before all waiting ones: they belonged to an epoch that has ended. */
  #sendAgain(): number {
    const batches = new Set(this.#inFlight.map(({ batch }) => batch));
    if (this.#sending !== undefined) batches.add(this.#sending.batch);
    this.#inFlight = [];
    this.#sending = undefined;
    this.#waiting = [...batches, ...this.#waiting];
    for (const { bytes } of batches) this.#waitingBytes += bytes;
    return batches.size;
  }

  /**
   * Refuses all pending batches for lack of space. None of them is in the log, because each record follows one that was
   * refused, and none ever will be, because no later record has the chain that it continues.
   */
  #refuseAll(reason: string): void {
    const refusal = logFull(reason);
    this.#options.report({ kind: 'storage-full', batches: this.#rejectAll(refusal), reason });
    this.#full = refusal;
    this.#options.clock.soon(() => {
      this.#full = undefined;
    });
  }

  /** Stops permanently. */
  #give(error: unknown): void {
    if (isTruncated(error)) {
      // Others wrote after the unresolved records and truncated them: their outcome can no longer be determined.
      this.#options.report({ kind: 'left-behind', cause: error });
      this.#end(
        new ServiceError('WRITES_STOPPED', 'The log continued without this member.', { cause: error }),
      );
      return;
    }
    if (!(error instanceof ServiceError) || error.code !== 'NOT_OWNER') {
      this.#quarantine(error);
      return;
    }
    const { member, epoch } = error.details as { member: string; epoch: number };
    this.#options.report({ kind: 'fenced', member, epoch });
    this.#end(error);
  }

  /** Stops because of a failure of this member, not of the log. */
  #stopFlushing(cause: unknown): void {
    this.#options.report({ kind: 'flush-failed', cause });
    const what =
      'The disk of this member accepts no more of the log; another member takes the partition over.';
    this.#end(new ServiceError('WRITES_STOPPED', what, { cause }));
  }

  #quarantine(cause: unknown): void {
    this.#options.report({ kind: 'quarantined', cause });
    const what = 'The log of this partition cannot be trusted; it accepts nothing more.';
    this.#end(new ServiceError('WRITES_STOPPED', what, { cause }));
  }

  #end(error: ServiceError): void {
    this.#ended = error;
    this.#over.abort();
    this.lease.drop();
    this.#rejectAll(error);
    // They are in the log, so the error must not state the opposite.
    const unknown = new ServiceError(
      'WRITES_STOPPED',
      'The outcome of the write is unknown: its log ended before a second member had it on its disk.',
      { cause: error },
    );
    // They count nevertheless, and no shard here has them: a member that continues from here must read them.
    this.#unshownFrom ??= this.#unconfirmed[0]?.firstSequence;
    for (const { batch } of this.#unconfirmed.splice(0)) batch.reject(unknown);
    this.#renewals.reject(error);
    this.#wakeIfQuiet();
  }

  #rejectAll(error: ServiceError): number {
    this.#sendAgain();
    const batches = this.#waiting;
    this.#waiting = [];
    this.#waitingBytes = 0;
    for (const batch of batches) batch.reject(error);
    return batches.length;
  }

  #wakeIfQuiet(): void {
    if (this.#ended === undefined && !this.#isQuiet) return;
    for (const waiter of this.#quietWaiters.splice(0)) waiter();
  }

  get #isQuiet(): boolean {
    return this.#isSettled && this.#unconfirmed.length === 0;
  }

  /** Whether the stream has everything, so that its end is known. */
  get #isSettled(): boolean {
    if (this.#isRefused) return false;
    const nothingSent = this.#inFlight.length === 0 && this.#unresolvedSinceMs === undefined;
    return nothingSent && this.#sending === undefined && this.#waiting.length === 0;
  }

  async #close(): Promise<void> {
    const { clock, stream } = this.#options;
    // The caller must set #closing first: entries from now on are refused.
    await null;
    if (!this.#isQuiet && this.#ended === undefined) {
      const quiet = new Promise<void>((resolve) => this.#quietWaiters.push(resolve));
      await Promise.race([quiet, sleep(clock, CLOSE_UNCONFIRMED_MS_MAX)]);
      if (!this.#isSettled)
        await Promise.race([quiet, sleep(clock, CLOSE_MS_MAX - CLOSE_UNCONFIRMED_MS_MAX)]);
    }
    if (this.#ended !== undefined) return;
    if (!this.#isSettled) {
      this.abandon();
      return;
    }
    // Before the record is sent: a member that reads it opens the partition at once.
    this.#end(new ServiceError('SHUTTING_DOWN'));
    const { sequence, chain, clock: logClock } = this.#tail;
    const fields = { kind: RecordKind.close, entries: 0, clock: logClock, previousChain: chain };
    // Without a reply only the time of a lease is lost.
    await stream.append(sequence, this.#seal(fields, new Uint8Array(0)).bytes);
  }
}
