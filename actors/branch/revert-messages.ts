import type { MergeConflict } from './merge-messages.ts';
import type { CommitInfo } from './commit-messages.ts';

/**
 * The revisions to undo: a list in any order, or an inclusive range. They must be ancestors of the head of the branch,
 * or the head itself.
 */
export type RevertedRevisions =
  | { readonly revisions: readonly string[] }
  | { readonly from: string; readonly to: string };

/** Undoes revisions of this branch as one new revision. Result: {@link RevertResult}. */
export interface RevertRevisions {
  readonly type: 'RevertRevisions';
  readonly which: RevertedRevisions;
  readonly commit?: CommitInfo;
  /** Only reports the result; writes nothing. */
  readonly dryRun: boolean;
}

/** The result of a revert, in the form of a merge result. */
export interface RevertResult {
  /** False when there are conflicts; then nothing was written. */
  readonly success: boolean;
  /** The milliseconds part of the head. */
  readonly revision: number;
  /** Head of the branch after the revert; unchanged when there was nothing left to undo. */
  readonly head: string;
  /** Base is the state after the reverted revisions, target the current state, source the state before them. */
  readonly conflicts: readonly MergeConflict[];
  readonly fast_forward: false;
  /** Nodes the new revision changed. */
  readonly nodes_changed: number;
  /** Schema definitions the new revision changed. */
  readonly definitions_changed: number;
}
