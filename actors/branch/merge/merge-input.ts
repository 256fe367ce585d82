import type { RequestBudget } from '#runtime/budget/request-budget.ts';
import type { Revision } from '#runtime/content/revision.ts';
import type { Workspace } from '#runtime/content/definitions/workspace-definition.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import type { NodeReader } from '#runtime/tree/node-reader.ts';
import type { BranchState } from '../branch-state.ts';
import type { BranchPair } from '../pair/branch-pair.ts';
import type { MergeSides } from './merge-sides.ts';

/** The input of a merge. Nothing has been written yet. */
export interface MergeInput {
  readonly state: BranchState;
  /** Target and source. */
  readonly pair: BranchPair;
  readonly sides: MergeSides;
  /** Tree of the target, in the state in which the sides were collected. */
  readonly target: NodeReader;
  /** Tables of the target. */
  readonly reader: TableReader;
  /** The revision of the target that is merged; absent: its head. */
  readonly at?: Revision | undefined;
  readonly budget: RequestBudget;
}

/** A workspace of the repository; undefined when it no longer exists. */
export function workspaceOf({ state }: MergeInput, name: string): Workspace | undefined {
  try {
    return state.workspace(name);
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'WORKSPACE_NOT_FOUND') return undefined;
    throw error;
  }
}
