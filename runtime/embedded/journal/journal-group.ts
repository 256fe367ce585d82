import { crc32 } from 'node:zlib';
import { assert } from '#runtime/base/assert.ts';
import type { Clock } from '#runtime/base/time/clock.ts';
import { compareRevisions, type Revision, revisionZero } from '#runtime/content/revision.ts';
import { encodeEntry } from '#runtime/log/entry-codec.ts';
import type { LogEntry } from '#runtime/log/log-entry.ts';
import { EntryTableWriter, entryTableBytes } from '../segments/entry-table.ts';
import {
  RECORD_FOOTER_BYTES,
  RECORD_HEADER_BYTES,
  type RecordPlace,
  sealRecord,
} from '../segments/journal-format.ts';

/** Maximum entries in one record. */
const GROUP_ENTRIES_MAX = 4096;

/** Maximum bytes of one record; a larger entry gets a record of its own. */
const GROUP_BYTES_MAX = 8 * 1024 * 1024;

/** Initial buffer size of a group in bytes. It doubles as needed. */
const GROUP_BYTES_START = 256 * 1024;

/** Bytes checksummed (twice each) before yielding to the event loop. 2 MiB take about 2 ms. */
const CHECKSUM_PART_BYTES = 2 * 1024 * 1024;

/** The fields of a record besides its entries. */
export interface GroupSeal {
  readonly sequence: number;
  readonly durableSequence: number;
  /** Highest clock before this record. */
  readonly clock: Revision;
  readonly previousChain: Buffer;
  readonly place: RecordPlace;
}

/**
 * The entries that become one record, encoded on arrival into one buffer that later groups reuse, with the promises
 * that wait for them.
 */
export class EntryGroup {
  #buffer: Buffer = Buffer.allocUnsafeSlow(GROUP_BYTES_START);
  #length = RECORD_HEADER_BYTES;
  #clock: Revision = revisionZero;
  readonly #table = new EntryTableWriter();
  #hasTakenOver = false;
  #resolves: ((sequence: number) => void)[] = [];
  #rejects: ((error: unknown) => void)[] = [];
  readonly actors = new Set<string>();

  get entries(): number {
    return this.#resolves.length;
  }

  /** Length of the resulting record in bytes. */
  get bytes(): number {
    return this.#length + entryTableBytes(this.entries) + RECORD_FOOTER_BYTES;
  }

  /** Highest clock of its entries. */
  get clock(): Revision {
    return this.#clock;
  }

  /**
   * Whether the group may be reused. Not when its buffer has grown so large that keeping it would waste memory, and not
   * when the buffer belongs to an entry, which its holder may decode at any later time.
   */
  get isReusable(): boolean {
    return !this.#hasTakenOver && this.#buffer.length <= 2 * GROUP_BYTES_MAX;
  }

  /** Whether an entry of this size fits. */
  takes(entryBytes: number): boolean {
    if (this.entries === 0) return true;
    return (
      this.entries < GROUP_ENTRIES_MAX && this.bytes + entryBytes + entryTableBytes(1) <= GROUP_BYTES_MAX
    );
  }

  /**
   * Encodes an entry into the group.
   *
   * @param entryBytes result of `entrySize` for the entry
   * @returns resolves with the argument of {@link resolve}
   * @throws {InvariantError} for an entry that cannot be encoded; the group is unchanged
   */
  add(entry: LogEntry, entryBytes: number): Promise<number> {
    if (this.entries > 0 || !this.#takeOver(entry)) {
      this.#reserve(this.#length + entryBytes + entryTableBytes(this.entries + 1) + RECORD_FOOTER_BYTES);
      const end = encodeEntry(entry, this.#buffer, this.#length);
      assert(end === this.#length + entryBytes, 'entry size and encoding differ');
      this.#length = end;
    }
    this.#table.add(entry.actor, entryBytes);
    if (compareRevisions(entry.clock, this.#clock) > 0) this.#clock = entry.clock;
    this.actors.add(entry.actor);
    return new Promise((resolve, reject) => {
      this.#resolves.push(resolve);
      this.#rejects.push(reject);
    });
  }

  /**
   * Computes the checksum of each entry and of all of them, in parts, so that a huge group does not block the event
   * loop.
   *
   * @returns the checksum of all of them
   */
  async checksum(clock: Clock): Promise<number> {
    const only = this.entries === 1;
    let sum = 0;
    /** Start of the bytes that are not in `sum` yet. */
    let part = RECORD_HEADER_BYTES;
    let at = RECORD_HEADER_BYTES;
    for (let entry = 0; entry < this.entries; entry += 1) {
      const end = at + this.#table.lengthOf(entry);
      let own = 0;
      while (at < end) {
        const piece = this.#buffer.subarray(at, Math.min(end, part + CHECKSUM_PART_BYTES));
        own = crc32(piece, own);
        at += piece.length;
        if (at - part < CHECKSUM_PART_BYTES) continue;
        // One call for many small entries.
        if (!only) sum = crc32(this.#buffer.subarray(part, at), sum);
        part = at;
        await new Promise<void>((resolve) => clock.soon(resolve));
      }
      this.#table.addCrc(own);
      if (only) return own;
    }
    return crc32(this.#buffer.subarray(part, at), sum);
  }

  /** Builds the record. @returns its bytes, valid until {@link clear}, its chain, and the highest clock so far */
  seal(
    seal: GroupSeal,
    payloadCrc: number,
  ): { readonly record: Buffer; readonly chain: Buffer; readonly clock: Revision } {
    const { sequence, durableSequence, previousChain, place } = seal;
    const clock = compareRevisions(this.#clock, seal.clock) > 0 ? this.#clock : seal.clock;
    const record = this.#buffer.subarray(0, this.bytes);
    const payloadEnd = record.length - RECORD_FOOTER_BYTES;
    const tableEnd = { salt: place.salt, end: place.offset + payloadEnd };
    this.#table.write(record, this.#length, sequence, tableEnd);
    const payloadBytes = payloadEnd - RECORD_HEADER_BYTES;
    const fields = {
      payloadBytes,
      entries: this.entries,
      sequence,
      durableSequence,
      clock,
      payloadCrc,
      previousChain,
    };
    return { record, chain: sealRecord(record, fields, place), clock };
  }

  /** Resolves all waiting appends, in their order. */
  resolve(sequence: number): void {
    for (const resolve of this.#resolves) resolve(sequence);
  }

  /** Rejects all waiting appends, in their order. */
  reject(error: unknown): void {
    for (const reject of this.#rejects) reject(error);
  }

  /** Empties the group for its next use. */
  clear(): void {
    this.#length = RECORD_HEADER_BYTES;
    this.#clock = revisionZero;
    this.#table.clear();
    this.#resolves = [];
    this.#rejects = [];
    this.actors.clear();
  }

  /** Uses the memory of an encoded entry as the group's buffer, if it has room for a record around it. */
  #takeOver({ encoded }: LogEntry): boolean {
    if (encoded === undefined) return false;
    const { buffer, byteOffset, length } = encoded;
    const start = byteOffset - RECORD_HEADER_BYTES;
    const bytes = RECORD_HEADER_BYTES + length + entryTableBytes(1) + RECORD_FOOTER_BYTES;
    if (start < 0 || start + bytes > buffer.byteLength) return false;
    this.#buffer = Buffer.from(buffer, start, bytes);
    this.#length = RECORD_HEADER_BYTES + length;
    this.#hasTakenOver = true;
    return true;
  }

  #reserve(length: number): void {
    if (length <= this.#buffer.length) return;
    // One huge entry gets exactly its size; doubling is for many small entries.
    const larger = Buffer.allocUnsafeSlow(
      Math.max(length, Math.min(2 * this.#buffer.length, GROUP_BYTES_MAX)),
    );
    this.#buffer.copy(larger, 0, 0, this.#length);
    this.#buffer = larger;
  }
}
