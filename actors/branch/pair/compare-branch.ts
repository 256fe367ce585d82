import { requireLogin } from '#runtime/access/policy.ts';
import type { QueryContext } from '#runtime/commit/behaviour.ts';
import { formatRevision } from '#runtime/content/revision.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { BranchPair } from './branch-pair.ts';
import type { BranchState } from '../branch-state.ts';
import { settle } from '../long-answer.ts';
import type { BranchComparison, CompareBranch } from '../messages.ts';

/**
 * How far this branch and another one have diverged. `behind` always counts the base's own revisions, even when this
 * branch has none of its own.
 *
 * @throws {ServiceError} `UNAUTHORIZED` without a login; `VALIDATION_FAILED` when they have diverged too far
 * @see messages.ts, CompareBranch; docs/interface/branches.md#comparing-branches
 */
export function compareBranch(
  state: BranchState,
  context: QueryContext,
  query: CompareBranch,
): BranchComparison | Promise<BranchComparison> {
  requireLogin(context.caller.principal);
  return settle(context, (reader) => compared(state, reader, query), 'moving');
}

function* compared(
  state: BranchState,
  reader: TableReader,
  { base, at, baseAt }: CompareBranch,
): Generator<undefined, BranchComparison> {
  const pair = yield* BranchPair.of(state, reader, base, { own: at, other: baseAt });
  return {
    ahead: pair.divergence.left.length,
    behind: pair.divergence.right.length,
    common_ancestor: formatRevision(pair.commonAncestor),
  };
}
