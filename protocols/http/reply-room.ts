/** Where somebody waits for room. */
interface Waiter {
  readonly bytes: number;
  readonly go: () => void;
}

/**
 * The bytes of answers that are in memory, waiting for their readers or being made, of a whole server. What is about
 * to be made reserves room for it first and waits until there is some, in the order of arrival; so memory is bounded
 * however many peers do not read.
 */
export class ReplyRoom {
  readonly #bytesMax: number;
  readonly #waiting: Waiter[] = [];
  #used = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Bytes in memory, or reserved. */
  get used(): number {
    return this.#used;
  }

  /** Whether somebody waits, so that those who do not read have less time to begin. */
  get isPressed(): boolean {
    return this.#waiting.length > 0 || this.#used > this.#bytesMax * 0.75;
  }

  /** What a reservation of so many bytes counts: more than everything is never free. */
  #counted(bytes: number): number {
    return Math.min(bytes, this.#bytesMax);
  }

  /** Takes room that is there now. @returns whether there was some */
  take(bytes: number): boolean {
    const counted = this.#counted(bytes);
    if (this.#waiting.length > 0 || this.#used + counted > this.#bytesMax) return false;
    this.#used += counted;
    return true;
  }

  /**
   * Takes room as soon as there is some.
   *
   * @returns undefined when there was; else resolves when it has been taken
   */
  reserve(bytes: number): Promise<void> | undefined {
    if (this.take(bytes)) return undefined;
    return new Promise((resolve) => this.#waiting.push({ bytes: this.#counted(bytes), go: resolve }));
  }

  /** Counts what is in memory already, whether there is room or not. */
  add(bytes: number): void {
    this.#used += this.#counted(bytes);
  }

  /** Gives back what was taken, reserved or added. */
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
