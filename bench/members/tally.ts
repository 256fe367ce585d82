/** When subscribers were told of a revision, in milliseconds on one clock. */
export interface Told {
  readonly revision: string;
  readonly firstMs: number;
  /** When half of them had been told. */
  readonly halfMs: number;
  readonly lastMs: number;
}

/** Revisions that are counted at once; older ones were not told to everybody and are forgotten. */
const REVISIONS_MAX = 1_000;

interface Count {
  told: number;
  readonly firstMs: number;
  halfMs: number;
}

/** Counts who was told of what, and says when all were. */
export class Tally {
  /** How many are to be told. */
  subscribers = 0;
  readonly #counts = new Map<string, Count>();
  readonly #complete: (told: Told) => void;

  /** @param complete gets each revision that everybody was told of */
  constructor(complete: (told: Told) => void) {
    this.#complete = complete;
  }

  /** One more was told. */
  count(revision: string, atMs: number): void {
    let count = this.#counts.get(revision);
    if (count === undefined) {
      count = { told: 0, firstMs: atMs, halfMs: atMs };
      this.#counts.set(revision, count);
      if (this.#counts.size > REVISIONS_MAX) this.#counts.delete(this.#counts.keys().next().value as string);
    }
    count.told += 1;
    if (count.told === Math.ceil(this.subscribers / 2)) count.halfMs = atMs;
    if (count.told < this.subscribers) return;
    this.#counts.delete(revision);
    this.#complete({ revision, firstMs: count.firstMs, halfMs: count.halfMs, lastMs: atMs });
  }
}
