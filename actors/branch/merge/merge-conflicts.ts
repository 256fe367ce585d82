import { ROOT_ID } from '#runtime/content/content-node.ts';
import {
  differingLocales,
  type NetChange,
  prepareComparison,
  sameDefinition,
} from '#runtime/tree/net-change.ts';
import { type NodeReader, nodeInPlaceOf } from '#runtime/tree/node-reader.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import {
  definitionConflict,
  FoundConflicts,
  localeConflict,
  nodeConflictInSteps,
} from './conflict-entries.ts';
import { eachInSlices } from '../each-in-slices.ts';
import type { ConflictType, MergeConflict } from '../merge-messages.ts';
import type { NodeAddress } from '../pair-messages.ts';
import type { MergeInput } from './merge-input.ts';
import { areDisputed, type Changes, type MergeSides, nodeKeyOf } from './merge-sides.ts';

/** Conflicts where both sides changed the same thing differently, and the further nodes they involve. */
export interface Disputes {
  /** Sorted by workspace, path and locale. */
  readonly conflicts: readonly MergeConflict[];
  /** By {@link nodeKeyOf} of a node in conflict: nodes of the other side at one of its paths. */
  readonly rivals: ReadonlyMap<string, readonly NodeAddress[]>;
}

/**
 * Compares the changes of the source of a merge (`other` of the pair) and of the target (`own`) to the same thing, and
 * finds where the nodes of both do not form one tree. The cost grows with the changes of both sides.
 *
 * The node itself and each of its locales are separate aspects: an aspect is in conflict when both sides changed it
 * with different results. A position among siblings never conflicts. In addition, the changes of both sides may not
 * form one tree: a node placed below one that the other side deleted, two nodes at one path, and moves that make a node
 * its own ancestor.
 *
 * @returns yields where the work may pause
 * @throws {ServiceError} `VALIDATION_FAILED` when there are more than `CONFLICTS_MAX`
 * @see docs/interface/merges.md#conflicts
 */
export function* findDisputes({
  sides,
  target,
}: Pick<MergeInput, 'sides' | 'target'>): Generator<undefined, Disputes> {
  const finder = new ConflictFinder(target, sides.own, sides.other);
  yield* finder.find();
  for (const conflict of yield* definitionConflicts(sides)) finder.note(conflict);
  return finder;
}

class ConflictFinder implements Disputes {
  readonly rivals = new Map<string, NodeAddress[]>();
  readonly #target: NodeReader;
  readonly #own: Changes;
  readonly #other: Changes;
  readonly #found = new FoundConflicts();
  /** Nodes that are in conflict themselves; no conflicts are derived from their paths. */
  readonly #disputed = new Set<string>();

  constructor(target: NodeReader, own: Changes, other: Changes) {
    this.#target = target;
    this.#own = own;
    this.#other = other;
  }

  get conflicts(): readonly MergeConflict[] {
    return this.#found.sorted;
  }

  *find(): Generator<undefined, void> {
    yield* eachInSlices(this.#other.values(), (change) => this.#compareAspects(change));
    yield* eachInSlices(this.#other.values(), (change) => this.#requireParent(change, this.#own));
    yield* eachInSlices(this.#own.values(), (change) => this.#requireParent(change, this.#other));
    yield* eachInSlices(this.#other.values(), (change) => this.#requireFreePlace(change));
    yield* eachInSlices(this.#other.values(), (change) => this.#requireNoCycle(change));
  }

  note(conflict: MergeConflict): void {
    this.#found.note(conflict);
    const { node_id: id, translation_locale: locale, workspace } = conflict;
    if (workspace !== null && locale === undefined) this.#disputed.add(nodeKeyOf(workspace, id));
  }

  /** Compares the changes of both sides to the same node. */
  *#compareAspects(theirs: NetChange): Generator<undefined, void> {
    const { workspace, nodeId } = theirs;
    const ours = this.#own.get(nodeKeyOf(workspace, nodeId));
    if (ours === undefined) return;
    const { before } = ours;
    if (ours.after === undefined || theirs.after === undefined) {
      if (ours.after === theirs.after) return;
      const type =
        theirs.after === undefined ? 'DeletedBySourceModifiedByTarget' : 'ModifiedBySourceDeletedByTarget';
      yield* this.#noteNode(type, workspace, before, ours.after, theirs.after);
      return;
    }
    yield* prepareComparison([ours.after, theirs.after]);
    if (yield* areDisputed(ours, theirs)) {
      const type = before === undefined ? 'BothAdded' : 'BothModified';
      yield* this.#noteNode(type, workspace, before, ours.after, theirs.after);
    }
    const differing = new Set(differingLocales(ours.after, theirs.after));
    for (const locale of theirs.locales) {
      if (!differing.has(locale) || !ours.locales.includes(locale)) continue;
      const states = { base: before, target: ours.after, source: theirs.after };
      this.note(localeConflict(workspace, locale, states));
    }
  }

  /** The parent of a node that one side placed must exist: the opposite side may have deleted it. */
  *#requireParent({ workspace, before, after }: NetChange, opposite: Changes): Generator<undefined, void> {
    if (after === undefined || after.header.parentId === before?.header.parentId) return;
    const parent = opposite.get(nodeKeyOf(workspace, after.header.parentId));
    if (parent === undefined || parent.after !== undefined) return;
    const keeping = opposite === this.#own ? this.#other : this.#own;
    const kept = keeping.get(nodeKeyOf(workspace, parent.nodeId))?.after ?? parent.before;
    if (opposite === this.#own) {
      yield* this.#noteNode('ModifiedBySourceDeletedByTarget', workspace, parent.before, undefined, kept);
    } else
      yield* this.#noteNode('DeletedBySourceModifiedByTarget', workspace, parent.before, kept, undefined);
  }

  /** The target may have another node at the path where the source placed one. */
  *#requireFreePlace(theirs: NetChange): Generator<undefined, void> {
    const { workspace, nodeId, before, after } = theirs;
    if (after === undefined || !isPlacedAnew(theirs)) return;
    if (this.#disputed.has(nodeKeyOf(workspace, nodeId))) return;
    const holder = yield* nodeInPlaceOf(this.#target, workspace, after);
    if (holder === undefined || holder.header.id === nodeId) return;
    const place = nodeKeyOf(workspace, holder.header.id);
    const leaving = this.#other.get(place);
    const leaves = leaving !== undefined && (leaving.after === undefined || isPlacedAnew(leaving));
    if (leaves || this.#disputed.has(place)) return;
    const put = this.#own.get(place);
    const [named, rival] = before === undefined ? [holder.header.id, nodeId] : [nodeId, holder.header.id];
    this.#noteRival(nodeKeyOf(workspace, named), { workspace, id: rival });
    if (before !== undefined) {
      const ours = yield* this.#target.byIdInSteps(workspace, nodeId);
      yield* this.#noteNode('BothModified', workspace, before, ours, after);
    } else if (put?.before !== undefined) {
      const theirState = leaving?.after ?? put.before;
      yield* this.#noteNode('BothModified', workspace, put.before, holder, theirState);
    } else yield* this.#noteNode('BothAdded', workspace, undefined, holder, after);
  }

  #noteRival(key: string, rival: NodeAddress): void {
    const known = this.rivals.get(key);
    if (known === undefined) this.rivals.set(key, [rival]);
    else known.push(rival);
  }

  /** The ancestors of a node that the source moved, after the moves of both sides, must end at the root. */
  *#requireNoCycle({ workspace, nodeId, before, after }: NetChange): Generator<undefined, void> {
    if (before === undefined || after === undefined) return;
    if (before.header.parentId === after.header.parentId) return;
    const way = new Set<string>();
    for (let id: string | undefined = nodeId; id !== undefined && id !== ROOT_ID; ) {
      if (way.has(id)) {
        // A cycle further up is found from its own nodes.
        if (id === nodeId) yield* this.#noteCycle(workspace, way);
        return;
      }
      way.add(id);
      id = yield* this.#mergedParent(workspace, id);
    }
  }

  *#mergedParent(workspace: string, id: string): Generator<undefined, string | undefined> {
    const theirs = this.#other.get(nodeKeyOf(workspace, id));
    const moved = theirs?.after?.header.parentId;
    if (moved !== undefined && moved !== theirs?.before?.header.parentId) return moved;
    return (yield* this.#target.byIdInSteps(workspace, id))?.header.parentId;
  }

  *#noteCycle(workspace: string, ids: Iterable<string>): Generator<undefined, void> {
    for (const id of ids) {
      const ours = this.#own.get(nodeKeyOf(workspace, id));
      const theirs = this.#other.get(nodeKeyOf(workspace, id));
      if (!isReparented(ours) && !isReparented(theirs)) continue;
      const before = ours?.before ?? theirs?.before;
      const present = yield* this.#target.byIdInSteps(workspace, id);
      yield* this.#noteNode('BothModified', workspace, before, present, theirs?.after ?? before);
    }
  }

  *#noteNode(
    type: ConflictType,
    workspace: string,
    base: NodeRecord | undefined,
    target: NodeRecord | undefined,
    source: NodeRecord | undefined,
  ): Generator<undefined, void> {
    this.note(yield* nodeConflictInSteps(type, workspace, { base, target, source }));
  }
}

/** Whether a change gave a node another parent or another name; always true for a new node. */
function isPlacedAnew({ before, after }: NetChange): boolean {
  if (after === undefined) return false;
  return before?.header.parentId !== after.header.parentId || before.header.name !== after.header.name;
}

function isReparented(change: NetChange | undefined): boolean {
  if (change?.before === undefined || change.after === undefined) return false;
  return change.before.header.parentId !== change.after.header.parentId;
}

function* definitionConflicts({
  ownDefinitions,
  otherDefinitions,
}: MergeSides): Generator<undefined, readonly MergeConflict[]> {
  const found: MergeConflict[] = [];
  yield* eachInSlices(otherDefinitions, ([key, theirs]) => {
    const ours = ownDefinitions.get(key);
    if (ours === undefined || sameDefinition(ours.after, theirs.after)) return;
    const states = { base: ours.before, target: ours.after, source: theirs.after };
    found.push(definitionConflict(theirs.kind, theirs.name, states));
  });
  return found;
}
