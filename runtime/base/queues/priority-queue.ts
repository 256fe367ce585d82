/** A binary heap: the first item is removed in logarithmic time. Its size is not bounded. */
export class PriorityQueue<T> {
  readonly #items: T[] = [];
  readonly #comesBefore: (a: T, b: T) => boolean;

  /** @param comesBefore a strict order; the order of equal items is undefined */
  constructor(comesBefore: (a: T, b: T) => boolean) {
    this.#comesBefore = comesBefore;
  }

  /** Number of items. */
  get size(): number {
    return this.#items.length;
  }

  /** The first item, which is not removed; undefined when there is none. */
  get first(): T | undefined {
    return this.#items[0];
  }

  /** Adds an item. */
  push(item: T): void {
    const items = this.#items;
    let at = items.length;
    while (at > 0) {
      const above = (at - 1) >> 1;
      const parent = items[above] as T;
      if (!this.#comesBefore(item, parent)) break;
      items[at] = parent;
      at = above;
    }
    items[at] = item;
  }

  /** Removes the first item; undefined when there is none. */
  pop(): T | undefined {
    const items = this.#items;
    const first = items[0];
    const last = items.pop();
    if (last !== undefined && items.length > 0) this.#sink(last);
    return first;
  }

  /** Replaces the first item by another one and moves that to its position. */
  #sink(item: T): void {
    const items = this.#items;
    let at = 0;
    for (;;) {
      let below = 2 * at + 1;
      if (below >= items.length) break;
      const right = below + 1;
      if (right < items.length && this.#comesBefore(items[right] as T, items[below] as T)) below = right;
      const child = items[below] as T;
      if (!this.#comesBefore(child, item)) break;
      items[at] = child;
      at = below;
    }
    items[at] = item;
  }
}
