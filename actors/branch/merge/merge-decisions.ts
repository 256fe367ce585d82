import { ROOT_ID } from '#runtime/content/content-node.ts';
import type { JsonObject } from '#runtime/content/json-value.ts';
import { sortInSlices } from '#runtime/base/sliced-sort.ts';
import { pathDepth } from '#runtime/content/path.ts';
import { invalid, type ServiceError } from '#runtime/errors/service-error.ts';
import type { NodeRecord } from '#runtime/tree/node-record.ts';
import type { StoredDefinition, StoredKind } from '#runtime/tree/schema-store.ts';
import { nodeConflictInSteps } from './conflict-entries.ts';
import { SLICE_NODES } from '../nodes/delete-node.ts';
import { eachInSlices } from '../each-in-slices.ts';
import type { Disputes } from './merge-conflicts.ts';
import type { MergeInput } from './merge-input.ts';
import { type Changes, nodeKeyOf } from './merge-sides.ts';
import type { MergeConflict, MergeResolution } from '../merge-messages.ts';
import { MergedTree, type NodeDecision } from './merged-tree.ts';
import { definitionOfId } from '../pair/definition-names.ts';
import type { DefinitionAddress, NodeAddress } from '../pair-messages.ts';
import type { Resolutions } from './resolutions.ts';

/** What was decided about a locale of a node, or about a definition. `values`: those of a manual resolution. */
export interface AspectDecision {
  readonly choice: 'ours' | 'theirs' | 'manual';
  readonly values: JsonObject | null;
}

/** What was decided about a definition. */
export interface DefinitionDecision extends DefinitionAddress {
  readonly choice: AspectDecision['choice'];
  /** Of a manual resolution; undefined: it is not to be there. */
  readonly given?: StoredDefinition<StoredKind> | undefined;
}

/** Everything that was decided about a merge. */
export interface MergeDecisions {
  /** Where nodes stand, with what was decided about them. */
  readonly tree: MergedTree;
  /** By {@link localeKeyOf}. */
  readonly locales: ReadonlyMap<string, AspectDecision>;
  /** By kind and name, as `nodeKeyOf` joins them. */
  readonly definitions: ReadonlyMap<string, DefinitionDecision>;
  /** Conflicts that nothing was decided about; nothing can be written then. */
  readonly open: readonly MergeConflict[];
}

/** Names a locale of a node across workspaces. */
export function localeKeyOf({ id, workspace }: NodeAddress, locale: string): string {
  return `${nodeKeyOf(workspace, id)}\0${locale}`;
}

/** What decisions are made of. */
export interface MergeQuestion {
  readonly input: MergeInput;
  readonly disputes: Disputes;
  readonly resolutions: Resolutions;
  /**
   * The definition that a manual resolution gives.
   *
   * @throws {ServiceError} `VALIDATION_FAILED`, `UNPROCESSABLE_BODY`
   */
  giveDefinition(address: DefinitionAddress, values: JsonObject): StoredDefinition<StoredKind>;
  /** @throws {ServiceError} when more nodes than this are too many for one commit */
  checkSize(nodes: number): void;
}

/** Decisions besides those about what both sides changed differently. */
export interface FurtherDecisions {
  /** Conflicts made of violations that have a resolution. */
  readonly conflicts: readonly MergeConflict[];
  /** Nodes that follow another one. */
  readonly following: readonly NodeDecision[];
}

/**
 * Settles conflicts by resolutions, and with them everything that follows.
 *
 * - A resolution is about the node itself, one of its locales, or a definition. `keep-ours` leaves what the target
 *   has, `keep-theirs` takes what the source has, its place included. `manual` gives the target's node other
 *   properties, or the source's where the target has none; with null it goes, and what the target has below it.
 * - Where one side deleted a node and the other one is kept, what was deleted below it is kept with it, unless the
 *   keeping side had changed that: it is in conflict itself. A node that is kept keeps the nodes above it, too.
 * - What the losing side put below a node that goes gets the state of the winning side: a new node goes as well, one
 *   that was moved there stays where the winner has it.
 * - Of two nodes at one place the one that is not named by the conflict goes the way of the one that is. Where a
 *   resolution puts a node where another one is that no conflict was about so far, that is a conflict of its own; so
 *   is a move that only a resolution makes one in a circle.
 *
 * @returns yields wherever the work may rest
 * @throws {ServiceError} `VALIDATION_FAILED` for resolutions that cannot all be followed: a node kept below one that
 *   goes, two nodes at one place, nodes that are their own ancestors
 * @see docs/interface/merges.md#resolving-conflicts
 */
export function* resolveConflicts(
  question: MergeQuestion,
  further: FurtherDecisions,
): Generator<undefined, MergeDecisions> {
  const resolver = new ConflictResolver(question);
  yield* eachInSlices([...question.disputes.conflicts, ...further.conflicts], (conflict) => {
    resolver.ask(conflict);
  });
  yield* eachInSlices(further.following, (decision) => resolver.follow(decision));
  if (resolver.open.length === 0) yield* resolver.settle();
  return resolver;
}

class ConflictResolver implements MergeDecisions {
  readonly tree: MergedTree;
  readonly locales = new Map<string, AspectDecision>();
  readonly definitions = new Map<string, DefinitionDecision>();
  readonly open: MergeConflict[] = [];
  readonly #question: MergeQuestion;
  /** Nodes that go whose children have not been looked at. */
  readonly #going: NodeAddress[] = [];
  #gone = 0;

  constructor(question: MergeQuestion) {
    this.#question = question;
    this.tree = new MergedTree(question.input.sides, question.input.target);
  }

  /** Looks for the resolution of a conflict. @returns whether there was one */
  ask(conflict: MergeConflict): boolean {
    const resolution = this.#question.resolutions.take(conflict);
    if (resolution === undefined) {
      this.open.push(conflict);
      return false;
    }
    const { node_id: id, translation_locale: locale, workspace } = conflict;
    if (workspace === null) this.#decideDefinition(id, resolution);
    else if (locale !== undefined)
      this.locales.set(localeKeyOf({ workspace, id }, locale), aspect(resolution));
    else this.#decideNode({ workspace, id }, resolution);
    return true;
  }

  /** Lets a node follow another one, unless there is a decision about it. */
  follow(decision: NodeDecision): void {
    if (this.tree.decisionOf(decision) === undefined) this.#decide(decision);
  }

  *settle(): Generator<undefined, void> {
    const { other, own } = this.#question.input.sides;
    yield* this.#keepWhatWasBelow('ours', other);
    yield* this.#keepWhatWasBelow('theirs', own);
    const nodes = yield* topFirst(other, own);
    // Every round decides about another node at least, so there is an end.
    for (;;) {
      yield* this.#removeBelow();
      let isSettled = true;
      yield* eachInSlices(nodes, (node) => {
        if (this.#attach(node)) isSettled = false;
      });
      if (isSettled && this.#going.length === 0) isSettled = yield* this.#clearPlaces(nodes);
      if (isSettled && this.open.length === 0) isSettled = yield* this.#openCycles(nodes);
      if (isSettled || this.open.length > 0) return;
    }
  }

  #decideDefinition(id: string, resolution: MergeResolution): void {
    const address = definitionOfId(id);
    const { choice, values } = aspect(resolution);
    const given = values === null ? undefined : this.#question.giveDefinition(address, values);
    this.definitions.set(nodeKeyOf(address.kind, address.name), { ...address, choice, given });
  }

  #decideNode(node: NodeAddress, { properties, type }: MergeResolution): void {
    const isOurs = type === 'keep-ours' || (type === 'manual' && this.tree.targetState(node) !== undefined);
    const choice = type === 'manual' && properties == null ? 'gone' : isOurs ? 'ours' : 'theirs';
    const isGiven = choice !== 'gone' && type === 'manual' && properties != null;
    this.#decide({ ...node, choice, origin: 'given', ...(isGiven ? { properties } : {}) });
    const way = choice === 'theirs' ? 'theirs' : 'ours';
    for (const rival of this.#question.disputes.rivals.get(nodeKeyOf(node.workspace, node.id)) ?? []) {
      if (this.tree.decisionOf(rival) !== undefined || this.tree.sideOf(rival) === way) continue;
      this.#decide({ ...rival, choice: way, origin: 'follows' });
    }
  }

  #decide(decision: NodeDecision): void {
    this.tree.decide(decision);
    if (decision.choice === 'gone') this.#going.push(decision);
  }

  /** Nodes that the loser deleted together with one that is kept, and that the keeping side has as they were. */
  *#keepWhatWasBelow(winner: 'ours' | 'theirs', losing: Changes): Generator<undefined, void> {
    const { tree } = this;
    const stateOf = (node: NodeAddress): NodeRecord | undefined =>
      winner === 'ours' ? tree.targetState(node) : tree.sourceState(node);
    yield* eachInSlices(losing.values(), (change) => {
      const below: NodeAddress[] = [];
      let node: NodeAddress = { workspace: change.workspace, id: change.nodeId };
      while (node.id !== ROOT_ID) {
        const deleted = losing.get(nodeKeyOf(node.workspace, node.id));
        const state = stateOf(node);
        if (deleted === undefined || deleted.after !== undefined || state === undefined) return;
        const decided = tree.decisionOf(node);
        if (decided !== undefined) {
          if (decided.choice !== winner) return;
          break;
        }
        below.push(node);
        node = { workspace: node.workspace, id: state.header.parentId };
      }
      if (node.id === ROOT_ID) return;
      for (const kept of below) this.#decide({ ...kept, choice: winner, origin: 'follows' });
    });
  }

  /** What the target has below a node that goes, goes. */
  *#removeBelow(): Generator<undefined, void> {
    const { target } = this.#question.input;
    for (let node = this.#going.pop(); node !== undefined; node = this.#going.pop()) {
      const { id: parentId, workspace } = node;
      for (const { id } of [...target.children(workspace, parentId)]) {
        const child = { workspace, id };
        const state = this.tree.stateOf(child);
        if (state === undefined || state.header.parentId !== parentId) continue;
        if (this.tree.decisionOf(child)?.origin === 'given') throw this.#keptBelow(child, node);
        this.#decide({ ...child, choice: 'gone', origin: 'removed' });
      }
      this.#gone += 1;
      this.#question.checkSize(this.#gone + this.#going.length);
      if (this.#gone % SLICE_NODES === 0) yield;
    }
  }

  /** Sees to it that a node that is there stands below one that is there. @returns whether that took a decision */
  #attach(node: NodeAddress): boolean {
    const { tree } = this;
    const state = tree.stateOf(node);
    if (state === undefined) return false;
    const parent = { workspace: node.workspace, id: state.header.parentId };
    if (tree.has(parent)) return false;
    const decided = tree.decisionOf(node);
    const above = tree.decisionOf(parent);
    if (above === undefined) {
      // The side that has the node where it is has its parent there, too; the other one deleted it.
      if (decided === undefined) throw this.#keptBelow(node, parent);
      this.#decide({ ...parent, choice: tree.sideOf(node), origin: 'follows' });
      return true;
    }
    if (decided?.origin === 'given') throw this.#keptBelow(node, parent);
    if (above.choice !== 'gone') {
      if (decided?.origin === 'follows') throw this.#keptBelow(node, parent);
      const choice = decided === undefined ? above.choice : 'gone';
      this.#decide({ ...node, choice, origin: decided === undefined ? 'follows' : 'removed' });
      return true;
    }
    const isFromSource = tree.sideOf(node) === 'theirs';
    if (isFromSource && decided !== undefined) throw this.#keptBelow(node, parent);
    const home = tree.targetState(node);
    const staysAway = isFromSource && home?.header.parentId !== parent.id;
    this.#decide({ ...node, choice: staysAway ? 'ours' : 'gone', origin: 'removed' });
    return true;
  }

  /** Sees to it that no two nodes stand at one place. @returns whether that took no decision */
  *#clearPlaces(nodes: readonly NodeAddress[]): Generator<undefined, boolean> {
    const holders = new Map<string, NodeAddress>();
    let isSettled = true;
    for (const node of nodes) {
      yield;
      const header = this.tree.stateOf(node)?.header;
      if (header === undefined) continue;
      const place = `${node.workspace}\0${header.parentId}\0${header.name}`;
      const holder = holders.get(place);
      if (holder === undefined) holders.set(place, node);
      else if (yield* this.#clear(node, holder)) isSettled = false;
    }
    return isSettled;
  }

  /** One of two nodes at a place has to give way. @returns whether it was decided how */
  *#clear(node: NodeAddress, other: NodeAddress): Generator<undefined, boolean> {
    const isFirst = this.tree.decisionOf(node) === undefined;
    const [named, holder] = isFirst ? [node, other] : [other, node];
    const held = this.tree.stateOf(holder) as NodeRecord;
    if (this.tree.decisionOf(named) !== undefined) {
      throw unfit(`'${named.id}' and '${holder.id}' would both be at '${held.header.path}'`);
    }
    return this.ask(yield* this.#placeConflict(named, held));
  }

  *#placeConflict(node: NodeAddress, holder: NodeRecord): Generator<undefined, MergeConflict> {
    const { tree } = this;
    const { other, own } = this.#question.input.sides;
    const key = nodeKeyOf(node.workspace, node.id);
    const base = (own.get(key) ?? other.get(key))?.before;
    const target = tree.targetState(node);
    const source = tree.sourceState(node);
    // Of a new node, the side that does not have it has the other one there.
    const states =
      base === undefined
        ? { base, target: target ?? holder, source: source ?? holder }
        : { base, target, source };
    const type = base === undefined ? 'BothAdded' : 'BothModified';
    return { ...(yield* nodeConflictInSteps(type, node.workspace, states)), node_id: node.id };
  }

  /** Sees to it that going up from any node ends at the root. @returns whether that took no decision */
  *#openCycles(nodes: readonly NodeAddress[]): Generator<undefined, boolean> {
    const visited = new Set<string>();
    let isSettled = true;
    for (const node of nodes) {
      yield;
      const way = new Map<string, NodeAddress>();
      let place: NodeAddress = node;
      for (;;) {
        const key = nodeKeyOf(place.workspace, place.id);
        if (way.has(key)) {
          const cycle = [...way.values()].slice([...way.keys()].indexOf(key));
          if (yield* this.#open(cycle)) isSettled = false;
          break;
        }
        const state = this.tree.stateOf(place);
        if (state === undefined || visited.has(key)) break;
        way.set(key, place);
        visited.add(key);
        place = { workspace: place.workspace, id: state.header.parentId };
        if (state.isLarge) yield;
      }
    }
    return isSettled;
  }

  /** One of the moves that make nodes their own ancestors has to give way. @returns whether it was decided which */
  *#open(cycle: readonly NodeAddress[]): Generator<undefined, boolean> {
    let isDecided = false;
    let isUndecided = false;
    for (const node of cycle) {
      const target = this.tree.targetState(node);
      const source = this.tree.sourceState(node);
      if (target === undefined || source === undefined || this.tree.decisionOf(node) !== undefined) continue;
      if (target.header.parentId === source.header.parentId) continue;
      isUndecided = true;
      const key = nodeKeyOf(node.workspace, node.id);
      const { other, own } = this.#question.input.sides;
      const base = (own.get(key) ?? other.get(key))?.before;
      const states = { base, target, source };
      if (this.ask(yield* nodeConflictInSteps('BothModified', node.workspace, states))) isDecided = true;
    }
    if (isUndecided) return isDecided;
    const path = this.tree.stateOf(cycle[0] as NodeAddress)?.header.path;
    throw unfit(`'${path}' would be above itself`);
  }

  #keptBelow(node: NodeAddress, parent: NodeAddress): ServiceError {
    const pathOf = (one: NodeAddress): string =>
      (this.tree.stateOf(one) ?? this.tree.targetState(one) ?? this.tree.sourceState(one))?.header.path ??
      one.id;
    return unfit(`'${pathOf(node)}' would be kept below '${pathOf(parent)}', which goes`);
  }
}

function aspect({ properties, type }: MergeResolution): AspectDecision {
  if (type === 'manual') return { choice: 'manual', values: properties ?? null };
  return { choice: type === 'keep-ours' ? 'ours' : 'theirs', values: null };
}

/** The error for resolutions that cannot all be followed. */
export function unfit(why: string, details: JsonObject = {}): ServiceError {
  return invalid(`The resolutions do not fit together: ${why}`, { field: 'resolutions', details });
}

/** Every node either side changed, those nearer to the root first. */
function* topFirst(...sides: readonly Changes[]): Generator<undefined, readonly NodeAddress[]> {
  const found = new Map<string, { readonly depth: number; readonly node: NodeAddress }>();
  for (const changes of sides) {
    for (const [key, { after, before, nodeId, workspace }] of changes) {
      yield;
      const { path } = ((after ?? before) as NodeRecord).header;
      if (!found.has(key)) found.set(key, { depth: pathDepth(path), node: { workspace, id: nodeId } });
    }
  }
  const sorted = yield* sortInSlices([...found.values()], (a, b) => a.depth - b.depth);
  return sorted.map(({ node }) => node);
}
