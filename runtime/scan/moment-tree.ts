import { LargeValue } from '#runtime/shard/large-value.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import type { ChildEntry, ChildRange, ChildrenPart, NodeReader } from '#runtime/tree/node-reader.ts';
import type { Moment } from './moment.ts';

/**
 * The tree of a moment, for work that keeps its tree over pauses: the reader of the moment may go over to another snapshot
 * behind each call whose result is whole.
 */
export class MomentTree implements NodeReader {
  readonly #moment: Moment;

  constructor(moment: Moment) {
    this.#moment = moment;
  }

  byId(workspace: string, id: string): NodeRecord | undefined {
    return this.#whole(this.#moment.tree.byId(workspace, id));
  }

  quickById(workspace: string, id: string): NodeRecord | LargeValue | undefined {
    const found = this.#moment.tree.quickById(workspace, id);
    return found instanceof LargeValue ? found : this.#whole(found);
  }

  *byIdInSteps(workspace: string, id: string): Generator<undefined, NodeRecord | undefined> {
    return this.#whole(yield* this.#moment.tree.byIdInSteps(workspace, id));
  }

  idAt(workspace: string, path: string): string | undefined {
    return this.#whole(this.#moment.tree.idAt(workspace, path));
  }

  *byPathInSteps(workspace: string, path: string): Generator<undefined, NodeRecord | undefined> {
    return this.#whole(yield* this.#moment.tree.byPathInSteps(workspace, path));
  }

  children(workspace: string, parentId: string, range?: ChildRange): Iterable<ChildEntry> {
    return this.#moment.tree.children(workspace, parentId, range);
  }

  childrenPart(workspace: string, parentId: string, range: ChildRange, most: number): ChildrenPart {
    return this.#whole(this.#moment.tree.childrenPart(workspace, parentId, range, most));
  }

  childAt(workspace: string, parentId: string, orderKey: string): string | undefined {
    return this.#whole(this.#moment.tree.childAt(workspace, parentId, orderKey));
  }

  parentsAmong(workspace: string, ids: readonly string[]): ReadonlySet<string> {
    return this.#whole(this.#moment.tree.parentsAmong(workspace, ids));
  }

  hasChildren(workspace: string, parentId: string): boolean {
    return this.#whole(this.#moment.tree.hasChildren(workspace, parentId));
  }

  #whole<T>(found: T): T {
    this.#moment.rest();
    return found;
  }
}
