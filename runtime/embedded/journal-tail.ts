import {
  chainOf,
  countZeroSectors,
  decodeRecordHeader,
  isZero,
  RECORD_HEADER_BYTES,
  type RecordHeader,
  recordBytes,
  recordMagic,
  type RecordPlace,
  SECTOR_BYTES,
} from './journal-format.ts';

/** What a journal reader knows of the record that should come next. */
export interface NextRecord {
  readonly place: RecordPlace;
  readonly sequence: number;
  readonly previousChain: Buffer;
}

/** What the bytes behind the last whole record of the newest segment are. */
export type TailVerdict =
  /** Nothing, or zeros: space taken ahead. */
  | { readonly kind: 'clean' }
  /** A write that a crash cut off; nobody was told that it is durable. It may be cut away. */
  | { readonly kind: 'unfinished'; readonly reason: string }
  /** Bytes that were whole once. Nothing may be cut away. */
  | { readonly kind: 'damaged'; readonly reason: string };

/**
 * Judges the end of the newest segment, where the next record does not verify.
 *
 * The question is whether that record was ever acknowledged. It was not, when a part of it never reached the
 * disk, because the acknowledgement comes after the flush. It may have been, when every part is there and some
 * bits are wrong: the same sight, a bad checksum, with the opposite meaning. So a bad checksum alone never
 * counts as an unfinished write; there has to be evidence of a part that was never written:
 *
 * - the file ends inside the record;
 * - or the record's last byte is zero, while the footer has no zero byte: the write stopped somewhere before;
 * - or more sectors of it are all zero than the header says are zero by right: a disk writes sectors in any
 *   order, and what was never written reads as zero, since segments only ever grow into fresh space;
 * - or, where the header itself is not there: its first sector, or the part of it in the next sector, is all
 *   zero (neither ever is by right), or nothing but zeros follows it.
 *
 * And there must be no evidence against it: every record states the newest sequence that was flushed when it
 * was written. A record further behind that says ours was flushed proves that it was acknowledged. In class
 * `local` any record behind says so, since a record is written only after the one before was flushed; in class
 * `relaxed` a few unflushed records may follow each other, and a power cut may take any of them.
 *
 * What stays ambiguous, only for the very last record: a disk that later loses a whole sector of it, reading
 * as zeros, or a file cut short by hand, looks like an unfinished write. What is not covered: a disk that
 * tears a single sector, and file systems that show old blocks instead of zeros after a crash (ext4 with
 * `data=writeback`); both are refused as damage, which is the safe side.
 *
 * @param tail everything from the end of the last whole record to the end of the file
 */
export function judgeTail(tail: Buffer, next: NextRecord): TailVerdict {
  if (isZero(tail, 0, tail.length)) return { kind: 'clean' };
  const header = decodeRecordHeader(tail, next.place);
  const fault = header === null ? null : headerFault(header, tail, next);
  if (fault !== null) return { kind: 'damaged', reason: fault };
  const flushed = newestFlushedBehind(tail, next.place);
  if (flushed >= next.sequence) {
    return {
      kind: 'damaged',
      reason: 'the record does not verify, but later records show that it was flushed',
    };
  }
  const { offset } = next.place;
  const evidence =
    header === null ? headerNeverWritten(tail, offset) : bodyNeverWritten(tail, header, offset);
  if (evidence !== null) return { kind: 'unfinished', reason: evidence };
  const part = header === null ? 'record header' : 'record';
  return { kind: 'damaged', reason: `the ${part} does not match its checksum, and all of it was written` };
}

/** Why a header that is intact is not that of the next record, or null when it is. */
export function headerFault(header: RecordHeader, bytes: Buffer, next: NextRecord): string | null {
  if (header.sequence !== next.sequence) return `the record says that it is sequence ${header.sequence}`;
  if (!header.previousChain.equals(next.previousChain))
    return 'the record does not continue the chain before it';
  if (!header.chain.equals(chainOf(bytes))) return 'the record states a wrong chain';
  return null;
}

function bodyNeverWritten(tail: Buffer, header: RecordHeader, offset: number): string | null {
  const length = recordBytes(header);
  if (tail.length < length) return 'the file ends inside the record';
  if (tail[length - 1] === 0) return 'the end of the record was never written';
  const zero = countZeroSectors(tail.subarray(0, length), offset);
  if (zero > header.zeroSectors)
    return `${zero - header.zeroSectors} sectors of the record were never written`;
  return null;
}

function headerNeverWritten(tail: Buffer, offset: number): string | null {
  if (tail.length < RECORD_HEADER_BYTES) return 'the file ends inside the record header';
  if (isZero(tail, RECORD_HEADER_BYTES, tail.length)) return 'nothing was written behind the record header';
  const boundary = SECTOR_BYTES - (offset % SECTOR_BYTES);
  if (isZero(tail, 0, Math.min(boundary, tail.length)))
    return 'the first sector of the record was never written';
  const straddles = boundary < RECORD_HEADER_BYTES;
  if (straddles && isZero(tail, boundary, Math.min(boundary + SECTOR_BYTES, tail.length))) {
    return 'a sector of the record header was never written';
  }
  return null;
}

/** The newest sequence that any intact record header behind the first byte says was flushed; -1 without one. */
function newestFlushedBehind(tail: Buffer, place: RecordPlace): number {
  let newest = -1;
  for (let at = tail.indexOf(recordMagic, 1); at >= 0; at = tail.indexOf(recordMagic, at + 1)) {
    const header = decodeRecordHeader(tail.subarray(at), { salt: place.salt, offset: place.offset + at });
    if (header !== null) newest = Math.max(newest, header.durableSequence);
  }
  return newest;
}
