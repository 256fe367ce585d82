import { assert } from '../assert.ts';
import { ByteQueue, type QueueLimits } from './byte-queue.ts';

/**
 * The queue of one consumer, with a notification and an end. Adding an item never waits. The consumer takes the queued
 * items and otherwise waits for the notification.
 */
export class Inbox<T extends { readonly bytes: number }> {
  readonly #items: ByteQueue<T>;
  #ring: (() => void) | undefined;
  #error: unknown;
  #isClosed = false;

  constructor(limits: QueueLimits) {
    this.#items = new ByteQueue(limits);
  }

  /** Whether the inbox has ended. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Number of queued items. */
  get length(): number {
    return this.#items.length;
  }

  /** @returns false, with nothing changed, when there is no space; after the end true, and the item is dropped */
  push(item: T): boolean {
    if (this.#isClosed) return true;
    if (!this.#items.push(item)) return false;
    this.ring();
    return true;
  }

  /**
   * The oldest item, or undefined when there is none.
   *
   * @throws the error it was closed with, once
   */
  shift(): T | undefined {
    const error = this.#error;
    if (error === undefined) return this.#items.shift();
    this.#error = undefined;
    throw error;
  }

  /** Drops all queued items. */
  clear(): void {
    this.#items.clear();
  }

  /** Ends the inbox and drops its items. Only the first call has an effect. @param error thrown to the consumer */
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

  /** Resolves on the next notification. */
  heard(): Promise<void> {
    assert(this.#ring === undefined, 'an inbox has one consumer');
    return new Promise((resolve) => {
      this.#ring = resolve;
    });
  }
}
