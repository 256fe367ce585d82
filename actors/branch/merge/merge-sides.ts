import type { RequestBudget } from '#runtime/budget/request-budget.ts';
import {
  type DefinitionNetChange,
  type NetChange,
  prepareComparison,
  sameNode,
} from '#runtime/tree/net-change.ts';
import { recordWeight } from '#runtime/tree/record-weight.ts';
import type { BranchPair, Side } from '../pair/branch-pair.ts';
import { CONFLICTS_MAX, tooManyConflicts } from './conflict-entries.ts';

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

/** Whether both sides changed a node itself, and differently. Yields only for large nodes. */
export function* areDisputed(ours: NetChange, theirs: NetChange): Generator<undefined, boolean> {
  if (ours.after === undefined || theirs.after === undefined) return ours.after !== theirs.after;
  yield* prepareComparison([ours.after, theirs.after]);
  return ours.isNode && theirs.isNode && !sameNode(ours.after, theirs.after);
}

/**
 * Collects the changes of both sides. Their nodes stay in memory, and are counted as held by the request. The two sides
 * are read in turns, and nothing more is read once their changes have too many conflicts.
 *
 * @throws {ServiceError} `VALIDATION_FAILED` when there are too many changes or conflicts; `REQUEST_TOO_EXPENSIVE` when the changed
 *   nodes are too large together
 */
export function* gatherSides(pair: BranchPair, budget: RequestBudget): Generator<undefined, MergeSides> {
  const reordered = new Map<string, NetChange>();
  const ownReordered = new Map<string, NetChange>();
  const own = new Map<string, NetChange>();
  const other = new Map<string, NetChange>();
  const sides = [
    { opposite: other, changes: gathered(pair, 'own', own, ownReordered, budget) },
    { opposite: own, changes: gathered(pair, 'other', other, reordered, budget) },
  ];
  let conflicts = 0;
  while (sides.length > 0) {
    for (const side of [...sides]) {
      const change = yield* nextOf(side.changes);
      if (change === undefined) {
        sides.splice(sides.indexOf(side), 1);
        continue;
      }
      const against = side.opposite.get(nodeKeyOf(change.workspace, change.nodeId));
      if (against === undefined || change.operation === 'reordered') continue;
      if (yield* areDisputed(change, against)) conflicts += 1;
      if (conflicts > CONFLICTS_MAX) throw tooManyConflicts();
    }
  }
  const ownDefinitions = yield* gatheredDefinitions(pair, 'own');
  const otherDefinitions = yield* gatheredDefinitions(pair, 'other');
  return { own, other, reordered, ownReordered, ownDefinitions, otherDefinitions };
}

/** The next item of a walk; undefined at its end. Passes on where the work may pause. */
function* nextOf<T>(walk: Iterator<T | undefined, void>): Generator<undefined, T | undefined> {
  for (let step = walk.next(); step.done !== true; step = walk.next()) {
    if (step.value !== undefined) return step.value;
    yield;
  }
  return undefined;
}

/** Collects the changes of a side; yields each of them, and undefined where the work may pause. */
function* gathered(
  pair: BranchPair,
  side: Side,
  found: Map<string, NetChange>,
  reordered: Map<string, NetChange>,
  budget: RequestBudget,
): Generator<NetChange | undefined, void> {
  for (const change of pair.changes(side)) {
    if (change !== undefined) {
      for (const state of [change.before, change.after])
        if (state !== undefined) budget.hold(yield* recordWeight(state));
      const changes = change.operation === 'reordered' ? reordered : found;
      changes.set(nodeKeyOf(change.workspace, change.nodeId), change);
    }
    yield change;
  }
}

function* gatheredDefinitions(pair: BranchPair, side: Side): Generator<undefined, DefinitionChanges> {
  const found = new Map<string, DefinitionNetChange>();
  for (const change of pair.definitionChanges(side)) {
    if (change === undefined) yield;
    else found.set(nodeKeyOf(change.kind, change.name), change);
  }
  return found;
}
