import type { SliceOwner } from './slice-owner.ts';

/** Somebody who waits for room. */
interface Waiter {
  readonly bytes: number;
  readonly owner: SliceOwner;
  readonly go: () => void;
  readonly fail: (error: unknown) => void;
}

/**
 * Bytes that works may hold together while they are under way. Works that share the processor in slices all progress at
 * the same pace, so without a bound as many large answers are half made at once as there are requests for one.
 *
 * Room goes to each key in turn, so that somebody who asks for much does not keep others waiting, and of a key in the
 * order of arrival.
 */
export class ByteRoom {
  readonly #bytesMax: number;
  /** The key that is next first; only those somebody waits under. */
  readonly #lines = new Map<string, Waiter[]>();
  #used = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Bytes that are taken. */
  get used(): number {
    return this.#used;
  }

  /**
   * Takes room. What is larger than everything is let through when it is alone.
   *
   * @returns undefined when it has been taken; else resolves when it has been, and rejects with what the owner throws
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

  /** Gives back what was taken. */
  give(bytes: number): void {
    this.#used -= this.#counted(bytes);
    for (const [key, line] of this.#lines) {
      const next = line[0] as Waiter;
      if (this.#used + next.bytes > this.#bytesMax) return;
      line.shift();
      // A key that is set anew is the last, and this loop comes to it again.
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
