import { ROOT_ID } from '#runtime/content/content-node.ts';
import { AFTER_END, END } from '#runtime/shard/binary-key.ts';
import type { ChildEntry, ChildRange, NodeReader } from '#runtime/tree/node-reader.ts';
import type { Moment } from './moment.ts';
import type { PartBounds, Place, PlacePart, PlaceSource } from './places.ts';

/** The children of a node in editorial order. The position is the order key. */
export class ChildPlaces implements PlaceSource {
  readonly #moment: Moment;
  readonly #workspace: string;
  readonly #parentId: string;

  constructor(moment: Moment, workspace: string, parentId: string) {
    this.#moment = moment;
    this.#workspace = workspace;
    this.#parentId = parentId;
  }

  *part({ after, most, reverse }: PartBounds): Generator<undefined, PlacePart> {
    const range: ChildRange = { reverse, ...(after === undefined ? {} : { after }) };
    const { entries, next } = this.#moment.tree.childrenPart(this.#workspace, this.#parentId, range, most);
    const parentId = this.#parentId;
    const places = entries.map(({ id, orderKey }) => ({ position: orderKey, id, parentId }));
    return next === undefined ? { places } : { places, next };
  }
}

/** Children of one node that are read at a time: most nodes have few. */
const LEVEL_PART = 32;

const none: ReadonlySet<string> = new Set();

/** One level of a walk: the children of a node behind a position. */
class Level {
  /** Position of the node; empty for the top. */
  readonly position: string;
  /** Whether the node has children; undefined where that is not known. */
  readonly hasChildren: boolean | undefined;
  readonly #parentId: string;
  readonly #reverse: boolean;
  #entries: ChildEntry[] = [];
  /** Those of the entries that have children. */
  #parents: ReadonlySet<string> = none;
  #after: string | undefined;
  #isRead = false;

  /**
   * @param after only children behind this order key
   * @param hasChildren whether there are any, if that is known
   */
  constructor(parentId: string, position: string, reverse: boolean, after?: string, hasChildren?: boolean) {
    this.hasChildren = hasChildren;
    this.position = position;
    this.#parentId = parentId;
    this.#reverse = reverse;
    this.#after = after;
  }

  /** The id of the node. */
  get id(): string {
    return this.#parentId;
  }

  /** Whether no child is left. */
  get isOver(): boolean {
    return this.#isRead && this.#entries.length === 0;
  }

  /** Takes the next child; undefined when there is none, and when none was found yet among those of other revisions. */
  next(tree: NodeReader, workspace: string): Place | undefined {
    if (this.#entries.length === 0 && !this.#isRead) {
      const range: ChildRange = {
        reverse: this.#reverse,
        ...(this.#after === undefined ? {} : { after: this.#after }),
      };
      const { entries, next } = tree.childrenPart(workspace, this.#parentId, range, LEVEL_PART);
      this.#entries = [...entries].reverse();
      this.#parents = tree.parentsAmong(
        workspace,
        entries.map(({ id }) => id),
      );
      this.#after = next;
      this.#isRead = next === undefined;
    }
    const child = this.#entries.pop();
    if (child === undefined) return undefined;
    const { id, orderKey } = child;
    const position = this.position === '' ? orderKey : this.position + END + orderKey;
    return { position, id, parentId: this.#parentId, hasChildren: this.#parents.has(id) };
  }
}

/** The position behind which a walk in document order goes on after a node and everything below it. */
export function behindSubtree(position: string): string {
  return position + AFTER_END;
}

/**
 * The descendants of a node in document order: each node before its descendants, children in editorial order. The
 * position is the order keys from the child of the node down to the descendant, with a zero byte between them. So byte
 * order is document order, and a position alone tells where a walk goes on.
 *
 * Backwards, the last comes first, so descendants come before their ancestors.
 */
export class SubtreePlaces implements PlaceSource {
  readonly #moment: Moment;
  readonly #workspace: string;
  readonly #topId: string;
  /** The levels with which the part behind a position begins. */
  #open: { readonly levels: Level[]; readonly after: string } | undefined;

  constructor(moment: Moment, workspace: string, topId: string = ROOT_ID) {
    this.#moment = moment;
    this.#workspace = workspace;
    this.#topId = topId;
  }

  *part({ after, most, reverse }: PartBounds): Generator<undefined, PlacePart> {
    const levels =
      after !== undefined && after === this.#open?.after ? this.#open.levels : this.#levelsAt(after, reverse);
    this.#open = undefined;
    const places: Place[] = [];
    for (let level = levels.at(-1); level !== undefined; level = levels.at(-1)) {
      if (places.length >= most) {
        const next = (places.at(-1) as Place).position;
        this.#open = { levels, after: next };
        return { places, next };
      }
      const child = level.next(this.#moment.tree, this.#workspace);
      if (child === undefined && level.isOver) {
        levels.pop();
        if (reverse && level.position !== '')
          places.push({ position: level.position, id: level.id, hasChildren: level.hasChildren });
        continue;
      }
      if (child === undefined) {
        yield undefined;
        continue;
      }
      const isParent = child.hasChildren === true;
      if (!isParent || !reverse) places.push(child);
      if (isParent) levels.push(new Level(child.id, child.position, reverse, undefined, isParent));
    }
    return { places };
  }

  /**
   * The levels that are open behind a position, as if the walk had come there. A part of the position that leads nowhere
   * any more is left out: the walk goes on behind it.
   */
  #levelsAt(after: string | undefined, reverse: boolean): Level[] {
    const { tree } = this.#moment;
    if (after === undefined) return [new Level(this.#topId, '', reverse)];
    const levels: Level[] = [];
    let parentId: string | undefined = this.#topId;
    let position = '';
    for (const orderKey of after.split(END)) {
      levels.push(new Level(parentId, position, reverse, orderKey));
      position = position === '' ? orderKey : position + END + orderKey;
      parentId = tree.childAt(this.#workspace, parentId, orderKey);
      if (parentId === undefined) return levels;
    }
    if (!reverse) levels.push(new Level(parentId, position, reverse));
    return levels;
  }
}
