import { crc32 } from 'node:zlib';
import { assert } from '#runtime/base/assert.ts';
import { compareRevisions, type Revision, revisionZero } from '#runtime/content/revision.ts';
import { encodeEntry } from '#runtime/log/entry-codec.ts';
import type { LogEntry } from '#runtime/log/log-entry.ts';
import { encodeManifest, RecordKind } from './record-format.ts';

/** Maximum number of entries in one batch. */
const BATCH_ENTRIES_MAX = 4096;

/** Initial size of a batch's buffer, in bytes. It doubles when necessary. */
const BATCH_BYTES_START = 16 * 1024;

/** One record of a batch, before its position in the log is known. */
export interface BatchPart {
  readonly kind: RecordKind;
  /** Number of entries that count with this record. */
  readonly entries: number;
  readonly body: Uint8Array;
}

interface Waiter {
  readonly resolve: (sequence: number) => void;
  readonly reject: (error: unknown) => void;
}

const nothing = new Uint8Array(0);

/**
 * The entries that become durable together, encoded as they arrive, with the promises that wait for them. It keeps
 * them until their outcome is known, because they may have to be sent again under another epoch.
 */
export class EntryBatch {
  readonly actors = new Set<string>();
  readonly #bodyBytesMax: number;
  readonly #statement: Uint8Array | undefined;
  #buffer: Buffer = Buffer.allocUnsafe(BATCH_BYTES_START);
  #length = 0;
  #entries = 0;
  #clock: Revision = revisionZero;
  #waiters: Waiter[] = [];

  /**
   * @param bodyBytesMax maximum length of a record's body, in bytes
   * @param statement content of its only record, instead of entries
   */
  constructor(bodyBytesMax: number, statement?: Uint8Array) {
    this.#bodyBytesMax = bodyBytesMax;
    this.#statement = statement;
  }

  get entries(): number {
    return this.#entries;
  }

  /** Length of its encoded entries. */
  get bytes(): number {
    return this.#length;
  }

  /** Highest clock of its entries. */
  get clock(): Revision {
    return this.#clock;
  }

  /** Whether it makes a statement about the log instead of containing entries. */
  get isStatement(): boolean {
    return this.#statement !== undefined;
  }

  /** Whether no caller waits for it, as after an entry that could not be encoded. */
  get isEmpty(): boolean {
    return this.#waiters.length === 0;
  }

  /** Returns whether an entry of this size may join; a single larger one is a batch of its own. */
  takes(entryBytes: number): boolean {
    if (this.#statement !== undefined) return false;
    if (this.#entries === 0) return true;
    return this.#entries < BATCH_ENTRIES_MAX && this.#length + entryBytes <= this.#bodyBytesMax;
  }

  /**
   * Encodes an entry into the batch.
   *
   * @param entryBytes result of `entrySize` for it
   * @returns resolves with the argument of {@link resolve}
   * @throws {InvariantError} for an entry that cannot be encoded; the batch is unchanged
   */
  add(entry: LogEntry, entryBytes: number): Promise<number> {
    if (this.#length === 0 && entry.encoded !== undefined) {
      // Large entries are encoded already. The memory is only read, here and by the owner of the entry.
      const { buffer, byteOffset, length } = entry.encoded;
      this.#buffer = Buffer.from(buffer, byteOffset, length);
      this.#length = entryBytes;
    } else {
      this.#reserve(this.#length + entryBytes);
      const end = encodeEntry(entry, this.#buffer, this.#length);
      assert(end === this.#length + entryBytes, 'entry size and encoding differ');
      this.#length = end;
    }
    this.#entries += 1;
    if (compareRevisions(entry.clock, this.#clock) > 0) this.#clock = entry.clock;
    this.actors.add(entry.actor);
    return this.wait();
  }

  /** Waits for the batch without adding anything to it. */
  wait(): Promise<number> {
    return new Promise((resolve, reject) => this.#waiters.push({ resolve, reject }));
  }

  /** Yields its records, in order. Without an entry it is one empty record. */
  *parts(): Generator<BatchPart, void, void> {
    if (this.#entries === 0)
      return yield { kind: RecordKind.noop, entries: 0, body: this.#statement ?? nothing };
    const whole = this.#buffer.subarray(0, this.#length);
    const max = this.#bodyBytesMax;
    if (whole.length <= max) return yield { kind: RecordKind.entries, entries: this.#entries, body: whole };
    let crc = 0;
    for (let at = 0; at < whole.length; at += max) {
      const body = whole.subarray(at, Math.min(at + max, whole.length));
      crc = crc32(body, crc);
      yield { kind: RecordKind.chunk, entries: 0, body };
    }
    const manifest = encodeManifest({ bytes: whole.length, crc });
    yield { kind: RecordKind.manifest, entries: this.#entries, body: manifest };
  }

  /** Resolves all waiting promises, in the order of their calls. */
  resolve(sequence: number): void {
    for (const waiter of this.#waiters.splice(0)) waiter.resolve(sequence);
  }

  /** Rejects all waiting promises, in the order of their calls. */
  reject(error: unknown): void {
    for (const waiter of this.#waiters.splice(0)) waiter.reject(error);
  }

  #reserve(length: number): void {
    if (length <= this.#buffer.length) return;
    // A huge entry gets exactly the space it needs; doubling is for many consecutive entries.
    const larger = Buffer.allocUnsafe(
      Math.max(length, Math.min(2 * this.#buffer.length, this.#bodyBytesMax)),
    );
    this.#buffer.copy(larger, 0, 0, this.#length);
    this.#buffer = larger;
  }
}
