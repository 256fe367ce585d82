import {
  compareRevisions,
  formatRevision,
  parseRevision,
  type Revision,
  revisionZero,
} from '#runtime/content/revision.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import type { RevisionRecord } from './revision-record.ts';
import { readRevision } from './revision-store.ts';

/** A revision that leads to one of two revisions only. */
export interface ApartRevision {
  readonly record: RevisionRecord;
  /** Whether it leads to the first of the two. */
  readonly isOfFirst: boolean;
}

/**
 * The revisions that lead to one of two revisions and not to the other, each side from the newest to the oldest. Nodes
 * that none of them changed have the same state at both. The cost follows their number.
 *
 * @param read asked for before each revision, so the caller may pause there and continue with a later state of the branch
 * @throws {ServiceError} `DATA_CORRUPTED` when one of them is lost
 */
export function* revisionsApart(
  read: () => TableReader,
  first: Revision,
  second: Revision,
): Generator<ApartRevision, void> {
  let [one, other] = [first, second];
  for (let order = compareRevisions(one, other); order !== 0; order = compareRevisions(one, other)) {
    const isOfFirst = order > 0;
    const record = recordOf(read(), isOfFirst ? one : other);
    yield { record, isOfFirst };
    const parent = record.parent === null ? revisionZero : parseRevision(record.parent);
    if (isOfFirst) one = parent;
    else other = parent;
  }
}

function recordOf(reader: TableReader, revision: Revision): RevisionRecord {
  const record = readRevision(reader, revision);
  if (record !== undefined) return record;
  throw new ServiceError('DATA_CORRUPTED', `The record of revision ${formatRevision(revision)} is lost`);
}
