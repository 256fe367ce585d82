import { Buffer } from 'node:buffer';
import { hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { Revision } from '#runtime/content/revision.ts';
import { entryTableBytes } from './entry-table.ts';

/*
 * The bytes of the journal. Little endian; offsets in brackets.
 *
 * A segment is a file `<first sequence, 16 digits>.journal`: a header, records without gaps and, in the newest one,
 * preallocated zeros.
 *
 *   segment header   magic [0] 8   format [8] 4   header length [12] 4   first sequence [16] 8
 *                    created, ms [24] 8   clock before the first record: ms [32] 6, counter [40] 4
 *                    chain before the first record [48] 16   salt [64] 4   CRC32 of 0..68 [68] 4
 *
 *   record           magic [0] 4   payload length [4] 4   entries [8] 4   zero sectors [12] 4
 *                    sequence [16] 8   durable sequence [24] 8   clock: ms [32] 6, counter [40] 4
 *                    CRC32 of the entries [44] 4   previous chain [48] 16   chain [64] 16
 *                    salted CRC32 of 0..80 [80] 4   then the payload, then the footer, 8
 *
 *   payload          the entries and, from format 2 on, their table (`entry-table.ts`)
 *
 * - The *chain* is a hash over the previous chain and all the fields in front of it, so a record proves every
 *   record before it.
 * - The header's checksum is *salted* with the segment and the record's offset in it: a copy of a record at any other
 *   place (in a value that contains a journal, or in a reused disk block) is not valid.
 * - *Zero sectors* and the footer, which has no zero byte, distinguish an incomplete write from damage, and the
 *   *durable sequence* states which records were flushed when this one was written. `journal-tail.ts` explains why.
 */

/** The format written by this version. 1: initial. 2: a table after the entries of a record. Both are read. */
export const JOURNAL_FORMAT = 2;

/** First format in which records have a table of their entries. */
export const ENTRY_TABLE_FORMAT = 2;

/** Length of the header of a segment. */
export const SEGMENT_HEADER_BYTES = 72;

/** Length of the header of a record. */
export const RECORD_HEADER_BYTES = 84;

/** Length of the footer of a record. */
export const RECORD_FOOTER_BYTES = 8;

/** Length of the running hash. */
export const CHAIN_BYTES = 16;

/** The unit that a disk writes atomically. */
export const SECTOR_BYTES = 512;

const segmentMagic = Buffer.from('GROVEJNL', 'latin1');
/** Starts a record. No byte of it is zero. */
export const recordMagic: Buffer = Buffer.from('JREC', 'latin1');
/** Ends a record. No byte of it is zero. */
export const recordFooter: Buffer = Buffer.from('JRECEND.', 'latin1');

/** Suffix of an unfinished segment file. */
export const UNFINISHED_SUFFIX = '.new';

const segmentName = /^(\d{16})\.journal$/;

/** The file name of the segment that starts with a sequence. */
export function segmentFileName(firstSequence: number): string {
  return `${String(firstSequence).padStart(16, '0')}.journal`;
}

/** Parses {@link segmentFileName}. @returns the first sequence, or null for any other name */
export function parseSegmentFileName(name: string): number | null {
  const match = segmentName.exec(name);
  return match === null ? null : Number(match[1]);
}

/** The header of a segment. */
export interface SegmentHeader {
  /** Format of the segment; {@link encodeSegmentHeader} writes {@link JOURNAL_FORMAT}. */
  readonly format: number;
  readonly firstSequence: number;
  /** Creation time, milliseconds since the Unix epoch. For the operator only. */
  readonly createdMs: number;
  /** Highest clock before the first record. */
  readonly clock: Revision;
  /** Chain before the first record. */
  readonly chain: Buffer;
  /** Random; included in the checksum of every record header. */
  readonly salt: number;
}

/** Encodes a segment header. */
export function encodeSegmentHeader(header: Omit<SegmentHeader, 'format'>): Buffer {
  const bytes = Buffer.alloc(SEGMENT_HEADER_BYTES);
  segmentMagic.copy(bytes, 0);
  bytes.writeUInt32LE(JOURNAL_FORMAT, 8);
  bytes.writeUInt32LE(SEGMENT_HEADER_BYTES, 12);
  writeUint64(bytes, header.firstSequence, 16);
  writeUint64(bytes, header.createdMs, 24);
  writeClock(bytes, header.clock, 32);
  header.chain.copy(bytes, 48);
  bytes.writeUInt32LE(header.salt, 64);
  bytes.writeUInt32LE(crc32(bytes.subarray(0, 68)), 68);
  return bytes;
}

/** Why a segment header cannot be used. */
export type SegmentHeaderFault =
  | { readonly kind: 'damaged' }
  | { readonly kind: 'newer-format'; readonly format: number };

/** @param bytes the first {@link SEGMENT_HEADER_BYTES} of the file, or fewer when it is shorter */
export function decodeSegmentHeader(bytes: Buffer): SegmentHeader | SegmentHeaderFault {
  if (bytes.length < SEGMENT_HEADER_BYTES || !bytes.subarray(0, 8).equals(segmentMagic))
    return { kind: 'damaged' };
  const format = bytes.readUInt32LE(8);
  // A newer header may have another layout, so its checksum cannot be verified; unless only the number is damaged.
  if (format > JOURNAL_FORMAT)
    return isOfKnownFormat(bytes) ? { kind: 'damaged' } : { kind: 'newer-format', format };
  if (crc32(bytes.subarray(0, 68)) !== bytes.readUInt32LE(68)) return { kind: 'damaged' };
  if (format < 1 || bytes.readUInt32LE(12) !== SEGMENT_HEADER_BYTES) return { kind: 'damaged' };
  return {
    format,
    firstSequence: readUint64(bytes, 16),
    createdMs: readUint64(bytes, 24),
    clock: readClock(bytes, 32),
    chain: Buffer.from(bytes.subarray(48, 64)),
    salt: bytes.readUInt32LE(64),
  };
}

/** Whether the checksum of a segment header is valid with the number of a known format. */
function isOfKnownFormat(bytes: Buffer): boolean {
  const header = Buffer.from(bytes.subarray(0, SEGMENT_HEADER_BYTES));
  for (let format = 1; format <= JOURNAL_FORMAT; format += 1) {
    header.writeUInt32LE(format, 8);
    if (crc32(header.subarray(0, 68)) === header.readUInt32LE(68)) return true;
  }
  return false;
}

/** The header of a record. */
export interface RecordHeader {
  readonly payloadBytes: number;
  readonly entries: number;
  /** Number of sectors of the record that consist of zeros as written. */
  readonly zeroSectors: number;
  readonly sequence: number;
  /** The newest sequence known to be on disk when this record was written. */
  readonly durableSequence: number;
  /** Highest clock up to and including this record. */
  readonly clock: Revision;
  /** CRC-32 of the entries. */
  readonly payloadCrc: number;
  readonly previousChain: Buffer;
  readonly chain: Buffer;
}

/** The location of a record, used as the salt of its header's checksum. */
export interface RecordPlace {
  /** Salt of the segment. */
  readonly salt: number;
  /** Offset of the record in its segment, in bytes. */
  readonly offset: number;
}

/**
 * Writes the header before a payload and the footer after it.
 *
 * @param record buffer with room for the header, the payload and the footer: exactly the record
 * @returns the chain up to and including this record
 */
export function sealRecord(
  record: Buffer,
  fields: Omit<RecordHeader, 'chain' | 'zeroSectors'>,
  place: RecordPlace,
): Buffer {
  recordMagic.copy(record, 0);
  record.writeUInt32LE(fields.payloadBytes, 4);
  record.writeUInt32LE(fields.entries, 8);
  writeUint64(record, fields.sequence, 16);
  writeUint64(record, fields.durableSequence, 24);
  writeClock(record, fields.clock, 32);
  record.writeUInt32LE(fields.payloadCrc, 44);
  fields.previousChain.copy(record, 48);
  recordFooter.copy(record, record.length - RECORD_FOOTER_BYTES);
  record.writeUInt32LE(countZeroSectors(record, place.offset), 12);
  const chain = hash('sha256', record.subarray(0, 64), 'buffer').subarray(0, CHAIN_BYTES);
  chain.copy(record, 64);
  record.writeUInt32LE(headerCrc(record, place), 80);
  return chain;
}

/**
 * Reads a record header.
 *
 * @param bytes starts with the header
 * @returns null when its checksum is not valid at this place
 */
export function decodeRecordHeader(bytes: Buffer, place: RecordPlace): RecordHeader | null {
  if (bytes.length < RECORD_HEADER_BYTES || !bytes.subarray(0, 4).equals(recordMagic)) return null;
  if (headerCrc(bytes, place) !== bytes.readUInt32LE(80)) return null;
  return {
    payloadBytes: bytes.readUInt32LE(4),
    entries: bytes.readUInt32LE(8),
    zeroSectors: bytes.readUInt32LE(12),
    sequence: readUint64(bytes, 16),
    durableSequence: readUint64(bytes, 24),
    clock: readClock(bytes, 32),
    payloadCrc: bytes.readUInt32LE(44),
    previousChain: Buffer.from(bytes.subarray(48, 64)),
    chain: Buffer.from(bytes.subarray(64, 80)),
  };
}

/** The chain computed for a record header. @param bytes starts with the header */
export function chainOf(bytes: Buffer): Buffer {
  return hash('sha256', bytes.subarray(0, 64), 'buffer').subarray(0, CHAIN_BYTES);
}

/** Length of the entries of a record, in bytes. @param format of its segment */
export function entriesBytes({ entries, payloadBytes }: RecordHeader, format: number): number {
  return format < ENTRY_TABLE_FORMAT ? payloadBytes : payloadBytes - entryTableBytes(entries);
}

/** Length of a whole record in bytes. */
export function recordBytes(header: RecordHeader): number {
  return RECORD_HEADER_BYTES + header.payloadBytes + RECORD_FOOTER_BYTES;
}

/**
 * Counts the sectors of the file that contain only zeros of this record. In the first and last sector only the part
 * that belongs to the record is checked.
 *
 * @param offset of the record in its file
 */
export function countZeroSectors(record: Buffer, offset: number): number {
  let zero = 0;
  for (let start = 0; start < record.length; ) {
    const end = Math.min(record.length, start + SECTOR_BYTES - ((offset + start) % SECTOR_BYTES));
    if (record[start] === 0 && isZero(record, start, end)) zero += 1;
    start = end;
  }
  return zero;
}

const zeros = Buffer.alloc(64 * 1024);

/** Whether a range contains only zeros; true for an empty one. */
export function isZero(bytes: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; ) {
    const length = Math.min(zeros.length, end - at);
    if (bytes.compare(zeros, 0, length, at, at + length) !== 0) return false;
    at += length;
  }
  return true;
}

function headerCrc(bytes: Buffer, { salt, offset }: RecordPlace): number {
  const place = Buffer.allocUnsafe(12);
  place.writeUInt32LE(salt, 0);
  writeUint64(place, offset, 4);
  return crc32(bytes.subarray(0, 80), crc32(place));
}

/** Writes 64 bits, of which a number holds 53. */
function writeUint64(bytes: Buffer, value: number, offset: number): void {
  bytes.writeUInt32LE(value % 0x100000000, offset);
  bytes.writeUInt32LE(Math.floor(value / 0x100000000), offset + 4);
}

function readUint64(bytes: Buffer, offset: number): number {
  return bytes.readUInt32LE(offset + 4) * 0x100000000 + bytes.readUInt32LE(offset);
}

function writeClock(bytes: Buffer, clock: Revision, offset: number): void {
  bytes.writeUIntLE(clock.ms, offset, 6);
  bytes.writeUInt16LE(0, offset + 6);
  bytes.writeUInt32LE(clock.counter, offset + 8);
}

function readClock(bytes: Buffer, offset: number): Revision {
  return { ms: bytes.readUIntLE(offset, 6), counter: bytes.readUInt32LE(offset + 8) };
}
