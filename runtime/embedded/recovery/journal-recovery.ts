import { join } from 'node:path';
import { InvariantError } from '#runtime/base/assert.ts';
import type { FileSystem } from '#runtime/base/files/file-system.ts';
import { type Revision, revisionZero } from '#runtime/content/revision.ts';
import { outlineEntry } from '#runtime/log/entry-codec.ts';
import type { LostRecords } from '#runtime/log/ports.ts';
import { refusedFile } from '#runtime/errors/refused-file.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { type Hole, namesIn } from './damage-note.ts';
import {
  type ContainedPlace,
  type ContainedSegment,
  containSegment,
  FOREIGN,
  isForeign,
} from './journal-containment.ts';
import {
  isNewerFormat,
  journalCorrupted,
  NOT_A_SEGMENT_REMEDY,
  refuseUnreadable,
} from '../journal-errors.ts';
import type { JournalReport } from '../journal-events.ts';
import {
  isZero,
  parseSegmentFileName,
  SEGMENT_HEADER_BYTES,
  segmentFileName,
  UNFINISHED_SUFFIX,
} from '../segments/journal-format.ts';
import { SegmentReader } from '../segments/journal-reader.ts';
import { Segment } from '../segments/journal-retention.ts';
import { judgeTail } from '../segments/journal-tail.ts';
import { SEGMENT_FILE_BYTES_MAX } from '../segments/read-segment.ts';

/** Bytes per copy when the end of the newest segment is rewritten. */
const COPY_BYTES = 1024 * 1024;

/** The state of a journal after complete verification. */
export interface RecoveredJournal {
  /** Oldest first; the newest may be empty. */
  readonly segments: readonly Segment[];
  readonly lastSequence: number;
  readonly lastClock: Revision;
  /** The chain up to the last record; null when there is no segment or the last record is lost. */
  readonly chain: Buffer | null;
  /** Lost records, in order; empty unless damage is contained. */
  readonly lost: readonly LostRecords[];
  /**
   * Makes the recovered state durable, and removes leftovers of a crash. Nothing is changed before, so that the caller
   * can still refuse the journal. Must be called before the first write.
   */
  readonly settle: () => Promise<void>;
}

/** Holes that are expected between segments, because earlier ones were kept when later ones were removed. */
export interface ExpectedHoles {
  /** Segments that begin up to this sequence were kept because of damage; a hole may follow them. */
  readonly keptThrough: number;
  /** Further holes, between segments that were kept because of one damage and of a later one. */
  readonly removed: readonly Hole[];
}

/** Of a journal without known damage. */
export const noHoles: ExpectedHoles = Object.freeze({ keptThrough: 0, removed: [] });

/** How a journal handles damage. */
export interface DamagePolicy {
  /** Whether the undamaged parts are read; otherwise damage makes the opening fail. */
  readonly contains: boolean;
  readonly holes: ExpectedHoles;
}

interface ScannedSegment {
  readonly segment: Segment;
  readonly lastClock: Revision;
  /** Null when the last record is lost; of a segment of another journal, that of the other one. */
  readonly chain: Buffer | null;
  readonly records: number;
  readonly lost: readonly LostRecords[];
  /** See {@link RecoveredJournal.settle}; only for the newest segment. */
  readonly settle?: () => Promise<void>;
}

/** The content of a journal's folder. */
interface FolderContent {
  /** First sequences of the segments, oldest first. */
  readonly firstSequences: readonly number[];
  /** Paths of segments that were never completed. */
  readonly unfinished: readonly string[];
}

/**
 * Verifies a whole journal: every header, checksum and footer, and the sequence and the chain over all segments. The
 * newest segment is to be truncated after its last complete record if an unfinished write follows (see
 * `journal-tail.ts`). Any other damage makes the opening fail; or, when damage is contained, it is listed in
 * {@link RecoveredJournal.lost} and the rest is read. Nothing is changed here; changes are made by
 * {@link RecoveredJournal.settle}.
 *
 * @throws {ServiceError} `DATA_CORRUPTED`
 */
export async function recoverJournal(
  files: FileSystem,
  folder: string,
  report: JournalReport,
  policy: DamagePolicy = { contains: false, holes: noHoles },
): Promise<RecoveredJournal> {
  const { firstSequences, unfinished } = await segmentsIn(files, folder);
  const segments: Segment[] = [];
  const lost: LostRecords[] = [];
  let before: ScannedSegment | undefined;
  /** The sequence that the segment before is continued at. */
  let continuedAt: number | undefined;
  let records = 0;
  for (const [index, firstSequence] of firstSequences.entries()) {
    const nextSequence = continuation(firstSequences, index, policy.holes);
    const path = join(folder, segmentFileName(firstSequence));
    if (policy.contains && before !== undefined && continuedAt !== undefined)
      lost.push(...missingBetween(before, continuedAt, continuedAt === firstSequence ? path : undefined));
    continuedAt = nextSequence;
    const place = { path, firstSequence, nextSequence };
    const ownReport = nextSequence === undefined ? report : null;
    before = await scanOrContain(files, place, before, ownReport, policy).catch((error: unknown) =>
      refuseUnreadable(error, path, firstSequence),
    );
    segments.push(before.segment);
    lost.push(...before.lost);
    records += before.records;
  }
  const { keptThrough } = policy.holes;
  // Nothing was written since the decision, which kept all segments up to there.
  if (policy.contains && before !== undefined)
    lost.push(...missingBetween(before, keptThrough + 1, undefined));
  const lastSequence = Math.max(before?.segment.lastSequence ?? 0, keptThrough);
  const settleNewest = before?.settle;
  return {
    segments,
    lastSequence,
    lastClock: before?.lastClock ?? revisionZero,
    chain: before?.segment.lastSequence === lastSequence && !before.segment.isForeign ? before.chain : null,
    lost,
    async settle() {
      await explainedAt(folder, async () => {
        await files.makeDirectory(folder);
        // A segment gets its name only when it is complete, so these files never held a record.
        for (const path of unfinished) await files.unlink(path);
        // The previous process may have removed a segment without flushing that; a later removal must not overtake it.
        await files.syncDirectory(folder);
      });
      if (settleNewest !== undefined) await explainedAt(before?.segment.path ?? folder, settleNewest);
      report({ kind: 'recovered', segments: segments.length, records, lastSequence });
    },
  };
}

/**
 * The sequence that a segment is continued at: the first one of the next segment, unless a hole between the two is
 * expected.
 *
 * @param firsts first sequences of all segments, oldest first
 * @returns undefined for the newest segment
 */
export function continuation(
  firsts: readonly number[],
  index: number,
  { keptThrough, removed }: ExpectedHoles,
): number | undefined {
  const next = firsts[index + 1];
  if (next === undefined) return undefined;
  const hole = removed.find(({ last }) => last + 1 === next);
  if (hole !== undefined) return hole.first;
  return (firsts[index] as number) <= keptThrough && next > keptThrough ? keptThrough + 1 : next;
}

/** @throws {ServiceError} `DATA_CORRUPTED` when something other than a file has the name of a segment */
async function segmentsIn(files: FileSystem, folder: string): Promise<FolderContent> {
  const firstSequences: number[] = [];
  const unfinished: string[] = [];
  for (const name of await namesIn(files, folder)) {
    const path = join(folder, name);
    const firstSequence = parseSegmentFileName(name);
    if (firstSequence !== null) {
      await requireFile(files, path, firstSequence);
      firstSequences.push(firstSequence);
    } else if (name.endsWith(UNFINISHED_SUFFIX)) unfinished.push(path);
  }
  return { firstSequences: firstSequences.sort((a, b) => a - b), unfinished };
}

/** Opening a folder or a pipe of that name would fail later without naming it, or block forever. */
async function requireFile(files: FileSystem, path: string, sequence: number): Promise<void> {
  const { isFile, size } = await files
    .stat(path)
    .catch((error: unknown) => refuseUnreadable(error, path, sequence));
  if (isFile && !Number.isSafeInteger(sequence)) {
    const what = 'no file of a journal has so large a number';
    throw journalCorrupted({ segment: path, offset: 0, sequence, what, remedy: NOT_A_SEGMENT_REMEDY });
  }
  if (isFile && size <= SEGMENT_FILE_BYTES_MAX) return;
  if (isFile) {
    const what = `it has ${size} bytes, and a journal file has at most ${SEGMENT_FILE_BYTES_MAX}`;
    throw journalCorrupted({ segment: path, offset: 0, sequence, what });
  }
  throw journalCorrupted({
    segment: path,
    offset: 0,
    sequence,
    what: 'it is a folder, or something else that is not a file',
    remedy: NOT_A_SEGMENT_REMEDY,
  });
}

/**
 * The records that are missing behind a segment.
 *
 * @param continuedAt see {@link continuation}
 * @param next path of the segment that continues it; undefined: an expected hole follows
 */
export function missingBetween(
  { segment }: Pick<ScannedSegment, 'segment'>,
  continuedAt: number,
  next: string | undefined,
): LostRecords[] {
  const first = segment.lastSequence + 1;
  if (first >= continuedAt) return [];
  const last = continuedAt - 1;
  if (next !== undefined)
    return [{ first, last, actors: undefined, where: `before ${next}`, what: 'a segment is missing' }];
  // A file that was cut where a record ends verifies, and no segment behind a hole shows what is missing.
  const where = `${segment.path} at byte ${segment.end}`;
  const what = 'the end of the segment is missing, or a segment after it';
  return [{ first, last, actors: undefined, where, what }];
}

/** Verifies a segment. When it is damaged and damage is contained, reads the parts that verify. */
async function scanOrContain(
  files: FileSystem,
  place: ContainedPlace,
  before: ScannedSegment | undefined,
  report: JournalReport | null,
  { contains }: DamagePolicy,
): Promise<ScannedSegment> {
  // Records missing before this one are already listed, or were removed.
  const expected = before === undefined ? place.firstSequence : before.segment.lastSequence + 1;
  const known = contains && expected < place.firstSequence ? undefined : before;
  try {
    return await scanSegment(files, place, known, report);
  } catch (error) {
    if (!contains || !isDamagedSegment(error) || expected > place.firstSequence) throw error;
  }
  const found = await containSegment(files, place);
  const { chain, cutAt, lastClock = before?.lastClock ?? revisionZero, lost, records, segment } = found;
  const end = { from: Math.min(SEGMENT_HEADER_BYTES, segment.end), isCut: cutAt !== undefined };
  const settled = report === null ? {} : { settle: () => settleNewest(files, segment, end) };
  if (before !== undefined && isForeign(segment, before))
    return foreignSegment(place, found, before.lastClock);
  return { segment, lastClock, chain, records, lost, ...settled };
}

/** Whether the error is damage of this file; a segment of a newer version is not damaged. */
function isDamagedSegment(error: unknown): boolean {
  return error instanceof ServiceError && error.code === 'DATA_CORRUPTED' && !isNewerFormat(error);
}

/** See {@link isForeign}. */
function foreignSegment(
  { path }: ContainedPlace,
  { chain, segment }: ContainedSegment,
  lastClock: Revision,
): ScannedSegment {
  const { firstSequence: first } = segment.header;
  const last = segment.lastSequence;
  const foreign = new Segment(path, segment.header);
  foreign.isDamaged = true;
  foreign.isForeign = true;
  foreign.lastSequence = last;
  const lost = { first, last, actors: undefined, where: path, what: FOREIGN };
  return { segment: foreign, lastClock, chain, records: 0, lost: last < first ? [] : [lost] };
}

/** @param report null for all but the newest segment: those must be complete to the last byte */
async function scanSegment(
  files: FileSystem,
  { firstSequence, path }: ContainedPlace,
  before: ScannedSegment | undefined,
  report: JournalReport | null,
): Promise<ScannedSegment> {
  const reader = await SegmentReader.open(files, path, firstSequence);
  try {
    checkContinuity(reader, before);
    const segment = new Segment(path, reader.header);
    let lastClock = reader.header.clock;
    let records = 0;
    let fault: string | null = null;
    const unflushed = new UnflushedStart();
    for (;;) {
      const step = await reader.step();
      if (step.kind !== 'record') {
        if (step.kind === 'fault') fault = step.what;
        break;
      }
      const { header, payload, end } = step;
      segment.add(header.sequence, actorsOf(path, payload, header.entries, reader), end);
      unflushed.add(header.sequence, header.durableSequence, end);
      lastClock = header.clock;
      records += 1;
    }
    const { previousChain: chain } = reader.next;
    let settle: (() => Promise<void>) | undefined;
    if (report !== null) {
      const tellCut = fault === null ? undefined : await judge(reader, report);
      settle = async () => {
        await settleNewest(files, segment, { from: unflushed.offset, isCut: tellCut !== undefined });
        tellCut?.();
      };
    } else if (fault !== null && !(await endsInZeros(reader))) {
      throw journalCorrupted({
        segment: path,
        offset: segment.end,
        sequence: segment.lastSequence + 1,
        what: fault,
      });
    }
    return { segment, lastClock, chain, records, lost: [], ...(settle === undefined ? {} : { settle }) };
  } finally {
    await reader.close();
  }
}

/**
 * Whether only preallocated zeros follow the last complete record. A segment is truncated after its records before the
 * next one is created, but if flushing the truncation failed, a power failure may bring the zeros back. Missing records
 * would be detected in any case: the next segment states which record it continues.
 */
async function endsInZeros(reader: SegmentReader): Promise<boolean> {
  const rest = await reader.rest();
  return isZero(rest, 0, rest.length);
}

function checkContinuity(reader: SegmentReader, before: ScannedSegment | undefined): void {
  if (before === undefined) return;
  const expected = before.segment.lastSequence + 1;
  const { firstSequence, chain } = reader.header;
  const damage = { segment: reader.path, offset: 0, sequence: expected };
  if (firstSequence !== expected) {
    const what = `the segment starts with sequence ${firstSequence}, but ${before.segment.path} ends before ${expected}`;
    throw journalCorrupted({
      ...damage,
      what: `${what}: a segment in between is missing, or its records are`,
    });
  }
  // After a lost record the chain is unknown.
  if (before.chain !== null && chain.equals(before.chain) === before.segment.isForeign) {
    throw journalCorrupted({
      ...damage,
      what: `the segment does not continue the chain of ${before.segment.path}`,
    });
  }
}

function actorsOf(path: string, payload: Buffer, entries: number, reader: SegmentReader): Set<string> {
  const actors = new Set<string>();
  let offset = 0;
  try {
    for (let index = 0; index < entries; index += 1) {
      const { actor, end } = outlineEntry(payload, offset);
      actors.add(actor);
      offset = end;
    }
    if (offset !== payload.length) throw new InvariantError('bytes left over');
    return actors;
  } catch (cause) {
    const { place, sequence } = reader.next;
    const what = `the record before this matches its checksum, but does not hold ${entries} entries`;
    throw journalCorrupted({ segment: path, offset: place.offset, sequence, what }, cause);
  }
}

/** @returns reports the truncation once it is made */
async function judge(reader: SegmentReader, report: JournalReport): Promise<() => void> {
  const { next, path: segment } = reader;
  const { sequence } = next;
  const { offset } = next.place;
  const tail = await reader.rest();
  const verdict = judgeTail(tail, next);
  if (verdict.kind === 'damaged') throw journalCorrupted({ segment, offset, sequence, what: verdict.reason });
  if (verdict.kind === 'clean') return () => {};
  let bytes = tail.length;
  while (tail[bytes - 1] === 0) bytes -= 1;
  const { reason } = verdict;
  return () => report({ kind: 'tail-discarded', segment, offset, bytes, sequence, reason });
}

/**
 * Makes the content of the newest segment durable, before anything builds on it:
 *
 * - Bytes after the last record are truncated and the truncation is flushed, so that they can never reappear.
 * - Records that may not be flushed are rewritten and flushed. They may exist only in the page cache: after a killed
 *   process, and after a failed flush, which marks the pages as clean although they were not written, so that another
 *   flush would succeed without writing them.
 */
async function settleNewest(
  files: FileSystem,
  segment: Segment,
  { from: unflushedFrom, isCut }: { readonly from: number; readonly isCut: boolean },
): Promise<void> {
  const file = await files.open(segment.path, 'read-write');
  try {
    if (isCut) await file.truncate(segment.end);
    const buffer = Buffer.allocUnsafe(Math.min(COPY_BYTES, segment.end - unflushedFrom));
    for (let at = unflushedFrom; at < segment.end; at += COPY_BYTES) {
      const length = Math.min(COPY_BYTES, segment.end - at);
      const count = await file.read(buffer, 0, length, at);
      if (count < length) throw new InvariantError(`${segment.path} became shorter while it was opened`);
      await file.write(buffer, 0, length, at);
    }
    await file.sync();
  } finally {
    await file.close();
  }
}

/** @throws {ServiceError} {@link refusedFile} */
async function explainedAt(path: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (cause) {
    throw refusedFile(path, cause) ?? cause;
  }
}

/** Tracks the start of the records that no later record states as flushed. */
class UnflushedStart {
  #offset = SEGMENT_HEADER_BYTES;
  readonly #ends: { readonly sequence: number; readonly end: number }[] = [];

  /** Offset in bytes. */
  get offset(): number {
    return this.#offset;
  }

  add(sequence: number, durableSequence: number, end: number): void {
    while (this.#ends[0] !== undefined && this.#ends[0].sequence <= durableSequence) {
      this.#offset = (this.#ends.shift() as { end: number }).end;
    }
    this.#ends.push({ sequence, end });
  }
}
