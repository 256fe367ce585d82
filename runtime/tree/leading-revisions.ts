import { compareRevisions, type Revision, revisionZero } from '#runtime/content/revision.ts';
import { decodeJsonRow } from '#runtime/shard/json-row.ts';
import { BranchTable, revisionKey } from '#runtime/shard/key-layout.ts';
import type { Range, TableReader } from '#runtime/shard/shard.ts';
import { type Interval, successor } from './lineage.ts';
import type { RevisionRecord } from './revision-record.ts';
import { hasRevision } from './revision-store.ts';
import { StateAt } from './state-at.ts';

/** Records from a revision backwards, newest first: the revisions that lead to the state at that revision. */
export function* revisionsUpTo(reader: TableReader, from: Revision): Generator<RevisionRecord, undefined> {
  for (const range of revisionRanges(reader, from)) {
    for (const { value } of reader.range(BranchTable.revisions, range))
      yield decodeJsonRow(value) as RevisionRecord;
  }
}

/** The ranges of `revisions` that lead to a revision, newest first, each to be read backwards. */
export function revisionRanges(reader: TableReader, upTo: Revision): readonly Range[] {
  return new StateAt(reader, upTo).intervals.map(({ from, to }) => ({
    start: revisionKey(from),
    end: `${revisionKey(to)}\0`,
    reverse: true,
  }));
}

/**
 * The intervals of revisions after one revision up to another, oldest first; undefined when the first does not lead to
 * the second.
 */
export function revisionsBetween(
  reader: TableReader,
  after: Revision,
  upTo: Revision,
): Interval[] | undefined {
  if (compareRevisions(after, upTo) === 0) return [];
  const isZero = compareRevisions(after, revisionZero) === 0;
  if (!isZero && !hasRevision(reader, after)) return undefined;
  const intervals: Interval[] = [];
  for (const { from, to } of new StateAt(reader, upTo).intervals) {
    if (compareRevisions(after, to) > 0) return undefined;
    if (compareRevisions(after, from) >= 0) {
      if (compareRevisions(after, to) < 0) intervals.push({ from: successor(after), to });
      return intervals.reverse();
    }
    intervals.push({ from, to });
  }
  return undefined;
}
