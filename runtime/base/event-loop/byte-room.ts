import type { SliceOwner } from './slice-owner.ts';

/** A task waiting for memory. */
interface Waiter {
  readonly bytes: number;
  readonly owner: SliceOwner;
  readonly go: () => void;
  readonly fail: (error: unknown) => void;
}

/**
 * A limit of the bytes that running tasks may hold together. Tasks that share the processor in slices all progress at
 * the same pace, so without a limit every requested large answer would be half made at the same time.
 *
 * Memory is granted to each key in turn, so that a caller with many requests does not delay others, and within a key in
 * order of arrival.
 */
export class ByteRoom {
  readonly #bytesMax: number;
  /** Keys with waiting tasks, the next one first. */
  readonly #lines = new Map<string, Waiter[]>();
  #used = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Bytes granted. */
  get used(): number {
    return this.#used;
  }

  /**
   * Requests memory. A request above the whole limit is granted when nothing else is.
   *
   * @returns undefined when it was granted; otherwise resolves when it is, and rejects with the owner's error
   */
  take(bytes: number, owner: SliceOwner): Promise<void> | undefined {
    const counted = this.#counted(bytes);
    if (this.#lines.size === 0 && this.#used + counted <= this.#bytesMax) {
      this.#used += counted;
      return undefined;
    }
    return new Promise((go, fail) => {
      const waiter = { bytes: counted, owner, go, fail };
      const line = this.#lines.get(owner.sliceKey);
      if (line === undefined) this.#lines.set(owner.sliceKey, [waiter]);
      else line.push(waiter);
    });
  }

  /** Releases granted memory. */
  give(bytes: number): void {
    this.#used -= this.#counted(bytes);
    for (const [key, line] of this.#lines) {
      const next = line[0] as Waiter;
      if (this.#used + next.bytes > this.#bytesMax) return;
      line.shift();
      // A key that is set again moves to the end, and this loop reaches it again.
      this.#lines.delete(key);
      if (line.length > 0) this.#lines.set(key, line);
      this.#grant(next);
    }
  }

  #counted(bytes: number): number {
    return Math.min(bytes, this.#bytesMax);
  }

  #grant({ bytes, owner, go, fail }: Waiter): void {
    try {
      owner.requireWaiting();
    } catch (error) {
      fail(error);
      return;
    }
    this.#used += bytes;
    go();
  }
}
