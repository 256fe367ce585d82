import { assert } from '../assert.ts';
import { BoundedQueue } from './bounded-queue.ts';

/** Limits of a queue. */
export interface QueueLimits {
  readonly itemsMax: number;
  readonly bytesMax: number;
}

interface Sized {
  readonly bytes: number;
}

/**
 * A first-in first-out queue bounded in items and in bytes. An empty queue accepts any item, because one above the
 * bound could never pass otherwise.
 */
export class ByteQueue<T extends Sized> {
  readonly #limits: QueueLimits;
  #items: BoundedQueue<T>;
  #bytes = 0;

  constructor(limits: QueueLimits) {
    assert(limits.itemsMax > 0 && limits.bytesMax > 0, 'a queue holds at least one item');
    this.#limits = limits;
    this.#items = new BoundedQueue(limits.itemsMax);
  }

  get length(): number {
    return this.#items.length;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** @returns false, with nothing changed, when there is no room */
  push(item: T): boolean {
    if (this.length > 0 && this.#bytes + item.bytes > this.#limits.bytesMax) return false;
    if (!this.#items.push(item)) return false;
    this.#bytes += item.bytes;
    return true;
  }

  /** The oldest item, or undefined when there is none. */
  shift(): T | undefined {
    const item = this.#items.shift();
    if (item !== undefined) this.#bytes -= item.bytes;
    return item;
  }

  clear(): void {
    this.#items = new BoundedQueue(this.#limits.itemsMax);
    this.#bytes = 0;
  }
}
