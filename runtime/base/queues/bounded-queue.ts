import { assert } from '../assert.ts';

/**
 * Free slots before the oldest item that an empty queue keeps. There are tens of thousands of queues that hold one item
 * at a time: each would grow to the bound below if it were cleared only there.
 */
const EMPTY_PLACES_MAX = 32;

/** Free slots before the oldest item above which they are released, once there are as many items after them. */
const PLACES_MAX = 1_024;

/** A first-in first-out queue with a bound. When it is full, `push` answers false instead of growing. */
export class BoundedQueue<T> {
  readonly #itemsMax: number;
  #items: (T | undefined)[] = [];
  #head = 0;

  constructor(itemsMax: number) {
    assert(itemsMax > 0, 'a queue holds at least one item');
    this.#itemsMax = itemsMax;
  }

  get length(): number {
    return this.#items.length - this.#head;
  }

  /** @returns false, with nothing changed, when the queue is full */
  push(item: T): boolean {
    if (this.length >= this.#itemsMax) return false;
    this.#items.push(item);
    return true;
  }

  /** The oldest item, or undefined when there is none. */
  shift(): T | undefined {
    if (this.#head === this.#items.length) return undefined;
    const item = this.#items[this.#head];
    this.#items[this.#head] = undefined;
    this.#head += 1;
    const isEmpty = this.#head === this.#items.length;
    if (
      isEmpty
        ? this.#head >= EMPTY_PLACES_MAX
        : this.#head > PLACES_MAX && this.#head * 2 > this.#items.length
    ) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    return item;
  }
}
