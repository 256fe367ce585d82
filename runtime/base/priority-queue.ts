/** A binary heap: the item that comes first can be taken in logarithmic time. It grows with what is put in. */
export class PriorityQueue<T> {
  readonly #items: T[] = [];
  readonly #comesBefore: (a: T, b: T) => boolean;

  /** @param comesBefore a strict order; which of two equal items comes first is open */
  constructor(comesBefore: (a: T, b: T) => boolean) {
    this.#comesBefore = comesBefore;
  }

  /** Number of items. */
  get size(): number {
    return this.#items.length;
  }

  /** The first item, which stays; undefined when there is none. */
  get first(): T | undefined {
    return this.#items[0];
  }

  /** Puts an item in. */
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

  /** Takes the first item out; undefined when there is none. */
  pop(): T | undefined {
    const items = this.#items;
    const first = items[0];
    const last = items.pop();
    if (last !== undefined && items.length > 0) this.#sink(last);
    return first;
  }

  /** Puts an item in the place of the first one and moves it to where it belongs. */
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
