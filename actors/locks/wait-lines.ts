/** An element of a queue: a waiter for a lock. */
export interface InLine {
  readonly key: string;
}

/** Waiters in one queue for each key, in order of arrival. */
export class WaitLines<Waiter extends InLine> {
  /** A set keeps insertion order and removes any element in constant time. */
  readonly #lines = new Map<string, Set<Waiter>>();
  #size = 0;

  /** Number of waiters for all keys. */
  get size(): number {
    return this.#size;
  }

  /** Number of waiters for a key. */
  waitingFor(key: string): number {
    return this.#lines.get(key)?.size ?? 0;
  }

  /** Appends a waiter to the queue of its key. */
  join(waiter: Waiter): void {
    const line = this.#lines.get(waiter.key);
    if (line === undefined) this.#lines.set(waiter.key, new Set([waiter]));
    else line.add(waiter);
    this.#size += 1;
  }

  /** Removes a waiter from its queue. @returns whether it was in the queue */
  leave(waiter: Waiter): boolean {
    const line = this.#lines.get(waiter.key);
    if (line?.delete(waiter) !== true) return false;
    if (line.size === 0) this.#lines.delete(waiter.key);
    this.#size -= 1;
    return true;
  }

  /** Removes and returns the first waiter for a key; undefined without waiters. */
  next(key: string): Waiter | undefined {
    const [first] = this.#lines.get(key) ?? [];
    if (first !== undefined) this.leave(first);
    return first;
  }

  /** Removes all waiters. */
  clear(): readonly Waiter[] {
    const everybody = [...this.#lines.values()].flatMap((line) => [...line]);
    this.#lines.clear();
    this.#size = 0;
    return everybody;
  }
}
