/** A node as the model keeps it. */
export interface ModelNode {
  readonly id: string;
  readonly path: string;
  readonly parentId: string;
  readonly orderKey: string;
  readonly nodeType: string;
  readonly version: number;
  readonly title: string;
}

/** The id the model gives the root. */
export const MODEL_ROOT = '/';

/**
 * The reference for trees over time: every revision is a full copy of every node, and every question is answered
 * by looking at all of them. Slow and plainly right.
 */
export class TreeModel {
  /** Index n: the nodes after n revisions, by id. */
  readonly #states: ReadonlyMap<string, ModelNode>[] = [new Map()];

  /** Number of the newest revision. */
  get newest(): number {
    return this.#states.length - 1;
  }

  /** The nodes after a revision. */
  nodesAt(revision: number): ReadonlyMap<string, ModelNode> {
    return this.#states[revision] as ReadonlyMap<string, ModelNode>;
  }

  /** Makes the next revision out of the newest one. */
  commit(change: (nodes: Map<string, ModelNode>) => void): void {
    const next = new Map(this.nodesAt(this.newest));
    change(next);
    this.#states.push(next);
  }

  idAt(revision: number, path: string): string | undefined {
    if (path === '/') return MODEL_ROOT;
    return [...this.nodesAt(revision).values()].find((node) => node.path === path)?.id;
  }

  /** Ids of the children in editorial order. */
  children(revision: number, parentId: string): readonly ModelNode[] {
    return [...this.nodesAt(revision).values()]
      .filter((node) => node.parentId === parentId)
      .sort((a, b) => (a.orderKey < b.orderKey ? -1 : 1));
  }
}
