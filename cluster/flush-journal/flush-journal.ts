import { assert } from '#runtime/base/assert.ts';
import type { Clock } from '#runtime/base/clock.ts';
import type { FileSystem, OpenFile } from '#runtime/base/file-system.ts';
import type { Random } from '#runtime/base/random.ts';
import { SpaceAhead } from '#runtime/base/space-ahead.ts';
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
import { type Keepers, keepersIn } from './keepers.ts';
import { requireAllThere, requireWhole } from './lost-segment.ts';
import { flushJournalDamaged, type ScannedSegment, scanSegment } from './segment-scan.ts';

/** Length of a segment from which on the next one is begun, in bytes. */
const SEGMENT_BYTES_MAX = 16 * 1024 * 1024;

/** Space taken ahead in a segment at first, in bytes: a member has many partitions, of which most are idle. */
const AHEAD_BYTES_FIRST = 32 * 1024;

/** What is written and flushed at once at most, in bytes. */
const GROUP_BYTES_MAX = 4 * 1024 * 1024;

/** Between two looks at the names and lengths of all segments, in milliseconds; messages that come bring them about. */
const LOOK_MS = 1_000;

/**
 * What is kept although the shards have it, because the stream may lose it with its power: it is kept for twice the
 * longest time that servers may take to flush.
 */
export interface FlushWindow {
  /** A segment is kept at least so long, in milliseconds. */
  readonly keepMs: number;
  /** The newest bytes that are kept however old they are. */
  readonly keepBytesMin: number;
  /** Bytes above which the owner of the partition refuses new writes, until the oldest may go. */
  readonly keepBytesMax: number;
}

/** Twice the longest interval of a server; more than a minute of full load; what a small disk can spare. */
export const flushWindow: FlushWindow = Object.freeze({
  keepMs: 2 * SYNC_INTERVAL_MS_MAX,
  keepBytesMin: 64 * 1024 * 1024,
  keepBytesMax: 4 * 1024 * 1024 * 1024,
});

/** How far a journal goes. */
export interface FlushMark {
  /** Of the stream. */
  readonly identity: string;
  /** The newest message. */
  readonly sequence: number;
  /** Of the log up to it. */
  readonly epoch: number;
  /** The newest valid record among its messages, 0 when there is none or it is not known. */
  readonly validSequence: number;
  /** Of that record; empty without one. */
  readonly chain: Buffer;
}

/** How a journal is opened. */
export interface FlushJournalOptions {
  readonly files: FileSystem;
  /** Of this journal alone; made when it is missing. */
  readonly folder: string;
  readonly clock: Clock;
  readonly random: Random;
  /** Told after each flush. */
  readonly onFlush?: (mark: FlushMark) => void;
  /** Told once, when the disk failed: it takes nothing more. */
  readonly onFailure?: (cause: unknown) => void;
  /**
   * What the process that wrote it knows to be on the disk, after a flush failed: what is behind it can be read and
   * may be nowhere but in memory.
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
  /** When its newest message was written, or later, on the monotonic clock: a step of the wall clock ages nothing. */
  endedMs: number;
}

interface Queued {
  readonly message: FlushedMessage;
  readonly mark: FlushMark;
  /** Whether it does not follow what is there: the journal begins anew with it. */
  readonly restarts: boolean;
  /** As of the message before. */
  readonly keepers: Keepers | undefined;
}

interface Waiter {
  readonly sequence: number;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

const noChain = Buffer.alloc(0);

/**
 * The newest messages of a partition's stream as one member has them on its own disk, byte by byte: what class
 * `replica-disk` acknowledges by, and what a stream that lost its end is made whole from.
 *
 * Invariants:
 * 1. Its messages are consecutive, and the stream held each of them.
 * 2. What `whenFlushed` resolved for, and `onFlush` told, survives the loss of power.
 * 3. A message is removed only behind what was released, and only outside the window.
 * 4. Nothing is told of a message unless its file was there, whole and under its name, after it was written. Where one is
 *    not, it takes nothing more, as after a failure of the disk.
 *
 * Enforcement: test/cluster/flush-journal/flush-journal.test.ts.
 *
 * @see Reliability: Durability classes, R9
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
  /** When the files were looked at last, on the monotonic clock. */
  #lookedMs = Number.NEGATIVE_INFINITY;
  #queue: Queued[] = [];
  #waiters: Waiter[] = [];
  /** Of the newest message that was added. */
  #newest: FlushMark | undefined;
  #flushed: FlushMark | undefined;
  #keepers: Keepers | undefined;
  #keepersSequence = 0;
  #released = 0;
  /** Whether more is kept than the window has room for. */
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

  /** How far it is on the disk; undefined while nothing is. */
  get flushed(): FlushMark | undefined {
    return this.#flushed;
  }

  /** The newest keepers its messages name; undefined when they do not reach back to any. */
  get keepers(): Keepers | undefined {
    return this.#keepers;
  }

  /** The message that named them; 0 when it is not known. */
  get keepersSequence(): number {
    return this.#keepersSequence;
  }

  /**
   * Whether it has more than `keepBytesMax`, of which nothing may go yet. It takes messages all the same: what the
   * stream has is acknowledged or not, whatever is done here.
   */
  get isFull(): boolean {
    return this.#isFull;
  }

  /** Removes what may go by now. A message that is added does so too. */
  trim(): void {
    if (!this.#isClosed && this.#failure === undefined && this.#segments.length > 0) this.#schedule();
  }

  /** Why it takes nothing more; undefined while it does. */
  get failure(): unknown {
    return this.#failure;
  }

  /**
   * Takes a message of the stream; those it has are skipped. It begins anew with one that does not follow.
   *
   * @param identity of the stream
   * @param state of the log up to and including the message
   * @throws what the disk failed with
   */
  add(identity: string, { sequence, bytes }: Omit<StoredMessage, 'storedMs'>, state: FoldState): void {
    if (this.#failure !== undefined) throw this.#failure;
    assert(!this.#isClosed, 'a journal that is closed takes nothing');
    assert(state.sequence === sequence, `the state is of ${state.sequence}, the message is ${sequence}`);
    const newest = this.#newest;
    assert(newest === undefined || newest.identity === identity, 'a journal is of one stream');
    if (newest !== undefined && sequence <= newest.sequence) return;
    const restarts = newest !== undefined && sequence !== newest.sequence + 1;
    // What was named in between is not known.
    if (restarts) this.#keepers = undefined;
    const keepers = this.#keepers;
    const isValid = state.validSequence === sequence;
    const { epoch, validSequence, chain } = state;
    const mark = { identity, sequence, epoch, validSequence, chain };
    this.#queue.push({ message: { sequence, bytes, epoch, isValid }, mark, restarts, keepers });
    this.#newest = mark;
    this.#note(sequence, bytes, isValid);
    this.#schedule();
  }

  /** Everything up to a message is on the disk when it resolves. @throws what the disk failed with */
  whenFlushed(sequence: number): Promise<void> {
    if ((this.#flushed?.sequence ?? 0) >= sequence) return Promise.resolve();
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    if ((this.#newest?.sequence ?? 0) < sequence)
      return Promise.reject(new Error(`message ${sequence} was not given to the flush journal`));
    return new Promise((resolve, reject) => this.#waiters.push({ sequence, resolve, reject }));
  }

  /**
   * The log went on while nobody kept it: its keepers may be others by now, and it begins anew with what comes next.
   */
  forgetKeepers(): void {
    this.#keepers = undefined;
    this.#keepersSequence = 0;
  }

  /** The shards have everything up to a message on the disk. */
  release(sequence: number): void {
    this.#released = Math.max(this.#released, sequence);
  }

  /**
   * Messages that are on the disk, both ends included.
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

  /** Flushes what was added and lets go of the files. */
  async close(): Promise<void> {
    this.#isClosed = true;
    while (this.#pumping !== undefined) await this.#pumping;
    await this.#endSegment();
  }

  /** Lets go of the files and removes them, the oldest first: what a crash leaves is still the newest. */
  async remove(): Promise<void> {
    await this.close();
    const { files, folder } = this.#options;
    for (const { path } of this.#segments.splice(0)) await files.unlink(path);
    await files.syncDirectory(folder);
  }

  #note(sequence: number, bytes: Buffer, isValid: boolean): void {
    const named = isValid ? keepersIn(bytes) : undefined;
    if (named === undefined) return;
    this.#keepers = named;
    this.#keepersSequence = sequence;
  }

  #schedule(): void {
    // In a later turn, so that what one turn adds is flushed at once.
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
        // Behind what was told: nobody waits for it but the next message.
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

  /** @returns how far it is on the disk then */
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
    // Flushed within the write: a call of its own is another way through the thread pool.
    await file.write(group, 0, bytes, segment.bytes);
    segment.bytes += bytes;
    this.#requireWhole();
    segment.endedMs = this.#options.clock.monotonicMs();
    this.#queue.splice(0, count);
    // Only now: until the new one is on the disk the old ones are what there is.
    for (const { path } of outdated) await this.#options.files.unlink(path);
    return mark;
  }

  /** @throws {FlushSegmentLostError} when somebody removed, replaced or cut a file */
  async #look(): Promise<void> {
    this.#requireWhole();
    const nowMs = this.#options.clock.monotonicMs();
    if (nowMs - this.#lookedMs < LOOK_MS) return;
    this.#lookedMs = nowMs;
    await requireAllThere(this.#options.files, this.#segments, this.#file);
  }

  #requireWhole(): void {
    const segment = this.#segments.at(-1);
    if (segment === undefined || this.#file === undefined) return;
    requireWhole(this.#file, segment.path, Math.max(segment.bytes, this.#ahead?.end ?? 0));
  }

  /** Makes a segment. It has its name when its facts are on the disk. */
  async #begin({ message, mark, keepers }: Queued, outdated: readonly Segment[]): Promise<void> {
    const { files, folder, clock, random } = this.#options;
    await this.#endSegment();
    const path = `${folder}/${segmentFileName(message.sequence)}`;
    this.#salt = Buffer.from(random.bytes(4)).readUInt32LE(0);
    const createdMs = Math.floor(clock.wallMs());
    const facts = { identity: mark.identity, firstSequence: message.sequence, createdMs, salt: this.#salt };
    const continues = outdated.length === 0 && this.#segments.length > 0;
    const header = encodeSegmentFacts({ ...facts, continues, keepers });
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

  /** What was taken ahead is cut off, as far as the file still lets us: it says nothing to whoever reads it. */
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
      // Made before a crash, and nothing was put into it.
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

  /** @returns false when there is nothing in it */
  async #takeLast(segment: Segment, { facts, messages, end }: ScannedSegment): Promise<boolean> {
    const trusted = this.#options.trustedUpTo ?? Number.POSITIVE_INFINITY;
    const kept = messages.filter(({ sequence }) => sequence <= trusted);
    const newest = kept.at(-1);
    if (newest === undefined) return false;
    await this.#cut(segment, kept.length === messages.length ? end : newest.end);
    this.#keepers = facts.keepers;
    for (const { bytes, isValid, sequence } of kept) this.#note(sequence, bytes, isValid);
    const valid = kept.findLast(({ isValid }) => isValid);
    this.#newest = {
      identity: facts.identity,
      sequence: newest.sequence,
      epoch: newest.epoch,
      validSequence: valid?.sequence ?? 0,
      // Where the header of a record has its chain.
      chain: valid === undefined ? noChain : Buffer.from(valid.bytes.subarray(64, 80)),
    };
    this.#flushed = this.#newest;
    return true;
  }

  /** What can be read may be in memory only: from now on it is said to be on the disk. */
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
