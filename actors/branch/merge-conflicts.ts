import { ROOT_ID } from '#runtime/content/content-node.ts';
import { joinPath } from '#runtime/content/path.ts';
import {
  differingLocales,
  type NetChange,
  prepareComparison,
  sameDefinition,
  sameNode,
} from '#runtime/tree/net-change.ts';
import type { DefinitionNetChange } from '#runtime/tree/net-change.ts';
import type { NodeReader } from '#runtime/tree/node-reader.ts';
import type { NodeRecord } from '#runtime/tree/node-record.ts';
import type { BranchPair, Side } from './branch-pair.ts';
import {
  definitionConflict,
  FoundConflicts,
  localeConflict,
  nodeConflictInSteps,
} from './conflict-entries.ts';
import type { ConflictType, MergeConflict } from './merge-messages.ts';
import type { NodeAddress } from './pair-messages.ts';

/** Changes looked at between two rests: each may read large nodes that it names. */
const STEPS_PER_SLICE = 2;

/** Changed nodes by {@link nodeKeyOf}. */
export type Changes = ReadonlyMap<string, NetChange>;

/** What both sides of a merge did to nodes; a new place among the same siblings is kept apart. */
export interface MergeSides {
  readonly own: Changes;
  readonly other: Changes;
  /** Nodes the source only reordered. */
  readonly reordered: readonly NetChange[];
  /** As {@link MergeSides.reordered}, of the target. */
  readonly ownReordered: readonly NetChange[];
}

/**
 * Gathers what both sides did.
 *
 * @throws {ServiceError} `VALIDATION_FAILED` when there are too many changes
 */
export function* gatherSides(pair: BranchPair): Generator<undefined, MergeSides> {
  const reordered: NetChange[] = [];
  const ownReordered: NetChange[] = [];
  const own = yield* gathered(pair, 'own', ownReordered);
  return { own, other: yield* gathered(pair, 'other', reordered), reordered, ownReordered };
}

function* gathered(pair: BranchPair, side: Side, reordered: NetChange[]): Generator<undefined, Changes> {
  const found = new Map<string, NetChange>();
  for (const change of pair.changes(side)) {
    if (change === undefined) yield;
    else if (change.operation === 'reordered') reordered.push(change);
    else found.set(nodeKeyOf(change.workspace, change.nodeId), change);
  }
  return found;
}

/**
 * Everything that keeps the source of a merge, `other` of the pair, from being merged into the target, `own`.
 * Cost follows the changes of both sides.
 *
 * The node itself and each of its locales are aspects of their own: an aspect is in conflict when both sides changed
 * it and did not end up with the same. A place among siblings never is. Besides these, what each side did may not fit
 * together in one tree: a node placed below one that the other side deleted, two nodes at one place, and moves that
 * make a node its own ancestor.
 *
 * @param target its tree, in the state the pair was met in
 * @returns by workspace, path and locale; yields wherever the work may rest
 * @throws {ServiceError} `VALIDATION_FAILED` when there are more than `CONFLICTS_MAX`
 * @see Supplement 8.3
 */
export function* findConflicts(
  pair: BranchPair,
  sides: MergeSides,
  target: NodeReader,
): Generator<undefined, readonly MergeConflict[]> {
  return (yield* findDisputes(pair, sides, target)).conflicts;
}

/** Conflicts, and what they are about besides the nodes they name. */
export interface Disputes {
  readonly conflicts: readonly MergeConflict[];
  /** By {@link nodeKeyOf} of a node in conflict: nodes that the other side has at a place of its. */
  readonly rivals: ReadonlyMap<string, readonly NodeAddress[]>;
}

/** As {@link findConflicts}, with what settling them takes. */
export function* findDisputes(
  pair: BranchPair,
  { own, other }: MergeSides,
  target: NodeReader,
): Generator<undefined, Disputes> {
  const finder = new ConflictFinder(target, own, other);
  yield* finder.find();
  for (const conflict of yield* definitionConflicts(pair)) finder.note(conflict);
  return finder;
}

/** Names a node across workspaces. */
export function nodeKeyOf(workspace: string, id: string): string {
  return `${workspace}\0${id}`;
}

class ConflictFinder implements Disputes {
  readonly rivals = new Map<string, NodeAddress[]>();
  readonly #target: NodeReader;
  readonly #own: Changes;
  readonly #other: Changes;
  readonly #found = new FoundConflicts();
  /** Nodes that are in conflict themselves; nothing is concluded from where they stand. */
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
    yield* inSlices(this.#other.values(), (change) => this.#compareAspects(change));
    yield* inSlices(this.#other.values(), (change) => this.#requireParent(change, this.#own));
    yield* inSlices(this.#own.values(), (change) => this.#requireParent(change, this.#other));
    yield* inSlices(this.#other.values(), (change) => this.#requireFreePlace(change));
    yield* inSlices(this.#other.values(), (change) => this.#requireNoCycle(change));
  }

  note(conflict: MergeConflict): void {
    this.#found.note(conflict);
    const { node_id: id, translation_locale: locale, workspace } = conflict;
    if (workspace !== null && locale === undefined) this.#disputed.add(nodeKeyOf(workspace, id));
  }

  /** What both sides did to the same node. */
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
    if (ours.isNode && theirs.isNode && !sameNode(ours.after, theirs.after)) {
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

  /** A node that one side placed somewhere must find its parent there: the opposite side may have deleted it. */
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

  /** Where the source put a node, the target may have put another one. */
  *#requireFreePlace(theirs: NetChange): Generator<undefined, void> {
    const { workspace, nodeId, before, after } = theirs;
    if (after === undefined || !isPlacedAnew(theirs)) return;
    if (this.#disputed.has(nodeKeyOf(workspace, nodeId))) return;
    const holder = this.#holderOf(workspace, after);
    if (holder === undefined || holder.header.id === nodeId) return;
    const place = nodeKeyOf(workspace, holder.header.id);
    const leaving = this.#other.get(place);
    const leaves = leaving !== undefined && (leaving.after === undefined || isPlacedAnew(leaving));
    if (leaves || this.#disputed.has(place)) return;
    const put = this.#own.get(place);
    const [named, rival] = before === undefined ? [holder.header.id, nodeId] : [nodeId, holder.header.id];
    this.#noteRival(nodeKeyOf(workspace, named), { workspace, id: rival });
    if (before !== undefined) {
      const ours = this.#target.byId(workspace, nodeId);
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

  /** What stands on the target where the source has a node. */
  #holderOf(workspace: string, { header }: NodeRecord): NodeRecord | undefined {
    const { name, parentId } = header;
    const parent = parentId === ROOT_ID ? '/' : this.#target.byId(workspace, parentId)?.header.path;
    return parent === undefined ? undefined : this.#target.byPath(workspace, joinPath(parent, name));
  }

  /** Going up from a node the source moved, by where it stands once both sides' moves are done, must end at the root. */
  *#requireNoCycle({ workspace, nodeId, before, after }: NetChange): Generator<undefined, void> {
    if (before === undefined || after === undefined) return;
    if (before.header.parentId === after.header.parentId) return;
    const way = new Set<string>();
    for (let id: string | undefined = nodeId; id !== undefined && id !== ROOT_ID; ) {
      if (way.has(id)) {
        // A cycle further up is found from the nodes on it.
        if (id === nodeId) yield* this.#noteCycle(workspace, way);
        return;
      }
      way.add(id);
      id = this.#mergedParent(workspace, id);
    }
  }

  #mergedParent(workspace: string, id: string): string | undefined {
    const theirs = this.#other.get(nodeKeyOf(workspace, id));
    const moved = theirs?.after?.header.parentId;
    if (moved !== undefined && moved !== theirs?.before?.header.parentId) return moved;
    return this.#target.byId(workspace, id)?.header.parentId;
  }

  *#noteCycle(workspace: string, ids: Iterable<string>): Generator<undefined, void> {
    for (const id of ids) {
      const ours = this.#own.get(nodeKeyOf(workspace, id));
      const theirs = this.#other.get(nodeKeyOf(workspace, id));
      if (!isReparented(ours) && !isReparented(theirs)) continue;
      const before = ours?.before ?? theirs?.before;
      const present = this.#target.byId(workspace, id);
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

/** Whether a change gave a node another parent or another name; always for a new one. */
function isPlacedAnew({ before, after }: NetChange): boolean {
  if (after === undefined) return false;
  return before?.header.parentId !== after.header.parentId || before.header.name !== after.header.name;
}

function isReparented(change: NetChange | undefined): boolean {
  if (change?.before === undefined || change.after === undefined) return false;
  return change.before.header.parentId !== change.after.header.parentId;
}

function* definitionConflicts(pair: BranchPair): Generator<undefined, readonly MergeConflict[]> {
  const own = new Map<string, DefinitionNetChange>();
  for (const change of pair.definitionChanges('own')) {
    if (change === undefined) yield;
    else own.set(nodeKeyOf(change.kind, change.name), change);
  }
  const found: MergeConflict[] = [];
  for (const theirs of pair.definitionChanges('other')) {
    const ours = theirs === undefined ? undefined : own.get(nodeKeyOf(theirs.kind, theirs.name));
    if (theirs === undefined || ours === undefined || sameDefinition(ours.after, theirs.after)) {
      yield;
      continue;
    }
    const states = { base: ours.before, target: ours.after, source: theirs.after };
    found.push(definitionConflict(theirs.kind, theirs.name, states));
  }
  return found;
}

function* inSlices<T>(
  items: Iterable<T>,
  handle: (item: T) => Generator<undefined, void>,
): Generator<undefined, void> {
  let handled = 0;
  for (const item of items) {
    yield* handle(item);
    handled += 1;
    if (handled % STEPS_PER_SLICE === 0) yield;
  }
}
