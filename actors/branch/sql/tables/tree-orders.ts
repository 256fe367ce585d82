import { assert } from '#runtime/base/assert.ts';
import { ROOT_ID } from '#runtime/content/content-node.ts';
import type { Moment } from '#runtime/scan/moment.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';

/** Between order keys; it sorts before every character of them, so that a node comes before its descendants. */
export const SEPARATOR = '.';

/** Characters of known places; above it they are forgotten. */
const KNOWN_CHARACTERS_MAX = 1_000_000;

/** Places of nodes in document order as texts: the order keys from the child of the root down to the node. */
export class TreeOrders {
  readonly #moment: Moment;
  readonly #workspace: string;
  readonly #known = new Map<string, string>();
  #characters = 0;

  constructor(moment: Moment, workspace: string) {
    this.#moment = moment;
    this.#workspace = workspace;
  }

  /** The text of a node. Costs a look-up for each ancestor that is not known. Yields between look-ups. */
  *of(node: NodeRecord): Generator<undefined, string> {
    const keys = [node.orderKey];
    let { parentId } = node;
    let place = '';
    while (parentId !== ROOT_ID) {
      const known = this.#known.get(parentId);
      if (known !== undefined) {
        place = known;
        break;
      }
      const parent = yield* this.#moment.tree.byIdInSteps(this.#workspace, parentId);
      assert(parent !== undefined, 'the parent of a node is stored');
      keys.push(parent.orderKey);
      ({ parentId } = parent);
      yield undefined;
    }
    const last = keys.shift() as string;
    for (const key of keys.reverse()) place = place === '' ? key : place + SEPARATOR + key;
    if (node.parentId !== ROOT_ID) this.#keep(node.parentId, place);
    return place === '' ? last : place + SEPARATOR + last;
  }

  /** The text of a node if that needs no look-up: its parent is the root, or known. */
  known(parentId: string, orderKey: string): string | undefined {
    if (parentId === ROOT_ID) return orderKey;
    const place = this.#known.get(parentId);
    return place === undefined ? undefined : place + SEPARATOR + orderKey;
  }

  #keep(id: string, place: string): void {
    if (this.#known.has(id)) return;
    this.#characters += id.length + place.length;
    if (this.#characters > KNOWN_CHARACTERS_MAX) {
      this.#known.clear();
      this.#characters = id.length + place.length;
    }
    this.#known.set(id, place);
  }
}
