import type { RequestBudget } from '#runtime/budget/request-budget.ts';
import type { DefinitionNetChange, NetChange } from '#runtime/tree/net-change.ts';
import { recordWeight } from '#runtime/tree/record-weight.ts';
import type { BranchPair, Side } from '../pair/branch-pair.ts';

/** Changed nodes by {@link nodeKeyOf}. */
export type Changes = ReadonlyMap<string, NetChange>;

/** Changed definitions, by {@link nodeKeyOf} of kind and name. */
export type DefinitionChanges = ReadonlyMap<string, DefinitionNetChange>;

/** The changes of both sides of a merge; reorderings among the same siblings are listed separately. */
export interface MergeSides {
  readonly own: Changes;
  readonly other: Changes;
  /** Nodes the source only reordered. */
  readonly reordered: Changes;
  /** As {@link MergeSides.reordered}, for the target. */
  readonly ownReordered: Changes;
  readonly ownDefinitions: DefinitionChanges;
  readonly otherDefinitions: DefinitionChanges;
}

/** Names a node across workspaces, or a definition by kind and name. */
export function nodeKeyOf(workspace: string, id: string): string {
  return `${workspace}\0${id}`;
}

/**
 * Collects the changes of both sides. Their nodes stay in memory, and are counted as held by the request.
 *
 * @throws {ServiceError} `VALIDATION_FAILED` when there are too many changes; `REQUEST_TOO_EXPENSIVE` when the changed
 *   nodes are too large together
 */
export function* gatherSides(pair: BranchPair, budget: RequestBudget): Generator<undefined, MergeSides> {
  const reordered = new Map<string, NetChange>();
  const ownReordered = new Map<string, NetChange>();
  const own = yield* gathered(pair, 'own', ownReordered, budget);
  const other = yield* gathered(pair, 'other', reordered, budget);
  const ownDefinitions = yield* gatheredDefinitions(pair, 'own');
  const otherDefinitions = yield* gatheredDefinitions(pair, 'other');
  return { own, other, reordered, ownReordered, ownDefinitions, otherDefinitions };
}

function* gathered(
  pair: BranchPair,
  side: Side,
  reordered: Map<string, NetChange>,
  budget: RequestBudget,
): Generator<undefined, Changes> {
  const found = new Map<string, NetChange>();
  for (const change of pair.changes(side)) {
    if (change === undefined) yield;
    else {
      for (const state of [change.before, change.after])
        if (state !== undefined) budget.hold(yield* recordWeight(state));
      const changes = change.operation === 'reordered' ? reordered : found;
      changes.set(nodeKeyOf(change.workspace, change.nodeId), change);
    }
  }
  return found;
}

function* gatheredDefinitions(pair: BranchPair, side: Side): Generator<undefined, DefinitionChanges> {
  const found = new Map<string, DefinitionNetChange>();
  for (const change of pair.definitionChanges(side)) {
    if (change === undefined) yield;
    else found.set(nodeKeyOf(change.kind, change.name), change);
  }
  return found;
}
