import type { Caller, QueryContext, Turn } from '#runtime/commit/behaviour.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { indexesPending } from '#runtime/tree/branch-events.ts';
import { pendingTypes } from '#runtime/tree/index-catalog.ts';
import type { IndexStep } from '#runtime/tree/index-writer.ts';
import type { BranchState } from '../branch-state.ts';
import type { EditScope } from '../edit-scope.ts';
import type { BuildIndexes, CountPendingIndexes, ReadPendingSince } from '../index-messages.ts';

/** @see index-messages.ts, BuildIndexes */
export function buildIndexes(edit: EditScope, { nodesMax }: BuildIndexes): Generator<undefined, IndexStep> {
  requireEngine(edit.turn.caller);
  return edit.writer.buildIndexes(nodesMax);
}

/** @see index-messages.ts, CountPendingIndexes */
export function countPendingIndexes(
  _state: BranchState,
  context: QueryContext,
  _query: CountPendingIndexes,
): number {
  requireEngine(context.caller);
  return pendingTypes(context.view).reduce((sum, { count }) => sum + count, 0);
}

/** @see index-messages.ts, ReadPendingSince */
export function readPendingSince(
  _state: BranchState,
  context: QueryContext,
  _query: ReadPendingSince,
): string | null {
  requireEngine(context.caller);
  return pendingSince(context.view) ?? null;
}

/**
 * Announces the pending indexes of a branch. The event of the commit that made them pending is lost when the process ends
 * before the job is enqueued, and a copy or an upgraded branch had none.
 */
export function announcePending(turn: Turn): void {
  const since = pendingSince(turn);
  if (since !== undefined) turn.emit(indexesPending(since));
}

function pendingSince(reader: TableReader): string | undefined {
  const revisions = pendingTypes(reader).map(({ fields }) => fields.pending?.since ?? '');
  return revisions.sort().at(-1);
}

function requireEngine({ principal }: Caller): void {
  if (principal.kind !== 'system') throw new ServiceError('FORBIDDEN');
}
