import {
  compareRevisions,
  decodeRevision,
  formatRevision,
  type Revision,
  revisionZero,
} from '#runtime/content/revision.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { ancestryKey, BranchTable, revisionKey } from '#runtime/shard/key-layout.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { revisionRanges } from './leading-revisions.ts';
import { hasRevision, readBranchHead } from './revision-store.ts';
import { StateAt } from './state-at.ts';

/**
 * Resolves the revision of a read. A revision of the branch is returned as it is, whichever line it is on. A moment
 * between two revisions of the head's line resolves to the earlier one, so that a clock time can be requested. Nothing
 * else resolves: no revision of another branch, even a merged one, and none before the first or after the newest.
 *
 * @param line the revision whose line is used and after which nothing is visible; absent: the head
 * @throws {ServiceError} `REVISION_NOT_FOUND`
 */
export function readableRevision(reader: TableReader, asked: Revision, line?: Revision): Revision {
  if (compareRevisions(asked, revisionZero) === 0) return asked;
  const end = line ?? readBranchHead(reader).head;
  if (compareRevisions(asked, end) === 0) return asked;
  if (hasRevision(reader, asked)) {
    if (line === undefined || new StateAt(reader, line).belongs(asked)) return asked;
  } else if (compareRevisions(asked, end) < 0 && !isMerged(reader, asked)) {
    const earlier = newestUpTo(reader, asked, end);
    if (earlier !== undefined) return earlier;
  }
  throw new ServiceError('REVISION_NOT_FOUND', `The branch has no revision '${formatRevision(asked)}'`);
}

/** Whether it is known as a revision of another branch. */
function isMerged(reader: TableReader, revision: Revision): boolean {
  return reader.get(BranchTable.ancestry, ancestryKey(revision)) !== undefined;
}

/** The newest revision not after a moment among those that lead to `end`. Cost follows the number of lines. */
function newestUpTo(reader: TableReader, moment: Revision, end: Revision): Revision | undefined {
  const before = `${revisionKey(moment)}\0`;
  for (const range of revisionRanges(reader, end)) {
    if (range.start >= before) continue;
    const bound = range.end < before ? range.end : before;
    for (const { key } of reader.range(BranchTable.revisions, { ...range, end: bound }))
      return decodeRevision(key, 0);
  }
  return undefined;
}
