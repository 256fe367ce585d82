import { join } from 'node:path';
import { assert } from '#runtime/base/assert.ts';
import type { Timer } from '#runtime/base/time/clock.ts';
import { crashPoint } from '#runtime/commit/crash-point.ts';
import type { Revision } from '#runtime/content/revision.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { decodeEntries, entrySize } from '#runtime/log/entry-codec.ts';
import { ENTRY_BYTES_MAX, type LogEntry, type LogRecord } from '#runtime/log/log-entry.ts';
import type { LeavingRecords, Log, LogRetention, PendingRange } from '#runtime/log/ports.ts';
import { type DamageNote, damageNotePath, readDamageNote } from '../recovery/damage-note.ts';
import { readDamaged } from '../recovery/journal-containment.ts';
import { JournalDamage } from '../recovery/journal-damage.ts';
import { journalCorrupted, journalIsDamaged, journalStopped, isStorageFull } from '../journal-errors.ts';
import {
  type Active,
  findLost,
  finish,
  putBack,
  requireWhole,
  SegmentLostError,
} from '../segments/journal-files.ts';
import {
  CHAIN_BYTES,
  JOURNAL_FORMAT,
  segmentFileName,
  type SegmentHeader,
} from '../segments/journal-format.ts';
import { EntryGroup } from './journal-group.ts';
import { HEAL_MS_MAX, HEAL_MS_MIN, mayPass, rewriteSegment } from './journal-heal.ts';
import { SegmentReader } from '../segments/journal-reader.ts';
import type { JournalOptions } from './journal-options.ts';
import { noHoles, type RecoveredJournal, recoverJournal } from '../recovery/journal-recovery.ts';
import { beginningOf, Retention, retentionOf, Segment } from '../segments/journal-retention.ts';
import { SegmentWriter } from '../segments/journal-segment-writer.ts';

const SEGMENT_BYTES = 64 * 1024 * 1024;

/** Flush interval of class `relaxed`, in milliseconds. */
const RELAXED_FLUSH_MS = 100;

/** Maximum encoded bytes queued behind the group being written. */
const WAITING_BYTES_MAX = 1024 * 1024 * 1024;

/** Empty groups kept for reuse: one is written while another one fills. */
const SPARE_GROUPS_MAX = 2;

/**
 * The write-ahead journal of one process: the embedded `Log`.
 *
 * Group commit: while one group of entries is written and flushed, the next one collects new entries of all actors, and
 * is written with one write and one flush. The file layout is in `journal-format.ts`.
 *
 * Invariants:
 * 1. At most one record is being written. In class `local` it is flushed before the next one is written, so only the
 *    newest record of the newest segment can be unfinished after a crash.
 * 2. `lastSequence`, `lastClock` and the chain advance only when a record is durable in its class, and only then does
 *    `append` resolve.
 * 3. A file is appended to only by the journal that created it. After opening, writing starts with a new segment.
 * 4. A segment is final (truncated to its length and flushed) before the next one gets its name. Segments are removed
 *    from the oldest on, and each removal is flushed before the next, so the remaining ones are contiguous.
 * 5. After a failed write or flush nothing more is written to that file, and it is never flushed again. The one
 *    exception is a full volume, if the partial record could be removed.
 * 6. A stopped journal refuses every append. After a temporary failure it resumes by itself, once its end has been
 *    rewritten (`journal-heal.ts`) and a new segment was created: then it contains no refused entry, and everything
 *    acknowledged is flushed.
 * 7. Nothing is acknowledged, and no shard is written, unless this process still held the folder after the record was
 *    written: a process that takes the folder later finds the record. Without the lock, no file is changed any more.
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
  /** Groups not written yet; the last one is being filled. */
  #groups: EntryGroup[] = [];
  #spares: EntryGroup[] = [];
  #waitingBytes = 0;
  #loop: Promise<void> | undefined;
  #flushing: Promise<void> | undefined;
  #flushTimer: Timer | undefined;
  #removing: Promise<void> | undefined;
  #stopped: ServiceError | undefined;
  #stoppedMs = 0;
  /** Whether the failure that stopped the journal is temporary; meaningless while it is not stopped. */
  #heals = true;
  #healMs = HEAL_MS_MIN;
  #healTimer: Timer | undefined;
  #healing: Promise<void> | undefined;
  /** A segment whose end may not be on disk as the file shows it. */
  #suspect: Segment | undefined;
  /** Set while rejections are delivered: an append by a caller that has not received its rejection is refused too. */
  #refusal: ServiceError | undefined;
  #closing: Promise<void> | undefined;
  readonly damage: JournalDamage | undefined;
  /** Changes that must be made before the first write; undefined once they are done. */
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
    // A new journal starts with a random chain, so records of two journals never continue each other.
    this.#chain = recovered.chain ?? Buffer.from(options.random.bytes(CHAIN_BYTES));
  }

  /**
   * Opens a journal and verifies all of it. Also works on a full volume, so that the journal can be read.
   *
   * @throws {ServiceError} `DATA_CORRUPTED` naming file, offset, sequence and remedy for any damage other than an
   *   unfinished write at the end, unless damage is contained; nothing was then changed
   */
  static async open(options: JournalOptions): Promise<Journal> {
    const journal = await Journal.look(options);
    await journal.begin();
    return journal;
  }

  /**
   * As {@link open}, without changing anything: the caller can read the journal and compare it with other state before
   * it decides to use it. Until {@link begin} it accepts no entries.
   *
   * @throws {ServiceError} as {@link open}
   */
  static async look(options: JournalOptions): Promise<Journal> {
    const { containsDamage: contains = false, files, folder, report } = options;
    const note = await readDamageNote(files, folder);
    if (note !== undefined && !contains) throw journalIsDamaged(damageNotePath(folder));
    const holes = note === undefined ? noHoles : { keptThrough: note.through, removed: note.removed };
    return new Journal(options, await recoverJournal(files, folder, report, { contains, holes }), note);
  }

  /** Makes the recovered state durable; then the journal accepts entries. Idempotent. */
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

  /** Sequence of the oldest record in the journal; `lastSequence + 1` when there is none. */
  get firstSequence(): number {
    return this.#retention.segments[0]?.header.firstSequence ?? this.#lastSequence + 1;
  }

  /** Sequence up to which everything is on disk; lower than `lastSequence` only in class `relaxed`. */
  get flushedSequence(): number {
    return this.#flushedSequence;
  }

  /** Why the journal currently refuses entries; undefined when it does not. */
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
   * Flushes everything acknowledged to disk; in class `local` it already is.
   *
   * A shard must not be flushed ahead of its log: after a power failure the log would be behind it, and would assign
   * sequences that the shard has already seen. So in class `relaxed` this must be called before a shard commits.
   *
   * @returns the sequence up to which everything is on disk
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
   * Starts a segment of this format when an older version wrote the newest one. Called when the start can no longer
   * fail: from then on the older version refuses the directory. Otherwise it would accept the directory until the next
   * append, and would not maintain the files this version keeps beside the journal. Without disk space it does nothing;
   * the next record then starts the segment.
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
    // Entries appended meanwhile wait for it.
    this.#loop = started.then(() => this.#run());
    await started;
  }

  /**
   * Checks that this process still holds the folder and that its files are as written, and stops otherwise. Must be
   * called periodically. Never rejects.
   */
  async inspect(): Promise<void> {
    // Before it begins nothing may be changed, and nothing was acknowledged.
    if (this.#settle !== undefined) return;
    this.#stopUnlessHeld();
    if (this.#closing === undefined) await this.#stopIfLost();
  }

  /** Always certain, because nobody else writes to a journal. */
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
    // In a later turn, so that all appends of one turn of the event loop share a record.
    await this.#soon();
    for (let group = this.#groups.shift(); group !== undefined; group = this.#groups.shift()) {
      this.#waitingBytes = this.#groups.reduce((sum, waiting) => sum + waiting.bytes, 0);
      // The group of an entry that could not be encoded.
      if (group.entries === 0) continue;
      try {
        const sequence = await this.#write(group);
        group.resolve(sequence);
      } catch (error) {
        this.#fail(group, error);
      }
      this.#recycle(group);
      // Callers that were just answered may append more: let these entries join the next group.
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
    // The record is not removed when this fails: another process may already be reading the file.
    this.#requireHeld();
    if (durability === 'local') this.#flushedSequence = sequence;
    this.#lastSequence = sequence;
    this.#lastClock = sealed.clock;
    this.#chain = sealed.chain;
    segment.add(sequence, group.actors, start + sealed.record.length);
    if (durability === 'relaxed') this.#scheduleFlush();
    return sequence;
  }

  /** Makes a record durable in its class. */
  async #writeOut(active: Active, record: Buffer, start: number): Promise<void> {
    try {
      await active.writer.append(record);
      requireWhole(active);
      // A flush or a read may have stopped the journal meanwhile; then nothing more is acknowledged.
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
    // A file with a failed flush is never flushed again.
    if (this.#stopped !== undefined) throw this.#stopped;
    if (this.#active === undefined) return;
    const finishing = this.#active;
    this.#active = undefined;
    this.#suspect = finishing.segment;
    await this.#flushWith(() => finish(finishing));
    if (this.#stopped !== undefined) throw this.#stopped;
    this.#suspect = undefined;
  }

  /** A full volume rejects the group and all groups behind it, which may build on it. Other errors stop the journal. */
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

  /** @throws {ServiceError} `WRITES_STOPPED` when another process may hold the folder */
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
      // Already stopped and reported.
    }
  }

  async #stopIfLost(): Promise<void> {
    if (this.#stopped !== undefined) return;
    const [lost] = await findLost(this.#options.files, this.#retention, () => this.#active);
    if (lost !== undefined) this.#stop(lost.error);
  }

  #stop(cause: unknown): void {
    // It will not be flushed any more, so shards must apply its records.
    if (cause instanceof SegmentLostError) this.#flushedSequence = this.#lastSequence;
    if (this.#stopped !== undefined) {
      // The most severe failure decides: damage is permanent.
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

  /** Tries to resume, see invariant 6. Never rejects. */
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
      // Before anything else is written: a later start would take the records of these segments for lost.
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

  /** Resumes without files that were removed: they are rewritten, or their content is in the shards. */
  async #settleLost(): Promise<void> {
    const { files, folder } = this.#options;
    await files.makeDirectory(folder);
    if (this.#active !== undefined && (await putBack(files, this.#active))) await this.#leaveActive();
    const lost = await findLost(files, this.#retention, () => this.#active);
    const needed = lost.find(({ segment }) => this.#retention.isNeeded(segment));
    if (needed !== undefined) throw needed.error;
    for (const { segment } of lost) {
      // It is removed with the segments before it.
      segment.isLost = true;
      if (this.#active?.segment === segment) await this.#leaveActive();
      if (this.#suspect === segment) this.#suspect = undefined;
    }
  }

  /** Closes the file being written, whose end is uncertain. */
  async #leaveActive(): Promise<void> {
    if (this.#active === undefined) return;
    const { segment, writer } = this.#active;
    this.#active = undefined;
    this.#suspect = segment;
    // Nothing in this file is needed any more, so an error of closing it is ignored.
    await writer.abandon().catch(() => undefined);
  }

  async #settleSuspect(): Promise<void> {
    await this.#leaveActive();
    const segment = this.#suspect;
    // A segment without records is replaced by the next one, which has the same name.
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

  /** Flushes everything acknowledged before it, one flush at a time. A failure stops the journal. Never rejects. */
  #flushWith(flush: () => Promise<void>): Promise<void> {
    if (this.#flushing !== undefined) return this.#flushing;
    const sequence = this.#lastSequence;
    this.#flushing = flush()
      .then(() => {
        // If the journal was stopped, the failure may concern the flushed data.
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
      // A damaged log accepts nothing more.
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
          // An earlier attempt may have removed the file without flushing the removal.
          if (error.code !== 'ENOENT') throw error;
        });
        // Before the next removal: a crash may undo removals in any order, and a gap would be refused at opening.
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

  /** The newest segment always stays, so every removed segment has a successor. */
  #leave({ newest, lastSequence }: Segment): Promise<void> {
    const beginning = beginningOf(this.#retention.segments[0] as Segment);
    return this.#beforeLeaving({ newest, lastSequence, beginning });
  }

  async #close(): Promise<void> {
    // Let the caller set #closing first, so that further appends are refused.
    await null;
    await this.#loop;
    this.#flushTimer?.cancel();
    this.#healTimer?.cancel();
    await this.#healing;
    await this.#removing;
    while (this.#flushing !== undefined) await this.#flushing;
    this.#stopUnlessHeld();
    await this.#stopIfLost();
    // The shards have everything by now; rewrite the lost files, so that the next start does not report them.
    if (this.#stopped?.cause instanceof SegmentLostError) await this.#heal();
    if (this.#stopped === undefined) return this.#finishActive();
    await this.#active?.writer.abandon();
    this.#active = undefined;
  }

  #soon(): Promise<void> {
    return new Promise((resolve) => this.#options.clock.soon(resolve));
  }
}
