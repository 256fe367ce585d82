import { ROOT_ID } from '#runtime/content/content-node.ts';
import { requireShortPath } from '#runtime/content/path.ts';
import type { NodeAddress } from '../../pair-messages.ts';
import { nodeKeyOf } from '../merge-sides.ts';
import { refusalOf } from './merged-schemas.ts';
import { isChanged, type MergedNode, type MergeView, partyLabel, stateOn } from './merge-view.ts';
import { subjectOf } from './node-violations.ts';
import type { Violation } from './violation.ts';

/** Most ancestors that one violation names. */
const ANCESTORS_TOLD_MAX = 10;

/**
 * Finds nodes whose path becomes too long: one side created or moved a node below a node to which the other side gave
 * a longer path. A node that both sides have moves with its ancestors, so it is enough to check the changed nodes.
 */
export class PathViolations {
  readonly #view: MergeView;
  readonly #note: (violation: Violation) => void;
  /** Whether a node has several paths; otherwise no path is new. */
  readonly #areMoved: boolean;
  /** Paths in the merged tree, by `nodeKeyOf`. Undefined: the node is, or is below, a missing node or one in conflict. */
  readonly #paths = new Map<string, string | undefined>();

  private constructor(view: MergeView, note: (violation: Violation) => void, areMoved: boolean) {
    this.#view = view;
    this.#note = note;
    this.#areMoved = areMoved;
  }

  /** Yields where the work may pause. */
  static *of(view: MergeView, note: (violation: Violation) => void): Generator<undefined, PathViolations> {
    return new PathViolations(view, note, yield* areSomeMoved(view));
  }

  /** Yields where the work may pause. */
  *check(node: MergedNode): Generator<undefined, void> {
    if (!this.#areMoved) return;
    const path = yield* this.#pathOf(node);
    if (path === undefined) return;
    const { state, tree } = this.#view;
    const present = ((yield* tree.targetState(node)) ?? node.state).header.path;
    const refusal = refusalOf(() => requireShortPath(path, 'path', state.limits.pathBytesMax, present));
    if (refusal === undefined) return;
    const others = yield* this.#placedElsewhere(node);
    const side = node.home === 'own' ? 'source' : 'target';
    let { message } = refusal;
    for (const other of others)
      message += `; ${yield* partyLabel(this.#view, other)} is placed as on the ${side}`;
    this.#note({ type: 'PathTooLong', message, ...subjectOf(node), others });
  }

  *#pathOf({ id, workspace }: NodeAddress): Generator<undefined, string | undefined> {
    const { disputed, tree } = this.#view;
    const chain: { readonly key: string; readonly name: string }[] = [];
    let path: string | undefined = '';
    for (let at = id; at !== ROOT_ID; ) {
      const key = nodeKeyOf(workspace, at);
      if (this.#paths.has(key)) {
        path = this.#paths.get(key);
        break;
      }
      // Set in advance: nodes that are their own ancestors have no path.
      this.#paths.set(key, undefined);
      const state = disputed.has(key) ? undefined : yield* tree.stateOf({ workspace, id: at });
      if (state === undefined) {
        path = undefined;
        break;
      }
      chain.push({ key, name: state.header.name });
      at = state.header.parentId;
      yield;
    }
    for (const { key, name } of chain.reverse()) {
      if (path !== undefined) path = `${path}/${name}`;
      this.#paths.set(key, path);
    }
    return path;
  }

  /** The nearest ancestors that are placed elsewhere on the side of a node. */
  *#placedElsewhere({ home, state, workspace }: MergedNode): Generator<undefined, readonly NodeAddress[]> {
    const found: NodeAddress[] = [];
    for (let id = state.header.parentId; id !== ROOT_ID && found.length < ANCESTORS_TOLD_MAX; ) {
      const ancestor = { workspace, id };
      const placed = (yield* this.#view.tree.stateOf(ancestor))?.header;
      if (placed === undefined) break;
      const there = (yield* stateOn(this.#view, home, ancestor))?.header;
      const isElsewhere = there?.parentId !== placed.parentId || there.name !== placed.name;
      if (isElsewhere && isChanged(this.#view, ancestor)) found.push(ancestor);
      id = placed.parentId;
      yield;
    }
    return found;
  }
}

function* areSomeMoved({ sides }: MergeView): Generator<undefined, boolean> {
  for (const changes of [sides.own, sides.other]) {
    for (const [key, { after, before }] of changes) {
      yield;
      const states = [before, after, sides.own.get(key)?.after].flatMap((state) => state ?? []);
      if (states.some(({ header }) => header.path !== states[0]?.header.path)) return true;
    }
  }
  return false;
}
