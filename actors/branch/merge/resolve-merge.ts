import { requireAdministrator } from '#runtime/access/policy.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { compareRevisions, formatRevision, parseRevision, type Revision } from '#runtime/content/revision.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { StoredDefinition, StoredKind } from '#runtime/tree/schema-store.ts';
import { BranchPair } from '../pair/branch-pair.ts';
import type { EditScope } from '../edit-scope.ts';
import { commitMerge, mergeInput, mergeResult } from './merge-branch.ts';
import { findConflicts } from './find-conflicts.ts';
import type { MergeQuestion } from './merge-decisions.ts';
import type { MergeResult, ResolveMerge } from '../merge-messages.ts';
import { gatherSides } from './merge-sides.ts';
import { MergeWriter } from './merge-writer.ts';
import { Resolutions } from './resolutions.ts';
import { manualDefinition } from '../schema/definitions.ts';
import { settleConflicts } from './settle-conflicts.ts';

/**
 * Merges another branch into this one and resolves conflicts with the caller's resolutions, as one merge commit. If
 * conflicts remain, nothing is written.
 *
 * @throws {ServiceError} `UNAUTHORIZED`, `FORBIDDEN`; `NOT_FOUND` for a missing source; `CONFLICT` when the head of a
 *   branch is not the one the resolutions were made for; `COMMIT_TOO_LARGE`, `REQUEST_TOO_EXPENSIVE`; `VALIDATION_FAILED` for a resolution
 *   without a conflict, for resolutions that contradict each other, for invalid given properties, and when the result
 *   would not be a valid tree
 * @see merge-messages.ts, ResolveMerge; merge-decisions.ts; docs/interface/merges.md#resolving-conflicts
 */
export function* resolveMerge(edit: EditScope, command: ResolveMerge): Generator<undefined, MergeResult> {
  const { caller } = edit.turn;
  requireAdministrator(caller.policy, caller.principal);
  const pair = yield* BranchPair.of(edit.state, edit.turn, command.source);
  requireHead(command.sourceName, pair.heads.other, command.expectedSourceHead, pair);
  requireHead(edit.state.name, pair.heads.own, command.expectedTargetHead, pair);
  const sides = yield* gatherSides(pair, edit.turn.budget);
  const input = mergeInput(edit, pair, sides);
  const found = yield* findConflicts(input);
  const question: MergeQuestion = {
    input,
    disputes: found.disputes,
    resolutions: new Resolutions(command.resolutions),
    giveDefinition: definitionGiver(edit, pair),
    checkSize: (nodes) => edit.checkSize(nodes),
  };
  const decisions = yield* settleConflicts(question, found);
  if (decisions.open.length > 0) return mergeResult(pair, { success: false, conflicts: decisions.open });
  if (pair.divergence.right.length === 0) return mergeResult(pair, {});
  const writer = new MergeWriter(edit, pair, sides, command.sourceName, decisions);
  return yield* commitMerge(edit, pair, writer, command);
}

/**
 * Creates definitions from resolutions. The same values give the same definition, so that its id is assigned only once.
 */
function definitionGiver(edit: EditScope, pair: BranchPair): MergeQuestion['giveDefinition'] {
  const given = new Map<JsonObject, StoredDefinition<StoredKind>>();
  return (address, values) => {
    const known = given.get(values);
    if (known !== undefined) return known;
    const [present] = pair.definitions('own', [address]);
    const [theirs] = pair.definitions('other', [address]);
    const previous = (present ?? theirs)?.definition;
    const { kind, name } = address;
    const definition = manualDefinition(edit, kind, { ...values, name }, previous);
    const stored = { since: edit.revision, definition };
    given.set(values, stored);
    return stored;
  };
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
