import { assert } from './assert.ts';
import { ByteQueue, type QueueLimits } from './byte-queue.ts';

/**
 * What waits for one consumer: a bounded queue, a bell, and the end of it all. Putting in never waits; the consumer
 * takes what is there and otherwise waits for the bell.
 */
export class Inbox<T extends { readonly bytes: number }> {
  readonly #items: ByteQueue<T>;
  #ring: (() => void) | undefined;
  #error: unknown;
  #isClosed = false;

  constructor(limits: QueueLimits) {
    this.#items = new ByteQueue(limits);
  }

  /** Whether nothing comes any more. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Items that wait. */
  get length(): number {
    return this.#items.length;
  }

  /** @returns false, with nothing changed, when there is no room; true and nothing kept after the end */
  push(item: T): boolean {
    if (this.#isClosed) return true;
    if (!this.#items.push(item)) return false;
    this.ring();
    return true;
  }

  /**
   * The oldest item, or undefined when there is none.
   *
   * @throws what it was closed with, once
   */
  shift(): T | undefined {
    const error = this.#error;
    if (error === undefined) return this.#items.shift();
    this.#error = undefined;
    throw error;
  }

  /** Forgets what waits. */
  clear(): void {
    this.#items.clear();
  }

  /** Ends it; what waits is dropped. Only the first call counts. @param error thrown to the consumer */
  close(error?: unknown): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#error = error;
    this.#items.clear();
    this.ring();
  }

  /** Wakes the consumer. */
  ring(): void {
    const ring = this.#ring;
    this.#ring = undefined;
    ring?.();
  }

  /** Resolves when something may have changed since the call. */
  heard(): Promise<void> {
    assert(this.#ring === undefined, 'an inbox has one consumer');
    return new Promise((resolve) => {
      this.#ring = resolve;
    });
  }
}
