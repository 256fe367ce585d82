/** When subscribers received a revision, in milliseconds on one clock. */
export interface Told {
  readonly revision: string;
  readonly firstMs: number;
  /** When half of them had received it. */
  readonly halfMs: number;
  readonly lastMs: number;
}

/** Most revisions counted at the same time. Older ones, which did not reach all subscribers, are discarded. */
const REVISIONS_MAX = 1_000;

interface Count {
  told: number;
  readonly firstMs: number;
  halfMs: number;
}

/** Counts the subscribers that received each revision. */
export class Tally {
  /** Number of subscribers. */
  subscribers = 0;
  readonly #counts = new Map<string, Count>();
  readonly #complete: (told: Told) => void;

  /** @param complete called with each revision that all subscribers received */
  constructor(complete: (told: Told) => void) {
    this.#complete = complete;
  }

  /** Counts one subscriber. */
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
