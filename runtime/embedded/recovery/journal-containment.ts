import type { FileSystem } from '#runtime/base/files/file-system.ts';
import { type Revision, revisionZero } from '#runtime/content/revision.ts';
import { decodeEntry, outlineEntry } from '#runtime/log/entry-codec.ts';
import type { LogRecord } from '#runtime/log/log-entry.ts';
import type { LostRecords } from '#runtime/log/ports.ts';
import { JOURNAL_FORMAT, type SegmentHeader } from '../segments/journal-format.ts';
import { Segment } from '../segments/journal-retention.ts';
import { judgeTail } from '../segments/journal-tail.ts';
import { readSegment } from '../segments/read-segment.ts';
import { type SurveyedPart, surveySegment } from '../segments/segment-survey.ts';

/** A damaged segment whose intact parts can be read. */
export interface ContainedSegment {
  readonly segment: Segment;
  readonly lost: readonly LostRecords[];
  /** Undefined when none of its records can be read. */
  readonly lastClock: Revision | undefined;
  /** The chain up to its last record; null when that is lost. */
  readonly chain: Buffer | null;
  /** Number of records with intact parts. */
  readonly records: number;
  /** Offset of a write at its end that a crash interrupted, which is to be truncated; undefined: there is none. */
  readonly cutAt: number | undefined;
}

/** The segment to check. */
export interface ContainedPlace {
  readonly path: string;
  /** From its file name. */
  readonly firstSequence: number;
  /** First sequence of the next segment; undefined for the newest. */
  readonly nextSequence: number | undefined;
}

/** Checks a segment that does not verify. Nothing is changed. */
export async function containSegment(files: FileSystem, place: ContainedPlace): Promise<ContainedSegment> {
  const { firstSequence, nextSequence, path } = place;
  const { bytes } = await readSegment(files, path);
  const { header, parts } = surveySegment(bytes, place);
  const segment = new Segment(path, header ?? unreadableHeader(firstSequence));
  segment.isDamaged = true;
  const lost: LostRecords[] = [];
  let records = 0;
  let lastClock = header?.clock;
  let chain: Buffer | null = null;
  const take = (part: SurveyedPart): void => {
    segment.add(lastOf(part), actorsOf(part), part.end);
    lost.push(...lostIn(path, part));
    chain = part.kind === 'lost' ? null : (part.header?.chain ?? null);
    if (part.kind === 'lost') return;
    records += 1;
    lastClock = part.header?.clock ?? lastClock;
  };
  let newest: SurveyedPart | undefined;
  for (const part of parts) {
    if (newest !== undefined) take(newest);
    newest = part;
  }
  const cutAt = nextSequence === undefined ? unfinishedAt(bytes, header, newest) : undefined;
  if (newest !== undefined && cutAt === undefined) take(newest);
  // Nothing is written after it, and trailing zeros have no meaning.
  segment.end = cutAt ?? bytes.length;
  return { segment, lost, lastClock, chain, records, cutAt };
}

/** What is wrong with a segment that {@link isForeign}, for the operator. */
export const FOREIGN = 'the segment does not continue the chain of the one before it';

/**
 * Whether a segment follows another one and does not continue it, or continues one of another journal: its records are
 * not used.
 *
 * @param before the chain is null where it is not known
 */
export function isForeign(
  { header }: Segment,
  before: { readonly segment: Segment; readonly chain: Buffer | null } | undefined,
): boolean {
  if (before === undefined || before.chain === null) return false;
  if (before.segment.lastSequence + 1 !== header.firstSequence) return false;
  return header.chain.length > 0 && header.chain.equals(before.chain) === before.segment.isForeign;
}

/** The readable records of a damaged segment, in order, with their intact entries. */
export async function* readContained(files: FileSystem, place: ContainedPlace): AsyncGenerator<LogRecord> {
  const { parts } = surveySegment((await readSegment(files, place.path)).bytes, place);
  for (const part of parts) {
    if (part.kind === 'lost') continue;
    const entries = entriesOf(part).map((bytes) => decodeEntry(bytes, 0).entry);
    if (entries.length > 0) yield { sequence: part.sequence, entries };
  }
}

/** As {@link readContained}, for a segment of a running journal: its records after `after`, up to `until`. */
export async function* readDamaged(
  files: FileSystem,
  { header, isForeign, lastSequence, path }: Segment,
  after: number,
  until: number,
): AsyncGenerator<LogRecord, void, void> {
  if (isForeign) return;
  const place = { path, firstSequence: header.firstSequence, nextSequence: lastSequence + 1 };
  for await (const record of readContained(files, place)) {
    if (record.sequence > after && record.sequence <= until) yield record;
  }
}

/** Whether the newest segment ends in a write that a crash interrupted. */
function unfinishedAt(
  bytes: Buffer,
  header: SegmentHeader | undefined,
  last: SurveyedPart | undefined,
): number | undefined {
  if (last === undefined || header === undefined || (last.kind === 'record' && last.fault === undefined))
    return undefined;
  const sequence = last.kind === 'lost' ? last.first : last.sequence;
  const found = last.kind === 'lost' ? undefined : last.header;
  const next = {
    place: { salt: header.salt, offset: last.start },
    sequence,
    previousChain: found?.previousChain ?? header.chain,
  };
  return judgeTail(bytes.subarray(last.start), next).kind === 'unfinished' ? last.start : undefined;
}

function lostIn(path: string, part: SurveyedPart): LostRecords[] {
  const where = `${path} at byte ${part.start}`;
  if (part.kind === 'lost')
    return [
      {
        first: part.first,
        last: part.last,
        isAtMost: part.isAtMost,
        actors: undefined,
        where,
        what: part.fault,
      },
    ];
  if (part.kind === 'record') return [];
  const { fault, lost: actors, sequence } = part;
  return [{ first: sequence, last: sequence, actors, where, what: fault }];
}

function lastOf(part: SurveyedPart): number {
  return part.kind === 'lost' ? part.last : part.sequence;
}

function entriesOf(part: Exclude<SurveyedPart, { kind: 'lost' }>): readonly Buffer[] {
  if (part.kind === 'partial') return part.entries;
  const entries: Buffer[] = [];
  for (let at = 0; entries.length < part.count; ) {
    const { end } = outlineEntry(part.entries, at);
    entries.push(part.entries.subarray(at, end));
    at = end;
  }
  return entries;
}

function actorsOf(part: SurveyedPart): ReadonlySet<string> {
  if (part.kind === 'lost') return new Set();
  return new Set(entriesOf(part).map((bytes) => outlineEntry(bytes, 0).actor));
}

/** Placeholder for the header of an unreadable segment. */
function unreadableHeader(firstSequence: number): SegmentHeader {
  return {
    format: JOURNAL_FORMAT,
    firstSequence,
    createdMs: 0,
    clock: revisionZero,
    chain: Buffer.alloc(0),
    salt: 0,
  };
}
