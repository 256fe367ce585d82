import type { Turn } from '#runtime/commit/behaviour.ts';
import { compareRevisions, formatRevision, parseRevision, type Revision } from '#runtime/content/revision.ts';
import { invalid, ServiceError } from '#runtime/errors/service-error.ts';
import { readBranchHead, readRevision } from '#runtime/tree/revision-store.ts';
import type { RevisionRecord } from '#runtime/tree/revision-record.ts';
import { StateAt } from '#runtime/tree/state-at.ts';
import type { RevertedRevisions } from '../revert-messages.ts';

/** Most revisions one revert may undo. */
export const REVERTED_REVISIONS_MAX = 1_000;

/** Records read between two pauses. */
const RECORDS_PER_SLICE = 32;

/**
 * The records of the revisions a revert names, each once and oldest first.
 *
 * @throws {ServiceError} `INVALID_REVISION_NUMBER`; `REVISION_NOT_FOUND` for one the branch does not have;
 *   `VALIDATION_FAILED` for none or more than {@link REVERTED_REVISIONS_MAX}, for one that does not lead to the head
 *   and for a range that runs backwards
 */
export function revertedRevisions(
  turn: Turn,
  which: RevertedRevisions,
): Generator<undefined, readonly RevisionRecord[]> {
  const line = new StateAt(turn, readBranchHead(turn).head);
  if ('revisions' in which) return listed(turn, line, which.revisions);
  return between(turn, line, parseRevision(which.from), parseRevision(which.to));
}

function* listed(
  turn: Turn,
  line: StateAt,
  texts: readonly string[],
): Generator<undefined, readonly RevisionRecord[]> {
  if (texts.length === 0) throw invalid('Name at least one revision', { field: 'revisions' });
  requireFew(texts.length, 'revisions');
  const found = new Map<string, RevisionRecord>();
  for (const [index, text] of texts.entries()) {
    const record = requireRevision(turn, line, parseRevision(text), 'revisions');
    found.set(record.revision, record);
    if (index % RECORDS_PER_SLICE === RECORDS_PER_SLICE - 1) yield;
  }
  return [...found.values()].sort((a, b) =>
    compareRevisions(parseRevision(a.revision), parseRevision(b.revision)),
  );
}

function* between(
  turn: Turn,
  line: StateAt,
  from: Revision,
  to: Revision,
): Generator<undefined, readonly RevisionRecord[]> {
  requireRevision(turn, line, from, 'from');
  const records = [requireRevision(turn, line, to, 'to')];
  if (compareRevisions(from, to) > 0) {
    throw invalid(`'from' (${formatRevision(from)}) is later than 'to' (${formatRevision(to)})`, {
      field: 'from',
    });
  }
  const first = formatRevision(from);
  for (let last = records[0] as RevisionRecord; last.revision !== first; ) {
    last = readRevision(turn, parseRevision(last.parent as string)) as RevisionRecord;
    records.push(last);
    requireFew(records.length, 'from');
    if (records.length % RECORDS_PER_SLICE === 0) yield;
  }
  return records.reverse();
}

function requireRevision(turn: Turn, line: StateAt, revision: Revision, field: string): RevisionRecord {
  const record = readRevision(turn, revision);
  const text = formatRevision(revision);
  if (record === undefined) {
    throw new ServiceError('REVISION_NOT_FOUND', `The branch has no revision '${text}'`, { field });
  }
  if (!line.belongs(revision)) {
    throw invalid(`Revision '${text}' does not lead to the head of the branch; there is nothing to undo`, {
      field,
    });
  }
  return record;
}

function requireFew(count: number, field: string): void {
  if (count <= REVERTED_REVISIONS_MAX) return;
  throw invalid(`At most ${REVERTED_REVISIONS_MAX} revisions are reverted at a time`, { field });
}
