import { ROOT_ID } from '#runtime/content/content-node.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import type { NodeReader } from '#runtime/tree/node-reader.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import { type MergeSides, nodeKeyOf } from './merge-sides.ts';
import type { NodeAddress } from '../pair-messages.ts';

/** The result for a node: the target's state, the source's, or its removal. The node may be absent in either state. */
export type NodeChoice = 'ours' | 'theirs' | 'gone';

/** The decision about a node, without its locales and its position among siblings. */
export interface NodeDecision extends NodeAddress {
  readonly choice: NodeChoice;
  /**
   * `given`: from a resolution. `follows`: follows the decision about another node. `removed`: the node is, or would be
   * placed, below a removed one.
   */
  readonly origin: 'given' | 'follows' | 'removed';
  /** Replaces the properties of the chosen state. */
  readonly properties?: JsonObject;
}

/**
 * The tree that results from a merge: the decisions, or else the merge of both sides. Use it only for the paths of
 * nodes; the content of an undecided node may come from both sides. States are looked up in steps: it yields after each
 * large one that it reads.
 */
export class MergedTree {
  readonly #sides: MergeSides;
  readonly #target: NodeReader;
  readonly #decisions = new Map<string, NodeDecision>();

  /** @param target its tree, in the state in which the sides were collected */
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

  /** The target's state of a node. */
  *targetState({ id, workspace }: NodeAddress): Generator<undefined, NodeRecord | undefined> {
    const ours = this.#sides.own.get(nodeKeyOf(workspace, id));
    return ours === undefined ? yield* this.#target.byIdInSteps(workspace, id) : ours.after;
  }

  /** The source's state of a node. */
  *sourceState(node: NodeAddress): Generator<undefined, NodeRecord | undefined> {
    const key = nodeKeyOf(node.workspace, node.id);
    const theirs = this.#sides.other.get(key) ?? this.#sides.reordered.get(key);
    if (theirs !== undefined) return theirs.after;
    const ours = this.#sides.own.get(key);
    // A node that the source did not change has its state of the common base.
    return ours === undefined ? yield* this.targetState(node) : ours.before;
  }

  /** The side that decides the path of a node, or its absence. */
  sideOf(node: NodeAddress): 'ours' | 'theirs' {
    const decided = this.decisionOf(node);
    if (decided !== undefined) return decided.choice === 'theirs' ? 'theirs' : 'ours';
    const key = nodeKeyOf(node.workspace, node.id);
    const isTheirs = this.#sides.other.get(key)?.isNode === true && this.#sides.own.get(key)?.isNode !== true;
    return isTheirs ? 'theirs' : 'ours';
  }

  /** The state that decides the path of a node; undefined when it is absent. */
  *stateOf(node: NodeAddress): Generator<undefined, NodeRecord | undefined> {
    if (this.decisionOf(node)?.choice === 'gone') return undefined;
    return this.sideOf(node) === 'ours' ? yield* this.targetState(node) : yield* this.sourceState(node);
  }

  /** Whether a node exists; the root always does. */
  *has(node: NodeAddress): Generator<undefined, boolean> {
    return node.id === ROOT_ID || (yield* this.stateOf(node)) !== undefined;
  }
}
