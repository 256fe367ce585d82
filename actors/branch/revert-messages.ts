import type { MergeConflict } from './merge-messages.ts';
import type { CommitInfo } from './commit-messages.ts';

/**
 * Which revisions are undone: some, in any order, or every one from one to another, both included. They must lead to
 * the head of the branch.
 */
export type RevertedRevisions =
  | { readonly revisions: readonly string[] }
  | { readonly from: string; readonly to: string };

/** Undoes revisions of this branch as one new revision. Result: {@link RevertResult}. */
export interface RevertRevisions {
  readonly type: 'RevertRevisions';
  readonly which: RevertedRevisions;
  readonly commit?: CommitInfo;
  /** Reports, and writes nothing. */
  readonly dryRun: boolean;
}

/** What a revert did, in the form of a merge result. */
export interface RevertResult {
  /** False when there are conflicts; nothing was written then. */
  readonly success: boolean;
  /** Milliseconds of the head. */
  readonly revision: number;
  /** Where the branch stands now; as before when there was nothing left to undo. */
  readonly head: string;
  /** Base is what the reverted revisions made, target what the branch has, source what was before them. */
  readonly conflicts: readonly MergeConflict[];
  readonly fast_forward: false;
  /** Nodes the new revision changed. */
  readonly nodes_changed: number;
  /** Schema definitions the new revision changed. */
  readonly definitions_changed: number;
}
