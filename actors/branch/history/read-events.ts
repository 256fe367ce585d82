import type { EventsPage, ReadEventsAfter } from '#runtime/bus/history-messages.ts';
import type { QueryContext } from '#runtime/commit/behaviour.ts';
import { compareRevisions, formatRevision, parseRevision, revisionZero } from '#runtime/content/revision.ts';
import { decodeJsonRow } from '#runtime/shard/json-row.ts';
import { BranchTable, revisionKey } from '#runtime/shard/key-layout.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { EVENT_CHANGES_MAX, type RevisionCommitted, revisionCommitted } from '#runtime/tree/branch-events.ts';
import { revisionsBetween } from '#runtime/tree/leading-revisions.ts';
import { readBranchHead, readChanges } from '#runtime/tree/revision-store.ts';
import type { RevisionRecord } from '#runtime/tree/revision-record.ts';
import type { BranchState } from '../branch-state.ts';
import { requireEngine } from '../pair/pair-queries.ts';

/** Most revisions in one answer. */
export const EVENTS_PAGE = 64;

/** After this many node changes, no further revision is added to an answer. */
const CHANGES_PAGE = 2_000;

/**
 * The events that a subscriber missed. Every answer is bounded and computed without a pause; the cost grows with the
 * events in it.
 *
 * @throws {ServiceError} `FORBIDDEN` for any caller except the engine; `INVALID_REVISION_NUMBER`
 * @see history-messages.ts, ReadEventsAfter
 */
export function readEventsAfter(
  _state: BranchState,
  context: QueryContext,
  { after }: ReadEventsAfter,
): EventsPage {
  requireEngine(context);
  const { view } = context;
  const branchHead = readBranchHead(view);
  const position = { head: formatRevision(branchHead.head), tip: formatRevision(branchHead.tip) };
  const start = after === undefined ? branchHead.head : parseRevision(after);
  if (compareRevisions(start, branchHead.head) === 0)
    return { ...position, isContinued: true, events: [], isComplete: true };
  const stretches = revisionsBetween(view, start, branchHead.head);
  if (stretches === undefined) return { ...position, isContinued: false, events: [], isComplete: true };
  const events: RevisionCommitted[] = [];
  let changes = 0;
  for (const { from, to } of stretches) {
    const range = { start: revisionKey(from), end: `${revisionKey(to)}\0` };
    for (const { value } of view.range(BranchTable.revisions, range)) {
      const record = decodeJsonRow(value) as RevisionRecord;
      events.push(eventOf(view, record));
      changes += record.changeCount;
      const isLast = record.revision === position.head;
      if (events.length >= EVENTS_PAGE || changes >= CHANGES_PAGE)
        return { ...position, isContinued: true, events, isComplete: isLast };
    }
  }
  return { ...position, isContinued: true, events, isComplete: true };
}

function eventOf(view: TableReader, record: RevisionRecord): RevisionCommitted {
  const changes = record.changeCount > EVENT_CHANGES_MAX ? undefined : readChanges(view, record);
  return revisionCommitted(record, record.parent ?? formatRevision(revisionZero), changes);
}
