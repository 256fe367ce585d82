import { assert } from '#runtime/base/assert.ts';

/** A bound on the bytes that all objects of one kind in a server hold together. */
export class ByteBudget {
  readonly #bytesMax: number;
  #used = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Bytes held now. */
  get used(): number {
    return this.#used;
  }

  /** @returns whether there was room */
  take(bytes: number): boolean {
    if (this.#used + bytes > this.#bytesMax) return false;
    this.#used += bytes;
    return true;
  }

  give(bytes: number): void {
    assert(bytes <= this.#used, 'no more bytes are given back than were taken');
    this.#used -= bytes;
  }
}
