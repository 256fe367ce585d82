import { ROOT_ID } from '#runtime/content/content-node.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { sortInSlices } from '#runtime/base/event-loop/sliced-sort.ts';
import { pathDepth } from '#runtime/content/path.ts';
import { invalid, type ServiceError } from '#runtime/errors/service-error.ts';
import { scanIds } from '#runtime/scan/scan.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import type { StoredDefinition, StoredKind } from '#runtime/tree/schema-store.ts';
import { nodeConflictInSteps } from './conflict-entries.ts';
import { eachInSlices } from '../each-in-slices.ts';
import type { Disputes } from './merge-conflicts.ts';
import type { MergeInput } from './merge-input.ts';
import { type Changes, nodeKeyOf } from './merge-sides.ts';
import type { MergeConflict, MergeResolution } from '../merge-messages.ts';
import { MergedTree, type NodeDecision } from './merged-tree.ts';
import { definitionOfId } from '../pair/definition-names.ts';
import type { DefinitionAddress, NodeAddress } from '../pair-messages.ts';
import type { Resolutions } from './resolutions.ts';
import { shownPath } from './shown-path.ts';

/** The decision about a locale of a node, or about a definition. `values`: those of a manual resolution. */
export interface AspectDecision {
  readonly choice: 'ours' | 'theirs' | 'manual';
  readonly values: JsonObject | null;
}

/** The decision about a definition. */
export interface DefinitionDecision extends DefinitionAddress {
  readonly choice: AspectDecision['choice'];
  /** From a manual resolution; undefined: delete it. */
  readonly given?: StoredDefinition<StoredKind> | undefined;
}

/** All decisions about a merge. */
export interface MergeDecisions {
  /** The tree of the nodes, with the decisions about them. */
  readonly tree: MergedTree;
  /** By {@link localeKeyOf}. */
  readonly locales: ReadonlyMap<string, AspectDecision>;
  /** By kind and name, as `nodeKeyOf` joins them. */
  readonly definitions: ReadonlyMap<string, DefinitionDecision>;
  /** Conflicts without a decision; if there are any, nothing can be written. */
  readonly open: readonly MergeConflict[];
}

/** Names a locale of a node across workspaces. */
export function localeKeyOf({ id, workspace }: NodeAddress, locale: string): string {
  return `${nodeKeyOf(workspace, id)}\0${locale}`;
}

/** The input of the decisions. */
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

/** Decisions about conflicts other than those in `Disputes`. */
export interface FurtherDecisions {
  /** Conflicts made of violations that have a resolution. */
  readonly conflicts: readonly MergeConflict[];
  /** Nodes whose decision follows that of another node. */
  readonly following: readonly NodeDecision[];
}

/**
 * Applies resolutions to conflicts, and decides everything that follows from them.
 *
 * - A resolution is about the node itself, one of its locales, or a definition. `keep-ours` keeps the target's state,
 *   `keep-theirs` takes the source's state, including its path. `manual` gives the target's node other properties, or
 *   the source's node if the target has none; null deletes it with the target's nodes below it.
 * - If one side deleted a node and the other side's state is kept, the nodes deleted below it are kept with it. Nodes
 *   that the keeping side changed are in conflict themselves. A kept node keeps its ancestors, too.
 * - A node that the losing side placed below a removed node gets the state of the winning side: a new node is removed
 *   as well, a moved one stays where the winner has it.
 * - Of two nodes at one path, the one that the conflict does not name follows the decision about the one it names. If a
 *   resolution places a node at the path of another one without a conflict so far, that is a new conflict; so is a move
 *   that closes a cycle only because of a resolution.
 *
 * @returns yields where the work may pause
 * @throws {ServiceError} `VALIDATION_FAILED` for resolutions that contradict each other: a node kept below a removed
 *   one, two nodes at one path, nodes that are their own ancestors
 * @see docs/interface/merges.md#resolving-conflicts
 */
export function* resolveConflicts(
  question: MergeQuestion,
  further: FurtherDecisions,
): Generator<undefined, MergeDecisions> {
  const resolver = new ConflictResolver(question);
  for (const conflict of [...question.disputes.conflicts, ...further.conflicts]) {
    yield* resolver.ask(conflict);
    yield;
  }
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
  /** Removed nodes whose children have not been processed. */
  readonly #going: NodeAddress[] = [];
  #gone = 0;

  constructor(question: MergeQuestion) {
    this.#question = question;
    this.tree = new MergedTree(question.input.sides, question.input.target);
  }

  /** Takes the resolution of a conflict. @returns whether there was one */
  *ask(conflict: MergeConflict): Generator<undefined, boolean> {
    const resolution = this.#question.resolutions.take(conflict);
    if (resolution === undefined) {
      this.open.push(conflict);
      return false;
    }
    const { node_id: id, translation_locale: locale, workspace } = conflict;
    if (workspace === null) this.#decideDefinition(id, resolution);
    else if (locale !== undefined)
      this.locales.set(localeKeyOf({ workspace, id }, locale), aspect(resolution));
    else yield* this.#decideNode({ workspace, id }, resolution);
    return true;
  }

  /** Lets a node follow the decision about another one, unless it has its own. */
  follow(decision: NodeDecision): void {
    if (this.tree.decisionOf(decision) === undefined) this.#decide(decision);
  }

  *settle(): Generator<undefined, void> {
    const { other, own } = this.#question.input.sides;
    yield* this.#keepWhatWasBelow('ours', other);
    yield* this.#keepWhatWasBelow('theirs', own);
    const nodes = yield* topFirst(other, own);
    // Every round decides about at least one more node, so the loop ends.
    for (;;) {
      yield* this.#removeBelow();
      let isSettled = true;
      for (const node of nodes) {
        if (yield* this.#attach(node)) isSettled = false;
        yield;
      }
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

  *#decideNode(node: NodeAddress, { properties, type }: MergeResolution): Generator<undefined, void> {
    const isOurs =
      type === 'keep-ours' || (type === 'manual' && (yield* this.tree.targetState(node)) !== undefined);
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

  /** Keeps nodes that the loser deleted together with a kept one, and that the keeping side did not change. */
  *#keepWhatWasBelow(winner: 'ours' | 'theirs', losing: Changes): Generator<undefined, void> {
    const { tree } = this;
    const stateOf = (node: NodeAddress): Generator<undefined, NodeRecord | undefined> =>
      winner === 'ours' ? tree.targetState(node) : tree.sourceState(node);
    const decide = this.#decide.bind(this);
    yield* eachInSlices(losing.values(), function* (change) {
      const below: NodeAddress[] = [];
      let node: NodeAddress = { workspace: change.workspace, id: change.nodeId };
      while (node.id !== ROOT_ID) {
        const deleted = losing.get(nodeKeyOf(node.workspace, node.id));
        const state = yield* stateOf(node);
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
      for (const kept of below) decide({ ...kept, choice: winner, origin: 'follows' });
    });
  }

  /** Removes the target's nodes below a removed node. */
  *#removeBelow(): Generator<undefined, void> {
    const { moment } = this.#question.input;
    for (let node = this.#going.pop(); node !== undefined; node = this.#going.pop()) {
      const { id: parentId, workspace } = node;
      for (const id of scanIds(moment, { kind: 'children', workspace, parentId })) {
        if (id === undefined) {
          yield;
          continue;
        }
        const child = { workspace, id };
        const state = yield* this.tree.stateOf(child);
        if (state === undefined || state.header.parentId !== parentId) continue;
        if (this.tree.decisionOf(child)?.origin === 'given') throw yield* this.#keptBelow(child, node);
        this.#decide({ ...child, choice: 'gone', origin: 'removed' });
      }
      this.#gone += 1;
      this.#question.checkSize(this.#gone + this.#going.length);
      yield;
    }
  }

  /** Ensures that an existing node is below an existing one. @returns whether that needed a decision */
  *#attach(node: NodeAddress): Generator<undefined, boolean> {
    const { tree } = this;
    const state = yield* tree.stateOf(node);
    if (state === undefined) return false;
    const parent = { workspace: node.workspace, id: state.header.parentId };
    if (yield* tree.has(parent)) return false;
    const decided = tree.decisionOf(node);
    const above = tree.decisionOf(parent);
    if (above === undefined) {
      // The side that placed the node here has its parent, too; the other side deleted the parent.
      if (decided === undefined) throw yield* this.#keptBelow(node, parent);
      this.#decide({ ...parent, choice: tree.sideOf(node), origin: 'follows' });
      return true;
    }
    if (decided?.origin === 'given') throw yield* this.#keptBelow(node, parent);
    if (above.choice !== 'gone') {
      if (decided?.origin === 'follows') throw yield* this.#keptBelow(node, parent);
      const choice = decided === undefined ? above.choice : 'gone';
      this.#decide({ ...node, choice, origin: decided === undefined ? 'follows' : 'removed' });
      return true;
    }
    const isFromSource = tree.sideOf(node) === 'theirs';
    if (isFromSource && decided !== undefined) throw yield* this.#keptBelow(node, parent);
    const home = yield* tree.targetState(node);
    const staysAway = isFromSource && home?.header.parentId !== parent.id;
    this.#decide({ ...node, choice: staysAway ? 'ours' : 'gone', origin: 'removed' });
    return true;
  }

  /** Ensures that no two nodes are at one path. @returns whether that needed no decision */
  *#clearPlaces(nodes: readonly NodeAddress[]): Generator<undefined, boolean> {
    const holders = new Map<string, NodeAddress>();
    let isSettled = true;
    for (const node of nodes) {
      yield;
      const header = (yield* this.tree.stateOf(node))?.header;
      if (header === undefined) continue;
      const place = `${node.workspace}\0${header.parentId}\0${header.name}`;
      const holder = holders.get(place);
      if (holder === undefined) holders.set(place, node);
      else if (yield* this.#clear(node, holder)) isSettled = false;
    }
    return isSettled;
  }

  /** Decides which of two nodes at a path gives way. @returns whether it could be decided */
  *#clear(node: NodeAddress, other: NodeAddress): Generator<undefined, boolean> {
    const isFirst = this.tree.decisionOf(node) === undefined;
    const [named, holder] = isFirst ? [node, other] : [other, node];
    const held = (yield* this.tree.stateOf(holder)) as NodeRecord;
    if (this.tree.decisionOf(named) !== undefined) {
      throw unfit(`'${named.id}' and '${holder.id}' would both be at '${held.header.path}'`);
    }
    return yield* this.ask(yield* this.#placeConflict(named, held));
  }

  *#placeConflict(node: NodeAddress, holder: NodeRecord): Generator<undefined, MergeConflict> {
    const { tree } = this;
    const { other, own } = this.#question.input.sides;
    const key = nodeKeyOf(node.workspace, node.id);
    const base = (own.get(key) ?? other.get(key))?.before;
    const target = yield* tree.targetState(node);
    const source = yield* tree.sourceState(node);
    // If a node is new, the side that does not have it has the other node at this path.
    const states =
      base === undefined
        ? { base, target: target ?? holder, source: source ?? holder }
        : { base, target, source };
    const type = base === undefined ? 'BothAdded' : 'BothModified';
    return { ...(yield* nodeConflictInSteps(type, node.workspace, states)), node_id: node.id };
  }

  /** Ensures that the ancestors of every node end at the root. @returns whether that needed no decision */
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
        const state = yield* this.tree.stateOf(place);
        if (state === undefined || visited.has(key)) break;
        way.set(key, place);
        visited.add(key);
        place = { workspace: place.workspace, id: state.header.parentId };
      }
    }
    return isSettled;
  }

  /** Decides which move of a cycle gives way. @returns whether it could be decided */
  *#open(cycle: readonly NodeAddress[]): Generator<undefined, boolean> {
    let isDecided = false;
    let isUndecided = false;
    for (const node of cycle) {
      const target = yield* this.tree.targetState(node);
      const source = yield* this.tree.sourceState(node);
      if (target === undefined || source === undefined || this.tree.decisionOf(node) !== undefined) continue;
      if (target.header.parentId === source.header.parentId) continue;
      isUndecided = true;
      const key = nodeKeyOf(node.workspace, node.id);
      const { other, own } = this.#question.input.sides;
      const base = (own.get(key) ?? other.get(key))?.before;
      const states = { base, target, source };
      const conflict = yield* nodeConflictInSteps('BothModified', node.workspace, states);
      if (yield* this.ask(conflict)) isDecided = true;
    }
    if (isUndecided) return isDecided;
    const first = yield* this.tree.stateOf(cycle[0] as NodeAddress);
    throw unfit(`'${first?.header.path}' would be above itself`);
  }

  *#keptBelow(node: NodeAddress, parent: NodeAddress): Generator<undefined, ServiceError> {
    const path = shownPath(yield* this.#pathOf(node));
    return unfit(`'${path}' would be kept below '${shownPath(yield* this.#pathOf(parent))}', which goes`);
  }

  *#pathOf(node: NodeAddress): Generator<undefined, string> {
    const state =
      (yield* this.tree.stateOf(node)) ??
      (yield* this.tree.targetState(node)) ??
      (yield* this.tree.sourceState(node));
    return state?.header.path ?? node.id;
  }
}

function aspect({ properties, type }: MergeResolution): AspectDecision {
  if (type === 'manual') return { choice: 'manual', values: properties ?? null };
  return { choice: type === 'keep-ours' ? 'ours' : 'theirs', values: null };
}

/** The error for resolutions that contradict each other. */
export function unfit(why: string, details: JsonObject = {}): ServiceError {
  return invalid(`The resolutions do not fit together: ${why}`, { field: 'resolutions', details });
}

/** Every node either side changed, sorted from the root down. */
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
