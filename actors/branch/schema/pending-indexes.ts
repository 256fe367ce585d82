import type { Caller, QueryContext, Turn } from '#runtime/commit/behaviour.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { indexesPending } from '#runtime/tree/branch-events.ts';
import { pendingTypes } from '#runtime/tree/index-catalog.ts';
import type { IndexStep } from '#runtime/tree/index-writer.ts';
import type { BranchState } from '../branch-state.ts';
import type { EditScope } from '../edit-scope.ts';
import type { BuildIndexes, CountPendingIndexes } from '../index-messages.ts';

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

/**
 * Announces the pending indexes of a branch. The event of the commit that made them pending is lost when the process ends
 * before the job is enqueued, and a copy or an upgraded branch had none.
 */
export function announcePending(turn: Turn): void {
  const newest = pendingTypes(turn).map(({ fields }) => fields.pending?.since ?? '');
  if (newest.length > 0) turn.emit(indexesPending(newest.sort().at(-1) as string));
}

function requireEngine({ principal }: Caller): void {
  if (principal.kind !== 'system') throw new ServiceError('FORBIDDEN');
}
