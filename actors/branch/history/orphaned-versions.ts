import type { Caller, QueryContext } from '#runtime/commit/behaviour.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { BranchTable } from '#runtime/shard/key-layout.ts';
import {
  orphanedRanges,
  type OrphansRemoved,
  removeOrphanedVersions,
} from '#runtime/tree/orphaned-versions.ts';
import { removeStrayRows } from '#runtime/projection/projection-rows.ts';
import { restReader } from '#runtime/scan/moment.ts';
import { removeFeedRowsBefore } from '#runtime/tree/feed-store.ts';
import { readBranchHead } from '#runtime/tree/revision-store.ts';
import { rowsInBatches } from '#runtime/shard/rows-in-batches.ts';
import type { BranchState } from '../branch-state.ts';
import type { EditScope } from '../edit-scope.ts';
import { settle } from '../long-answer.ts';
import type { CountLeftovers, CountOrphanedVersions, RemoveOrphanedVersions } from '../orphan-messages.ts';

/** Revisions counted between two pauses. */
const REVISIONS_PER_SLICE = 64;

/** @see orphan-messages.ts, RemoveOrphanedVersions */
export function* removeSomeOrphanedVersions(
  { turn }: EditScope,
  { rowsMax }: Omit<RemoveOrphanedVersions, 'type'>,
): Generator<undefined, OrphansRemoved> {
  requireEngine(turn.caller);
  const removed = yield* removeOrphanedVersions(turn, rowsMax);
  if (!removed.isDone) return removed;
  // At least one, so that every call makes progress.
  const most = Math.max(rowsMax - removed.rows, 1);
  let rows = removeFeedRowsBefore(turn, readBranchHead(turn).feed.first, most);
  if (rows < most) rows += yield* removeStrayRows(turn, most - rows);
  // Entries of a feed and rows of projections are no versions, so they are not counted.
  return { ...removed, isDone: rows < most };
}

/**
 * Removes all orphaned versions, because a revision with the number of an orphaned one is about to be written. The cost
 * grows with their number.
 */
export function* removeAllOrphanedVersions({ turn }: EditScope): Generator<undefined, void> {
  for (let isDone = false; !isDone; ) {
    ({ isDone } = yield* removeOrphanedVersions(turn, Number.POSITIVE_INFINITY));
  }
}

/** @see orphan-messages.ts, CountOrphanedVersions */
export function countOrphanedVersions(
  _state: BranchState,
  context: QueryContext,
  _query: CountOrphanedVersions | CountLeftovers,
): number | Promise<number> {
  requireEngine(context.caller);
  return settle(context, count, 'moving');
}

function* count(reader: TableReader): Generator<undefined, number> {
  let revisions = 0;
  for (const range of orphanedRanges(reader)) {
    for (const _ of rowsInBatches(reader, BranchTable.revisions, range)) {
      revisions += 1;
      if (revisions % REVISIONS_PER_SLICE !== 0) continue;
      restReader(reader);
      yield;
    }
  }
  return revisions;
}

function requireEngine({ principal }: Caller): void {
  if (principal.kind !== 'system') throw new ServiceError('FORBIDDEN');
}
