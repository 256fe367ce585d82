import { join } from 'node:path';
import type { FileSystem } from '#runtime/base/files/file-system.ts';
import type { LogRecord } from '#runtime/log/log-entry.ts';
import type { LostRecords } from '#runtime/log/ports.ts';
import { expectedHoles, type Hole, readDamageNote } from './damage-note.ts';
import {
  type ContainedPlace,
  type ContainedSegment,
  containSegment,
  FOREIGN,
  isForeign,
  readContained,
} from './journal-containment.ts';
import { parseSegmentFileName, segmentFileName } from '../segments/journal-format.ts';
import { continuation, missingBetween, noHoles } from './journal-recovery.ts';
import { readSegment, SEGMENT_FILE_BYTES_MAX } from '../segments/read-segment.ts';
import { surveySegment } from '../segments/segment-survey.ts';

/** Damage found in a journal. */
export interface JournalFinding {
  /** The segment, or the folder. */
  readonly file: string;
  readonly what: string;
}

/** The result of checking a journal without changing it. */
export interface JournalSurvey {
  readonly segments: number;
  readonly records: number;
  /** Sequence of the oldest record; `lastSequence + 1` when there is none. */
  readonly firstSequence: number;
  readonly lastSequence: number;
  readonly findings: readonly JournalFinding[];
  readonly lost: readonly LostRecords[];
  /** Actors that an earlier opening refused because of lost records, each with the reason. */
  readonly refused: ReadonlyMap<string, string>;
  /** Ranges of records that were removed while earlier ones were kept because of damage. */
  readonly holes: readonly Hole[];
  /** All records that verify, in order. */
  read(): AsyncGenerator<LogRecord, void, void>;
}

/**
 * Verifies a journal that is not open. It changes nothing, and damage does not make it fail.
 *
 * @throws {ServiceError} `DATA_CORRUPTED` when the note of earlier damage cannot be read
 */
export async function surveyJournal(files: FileSystem, folder: string): Promise<JournalSurvey> {
  const names = await files.readdir(folder).catch(() => []);
  const note = names.length === 0 ? undefined : await readDamageNote(files, folder);
  const firsts = names
    .map(parseSegmentFileName)
    .filter((first): first is number => first !== null && Number.isSafeInteger(first))
    .sort((a, b) => a - b);
  const holes = note === undefined ? noHoles : { keptThrough: note.through, removed: note.removed };
  const places = firsts.map((firstSequence, index): ContainedPlace => {
    const path = join(folder, segmentFileName(firstSequence));
    return { path, firstSequence, nextSequence: continuation(firsts, index, holes) };
  });
  const findings = names.filter(isBeyondSequences).map((name): JournalFinding => {
    return { file: join(folder, name), what: 'no file of a journal has so large a number' };
  });
  const lost: LostRecords[] = [];
  let records = 0;
  let lastSequence = note?.through ?? 0;
  const read: ContainedPlace[] = [];
  let before: Pick<ContainedSegment, 'segment' | 'chain'> | undefined;
  for (const place of places) {
    const contained = await containSegment(files, place);
    const { segment } = contained;
    segment.isForeign = isForeign(segment, before);
    before = contained;
    if (segment.isForeign) {
      const { firstSequence: first, path: where } = place;
      const last = segment.lastSequence;
      findings.push({ file: where, what: FOREIGN });
      if (last >= first) lost.push({ first, last, actors: undefined, where, what: FOREIGN });
      lastSequence = Math.max(lastSequence, last);
      continue;
    }
    read.push(place);
    const { bytes, size } = await readSegment(files, place.path);
    const survey = surveySegment(bytes, place);
    const say = (what: string): void => void findings.push({ file: place.path, what });
    if (size > SEGMENT_FILE_BYTES_MAX) say(tooLong(size));
    if (survey.headerFault !== undefined) say(survey.headerFault);
    for (const part of survey.parts) {
      if (part.fault === undefined) continue;
      if (contained.cutAt !== undefined && part.start >= contained.cutAt)
        say(
          `at byte ${part.start}: its last record is incomplete, as after a crash in the middle of a write`,
        );
      else say(`at byte ${part.start}, ${sequenceOf(part)}: ${part.fault}`);
    }
    records += contained.records;
    lost.push(...contained.lost);
    lastSequence = Math.max(lastSequence, segment.lastSequence);
  }
  if (before !== undefined) {
    for (const missing of missingBetween(before, holes.keptThrough + 1, undefined)) {
      lost.push(missing);
      findings.push({ file: before.segment.path, what: missing.what });
    }
  }
  return {
    segments: places.length,
    records,
    firstSequence: firsts[0] ?? lastSequence + 1,
    lastSequence,
    findings,
    lost,
    refused: note?.refused ?? new Map(),
    holes: note === undefined ? [] : expectedHoles(note, firsts),
    async *read() {
      for (const place of read) yield* readContained(files, place);
    },
  };
}

/** @param size of the file, in bytes */
function tooLong(size: number): string {
  return `it has ${size} bytes, and a journal file has at most ${SEGMENT_FILE_BYTES_MAX}: no more of it was read`;
}

/** Whether a name has the form of a segment's, with a number above the maximum sequence. */
function isBeyondSequences(name: string): boolean {
  const first = parseSegmentFileName(name);
  return first !== null && !Number.isSafeInteger(first);
}

function sequenceOf(
  part: { readonly kind: string } & (
    | { readonly sequence: number }
    | { readonly first: number; readonly last: number }
  ),
): string {
  if ('sequence' in part) return `sequence ${part.sequence}`;
  return part.first === part.last ? `sequence ${part.first}` : `sequences ${part.first} to ${part.last}`;
}
