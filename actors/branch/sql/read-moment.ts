import { parseRevision, type Revision } from '#runtime/content/revision.ts';
import { readableRevision } from '#runtime/tree/readable-revision.ts';
import type { BranchTables } from './branch-tables.ts';

/**
 * The revision at which a table is read.
 *
 * @param revision that a statement names; undefined: that at which the branch is read
 * @returns undefined: the head
 * @throws {ServiceError} `REVISION_NOT_FOUND`, `INVALID_REVISION_NUMBER`
 */
export function readMoment(
  { moment, reader }: BranchTables,
  revision: string | undefined,
): Revision | undefined {
  return revision === undefined ? moment : readableRevision(reader, parseRevision(revision), moment);
}
