import { decidingTypes } from '#runtime/content/built-in/deciding-nodes.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import type { NodeChange } from '#runtime/tree/revision-record.ts';
import type { BranchPair } from '../pair/branch-pair.ts';

/** How many changes of nodes are of nodes that decide who may do what. */
export function countAccessChanges(changes: readonly NodeChange[]): number {
  return changes.filter(({ node_type: type, workspace }) => decides(workspace, type)).length;
}

/**
 * How many nodes that decide who may do what the other branch has changed since the base. Only these nodes are read.
 *
 * @returns yields where the work may pause
 */
export function* countAdoptedAccessChanges(pair: BranchPair): Generator<undefined, number> {
  let count = 0;
  for (const change of pair.changesWithin('other', (workspace) => decidingTypes(workspace).size > 0)) {
    if (change === undefined) {
      yield;
      continue;
    }
    const { after, before, workspace } = change;
    // A node that gets another type may stop deciding.
    const states = [before, after].filter((state): state is NodeRecord => state !== undefined);
    if (states.some(({ header }) => decides(workspace, header.nodeType))) count += 1;
  }
  return count;
}

function decides(workspace: string, nodeType: string): boolean {
  return decidingTypes(workspace).has(nodeType);
}
