import { assert } from '#runtime/base/assert.ts';
import type { Clock } from '#runtime/base/time/clock.ts';
import type { FileSystem, OpenFile } from '#runtime/base/files/file-system.ts';
import type { Random } from '#runtime/base/random.ts';
import { SpaceAhead } from '#runtime/base/files/space-ahead.ts';
import type { FoldState } from '#cluster/replication/log-fold.ts';
import type { StoredMessage } from '#cluster/replication/log-stream.ts';
import { SYNC_INTERVAL_MS_MAX } from '#cluster/nats/server-capabilities.ts';
import {
  decodeSegmentFacts,
  encodeMessage,
  encodeSegmentFacts,
  FACTS_BYTES_MAX,
  type FlushedMessage,
  parseSegmentFileName,
  SEGMENT_PREFIX_BYTES,
  type SegmentFacts,
  segmentFileName,
} from './flush-format.ts';
import { type Voters, votersIn } from './voters.ts';
import { requireAllThere, requireWhole } from './lost-segment.ts';
import { flushJournalDamaged, type ScannedSegment, scanSegment } from './segment-scan.ts';

/** Length of a segment at which the next one begins, in bytes. */
const SEGMENT_BYTES_MAX = 16 * 1024 * 1024;

/** Space first preallocated in a segment, in bytes: a member has many partitions, most of which are idle. */
const AHEAD_BYTES_FIRST = 32 * 1024;

/** Maximum number of bytes that are written and flushed at once. */
const GROUP_BYTES_MAX = 4 * 1024 * 1024;

/** Interval of the checks of the names and lengths of all segments, in milliseconds; messages trigger them. */
const CHECK_MS = 1_000;

/**
 * Records that are kept although the shards have them, because the stream may lose them when its servers lose power.
 * They are kept for twice the longest flush interval of the servers.
 */
export interface FlushWindow {
  /** Minimum time for which a segment is kept, in milliseconds. */
  readonly keepMs: number;
  /** Newest bytes that are kept whatever their age. */
  readonly keepBytesMin: number;
  /** Bytes above which the owner of the partition refuses new writes, until the oldest may be removed. */
  readonly keepBytesMax: number;
}

/** Twice the longest interval of a server; more than a minute of full load; a size that fits a small disk. */
export const flushWindow: FlushWindow = Object.freeze({
  keepMs: 2 * SYNC_INTERVAL_MS_MAX,
  keepBytesMin: 64 * 1024 * 1024,
  keepBytesMax: 4 * 1024 * 1024 * 1024,
});

/** End of a journal. */
export interface FlushMark {
  /** Of the stream. */
  readonly identity: string;
  /** The newest message. */
  readonly sequence: number;
  /** Epoch of the log up to it. */
  readonly epoch: number;
  /** The newest valid record among its messages; 0 when there is none or it is unknown. */
  readonly validSequence: number;
  /** Chain of that record; empty without one. */
  readonly chain: Buffer;
}

/** Options for opening a journal. */
export interface FlushJournalOptions {
  readonly files: FileSystem;
  /** Folder of this journal alone; created when it is missing. */
  readonly folder: string;
  readonly clock: Clock;
  readonly random: Random;
  /** Called after each flush. */
  readonly onFlush?: (mark: FlushMark) => void;
  /** Called once, when the disk failed: the journal accepts nothing more. */
  readonly onFailure?: (cause: unknown) => void;
  /**
   * Set after a failed flush: the newest sequence that is known to be on the disk. Later messages can be read, but may be
   * in memory only.
   */
  readonly trustedUpTo?: number;
  /** Default {@link flushWindow}. */
  readonly window?: FlushWindow;
  readonly segmentBytesMax?: number;
}

interface Segment {
  readonly path: string;
  readonly first: number;
  bytes: number;
  /** Monotonic time of its newest message, or later: a step of the wall clock does not age it. */
  endedMs: number;
}

interface Queued {
  readonly message: FlushedMessage;
  readonly mark: FlushMark;
  /** Whether it does not follow the existing messages: the journal starts again with it. */
  readonly restarts: boolean;
  /** Voters as of the previous message. */
  readonly voters: Voters | undefined;
}

interface Waiter {
  readonly sequence: number;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

const noChain = Buffer.alloc(0);

/**
 * The newest messages of a partition's stream on one member's own disk, byte by byte. Class `replica-disk`
 * acknowledges by it, and restores a stream that lost its end from it.
 *
 * Invariants:
 * 1. Its messages are consecutive, and the stream contained each of them.
 * 2. Messages for which `whenFlushed` resolved, and that `onFlush` reported, survive the loss of power.
 * 3. A message is removed only after it was released, and only outside the window.
 * 4. A message is reported only if its file existed, complete and under its name, after it was written. If a file does
 *    not, the journal accepts nothing more, as after a failure of the disk.
 *
 * Enforcement: test/cluster/replica-durability/flush-journal.test.ts.
 *
 * @see docs/interface/guarantees.md#durability-classes; docs/decisions/0027-replica-disk.md
 */
export class FlushJournal {
  readonly #options: FlushJournalOptions;
  readonly #window: FlushWindow;
  readonly #segmentBytesMax: number;
  /** Oldest first. */
  #segments: Segment[] = [];
  #file: OpenFile | undefined;
  /** Of the open file. */
  #ahead: SpaceAhead | undefined;
  #salt = 0;
  /** Monotonic time of the last check of the files. */
  #checkedMs = Number.NEGATIVE_INFINITY;
  #queue: Queued[] = [];
  #waiters: Waiter[] = [];
  /** End after the newest message that was added. */
  #newest: FlushMark | undefined;
  #flushed: FlushMark | undefined;
  #voters: Voters | undefined;
  #votersSequence = 0;
  #released = 0;
  /** Whether more is kept than the window has space for. */
  #isFull = false;
  #failure: unknown;
  #isClosed = false;
  #pumping: Promise<void> | undefined;

  private constructor(options: FlushJournalOptions) {
    this.#options = options;
    this.#window = options.window ?? flushWindow;
    this.#segmentBytesMax = options.segmentBytesMax ?? SEGMENT_BYTES_MAX;
  }

  /** @throws {ServiceError} `DATA_CORRUPTED` */
  static async open(options: FlushJournalOptions): Promise<FlushJournal> {
    const journal = new FlushJournal(options);
    await journal.#recover();
    return journal;
  }

  /** The oldest message; 0 when it is empty. */
  get first(): number {
    return this.#segments[0]?.first ?? 0;
  }

  /** The newest message that was added; undefined when it is empty. */
  get newest(): FlushMark | undefined {
    return this.#newest;
  }

  /** End of the messages on the disk; undefined without any. */
  get flushed(): FlushMark | undefined {
    return this.#flushed;
  }

  /** The newest voters in its messages; undefined when they do not reach back to any. */
  get voters(): Voters | undefined {
    return this.#voters;
  }

  /** The message with these voters; 0 when it is unknown. */
  get votersSequence(): number {
    return this.#votersSequence;
  }

  /**
   * Whether it has more than `keepBytesMax`, of which nothing may be removed yet. It accepts messages anyway, because
   * the acknowledgement of the stream does not depend on it.
   */
  get isFull(): boolean {
    return this.#isFull;
  }

  /** Removes segments that may be removed by now, as adding a message does. */
  trim(): void {
    if (!this.#isClosed && this.#failure === undefined && this.#segments.length > 0) this.#schedule();
  }

  /** Why it accepts nothing more; undefined while it does. */
  get failure(): unknown {
    return this.#failure;
  }

  /**
   * Adds a message of the stream; known messages are skipped. It starts again with one that does not follow.
   *
   * @param identity of the stream
   * @param state of the log up to and including the message
   * @throws the error of the disk
   */
  add(identity: string, { sequence, bytes }: Omit<StoredMessage, 'storedMs'>, state: FoldState): void {
    if (this.#failure !== undefined) throw this.#failure;
    assert(!this.#isClosed, 'a journal that is closed takes nothing');
    assert(state.sequence === sequence, `the state is of ${state.sequence}, the message is ${sequence}`);
    const newest = this.#newest;
    assert(newest === undefined || newest.identity === identity, 'a journal is of one stream');
    if (newest !== undefined && sequence <= newest.sequence) return;
    const restarts = newest !== undefined && sequence !== newest.sequence + 1;
    // Voters in the missing messages are unknown.
    if (restarts) this.#voters = undefined;
    const voters = this.#voters;
    const isValid = state.validSequence === sequence;
    const { epoch, validSequence, chain } = state;
    const mark = { identity, sequence, epoch, validSequence, chain };
    this.#queue.push({ message: { sequence, bytes, epoch, isValid }, mark, restarts, voters });
    this.#newest = mark;
    this.#note(sequence, bytes, isValid);
    this.#schedule();
  }

  /** Resolves when everything up to a message is on the disk. @throws the error of the disk */
  whenFlushed(sequence: number): Promise<void> {
    if ((this.#flushed?.sequence ?? 0) >= sequence) return Promise.resolve();
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    if ((this.#newest?.sequence ?? 0) < sequence)
      return Promise.reject(new Error(`message ${sequence} was not given to the flush journal`));
    return new Promise((resolve, reject) => this.#waiters.push({ sequence, resolve, reject }));
  }

  /**
   * Forgets the voters and starts again with the next message: the log continued without this journal, so the voters
   * may have changed.
   */
  forgetVoters(): void {
    this.#voters = undefined;
    this.#votersSequence = 0;
  }

  /** Records that the shards have everything up to a message on the disk. */
  release(sequence: number): void {
    this.#released = Math.max(this.#released, sequence);
  }

  /**
   * Reads messages that are on the disk, both ends included.
   *
   * @throws {ServiceError} `DATA_CORRUPTED`
   */
  async *read(first: number, last: number): AsyncGenerator<FlushedMessage, void, void> {
    let next = first;
    for (const [index, segment] of [...this.#segments].entries()) {
      const following = this.#segments[index + 1]?.first ?? Number.POSITIVE_INFINITY;
      if (following <= next || segment.first > last) continue;
      const { messages } = await this.#scan(segment.path);
      for (const message of messages) {
        if (message.sequence < next || message.sequence > last || message.sequence >= following) continue;
        if (message.sequence !== next) throw flushJournalDamaged(segment.path, `message ${next} is missing`);
        next += 1;
        yield message;
      }
    }
    if (next <= last) throw flushJournalDamaged(this.#options.folder, `message ${next} is missing`);
  }

  /** Flushes the added messages and closes the files. */
  async close(): Promise<void> {
    this.#isClosed = true;
    while (this.#pumping !== undefined) await this.#pumping;
    await this.#endSegment();
  }

  /** Closes and removes the files, the oldest first: a crash leaves the newest ones. */
  async remove(): Promise<void> {
    await this.close();
    const { files, folder } = this.#options;
    for (const { path } of this.#segments.splice(0)) await files.unlink(path);
    await files.syncDirectory(folder);
  }

  #note(sequence: number, bytes: Buffer, isValid: boolean): void {
    const named = isValid ? votersIn(bytes) : undefined;
    if (named === undefined) return;
    this.#voters = named;
    this.#votersSequence = sequence;
  }

  #schedule(): void {
    // In a later turn, so that all messages of one turn are flushed at once.
    this.#pumping ??= new Promise<void>((resolve) => this.#options.clock.soon(resolve))
      .then(() => this.#pump())
      .finally(() => {
        this.#pumping = undefined;
        if (this.#queue.length > 0 && this.#failure === undefined) this.#schedule();
      });
  }

  async #pump(): Promise<void> {
    try {
      if (this.#queue.length === 0) await this.#removeOld();
      while (this.#queue.length > 0) {
        const mark = await this.#writeGroup();
        this.#flushed = mark;
        this.#wake();
        this.#options.onFlush?.(mark);
        // After the report: only the next message waits for it.
        await this.#ahead?.takeBehind((this.#segments.at(-1) as Segment).bytes);
        await this.#removeOld();
      }
    } catch (error) {
      this.#fail(error);
    }
  }

  #fail(error: unknown): void {
    this.#failure = error;
    this.#queue = [];
    for (const { reject } of this.#waiters.splice(0)) reject(error);
    this.#options.onFailure?.(error);
  }

  #wake(): void {
    const reached = this.#flushed?.sequence ?? 0;
    const done = this.#waiters.filter(({ sequence }) => sequence <= reached);
    this.#waiters = this.#waiters.filter(({ sequence }) => sequence > reached);
    for (const { resolve } of done) resolve();
  }

  /** @returns the new end on the disk */
  async #writeGroup(): Promise<FlushMark> {
    await this.#look();
    const first = this.#queue[0] as Queued;
    const outdated = first.restarts ? this.#segments : [];
    const current = this.#segments.at(-1);
    if (first.restarts || this.#file === undefined || (current?.bytes ?? 0) >= this.#segmentBytesMax)
      await this.#begin(first, outdated);
    const segment = this.#segments.at(-1) as Segment;
    const encoded: Buffer[] = [];
    const flushedSequence = this.#flushed?.sequence ?? 0;
    let bytes = 0;
    let { mark } = first;
    let count = 0;
    for (const { message, mark: reached, restarts } of this.#queue) {
      if (count > 0 && (restarts || bytes >= GROUP_BYTES_MAX)) break;
      const whole = encodeMessage(message, flushedSequence, this.#salt);
      encoded.push(whole);
      bytes += whole.length;
      mark = reached;
      count += 1;
    }
    const file = this.#file as OpenFile;
    const group = encoded.length === 1 ? (encoded[0] as Buffer) : Buffer.concat(encoded);
    // Flushed within the write: a separate call would cost another round trip through the thread pool.
    await file.write(group, 0, bytes, segment.bytes);
    segment.bytes += bytes;
    this.#requireWhole();
    segment.endedMs = this.#options.clock.monotonicMs();
    this.#queue.splice(0, count);
    // Only now: until the new segment is on the disk the old ones are needed.
    for (const { path } of outdated) await this.#options.files.unlink(path);
    return mark;
  }

  /** @throws {FlushSegmentLostError} when a file was removed, replaced or truncated */
  async #look(): Promise<void> {
    this.#requireWhole();
    const nowMs = this.#options.clock.monotonicMs();
    if (nowMs - this.#checkedMs < CHECK_MS) return;
    this.#checkedMs = nowMs;
    await requireAllThere(this.#options.files, this.#segments, this.#file);
  }

  #requireWhole(): void {
    const segment = this.#segments.at(-1);
    if (segment === undefined || this.#file === undefined) return;
    requireWhole(this.#file, segment.path, Math.max(segment.bytes, this.#ahead?.end ?? 0));
  }

  /** Creates a segment. It gets its name when its facts are on the disk. */
  async #begin({ message, mark, voters }: Queued, outdated: readonly Segment[]): Promise<void> {
    const { files, folder, clock, random } = this.#options;
    await this.#endSegment();
    const path = `${folder}/${segmentFileName(message.sequence)}`;
    this.#salt = Buffer.from(random.bytes(4)).readUInt32LE(0);
    const createdMs = Math.floor(clock.wallMs());
    const facts = { identity: mark.identity, firstSequence: message.sequence, createdMs, salt: this.#salt };
    const continues = outdated.length === 0 && this.#segments.length > 0;
    const header = encodeSegmentFacts({ ...facts, continues, voters });
    const file = await files.open(`${path}.new`, 'create-synced');
    this.#file = file;
    this.#ahead = new SpaceAhead(file, this.#segmentBytesMax, AHEAD_BYTES_FIRST);
    await file.write(header, 0, header.length, 0);
    await file.sync();
    await files.rename(`${path}.new`, path);
    await files.syncDirectory(folder);
    const segment = { path, first: message.sequence, bytes: header.length, endedMs: clock.monotonicMs() };
    this.#segments = outdated.length > 0 ? [segment] : [...this.#segments, segment];
  }

  /** Truncates the preallocated space, if the file still permits it; readers ignore it anyway. */
  async #endSegment(): Promise<void> {
    const file = this.#file;
    if (file === undefined) return;
    this.#file = undefined;
    try {
      if (this.#failure === undefined) await file.truncate((this.#segments.at(-1) as Segment).bytes);
    } finally {
      await file.close();
    }
  }

  async #removeOld(): Promise<void> {
    const { keepBytesMax, keepBytesMin, keepMs } = this.#window;
    const nowMs = this.#options.clock.monotonicMs();
    let bytes = this.#segments.reduce((sum, segment) => sum + segment.bytes, 0);
    for (;;) {
      this.#isFull = bytes > keepBytesMax;
      const [oldest, following] = this.#segments;
      if (oldest === undefined || following === undefined || following.first > this.#released + 1) return;
      if (nowMs - oldest.endedMs < keepMs || bytes - oldest.bytes < keepBytesMin) return;
      await this.#options.files.unlink(oldest.path);
      this.#segments.shift();
      bytes -= oldest.bytes;
    }
  }

  async #recover(): Promise<void> {
    const { files, folder } = this.#options;
    await files.makeDirectory(folder);
    for (const name of await files.readdir(folder)) {
      const first = parseSegmentFileName(name);
      const path = `${folder}/${name}`;
      if (first === undefined) {
        if (name.endsWith('.new')) await files.unlink(path);
        continue;
      }
      const { size } = await files.stat(path);
      this.#segments.push({ path, first, bytes: size, endedMs: this.#options.clock.monotonicMs() });
    }
    while (this.#segments.length > 0) {
      const last = this.#segments.at(-1) as Segment;
      const scanned = await this.#scan(last.path);
      if (await this.#takeLast(last, scanned)) break;
      // It was created before a crash and contains no messages.
      await files.unlink(last.path);
      this.#segments.pop();
    }
    for (let index = this.#segments.length - 1; index > 0; index -= 1) {
      const { continues } = await this.#facts((this.#segments[index] as Segment).path);
      if (continues) continue;
      for (const { path } of this.#segments.splice(0, index)) await files.unlink(path);
      return;
    }
  }

  /** @returns false when it contains nothing */
  async #takeLast(segment: Segment, { facts, messages, end }: ScannedSegment): Promise<boolean> {
    const trusted = this.#options.trustedUpTo ?? Number.POSITIVE_INFINITY;
    const kept = messages.filter(({ sequence }) => sequence <= trusted);
    const newest = kept.at(-1);
    if (newest === undefined) return false;
    await this.#cut(segment, kept.length === messages.length ? end : newest.end);
    this.#voters = facts.voters;
    for (const { bytes, isValid, sequence } of kept) this.#note(sequence, bytes, isValid);
    const valid = kept.findLast(({ isValid }) => isValid);
    this.#newest = {
      identity: facts.identity,
      sequence: newest.sequence,
      epoch: newest.epoch,
      validSequence: valid?.sequence ?? 0,
      // Offset of the chain in the header of a record.
      chain: valid === undefined ? noChain : Buffer.from(valid.bytes.subarray(64, 80)),
    };
    this.#flushed = this.#newest;
    return true;
  }

  /** Readable messages may be in memory only; after this they are on the disk. */
  async #cut(segment: Segment, end: number): Promise<void> {
    const file = await this.#options.files.open(segment.path, 'read-write');
    try {
      if ((await file.size()) > end) await file.truncate(end);
      await file.sync();
    } finally {
      await file.close();
    }
    segment.bytes = end;
  }

  async #scan(path: string): Promise<ScannedSegment> {
    const file = await this.#options.files.open(path, 'read');
    try {
      const bytes = Buffer.alloc(await file.size());
      await file.read(bytes, 0, bytes.length, 0);
      return scanSegment(bytes, path);
    } finally {
      await file.close();
    }
  }

  async #facts(path: string): Promise<SegmentFacts> {
    const file = await this.#options.files.open(path, 'read');
    try {
      const bytes = Buffer.alloc(SEGMENT_PREFIX_BYTES + FACTS_BYTES_MAX);
      const length = await file.read(bytes, 0, bytes.length, 0);
      const decoded = decodeSegmentFacts(bytes.subarray(0, length));
      if (decoded === undefined) throw flushJournalDamaged(path, 'its beginning does not verify');
      return decoded.facts;
    } finally {
      await file.close();
    }
  }
}
