/** A pending reservation. */
interface Waiter {
  readonly bytes: number;
  readonly go: () => void;
}

/**
 * Bounds the bytes of all responses of a server that are in memory, waiting for their readers or being made. A
 * response reserves room before it is made and waits until there is enough, in order of arrival. So memory is bounded
 * however many peers do not read.
 */
export class ReplyRoom {
  readonly #bytesMax: number;
  readonly #waiting: Waiter[] = [];
  #used = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Bytes in memory or reserved. */
  get used(): number {
    return this.#used;
  }

  /** Whether a reservation waits or room is scarce; stalled readers are then disconnected earlier. */
  get isPressed(): boolean {
    return this.#waiting.length > 0 || this.#used > this.#bytesMax * 0.75;
  }

  /** The counted size of a reservation, at most the whole room: a larger one would wait forever. */
  #counted(bytes: number): number {
    return Math.min(bytes, this.#bytesMax);
  }

  /** Takes room if there is enough now. @returns whether there was */
  take(bytes: number): boolean {
    const counted = this.#counted(bytes);
    if (this.#waiting.length > 0 || this.#used + counted > this.#bytesMax) return false;
    this.#used += counted;
    return true;
  }

  /**
   * Takes room as soon as there is enough.
   *
   * @returns undefined when it was taken at once; otherwise resolves when it has been taken
   */
  reserve(bytes: number): Promise<void> | undefined {
    if (this.take(bytes)) return undefined;
    return new Promise((resolve) => this.#waiting.push({ bytes: this.#counted(bytes), go: resolve }));
  }

  /** Counts bytes that are in memory already, whether there is room or not. */
  add(bytes: number): void {
    this.#used += this.#counted(bytes);
  }

  /** Returns room that was taken, reserved or added. */
  give(bytes: number): void {
    this.#used -= this.#counted(bytes);
    for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
      if (this.#used + next.bytes > this.#bytesMax) return;
      this.#used += next.bytes;
      this.#waiting.shift();
      next.go();
    }
  }
}
