import { crc32 } from 'node:zlib';
import { readEntryTable, type FoundTable } from './entry-table.ts';
import {
  chainOf,
  decodeRecordHeader,
  decodeSegmentHeader,
  ENTRY_TABLE_FORMAT,
  entriesBytes,
  isZero,
  JOURNAL_FORMAT,
  RECORD_FOOTER_BYTES,
  RECORD_HEADER_BYTES,
  type RecordHeader,
  recordBytes,
  recordFooter,
  recordMagic,
  SEGMENT_HEADER_BYTES,
  type SegmentHeader,
} from './journal-format.ts';

/** Minimum size of a record with one small entry; gives an upper bound of the records in a range. */
const RECORD_BYTES_MIN = 128;

const SALT_OFFSET = 64;

/** A range of a segment and its state. */
export type SurveyedPart =
  /** A record whose entries are all intact, though other bytes of it may be damaged. */
  | {
      readonly kind: 'record';
      readonly sequence: number;
      readonly start: number;
      readonly end: number;
      /** The concatenated entries. */
      readonly entries: Buffer;
      readonly count: number;
      /** Undefined when the header is damaged. */
      readonly header: RecordHeader | undefined;
      /** The damage outside the entries. */
      readonly fault: string | undefined;
    }
  /** A record with both intact and damaged entries. */
  | {
      readonly kind: 'partial';
      readonly sequence: number;
      readonly start: number;
      readonly end: number;
      readonly entries: readonly Buffer[];
      /** Marks of the actors whose entries are lost. */
      readonly lost: ReadonlySet<string>;
      readonly header: RecordHeader | undefined;
      readonly fault: string;
    }
  /** Records of which only the sequences are known. */
  | {
      readonly kind: 'lost';
      readonly first: number;
      readonly last: number;
      /** Whether `last` is an upper bound, derived from the size of the range at the end of the segment. */
      readonly isAtMost: boolean;
      readonly start: number;
      readonly end: number;
      readonly fault: string;
    };

/** Facts about a segment that are not in its bytes. */
export interface SurveyContext {
  /** From its file name. */
  readonly firstSequence: number;
  /** From the file name of the next segment; undefined for the newest one. */
  readonly nextSequence: number | undefined;
}

/** The result of a survey. */
export interface SegmentSurvey {
  /** Undefined when no part of the segment can be verified. */
  readonly header: SegmentHeader | undefined;
  /** In order of their sequences, without gaps. Computed lazily and only once, because there may be very many. */
  readonly parts: Iterable<SurveyedPart>;
  /** Damage of the header, if the records could still be read. */
  readonly headerFault: string | undefined;
}

/**
 * Reads the intact parts of a damaged segment. Records after a damaged one are found by their headers, whose checksums
 * are valid only at their own offset; entries of a damaged record by the table after them. Only parts that verify are
 * used.
 *
 * @param bytes the whole file
 */
export function surveySegment(bytes: Buffer, context: SurveyContext): SegmentSurvey {
  const { firstSequence, nextSequence } = context;
  const read = decodeSegmentHeader(bytes.subarray(0, SEGMENT_HEADER_BYTES));
  const isSound = !('kind' in read) && read.firstSequence === firstSequence;
  const header = isSound ? read : guessedHeader(bytes, firstSequence);
  const headerFault = isSound ? undefined : 'the segment header is damaged';
  if (header === undefined) {
    const last = nextSequence === undefined ? firstSequence + mostRecords(bytes.length) : nextSequence - 1;
    const fault = headerFault ?? '';
    const lost: SurveyedPart = {
      kind: 'lost',
      first: firstSequence,
      last,
      isAtMost: nextSequence === undefined,
      start: 0,
      end: bytes.length,
      fault,
    };
    return { header, parts: last < firstSequence ? [] : [lost], headerFault };
  }
  return { header, parts: new SegmentWalk(bytes, header, context).run(), headerFault };
}

/** Maximum number of records that fit into a range. */
function mostRecords(bytes: number): number {
  return Math.ceil(bytes / RECORD_BYTES_MIN);
}

/** A header with the salt under which the first record verifies: as stored, or with one bit flipped. */
function guessedHeader(bytes: Buffer, firstSequence: number): SegmentHeader | undefined {
  if (bytes.length < SEGMENT_HEADER_BYTES) return undefined;
  const stored = bytes.readUInt32LE(SALT_OFFSET);
  const salts = [stored, ...Array.from({ length: 32 }, (_, bit) => (stored ^ (1 << bit)) >>> 0)];
  for (const salt of salts) {
    const found = findHeader(bytes, SEGMENT_HEADER_BYTES, salt, firstSequence);
    if (found === undefined) continue;
    const { clock, previousChain: chain } = found.header;
    const format = hasTable(bytes, found, salt) ? JOURNAL_FORMAT : 1;
    return { format, firstSequence, createdMs: 0, clock, chain, salt };
  }
  return undefined;
}

function hasTable(bytes: Buffer, { header, at }: FoundHeader, salt: number): boolean {
  const end = at + recordBytes(header) - RECORD_FOOTER_BYTES;
  return end <= bytes.length && readEntryTable(bytes, end, { salt, end })?.sequence === header.sequence;
}

interface FoundHeader {
  readonly header: RecordHeader;
  readonly at: number;
}

/** The first intact record header at or after an offset, with at least a given sequence. */
function findHeader(bytes: Buffer, from: number, salt: number, sequence: number): FoundHeader | undefined {
  for (let at = bytes.indexOf(recordMagic, from); at >= 0; at = bytes.indexOf(recordMagic, at + 1)) {
    const header = soundHeader(bytes, at, salt);
    if (header !== undefined && header.sequence >= sequence) return { header, at };
  }
  return undefined;
}

function soundHeader(bytes: Buffer, at: number, salt: number): RecordHeader | undefined {
  const head = bytes.subarray(at);
  const header = decodeRecordHeader(head, { salt, offset: at });
  return header?.chain.equals(chainOf(head)) === true ? header : undefined;
}

class SegmentWalk {
  readonly #bytes: Buffer;
  readonly #header: SegmentHeader;
  readonly #nextSequence: number | undefined;
  /** Parts found but not yet yielded. */
  #parts: SurveyedPart[] = [];
  #at = SEGMENT_HEADER_BYTES;
  #sequence: number;

  constructor(bytes: Buffer, header: SegmentHeader, { firstSequence, nextSequence }: SurveyContext) {
    this.#bytes = bytes;
    this.#header = header;
    this.#nextSequence = nextSequence;
    this.#sequence = firstSequence;
  }

  *run(): Generator<SurveyedPart, void> {
    const { salt } = this.#header;
    while (this.#at < this.#bytes.length && !isZero(this.#bytes, this.#at, this.#bytes.length)) {
      const header = soundHeader(this.#bytes, this.#at, salt);
      if (header !== undefined && header.sequence === this.#sequence) this.#takeRecord(header);
      else if (!this.#resume()) break;
      yield* this.#found();
    }
    // The next segment states where the records of this one end.
    const next = this.#nextSequence;
    if (next !== undefined && next > this.#sequence)
      this.#lose(next - 1, this.#bytes.length, 'the end of the segment is missing');
    yield* this.#found();
  }

  #found(): readonly SurveyedPart[] {
    const parts = this.#parts;
    this.#parts = [];
    return parts;
  }

  /** Handles a record with an intact header. */
  #takeRecord(header: RecordHeader): void {
    const start = this.#at;
    const end = start + recordBytes(header);
    const payload = this.#bytes.subarray(start + RECORD_HEADER_BYTES, end - RECORD_FOOTER_BYTES);
    const isCut = end > this.#bytes.length;
    const footer = this.#bytes.subarray(end - RECORD_FOOTER_BYTES, end);
    const entries = payload.subarray(0, Math.max(0, entriesBytes(header, this.#header.format)));
    if (!isCut && crc32(entries) === header.payloadCrc) {
      const isSound =
        footer.equals(recordFooter) &&
        (this.#header.format < ENTRY_TABLE_FORMAT ||
          this.#tableBefore(end - RECORD_FOOTER_BYTES, header.sequence) !== undefined);
      const fault = isSound ? undefined : 'what follows the entries of the record is damaged';
      const { entries: count, sequence } = header;
      this.#parts.push({ kind: 'record', sequence, start, end, entries, count, header, fault });
    } else {
      const table = isCut ? undefined : this.#tableBefore(end - RECORD_FOOTER_BYTES, header.sequence);
      const fault = isCut ? 'the file ends inside the record' : 'the record does not match its checksum';
      this.#takeByTable(table, start, Math.min(end, this.#bytes.length), header, fault);
    }
    this.#at = Math.min(end, this.#bytes.length);
    this.#sequence = header.sequence + 1;
  }

  /** Finds the next record after damaged bytes. @returns false when there is none */
  #resume(): boolean {
    const found = findHeader(this.#bytes, this.#at, this.#header.salt, this.#sequence);
    const end = found?.at ?? this.#endOfBytes();
    // If no record follows, the table states which record it was.
    const newest = found === undefined ? this.#lastTable(end)?.sequence : found.header.sequence - 1;
    this.#takeBackwards(end, newest);
    this.#at = end;
    return found !== undefined;
  }

  /** Reads the records between the present offset and `end` from their tables, backwards from the newest sequence. */
  #takeBackwards(end: number, newest: number | undefined): void {
    const fault = 'there is no intact record header';
    const found: { readonly table: FoundTable; readonly start: number; readonly end: number }[] = [];
    let behind = end;
    for (let sequence = newest ?? -1; sequence >= this.#sequence; sequence -= 1) {
      const table = this.#tableBefore(behind - RECORD_FOOTER_BYTES, sequence);
      if (table === undefined) break;
      const entries = table.rows.reduce((sum, { bytes }) => sum + bytes, 0);
      const start = behind - RECORD_FOOTER_BYTES - table.bytes - entries - RECORD_HEADER_BYTES;
      if (start < this.#at) break;
      found.unshift({ table, start, end: behind });
      behind = start;
    }
    const first = found[0]?.table.sequence;
    if (first !== undefined) {
      if (first > this.#sequence) this.#lose(first - 1, behind, fault);
    } else if (newest !== undefined) {
      this.#lose(newest, end, fault);
    } else if (this.#nextSequence === undefined) {
      this.#lose(this.#sequence + mostRecords(end - this.#at), end, fault, true);
    }
    for (const one of found) {
      this.#takeByTable(one.table, one.start, one.end, undefined, fault);
      this.#sequence = one.table.sequence + 1;
    }
  }

  #lastTable(end: number): FoundTable | undefined {
    const table = this.#tableBefore(end - RECORD_FOOTER_BYTES, undefined);
    const next = this.#nextSequence;
    if (table === undefined || table.sequence < this.#sequence) return undefined;
    return next === undefined || table.sequence === next - 1 ? table : undefined;
  }

  #tableBefore(end: number, sequence: number | undefined): FoundTable | undefined {
    const { format, salt } = this.#header;
    if (format < ENTRY_TABLE_FORMAT || end <= this.#at) return undefined;
    const table = readEntryTable(this.#bytes, end, { salt, end });
    return table !== undefined && (sequence === undefined || table.sequence === sequence) ? table : undefined;
  }

  /** Reads the entries of a damaged record that verify individually. */
  #takeByTable(
    table: FoundTable | undefined,
    start: number,
    end: number,
    header: RecordHeader | undefined,
    fault: string,
  ): void {
    const sequence = table?.sequence ?? header?.sequence ?? this.#sequence;
    if (table === undefined) {
      this.#parts.push({ kind: 'lost', first: sequence, last: sequence, isAtMost: false, start, end, fault });
      return;
    }
    const entries: Buffer[] = [];
    const lost = new Set<string>();
    let at = start + RECORD_HEADER_BYTES;
    for (const { bytes, crc, mark } of table.rows) {
      const entry = this.#bytes.subarray(at, at + bytes);
      if (entry.length === bytes && crc32(entry) === crc) entries.push(entry);
      else lost.add(mark);
      at += bytes;
    }
    if (lost.size > 0) {
      this.#parts.push({ kind: 'partial', sequence, start, end, entries, lost, header, fault });
      return;
    }
    const whole = this.#bytes.subarray(start + RECORD_HEADER_BYTES, at);
    this.#parts.push({
      kind: 'record',
      sequence,
      start,
      end,
      entries: whole,
      count: table.rows.length,
      header,
      fault,
    });
  }

  #lose(last: number, end: number, fault: string, isAtMost = false): void {
    this.#parts.push({ kind: 'lost', first: this.#sequence, last, isAtMost, start: this.#at, end, fault });
    this.#sequence = last + 1;
  }

  /** Offset after the last non-zero byte; the rest is preallocated. */
  #endOfBytes(): number {
    let end = this.#bytes.length;
    while (end > this.#at && this.#bytes[end - 1] === 0) end -= 1;
    return end;
  }
}
