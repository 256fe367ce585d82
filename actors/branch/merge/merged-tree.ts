import { ROOT_ID } from '#runtime/content/content-node.ts';
import type { JsonObject } from '#runtime/content/json-value.ts';
import type { NodeReader } from '#runtime/tree/node-reader.ts';
import type { NodeRecord } from '#runtime/tree/node-record.ts';
import { type MergeSides, nodeKeyOf } from './merge-sides.ts';
import type { NodeAddress } from '../pair-messages.ts';

/** What becomes of a node: the target's state, the source's, or it is not there. Either state may be its absence. */
export type NodeChoice = 'ours' | 'theirs' | 'gone';

/** What was decided about a node, its locales and its place among its siblings left out. */
export interface NodeDecision extends NodeAddress {
  readonly choice: NodeChoice;
  /**
   * `given`: a resolution says so. `follows`: it goes the way of another node that was decided about. `removed`: it
   * is, or was about to come, below one that goes.
   */
  readonly origin: 'given' | 'follows' | 'removed';
  /** Instead of those of the chosen state. */
  readonly properties?: JsonObject;
}

/**
 * The nodes of a merge as they will be: what was decided, else what a merge makes of both sides. It is good for
 * where nodes stand; what an undecided node has in it may come from both sides.
 */
export class MergedTree {
  readonly #sides: MergeSides;
  readonly #target: NodeReader;
  readonly #decisions = new Map<string, NodeDecision>();

  /** @param target its tree, in the state the sides were gathered in */
  constructor(sides: MergeSides, target: NodeReader) {
    this.#sides = sides;
    this.#target = target;
  }

  get decisions(): Iterable<NodeDecision> {
    return this.#decisions.values();
  }

  decide(decision: NodeDecision): void {
    this.#decisions.set(nodeKeyOf(decision.workspace, decision.id), decision);
  }

  decisionOf({ id, workspace }: NodeAddress): NodeDecision | undefined {
    return this.#decisions.get(nodeKeyOf(workspace, id));
  }

  /** A node as the target has it. */
  targetState({ id, workspace }: NodeAddress): NodeRecord | undefined {
    const ours = this.#sides.own.get(nodeKeyOf(workspace, id));
    return ours === undefined ? this.#target.byId(workspace, id) : ours.after;
  }

  /** A node as the source has it. */
  sourceState(node: NodeAddress): NodeRecord | undefined {
    const key = nodeKeyOf(node.workspace, node.id);
    const theirs = this.#sides.other.get(key) ?? this.#sides.reordered.get(key);
    if (theirs !== undefined) return theirs.after;
    const ours = this.#sides.own.get(key);
    // What the source did not change is as it was when the two last met.
    return ours === undefined ? this.targetState(node) : ours.before;
  }

  /** The side that says where a node stands, or that it does not. */
  sideOf(node: NodeAddress): 'ours' | 'theirs' {
    const decided = this.decisionOf(node);
    if (decided !== undefined) return decided.choice === 'theirs' ? 'theirs' : 'ours';
    const key = nodeKeyOf(node.workspace, node.id);
    const isTheirs = this.#sides.other.get(key)?.isNode === true && this.#sides.own.get(key)?.isNode !== true;
    return isTheirs ? 'theirs' : 'ours';
  }

  /** The state that says where a node stands; undefined when it is not there. */
  stateOf(node: NodeAddress): NodeRecord | undefined {
    if (this.decisionOf(node)?.choice === 'gone') return undefined;
    return this.sideOf(node) === 'ours' ? this.targetState(node) : this.sourceState(node);
  }

  /** Whether a node is there; the root always is. */
  has(node: NodeAddress): boolean {
    return node.id === ROOT_ID || this.stateOf(node) !== undefined;
  }
}
