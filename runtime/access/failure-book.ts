/** What failures of one thing cost. */
export interface FailureLimits {
  /** Failures that cost nothing. */
  readonly freeFailures: number;
  /** Waiting time after the first failure that is not free, in milliseconds; it doubles with each further one. */
  readonly firstWaitMs: number;
  /** Longest waiting time, in milliseconds. */
  readonly waitMsMax: number;
  /** Time without a failure after which everything is forgotten, in milliseconds. */
  readonly forgetMs: number;
  /** Things remembered at once, those that wait and those that do not counted apart. */
  readonly entriesMax: number;
}

interface Failures {
  readonly count: number;
  readonly lastMs: number;
  /** No attempt before this moment. */
  readonly openAtMs: number;
}

/**
 * Counts failures by key in bounded memory. Keys that have to wait are kept apart from those that do not yet, so that
 * failures of ever new keys, which cost their author nothing, do not make it forget anybody who waits.
 */
export class FailureBook {
  readonly #limits: FailureLimits;
  /** In order of the last failure, oldest first. */
  readonly #free = new Map<string, Failures>();
  readonly #waiting = new Map<string, Failures>();

  constructor(limits: FailureLimits) {
    this.#limits = limits;
  }

  /** How long a key has to wait, in milliseconds; 0: not at all. @param nowMs on the monotonic clock */
  waitMs(key: string, nowMs: number): number {
    const known = this.#waiting.get(key);
    if (known === undefined || nowMs - known.lastMs > this.#limits.forgetMs) return 0;
    return Math.max(0, known.openAtMs - nowMs);
  }

  /** One more failure of a key, as of now. */
  count(key: string, nowMs: number): void {
    const { freeFailures, firstWaitMs, forgetMs, waitMsMax } = this.#limits;
    const known = this.#find(key);
    const before = known === undefined || nowMs - known.lastMs > forgetMs ? 0 : known.count;
    const waits = before + 1 - freeFailures;
    const waitMs = waits <= 0 ? 0 : Math.min(firstWaitMs * 2 ** Math.min(waits - 1, 30), waitMsMax);
    this.#put(key, { count: before + 1, lastMs: nowMs, openAtMs: nowMs + waitMs });
  }

  /** Takes one failure back: it was none. */
  takeBack(key: string): void {
    const known = this.#find(key);
    if (known === undefined) return;
    if (known.count === 1) this.forget(key);
    else this.#put(key, { count: known.count - 1, lastMs: known.lastMs, openAtMs: known.lastMs });
  }

  forget(key: string): void {
    this.#free.delete(key);
    this.#waiting.delete(key);
  }

  #find(key: string): Failures | undefined {
    return this.#waiting.get(key) ?? this.#free.get(key);
  }

  #put(key: string, failures: Failures): void {
    this.forget(key);
    const { entriesMax, freeFailures } = this.#limits;
    const book = failures.count > freeFailures ? this.#waiting : this.#free;
    book.set(key, failures);
    if (book.size <= entriesMax) return;
    const oldest = book.keys().next();
    if (oldest.done !== true) book.delete(oldest.value);
  }
}
