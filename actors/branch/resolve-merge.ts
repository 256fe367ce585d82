import { requireAdministrator } from '#runtime/access/policy.ts';
import { compareRevisions, formatRevision, parseRevision, type Revision } from '#runtime/content/revision.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { BranchPair } from './branch-pair.ts';
import type { EditScope } from './edit-scope.ts';
import { commitMerge, mergeResult } from './merge-branch.ts';
import { findDisputes, gatherSides } from './merge-conflicts.ts';
import { settleConflicts } from './merge-decisions.ts';
import type { MergeResult, ResolveMerge } from './merge-messages.ts';
import { MergeWriter } from './merge-writer.ts';

/**
 * Merges another branch into this one and settles conflicts as the caller says, all as one merge commit. Where
 * conflicts are left nothing is written.
 *
 * @throws {ServiceError} `UNAUTHORIZED`, `FORBIDDEN`; `NOT_FOUND` for a missing source; `CONFLICT` when a branch is
 *   not at the head the resolutions were made for; `COMMIT_TOO_LARGE`; `VALIDATION_FAILED` for a resolution without
 *   a conflict, for resolutions that do not fit together, for given properties that are not valid, and when what
 *   comes out would not be a valid tree
 * @see merge-messages.ts, ResolveMerge; merge-decisions.ts; Supplement 8.3
 */
export function* resolveMerge(edit: EditScope, command: ResolveMerge): Generator<undefined, MergeResult> {
  const { caller } = edit.turn;
  requireAdministrator(caller.policy, caller.principal);
  const pair = yield* BranchPair.meet(edit.state, edit.turn, command.source);
  requireHead(command.sourceName, pair.heads.other, command.expectedSourceHead, pair);
  requireHead(edit.state.name, pair.heads.own, command.expectedTargetHead, pair);
  const sides = yield* gatherSides(pair);
  const decisions = yield* settleConflicts({
    sides,
    disputes: yield* findDisputes(pair, sides, edit.head),
    target: edit.head,
    resolutions: command.resolutions,
    checkSize: (nodes) => edit.checkSize(nodes),
  });
  if (decisions.open.length > 0) return mergeResult(pair, { success: false, conflicts: decisions.open });
  if (pair.divergence.right.length === 0) return mergeResult(pair, {});
  const writer = new MergeWriter(edit, pair, sides, command.sourceName, decisions);
  return yield* commitMerge(edit, pair, writer, command);
}

function requireHead(
  name: string,
  head: Revision,
  expected: string | undefined,
  { heads }: BranchPair,
): void {
  if (expected === undefined || compareRevisions(parseRevision(expected), head) === 0) return;
  throw new ServiceError(
    'CONFLICT',
    `Branch '${name}' is at '${formatRevision(head)}' and not at '${expected}' any more`,
    { details: { target_head: formatRevision(heads.own), source_head: formatRevision(heads.other) } },
  );
}
