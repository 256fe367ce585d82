import { crc32 } from 'node:zlib';
import type { FileSystem, OpenFile } from '#runtime/base/files/file-system.ts';
import { hasEntryTable } from './entry-table.ts';
import { journalCorrupted, NEWER_FORMAT_REMEDY } from '../journal-errors.ts';
import {
  decodeRecordHeader,
  decodeSegmentHeader,
  ENTRY_TABLE_FORMAT,
  entriesBytes,
  JOURNAL_FORMAT,
  RECORD_FOOTER_BYTES,
  RECORD_HEADER_BYTES,
  type RecordHeader,
  recordBytes,
  recordFooter,
  SEGMENT_HEADER_BYTES,
  type SegmentHeader,
} from './journal-format.ts';
import { headerFault, type NextRecord } from './journal-tail.ts';

/** Bytes per read. Grows for a larger record. */
const WINDOW_BYTES = 1024 * 1024;

/** The result of reading one record. */
export type ReadStep =
  | {
      readonly kind: 'record';
      readonly header: RecordHeader;
      /** The entries; valid until the next step. */
      readonly payload: Buffer;
      /** Offset after the record. */
      readonly end: number;
    }
  /** Everything up to the limit was read. */
  | { readonly kind: 'end' }
  /** The bytes at the present offset are not the next record. */
  | { readonly kind: 'fault'; readonly what: string };

/** Reads the records of one segment in order and verifies every one of them. */
export class SegmentReader {
  readonly path: string;
  readonly header: SegmentHeader;
  readonly #file: OpenFile;
  readonly #limit: number;
  #window: Buffer = Buffer.alloc(0);
  #windowStart = 0;
  #offset = SEGMENT_HEADER_BYTES;
  #sequence: number;
  #chain: Buffer;

  private constructor(path: string, file: OpenFile, header: SegmentHeader, limit: number) {
    this.path = path;
    this.header = header;
    this.#file = file;
    this.#limit = limit;
    this.#sequence = header.firstSequence;
    this.#chain = header.chain;
  }

  /**
   * Opens a segment.
   *
   * @param firstSequence from its file name
   * @param limit offset to read up to; default: the length of the file
   * @throws {ServiceError} `DATA_CORRUPTED` when this version cannot read its header
   */
  static async open(
    files: FileSystem,
    path: string,
    firstSequence: number,
    limit?: number,
  ): Promise<SegmentReader> {
    const file = await files.open(path, 'read');
    try {
      const bytes = Buffer.alloc(SEGMENT_HEADER_BYTES);
      const length = await file.read(bytes, 0, SEGMENT_HEADER_BYTES, 0);
      const header = decodeSegmentHeader(bytes.subarray(0, length));
      const damage = { segment: path, offset: 0, sequence: firstSequence };
      if ('kind' in header) {
        if (header.kind === 'damaged')
          throw journalCorrupted({ ...damage, what: 'the segment header is damaged' });
        throw journalCorrupted({
          ...damage,
          what: `the segment has format ${header.format}, this version reads up to ${JOURNAL_FORMAT}`,
          remedy: NEWER_FORMAT_REMEDY,
        });
      }
      if (header.firstSequence !== firstSequence) {
        throw journalCorrupted({
          ...damage,
          what: `the file holds the segment of sequence ${header.firstSequence}`,
        });
      }
      return new SegmentReader(path, file, header, limit ?? (await file.size()));
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  /** The expected next record. */
  get next(): NextRecord {
    const place = { salt: this.header.salt, offset: this.#offset };
    return { place, sequence: this.#sequence, previousChain: this.#chain };
  }

  /** Length of the readable part, in bytes. */
  get limit(): number {
    return this.#limit;
  }

  /** Reads the next record. After a fault the offset is unchanged. */
  async step(): Promise<ReadStep> {
    if (this.#offset === this.#limit) return { kind: 'end' };
    const next = this.next;
    const head = await this.#bytes(RECORD_HEADER_BYTES);
    const header = decodeRecordHeader(head, next.place);
    if (header === null) return { kind: 'fault', what: 'there is no intact record header' };
    const fault = headerFault(header, head, next);
    if (fault !== null) return { kind: 'fault', what: fault };
    const length = recordBytes(header);
    const record = await this.#bytes(length);
    if (record.length < length) return { kind: 'fault', what: 'the file ends inside the record' };
    const payload = record.subarray(RECORD_HEADER_BYTES, length - RECORD_FOOTER_BYTES);
    const entries = payload.subarray(0, entriesBytes(header, this.header.format));
    if (
      crc32(entries) !== header.payloadCrc ||
      !this.#hasTable(record, header) ||
      !record.subarray(length - RECORD_FOOTER_BYTES).equals(recordFooter)
    ) {
      return { kind: 'fault', what: 'the record does not match its checksum' };
    }
    this.#offset += length;
    this.#sequence += 1;
    this.#chain = header.chain;
    return { kind: 'record', header, payload: entries, end: this.#offset };
  }

  /** Whether the table after the entries verifies; before format 2 there is none. */
  #hasTable(record: Buffer, { sequence }: RecordHeader): boolean {
    if (this.header.format < ENTRY_TABLE_FORMAT) return true;
    const end = record.length - RECORD_FOOTER_BYTES;
    return hasEntryTable(record, end, sequence, { salt: this.header.salt, end: this.#offset + end });
  }

  /** All bytes from the present offset to the end, for classification. */
  async rest(): Promise<Buffer> {
    return this.#bytes(this.#limit - this.#offset);
  }

  close(): Promise<void> {
    return this.#file.close();
  }

  /** `length` bytes at the present offset, fewer at the limit. A view of the window, valid until the next call. */
  async #bytes(length: number): Promise<Buffer> {
    const wanted = Math.min(length, this.#limit - this.#offset);
    const start = this.#offset - this.#windowStart;
    if (start + wanted <= this.#window.length) return this.#window.subarray(start, start + wanted);
    const size = Math.min(Math.max(WINDOW_BYTES, wanted), this.#limit - this.#offset);
    const window = Buffer.allocUnsafeSlow(size);
    const count = await this.#file.read(window, 0, size, this.#offset);
    this.#window = window.subarray(0, count);
    this.#windowStart = this.#offset;
    return this.#window.subarray(0, Math.min(wanted, count));
  }
}
