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

/** The expected next record of a journal reader. */
export interface NextRecord {
  readonly place: RecordPlace;
  readonly sequence: number;
  readonly previousChain: Buffer;
}

/** Classification of the bytes after the last complete record of the newest segment. */
export type TailVerdict =
  /** None, or preallocated zeros. */
  | { readonly kind: 'clean' }
  /** A write that a crash interrupted. It was never acknowledged and may be truncated. */
  | { readonly kind: 'unfinished'; readonly reason: string }
  /** Damaged bytes that were once complete. They must not be truncated. */
  | { readonly kind: 'damaged'; readonly reason: string };

/**
 * Classifies the end of the newest segment, where the next record does not verify.
 *
 * The question is whether that record was ever acknowledged. It was not if a part of it never reached the disk, because
 * the acknowledgement follows the flush. It may have been if every part is there and some bits are wrong. Both cases
 * show a bad checksum, so a bad checksum alone never counts as an unfinished write. There has to be evidence of a part
 * that was never written:
 *
 * - the file ends inside the record;
 * - or the record's last byte is zero, while the footer has no zero byte: the write stopped before it;
 * - or more of its sectors are all zero than the header states: a disk writes sectors in any order, and unwritten
 *   sectors read as zero, since segments only grow into fresh space;
 * - or, if the header itself is missing: its first sector, or its part of the next sector, is all zero (neither ever
 *   is as written), or only zeros follow it.
 *
 * And there must be no evidence against it: every record states the newest sequence that was flushed when it was
 * written. A later record that states this one as flushed proves that it was acknowledged. In class `local` any later
 * record proves it, since a record is written only after the previous one was flushed. In class `relaxed` a few
 * unflushed records may follow each other, and a power failure may destroy any of them.
 *
 * One case is ambiguous, for the very last record only: a disk that later loses a whole sector of it, reading as zeros,
 * or a file truncated by hand, looks like an unfinished write. Not covered are a disk that tears a single sector, and
 * file systems that expose old blocks instead of zeros after a crash (ext4 with `data=writeback`). Both are refused as
 * damage, which is the safe side.
 *
 * @param tail all bytes from the end of the last complete record to the end of the file
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

/** Why an intact header is not that of the next record; null when it is. */
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

/** The newest flushed sequence stated by any intact record header after the first byte; -1 without one. */
function newestFlushedBehind(tail: Buffer, place: RecordPlace): number {
  let newest = -1;
  for (let at = tail.indexOf(recordMagic, 1); at >= 0; at = tail.indexOf(recordMagic, at + 1)) {
    const header = decodeRecordHeader(tail.subarray(at), { salt: place.salt, offset: place.offset + at });
    if (header !== null) newest = Math.max(newest, header.durableSequence);
  }
  return newest;
}
