import type { Caller, QueryContext } from '#runtime/commit/behaviour.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { BranchTable } from '#runtime/shard/key-layout.ts';
import { leftoverRanges, type LeftoversRemoved, removeLeftovers } from '#runtime/tree/leftovers.ts';
import { rowsInBatches } from '#runtime/shard/rows-in-batches.ts';
import type { BranchState } from './branch-state.ts';
import type { EditScope } from './edit-scope.ts';
import { settle } from './long-answer.ts';
import type { CountLeftovers, RemoveLeftovers } from './leftover-messages.ts';

/** Revisions counted between two rests. */
const REVISIONS_PER_SLICE = 64;

/** @see leftover-messages.ts, RemoveLeftovers */
export function removeSomeLeftovers(
  { turn }: EditScope,
  { rowsMax }: RemoveLeftovers,
): Generator<undefined, LeftoversRemoved> {
  requireEngine(turn.caller);
  return removeLeftovers(turn, rowsMax);
}

/** Removes every leftover, because a place among them is to be taken. Cost follows what is left. */
export function* removeAllLeftovers({ turn }: EditScope): Generator<undefined, void> {
  for (let isDone = false; !isDone; ) {
    ({ isDone } = yield* removeLeftovers(turn, Number.POSITIVE_INFINITY));
  }
}

/** @see leftover-messages.ts, CountLeftovers */
export function countLeftovers(
  _state: BranchState,
  context: QueryContext,
  _query: CountLeftovers,
): number | Promise<number> {
  requireEngine(context.caller);
  return settle(context, count);
}

function* count(reader: TableReader): Generator<undefined, number> {
  let revisions = 0;
  for (const range of leftoverRanges(reader)) {
    for (const _ of rowsInBatches(reader, BranchTable.revisions, range)) {
      revisions += 1;
      if (revisions % REVISIONS_PER_SLICE === 0) yield;
    }
  }
  return revisions;
}

function requireEngine({ principal }: Caller): void {
  if (principal.kind !== 'system') throw new ServiceError('FORBIDDEN');
}
