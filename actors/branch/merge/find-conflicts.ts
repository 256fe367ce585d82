import { sortInSlices } from '#runtime/base/event-loop/sliced-sort.ts';
import type { MergeConflict } from '../merge-messages.ts';
import { byPlace, CONFLICTS_MAX } from './conflict-entries.ts';
import { type Disputes, findDisputes } from './merge-conflicts.ts';
import type { DefinitionDecision } from './merge-decisions.ts';
import type { MergeInput } from './merge-input.ts';
import { nodeKeyOf } from './merge-sides.ts';
import { MergedTree } from './merged-tree.ts';
import { findViolations } from './violations/found-violations.ts';
import { MergedSchemas } from './violations/merged-schemas.ts';
import type { MergeView } from './violations/merge-view.ts';
import { violationConflicts } from './violations/violation-entries.ts';

/** All conflicts that prevent a merge from being written. */
export interface FoundConflicts {
  /** Conflicts where both sides changed the same thing differently. */
  readonly disputes: Disputes;
  /** Nodes and definitions that are invalid only in the merged state, although one side alone changed each of them. */
  readonly violations: readonly MergeConflict[];
  /** All conflicts, sorted by workspace, path and locale. */
  readonly conflicts: readonly MergeConflict[];
}

/**
 * Finds all conflicts that prevent the source of a merge from being merged into the target. The cost grows with the
 * changes of both sides. A list of conflicts, a merge, its dry run and a merge with resolutions all find the same.
 *
 * A violation that depends on another conflict is found once that conflict is resolved.
 *
 * @returns yields where the work may pause
 * @throws {ServiceError} `VALIDATION_FAILED` when both sides changed more than `CONFLICTS_MAX` things differently;
 *   `REQUEST_TOO_EXPENSIVE`
 * @see docs/interface/merges.md#conflicts
 */
export function* findConflicts(input: MergeInput): Generator<undefined, FoundConflicts> {
  const disputes = yield* findDisputes(input);
  const tree = new MergedTree(input.sides, input.target);
  const view = yield* mergeView(input, { tree, definitions: new Map(), open: disputes.conflicts });
  const found = yield* findViolations(view);
  const most = CONFLICTS_MAX - disputes.conflicts.length;
  const violations = yield* violationConflicts(view, found, () => true, most);
  const conflicts = yield* sortInSlices([...disputes.conflicts, ...violations], byPlace);
  return { disputes, violations, conflicts };
}

/** The result of a merge under some decisions. */
export function* mergeView(
  input: MergeInput,
  {
    definitions,
    open,
    tree,
  }: {
    readonly tree: MergedTree;
    readonly definitions: ReadonlyMap<string, DefinitionDecision>;
    /** Conflicts without a decision. */
    readonly open: readonly MergeConflict[];
  },
): Generator<undefined, MergeView> {
  const disputed = new Set<string>();
  for (const { node_id: id, translation_locale: locale, workspace } of open) {
    if (workspace !== null && locale === undefined) disputed.add(nodeKeyOf(workspace, id));
  }
  return { ...input, tree, schemas: yield* MergedSchemas.of(input, definitions), disputed };
}
