import { requireAdministrator } from '#runtime/access/policy.ts';
import { formatRevision } from '#runtime/content/revision.ts';
import { Moment } from '#runtime/scan/moment.ts';
import { writeMergedRevisions } from '#runtime/tree/ancestry-store.ts';
import { writeRevisionInSteps } from '#runtime/tree/revision-store.ts';
import { BranchPair } from '../pair/branch-pair.ts';
import { authorship, type EditScope } from '../edit-scope.ts';
import { countAccessChanges } from './access-changes.ts';
import { fastForward } from './fast-forward.ts';
import { findConflicts } from './find-conflicts.ts';
import type { MergeBranch, MergeResult } from '../merge-messages.ts';
import { type MergeInput, usedTypesOf } from './merge-input.ts';
import { gatherSides, type MergeSides } from './merge-sides.ts';
import { MergeWriter } from './merge-writer.ts';

/**
 * Merges the changes of another branch since the common ancestor into this one, as one merge commit, even if this one
 * has no revisions of its own; or applies the other's revisions unchanged (`FastForward`). With conflicts nothing is
 * written. The source is only read.
 *
 * @throws {ServiceError} `UNAUTHORIZED`, `FORBIDDEN`; `NOT_FOUND` for a missing source; `COMMIT_TOO_LARGE`, `REQUEST_TOO_EXPENSIVE`;
 *   `VALIDATION_FAILED` for a fast-forward of branches that have diverged, when they have diverged too far, and when
 *   the changes of both sides would not form a valid tree
 * @see merge-messages.ts, MergeBranch; docs/interface/merges.md#merging
 */
export function* mergeBranch(edit: EditScope, command: MergeBranch): Generator<undefined, MergeResult> {
  const { caller } = edit.turn;
  requireAdministrator(caller.policy, caller.principal);
  const pair = yield* BranchPair.of(edit.state, edit.turn, command.source);
  if (pair.divergence.right.length === 0) return mergeResult(pair, {});
  if (command.strategy === 'FastForward') {
    const accessChanges = yield* fastForward(edit, pair, command);
    const reached = command.dryRun ? {} : { head: formatRevision(pair.heads.other) };
    return mergeResult(pair, { ...reached, fast_forward: true, access_changes: accessChanges });
  }
  const sides = yield* gatherSides(pair, edit.turn.budget);
  const { conflicts } = yield* findConflicts(mergeInput(edit, pair, sides));
  if (conflicts.length > 0) return mergeResult(pair, { success: false, conflicts });
  return yield* commitMerge(edit, pair, new MergeWriter(edit, pair, sides, command.sourceName), command);
}

/** The input of a merge into the edited branch. */
export function mergeInput(edit: EditScope, pair: BranchPair, sides: MergeSides): MergeInput {
  const { head, state, turn } = edit;
  const usedTypes = () => usedTypesOf(turn);
  return { state, pair, sides, target: head, moment: new Moment(turn), usedTypes, budget: turn.budget };
}

/**
 * Writes a merge commit; a dry run rolls it back.
 *
 * @throws {ServiceError} `COMMIT_TOO_LARGE`; `VALIDATION_FAILED` when the result would not be a valid tree
 */
export function* commitMerge(
  edit: EditScope,
  pair: BranchPair,
  writer: MergeWriter,
  command: Pick<MergeBranch, 'commit' | 'dryRun' | 'source' | 'sourceName'>,
): Generator<undefined, MergeResult> {
  yield* writer.plan();
  yield* writer.write();
  const changes = yield* writer.changes();
  const { definitions } = writer;
  const changed = {
    nodes_changed: changes.length,
    definitions_changed: definitions.length,
    access_changes: countAccessChanges(changes),
  };
  if (command.dryRun) {
    yield* edit.turn.undoInSteps();
    edit.state.commandSchemas.forget();
    return mergeResult(pair, changed);
  }
  const facts = {
    ...authorship(edit.who, command.commit),
    message: command.commit?.message ?? `Merge branch '${command.sourceName}' into '${edit.state.name}'`,
    isSystem: false,
    mergeParent: formatRevision(pair.heads.other),
  };
  yield* writeRevisionInSteps(edit.turn, facts, changes, definitions);
  yield* writeMergedRevisions(edit.turn, pair.divergence.right, command.source);
  return mergeResult(pair, { head: edit.revision, ...changed });
}

/** The answer to a merge. @param facts fields that differ from the result of a merge without changes */
export function mergeResult({ heads }: BranchPair, facts: Partial<MergeResult>): MergeResult {
  const head = facts.head ?? formatRevision(heads.own);
  return {
    success: true,
    revision: Number(head.slice(0, head.indexOf('-'))),
    head,
    conflicts: [],
    fast_forward: false,
    nodes_changed: 0,
    definitions_changed: 0,
    access_changes: 0,
    target_head: formatRevision(heads.own),
    source_head: formatRevision(heads.other),
    ...facts,
  };
}
