import { ROOT_ID } from '#runtime/content/content-node.ts';
import type { Moment } from '#runtime/scan/moment.ts';
import { scanIds } from '#runtime/scan/scan.ts';
import { type NodeReader, nodeInPlaceOf } from '#runtime/tree/node-reader.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import { nodeConflictInSteps } from '../merge/conflict-entries.ts';
import { eachInSlices } from '../each-in-slices.ts';
import type { ConflictType } from '../merge-messages.ts';
import { nodeKey, type RevertedNode, type RevertPlan } from './revert-plan.ts';

/**
 * Records where the planned states of the nodes do not form one tree with the rest of the branch: a node restored below
 * a missing one, children left below a removed node, two nodes at one path, and moves that would make a node its own
 * ancestor.
 *
 * It reads the current tree and never the later revisions: the cost grows with the nodes of the plan.
 *
 * @param head the tree before the revert
 */
export function* findViolations(plan: RevertPlan, head: Moment): Generator<undefined, void> {
  const finder = new ViolationFinder(plan, head);
  const nodes = [...plan.nodes.values()];
  yield* eachInSlices(nodes, (node) => finder.requireParent(node));
  yield* eachInSlices(nodes, (node) => finder.requireNoChildren(node));
  yield* eachInSlices(nodes, (node) => finder.requireFreePlace(node));
  yield* eachInSlices(nodes, (node) => finder.requireNoCycle(node));
}

class ViolationFinder {
  readonly #plan: RevertPlan;
  readonly #moment: Moment;
  readonly #head: NodeReader;
  /** Paths that nodes of the plan get, with the node. */
  readonly #claimed = new Map<string, RevertedNode>();

  constructor(plan: RevertPlan, moment: Moment) {
    this.#plan = plan;
    this.#moment = moment;
    this.#head = moment.tree;
  }

  /** The parent of a node that is restored or moved back must exist: it may have been deleted since. */
  *requireParent({ baseAt, present, sourceAt, wanted, workspace }: RevertedNode): Generator<undefined, void> {
    if (wanted === undefined || wanted.header.parentId === present?.header.parentId) return;
    const id = wanted.header.parentId;
    const key = nodeKey({ workspace, id });
    if (id === ROOT_ID || this.#plan.disputed.has(key)) return;
    const parent = this.#plan.nodes.get(key);
    const target = yield* this.#head.byIdInSteps(workspace, id);
    if (parent === undefined ? target !== undefined : parent.wanted !== undefined) return;
    if (parent !== undefined) {
      yield* this.#note('DeletedBySourceModifiedByTarget', workspace, parent.base, target, undefined);
      return;
    }
    const source = yield* this.#plan.trees.at(sourceAt).byIdInSteps(workspace, id);
    const base = (yield* this.#plan.trees.at(baseAt).byIdInSteps(workspace, id)) ?? source;
    yield* this.#note('ModifiedBySourceDeletedByTarget', workspace, base, undefined, source);
  }

  /** The descendants of a removed node must be removed or moved away, too. */
  *requireNoChildren({ base, id, present, wanted, workspace }: RevertedNode): Generator<undefined, void> {
    if (wanted !== undefined || !this.#head.hasChildren(workspace, id)) return;
    const children = scanIds(this.#moment, { kind: 'children', workspace, parentId: id });
    for (const child of children) {
      if (child === undefined) {
        yield;
        continue;
      }
      if (!this.#leaves(workspace, child, id)) {
        yield* this.#note('DeletedBySourceModifiedByTarget', workspace, base, present, undefined);
        return;
      }
      yield;
    }
  }

  /** Whether a child is removed or moves away; a child in conflict is reported already. */
  #leaves(workspace: string, id: string, parentId: string): boolean {
    const key = nodeKey({ workspace, id });
    const child = this.#plan.nodes.get(key);
    if (child === undefined || this.#plan.disputed.has(key)) return this.#plan.disputed.has(key);
    return child.wanted?.header.parentId !== parentId;
  }

  /** The path of a restored node may since have been taken by another one. */
  *requireFreePlace(node: RevertedNode): Generator<undefined, void> {
    const { base, id, present, wanted, workspace } = node;
    if (wanted === undefined || !isPlacedAnew(node)) return;
    if (this.#plan.disputed.has(nodeKey(node))) return;
    const { name, parentId } = wanted.header;
    const place = `${workspace}\0${parentId}\0${name}`;
    const other = this.#claimed.get(place)?.wanted ?? (yield* this.#holderOf(workspace, wanted));
    if (other === undefined || other.header.id === id) {
      this.#claimed.set(place, node);
      return;
    }
    if (present === undefined) yield* this.#note('BothAdded', workspace, undefined, other, wanted);
    else yield* this.#note('BothModified', workspace, base, present, wanted);
  }

  /** The node that is at the path of a node now, and stays there. */
  *#holderOf(workspace: string, wanted: NodeRecord): Generator<undefined, NodeRecord | undefined> {
    const holder = yield* nodeInPlaceOf(this.#head, workspace, wanted);
    if (holder === undefined) return undefined;
    const key = nodeKey({ workspace, id: holder.header.id });
    const leaving = this.#plan.nodes.get(key);
    return (leaving !== undefined && leavesPlace(leaving)) || this.#plan.disputed.has(key)
      ? undefined
      : holder;
  }

  /** The ancestors of a node that moves back, in the resulting tree, must end at the root. */
  *requireNoCycle(node: RevertedNode): Generator<undefined, void> {
    const { present, wanted, workspace } = node;
    if (present === undefined || wanted === undefined) return;
    if (present.header.parentId === wanted.header.parentId) return;
    const way = new Set<string>();
    for (let id: string | undefined = node.id; id !== undefined && id !== ROOT_ID; ) {
      if (way.has(id)) {
        // A cycle further up is found from its own nodes.
        if (id === node.id) yield* this.#noteCycle(node, way);
        return;
      }
      way.add(id);
      const moved: RevertedNode | undefined = this.#plan.nodes.get(nodeKey({ workspace, id }));
      const state: NodeRecord | undefined =
        moved === undefined ? yield* this.#head.byIdInSteps(workspace, id) : moved.wanted;
      id = state?.header.parentId;
    }
  }

  /** Adds a conflict for every moved node of a cycle: moved by the revert, or by a later revision. */
  *#noteCycle({ baseAt, workspace }: RevertedNode, ids: Iterable<string>): Generator<undefined, void> {
    for (const id of ids) {
      const present = yield* this.#head.byIdInSteps(workspace, id);
      const moving = this.#plan.nodes.get(nodeKey({ workspace, id }));
      const base = moving?.base ?? (yield* this.#plan.trees.at(baseAt).byIdInSteps(workspace, id));
      if (present === undefined || base === undefined) continue;
      const source = moving?.wanted ?? base;
      const stays = [base, source].every(({ header }) => header.parentId === present.header.parentId);
      if (!stays) yield* this.#note('BothModified', workspace, base, present, source);
    }
  }

  *#note(
    type: ConflictType,
    workspace: string,
    base: NodeRecord | undefined,
    target: NodeRecord | undefined,
    source: NodeRecord | undefined,
  ): Generator<undefined, void> {
    this.#plan.note(yield* nodeConflictInSteps(type, workspace, { base, target, source }));
  }
}

/** Whether a node gets another parent or another name; always true for a restored one. */
function isPlacedAnew({ present, wanted }: RevertedNode): boolean {
  if (wanted === undefined) return false;
  return present?.header.parentId !== wanted.header.parentId || present.header.name !== wanted.header.name;
}

function leavesPlace(node: RevertedNode): boolean {
  return node.wanted === undefined || isPlacedAnew(node);
}
