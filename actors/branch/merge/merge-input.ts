import type { RequestBudget } from '#runtime/budget/request-budget.ts';
import type { Workspace } from '#runtime/content/definitions/workspace-definition.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { END } from '#runtime/shard/binary-key.ts';
import { BranchTable } from '#runtime/shard/key-layout.ts';
import { rowsInBatches } from '#runtime/shard/rows-in-batches.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import type { Moment } from '#runtime/scan/moment.ts';
import { everyType } from '#runtime/tree/index-catalog.ts';
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
  /** Where the target is read: its head, or the revision of it that is merged. */
  readonly moment: Moment;
  /** The types of which there are nodes. */
  readonly usedTypes: () => readonly UsedType[];
  readonly budget: RequestBudget;
}

/** A type of which a workspace has nodes. */
export interface UsedType {
  readonly workspace: string;
  readonly nodeType: string;
}

/** The types of which there are nodes at the head. */
export function usedTypesOf(reader: TableReader): readonly UsedType[] {
  const rows = rowsInBatches(reader, BranchTable.counts, everyType);
  return Array.from(rows, ({ key }) => {
    const [workspace, nodeType] = key.split(END) as [string, string];
    return { workspace, nodeType };
  });
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
