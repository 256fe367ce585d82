import { join } from 'node:path';
import { assert } from '#runtime/base/assert.ts';
import type { Timer } from '#runtime/base/clock.ts';
import { crashPoint } from '#runtime/commit/crash-point.ts';
import type { Revision } from '#runtime/content/revision.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { decodeEntries, entrySize } from '#runtime/log/entry-codec.ts';
import { ENTRY_BYTES_MAX, type LogEntry, type LogRecord } from '#runtime/log/log-entry.ts';
import type { LeavingRecords, Log, LogRetention, PendingRange } from '#runtime/log/ports.ts';
import { type DamageNote, damageNotePath, readDamageNote } from './damage-note.ts';
import { readDamaged } from './journal-containment.ts';
import { JournalDamage } from './journal-damage.ts';
import { journalCorrupted, journalIsDamaged, journalStopped, isStorageFull } from './journal-errors.ts';
import { type Active, findLost, finish, putBack, requireWhole, SegmentLostError } from './journal-files.ts';
import { CHAIN_BYTES, JOURNAL_FORMAT, segmentFileName, type SegmentHeader } from './journal-format.ts';
import { EntryGroup } from './journal-group.ts';
import { HEAL_MS_MAX, HEAL_MS_MIN, mayPass, rewriteSegment } from './journal-heal.ts';
import { SegmentReader } from './journal-reader.ts';
import type { JournalOptions } from './journal-options.ts';
import { type RecoveredJournal, recoverJournal } from './journal-recovery.ts';
import { beginningOf, Retention, retentionOf, Segment } from './journal-retention.ts';
import { SegmentWriter } from './journal-segment-writer.ts';

const SEGMENT_BYTES = 64 * 1024 * 1024;

/** Flush interval of class `relaxed`, in milliseconds. */
const RELAXED_FLUSH_MS = 100;

/** Encoded bytes that may wait behind the group being written. */
const WAITING_BYTES_MAX = 1024 * 1024 * 1024;

/** Empty groups kept for reuse: one is written while one fills. */
const SPARE_GROUPS_MAX = 2;

/**
 * The write-ahead journal of one process: the embedded `Log`.
 *
 * Group commit: while one group of entries is written and flushed, the next one fills with whatever arrives
 * from all actors; one write and one flush carry them all. The file layout is in `journal-format.ts`.
 *
 * Invariants:
 * 1. At most one record is being written. In class `local` it is flushed before the next one is written, so
 *    only the newest record of the newest segment can be unfinished after a crash.
 * 2. `lastSequence`, `lastClock` and the chain move only when a record is as durable as its class asks, and
 *    only then does `append` resolve.
 * 3. A file is appended to only by the journal that made it. After opening, writing starts with a new segment.
 * 4. A segment is final, cut to its length and flushed, before the next one gets its name. Segments are
 *    removed from the oldest on, each removal flushed before the next: what is there is contiguous.
 * 5. After a failed write or flush nothing is written to that file any more; no flush of it is ever tried again.
 *    The one exception is a full volume, when the remains could be taken away.
 * 6. While it is stopped every append is refused. Where what stopped it may pass, it goes on by itself once its
 *    end has been written anew (`journal-heal.ts`) and a new segment could be made: then nothing that was refused
 *    is in it, and everything acknowledged is flushed.
 * 7. Nothing is acknowledged, and no shard is written, unless the folder was this process's own after the record was
 *    written: another process that takes it later finds the record. When it is not, no file is changed any more.
 *
 * Enforcement: test/runtime/embedded/journal*.test.ts and test/runtime/log/log-conformance.ts.
 */
export class Journal implements Log {
  readonly #options: JournalOptions;
  readonly #retention: Retention;
  #lastSequence: number;
  #lastClock: Revision;
  #flushedSequence: number;
  #chain: Buffer;
  #active: Active | undefined;
  /** Groups not written yet; the last one fills. */
  #groups: EntryGroup[] = [];
  #spares: EntryGroup[] = [];
  #waitingBytes = 0;
  #loop: Promise<void> | undefined;
  #flushing: Promise<void> | undefined;
  #flushTimer: Timer | undefined;
  #removing: Promise<void> | undefined;
  #stopped: ServiceError | undefined;
  #stoppedMs = 0;
  /** Whether what stopped it may pass; meaningless while it is not stopped. */
  #heals = true;
  #healMs = HEAL_MS_MIN;
  #healTimer: Timer | undefined;
  #healing: Promise<void> | undefined;
  /** A segment whose end is not known to be on the disk as it looks. */
  #suspect: Segment | undefined;
  /** Set while rejections are being delivered: who appends before it has heard of them must not get past. */
  #refusal: ServiceError | undefined;
  #closing: Promise<void> | undefined;
  readonly damage: JournalDamage | undefined;
  /** What has to be done before anything is written; undefined when it was. */
  #settle: (() => Promise<void>) | undefined;
  #beforeLeaving: (records: LeavingRecords) => Promise<void> = () => Promise.resolve();

  private constructor(options: JournalOptions, recovered: RecoveredJournal, note: DamageNote | undefined) {
    this.#options = options;
    this.#retention = new Retention(recovered.segments);
    if (note !== undefined || recovered.lost.length > 0) {
      const { lastSequence, lost } = recovered;
      this.damage = new JournalDamage({ ...options, retention: this.#retention, lastSequence, lost, note });
    }
    this.#lastSequence = recovered.lastSequence;
    this.#flushedSequence = recovered.lastSequence;
    this.#lastClock = recovered.lastClock;
    this.#settle = recovered.settle;
    // A fresh journal starts with a random chain: records of two journals never continue each other.
    this.#chain = recovered.chain ?? Buffer.from(options.random.bytes(CHAIN_BYTES));
  }

  /**
   * Opens a journal and verifies all of it. Also on a full volume, so that it can be read.
   *
   * @throws {ServiceError} `DATA_CORRUPTED` naming file, offset, sequence and remedy when anything but an
   *   unfinished write at the end is wrong, unless damage is contained; then nothing was changed
   */
  static async open(options: JournalOptions): Promise<Journal> {
    const journal = await Journal.look(options);
    await journal.begin();
    return journal;
  }

  /**
   * As {@link open}, and changes nothing: what is found can be read, and compared with what else there is, before it is
   * decided whether the journal is used. Without {@link begin} it takes nothing.
   *
   * @throws {ServiceError} as {@link open}
   */
  static async look(options: JournalOptions): Promise<Journal> {
    const { containsDamage: contains = false, files, folder, report } = options;
    const note = await readDamageNote(files, folder);
    if (note !== undefined && !contains) throw journalIsDamaged(damageNotePath(folder));
    const keptThrough = note?.through ?? 0;
    return new Journal(options, await recoverJournal(files, folder, report, { contains, keptThrough }), note);
  }

  /** Makes what was found as durable as it looks; from then on it takes entries. Idempotent. */
  async begin(): Promise<void> {
    await this.#settle?.();
    this.#settle = undefined;
  }

  get lastSequence(): number {
    return this.#lastSequence;
  }

  get lastClock(): Revision {
    return this.#lastClock;
  }

  /** Sequence of the oldest record that is still there; `lastSequence + 1` when there is none. */
  get firstSequence(): number {
    return this.#retention.segments[0]?.header.firstSequence ?? this.#lastSequence + 1;
  }

  /** Sequence up to which everything is on the disk; behind `lastSequence` in class `relaxed` only. */
  get flushedSequence(): number {
    return this.#flushedSequence;
  }

  /** Why it takes nothing at present; undefined: it does. */
  get trouble(): ServiceError | undefined {
    return this.#stopped;
  }

  get heals(): boolean {
    return this.#heals;
  }

  append(entry: LogEntry): Promise<number> {
    const refusal = this.#stopped ?? this.#refusal ?? (this.#closing && new ServiceError('SHUTTING_DOWN'));
    if (refusal !== undefined) return Promise.reject(refusal);
    try {
      assert(this.#settle === undefined, 'a journal takes entries when it has begun');
      const bytes = entrySize(entry);
      if (bytes > ENTRY_BYTES_MAX) throw new ServiceError('COMMIT_TOO_LARGE');
      if (this.#waitingBytes > 0 && this.#waitingBytes + bytes > WAITING_BYTES_MAX)
        throw new ServiceError('OVERLOADED');
      const durable = this.#groupFor(bytes).add(entry, bytes);
      this.#waitingBytes += bytes;
      this.#loop ??= this.#run();
      return durable;
    } catch (error) {
      return Promise.reject(error);
    }
  }

  async *read(afterSequence: number): AsyncGenerator<LogRecord, void, void> {
    const until = this.#lastSequence;
    const pin = this.#retention.pin(afterSequence + 1);
    try {
      for (const segment of [...this.#retention.segments]) {
        if (segment.lastSequence <= afterSequence || segment.header.firstSequence > until) continue;
        yield* this.#readSegment(segment, afterSequence, until);
        pin.sequence = segment.lastSequence + 1;
      }
    } finally {
      this.#retention.unpin(pin);
      this.#removeReleased();
    }
  }

  released(actor: string, sequence: number): void {
    assert(sequence <= this.#lastSequence, `released ${sequence}, the log ends at ${this.#lastSequence}`);
    this.#retention.released(actor, sequence);
    this.#removeReleased();
  }

  get retention(): LogRetention {
    return retentionOf(this.#retention, (before) => {
      this.#beforeLeaving = before;
    });
  }

  pending(): ReadonlyMap<string, PendingRange> {
    return this.#retention.pending();
  }

  /**
   * Brings everything acknowledged to the disk; in class `local` it is there already.
   *
   * A shard must not be flushed ahead of its log: after a power cut the log would be behind it, and its next
   * records would take sequences that the shard has seen. So in class `relaxed` call this before a shard commits.
   *
   * @returns the sequence up to which everything is on the disk
   * @throws {ServiceError} `WRITES_STOPPED`
   */
  async flush(): Promise<number> {
    this.#requireHeld();
    const wanted = this.#lastSequence;
    while (this.#flushedSequence < wanted) {
      if (this.#stopped !== undefined) throw this.#stopped;
      await this.#flushActive();
    }
    return this.#flushedSequence;
  }

  /**
   * Begins a segment of this format where an older version wrote the newest one. To be called when the start is certain:
   * from then on that version refuses the directory. It would start on it as long as nothing is appended, and would leave
   * behind what this one keeps beside the journal. Does nothing where there is no room; the next record begins it then.
   */
  async claimFormat(): Promise<void> {
    const newest = this.#retention.segments.at(-1);
    if (newest === undefined || newest.header.format >= JOURNAL_FORMAT || this.#loop !== undefined) return;
    const started = this.#startSegment().then(
      () => undefined,
      (error: unknown) => {
        if (!isStorageFull(error)) this.#stop(error);
      },
    );
    // What is appended meanwhile waits for it.
    this.#loop = started.then(() => this.#run());
    await started;
  }

  /**
   * Looks whether the folder is still this process's own and its files are there as they were written, and stops where
   * they are not. To be called now and then; never rejects.
   */
  async inspect(): Promise<void> {
    // Until it begins nothing may be changed, and it has told nobody of anything.
    if (this.#settle !== undefined) return;
    this.#stopUnlessHeld();
    if (this.#closing === undefined) await this.#stopIfLost();
  }

  /** Nobody else writes to a journal. */
  confirm(): undefined {
    return undefined;
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  #groupFor(bytes: number): EntryGroup {
    const filling = this.#groups.at(-1);
    if (filling?.takes(bytes) === true) return filling;
    const group = this.#spares.pop() ?? new EntryGroup();
    this.#groups.push(group);
    return group;
  }

  async #run(): Promise<void> {
    // In a later turn, so that everything one turn of the event loop appends shares a record.
    await this.#soon();
    for (let group = this.#groups.shift(); group !== undefined; group = this.#groups.shift()) {
      this.#waitingBytes = this.#groups.reduce((sum, waiting) => sum + waiting.bytes, 0);
      // Left behind by an entry that could not be encoded.
      if (group.entries === 0) continue;
      try {
        const sequence = await this.#write(group);
        group.resolve(sequence);
      } catch (error) {
        this.#fail(group, error);
      }
      this.#recycle(group);
      // Who was just answered may have more: let them join the next group.
      await this.#soon();
    }
    this.#loop = undefined;
  }

  async #write(group: EntryGroup): Promise<number> {
    const { clock, durability } = this.#options;
    if (this.#stopped !== undefined) throw this.#stopped;
    const checksum = await group.checksum(clock);
    this.#requireHeld();
    const active = await this.#activeFor(group.bytes);
    const { segment, writer } = active;
    const start = writer.end;
    requireWhole(active);
    const sequence = this.#lastSequence + 1;
    assert(sequence < Number.MAX_SAFE_INTEGER, 'log sequence above 2^53');
    const sealed = group.seal(
      {
        sequence,
        durableSequence: this.#flushedSequence,
        clock: this.#lastClock,
        previousChain: this.#chain,
        place: { salt: segment.header.salt, offset: start },
      },
      checksum,
    );
    await this.#writeOut(active, sealed.record, start);
    // Not taken away again when it fails: the file may be another process's to read already.
    this.#requireHeld();
    if (durability === 'local') this.#flushedSequence = sequence;
    this.#lastSequence = sequence;
    this.#lastClock = sealed.clock;
    this.#chain = sealed.chain;
    segment.add(sequence, group.actors, start + sealed.record.length);
    if (durability === 'relaxed') this.#scheduleFlush();
    return sequence;
  }

  /** Makes a record as durable as the class asks. */
  async #writeOut(active: Active, record: Buffer, start: number): Promise<void> {
    try {
      await active.writer.append(record);
      requireWhole(active);
      // A flush or a read may have stopped everything meanwhile; then nothing more is acknowledged.
      if (this.#stopped !== undefined) throw this.#stopped;
    } catch (error) {
      if (isStorageFull(error)) throw error;
      this.#stop(error);
      await active.writer.retract(start);
      throw error;
    }
  }

  async #activeFor(bytes: number): Promise<Active> {
    if (this.#active?.writer.takes(bytes) === true) return this.#active;
    await this.#finishActive();
    return this.#startSegment();
  }

  async #startSegment(): Promise<Active> {
    const { folder, files, clock, random, report } = this.#options;
    const header: SegmentHeader = {
      format: JOURNAL_FORMAT,
      firstSequence: this.#lastSequence + 1,
      createdMs: Math.floor(clock.wallMs()),
      clock: this.#lastClock,
      chain: this.#chain,
      salt: Buffer.from(random.bytes(4)).readUInt32LE(0),
    };
    const path = join(folder, segmentFileName(header.firstSequence));
    const writer = await SegmentWriter.create(
      files,
      path,
      header,
      this.#options.segmentBytes ?? SEGMENT_BYTES,
      this.#options.durability === 'local',
    );
    const segment = new Segment(path, header);
    this.#retention.add(segment);
    this.#active = { segment, writer };
    report({ kind: 'segment-created', segment: path, firstSequence: header.firstSequence });
    this.#removeReleased();
    return this.#active;
  }

  async #finishActive(): Promise<void> {
    while (this.#flushing !== undefined) await this.#flushing;
    // A file of which a flush has failed is never flushed again.
    if (this.#stopped !== undefined) throw this.#stopped;
    if (this.#active === undefined) return;
    const finishing = this.#active;
    this.#active = undefined;
    this.#suspect = finishing.segment;
    await this.#flushWith(() => finish(finishing));
    if (this.#stopped !== undefined) throw this.#stopped;
    this.#suspect = undefined;
  }

  /** A full volume refuses the group and all that wait behind it, which may build on it; anything else ends it all. */
  #fail(group: EntryGroup, error: unknown): void {
    const isFull = isStorageFull(error);
    if (!isFull) this.#stop(error);
    const rejection = isFull ? error : (this.#stopped as ServiceError);
    let entries = group.entries;
    group.reject(rejection);
    for (const waiting of this.#groups.splice(0)) {
      entries += waiting.entries;
      waiting.reject(rejection);
      this.#recycle(waiting);
    }
    this.#waitingBytes = 0;
    if (!isFull) return;
    this.#refusal = error;
    this.#options.clock.soon(() => {
      this.#refusal = undefined;
    });
    this.#options.report({ kind: 'storage-full', entries, cause: error.cause });
  }

  /** @throws {ServiceError} `WRITES_STOPPED` when the folder may be another process's */
  #requireHeld(): void {
    try {
      this.#options.requireHeld?.();
    } catch (cause) {
      this.#stop(cause);
      throw this.#stopped;
    }
  }

  #stopUnlessHeld(): void {
    try {
      this.#requireHeld();
    } catch {
      // It is stopped, and has told so.
    }
  }

  async #stopIfLost(): Promise<void> {
    if (this.#stopped !== undefined) return;
    const [lost] = await findLost(this.#options.files, this.#retention, () => this.#active);
    if (lost !== undefined) this.#stop(lost.error);
  }

  #stop(cause: unknown): void {
    // It will not be flushed any more, and shards must take over what was in it.
    if (cause instanceof SegmentLostError) this.#flushedSequence = this.#lastSequence;
    if (this.#stopped !== undefined) {
      // Of several troubles the worst counts: damage does not pass.
      if (!mayPass(cause) && cause !== this.#stopped) this.#healNoMore(cause);
      return;
    }
    this.#heals = mayPass(cause);
    this.#stopped = journalStopped(cause, this.#heals);
    this.#stoppedMs = this.#options.clock.monotonicMs();
    this.#options.report({ kind: 'writes-stopped', cause, heals: this.#heals });
    this.#healMs = HEAL_MS_MIN;
    this.#scheduleHeal();
  }

  #healNoMore(cause: unknown): void {
    if (!this.#heals) return;
    this.#heals = false;
    this.#healTimer?.cancel();
    this.#stopped = journalStopped(cause, false);
    this.#options.report({ kind: 'writes-stopped', cause, heals: false });
  }

  #scheduleHeal(): void {
    if (!this.#heals || this.#closing !== undefined) return;
    this.#healTimer = this.#options.clock.after(this.#healMs, () => {
      this.#healMs = Math.min(2 * this.#healMs, HEAL_MS_MAX);
      this.#healing = this.#heal().finally(() => {
        this.#healing = undefined;
      });
    });
  }

  /** Tries to go on, see invariant 6; never rejects. */
  async #heal(): Promise<void> {
    const { clock, report } = this.#options;
    try {
      await this.#loop;
      while (this.#flushing !== undefined) await this.#flushing;
      await this.#removing;
      this.#options.requireHeld?.();
      await this.#settleLost();
      await this.#settleSuspect();
      this.#flushedSequence = this.#lastSequence;
      await this.#startSegment();
      // Before anything else is written: a start that finds them would take their records for lost.
      if (this.#retention.segments.some(({ isLost }) => isLost)) await this.#removeAll();
    } catch (error) {
      if (mayPass(error) || isStorageFull(error)) this.#scheduleHeal();
      else this.#healNoMore(error);
      return;
    }
    if (!this.#heals) return;
    this.#stopped = undefined;
    report({ kind: 'writes-resumed', stoppedMs: clock.monotonicMs() - this.#stoppedMs });
    this.#removeReleased();
  }

  /** Goes on without files that somebody took away: they are written again, or their content is in the shards. */
  async #settleLost(): Promise<void> {
    const { files, folder } = this.#options;
    await files.makeDirectory(folder);
    if (this.#active !== undefined && (await putBack(files, this.#active))) await this.#leaveActive();
    const lost = await findLost(files, this.#retention, () => this.#active);
    const needed = lost.find(({ segment }) => this.#retention.isNeeded(segment));
    if (needed !== undefined) throw needed.error;
    for (const { segment } of lost) {
      // Left for good when it is removed with those before it.
      segment.isLost = true;
      if (this.#active?.segment === segment) await this.#leaveActive();
      if (this.#suspect === segment) this.#suspect = undefined;
    }
  }

  /** Closes the file that was written, whose end is in doubt. */
  async #leaveActive(): Promise<void> {
    if (this.#active === undefined) return;
    const { segment, writer } = this.#active;
    this.#active = undefined;
    this.#suspect = segment;
    // Nothing of this file is needed any more; what closing it says changes nothing.
    await writer.abandon().catch(() => undefined);
  }

  async #settleSuspect(): Promise<void> {
    await this.#leaveActive();
    const segment = this.#suspect;
    // One without records is replaced by the next one, which has its name.
    if (segment !== undefined && segment.lastSequence >= segment.header.firstSequence)
      await rewriteSegment(this.#options.files, segment, {
        sequence: this.#lastSequence,
        chain: this.#chain,
      });
    this.#suspect = undefined;
  }

  #recycle(group: EntryGroup): void {
    if (this.#spares.length >= SPARE_GROUPS_MAX || !group.isReusable) return;
    group.clear();
    this.#spares.push(group);
  }

  #scheduleFlush(): void {
    this.#flushTimer ??= this.#options.clock.after(RELAXED_FLUSH_MS, () => {
      this.#flushTimer = undefined;
      if (this.#stopped === undefined) void this.#flushActive();
    });
  }

  #flushActive(): Promise<void> {
    return this.#flushWith(async () => this.#active?.writer.datasync());
  }

  /** One flush at a time, of everything acknowledged before it. A failed one stops the journal; it never rejects. */
  #flushWith(flush: () => Promise<void>): Promise<void> {
    if (this.#flushing !== undefined) return this.#flushing;
    const sequence = this.#lastSequence;
    this.#flushing = flush()
      .then(() => {
        // What stopped it may concern what this flush was of.
        if (this.#stopped === undefined) this.#flushedSequence = Math.max(this.#flushedSequence, sequence);
      })
      .catch((error: unknown) => this.#stop(error))
      .finally(() => {
        this.#flushing = undefined;
      });
    return this.#flushing;
  }

  async *#readSegment(segment: Segment, after: number, until: number): AsyncGenerator<LogRecord, void, void> {
    if (segment.isDamaged) return yield* readDamaged(this.#options.files, segment, after, until);
    const { path, header, end } = segment;
    const reader = await SegmentReader.open(this.#options.files, path, header.firstSequence, end);
    try {
      while (reader.next.sequence <= until) {
        const { sequence, place } = reader.next;
        const step = await reader.step();
        const damage = { segment: path, offset: place.offset, sequence };
        if (step.kind === 'end') return;
        if (step.kind === 'fault') throw journalCorrupted({ ...damage, what: step.what });
        if (sequence <= after) continue;
        yield { sequence, entries: decodeEntries(Buffer.from(step.payload), step.header.entries) };
      }
    } catch (error) {
      // A log that cannot be trusted takes nothing more.
      if (error instanceof ServiceError && error.code === 'DATA_CORRUPTED') this.#stop(error);
      throw error;
    } finally {
      await reader.close();
    }
  }

  #removeReleased(): void {
    if (this.#closing !== undefined || this.#stopped !== undefined || this.#settle !== undefined) return;
    this.#removing ??= this.#removeAll().finally(() => {
      this.#removing = undefined;
    });
  }

  async #removeAll(): Promise<void> {
    const { files, folder, report } = this.#options;
    for (
      let segment = this.#retention.takeRemovable();
      segment !== undefined;
      segment = this.#retention.takeRemovable()
    ) {
      try {
        await this.#leave(segment);
        this.#requireHeld();
        crashPoint('before-segment-removal');
        await files.unlink(segment.path).catch((error: NodeJS.ErrnoException) => {
          // The unlink of an earlier try may have worked, and the flush behind it not.
          if (error.code !== 'ENOENT') throw error;
        });
        // Before the next one: the disk may forget names in any order, and a gap would refuse to open.
        await files.syncDirectory(folder);
        crashPoint('after-segment-removal');
      } catch (cause) {
        this.#retention.putBack(segment);
        report({ kind: 'removal-failed', segment: segment.path, cause });
        return;
      }
      report({ kind: 'segment-removed', segment: segment.path, lastSequence: segment.lastSequence });
      await this.damage?.segmentRemoved();
    }
  }

  /** The newest segment stays, so there is one behind each that leaves. */
  #leave({ newest, lastSequence }: Segment): Promise<void> {
    const beginning = beginningOf(this.#retention.segments[0] as Segment);
    return this.#beforeLeaving({ newest, lastSequence, beginning });
  }

  async #close(): Promise<void> {
    // Let the caller set #closing first: what is appended from now on is refused.
    await null;
    await this.#loop;
    this.#flushTimer?.cancel();
    this.#healTimer?.cancel();
    await this.#healing;
    await this.#removing;
    while (this.#flushing !== undefined) await this.#flushing;
    this.#stopUnlessHeld();
    await this.#stopIfLost();
    // The shards have everything by now: the next start must not miss what was taken away.
    if (this.#stopped?.cause instanceof SegmentLostError) await this.#heal();
    if (this.#stopped === undefined) return this.#finishActive();
    await this.#active?.writer.abandon();
    this.#active = undefined;
  }

  #soon(): Promise<void> {
    return new Promise((resolve) => this.#options.clock.soon(resolve));
  }
}
