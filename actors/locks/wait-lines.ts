/** Somebody who waits for a lock. */
export interface InLine {
  readonly key: string;
}

/** Those who wait, in a line for each key, in order of arrival. */
export class WaitLines<Waiter extends InLine> {
  /** A set remembers the order things were put in, and lets go of any of them at once. */
  readonly #lines = new Map<string, Set<Waiter>>();
  #size = 0;

  /** How many wait, over all keys. */
  get size(): number {
    return this.#size;
  }

  /** How many wait for a key. */
  waitingFor(key: string): number {
    return this.#lines.get(key)?.size ?? 0;
  }

  /** Puts somebody at the end of their line. */
  join(waiter: Waiter): void {
    const line = this.#lines.get(waiter.key);
    if (line === undefined) this.#lines.set(waiter.key, new Set([waiter]));
    else line.add(waiter);
    this.#size += 1;
  }

  /** Takes somebody out of their line. @returns whether they stood in it */
  leave(waiter: Waiter): boolean {
    const line = this.#lines.get(waiter.key);
    if (line?.delete(waiter) !== true) return false;
    if (line.size === 0) this.#lines.delete(waiter.key);
    this.#size -= 1;
    return true;
  }

  /** Takes out who has waited longest for a key; undefined when nobody waits. */
  next(key: string): Waiter | undefined {
    const [first] = this.#lines.get(key) ?? [];
    if (first !== undefined) this.leave(first);
    return first;
  }

  /** Takes everybody out. */
  clear(): readonly Waiter[] {
    const everybody = [...this.#lines.values()].flatMap((line) => [...line]);
    this.#lines.clear();
    this.#size = 0;
    return everybody;
  }
}
