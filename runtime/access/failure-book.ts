/** Limits for failures under one key. */
export interface FailureLimits {
  /** Failures without a wait. */
  readonly freeFailures: number;
  /** Wait after the first failure that is not free, in milliseconds; it doubles with each further one. */
  readonly firstWaitMs: number;
  /** Longest wait, in milliseconds. */
  readonly waitMsMax: number;
  /** Time without a failure after which the key is forgotten, in milliseconds. */
  readonly forgetMs: number;
  /** Time in which one failure of a key is forgiven, in milliseconds. Absent: all stay until the key is forgotten. */
  readonly forgiveMs?: number;
  /** Limit of keys stored; waiting and free keys are counted separately. */
  readonly entriesMax: number;
}

interface Failures {
  /** At the time of the last one. Not a whole number when a part of one was forgiven. */
  readonly count: number;
  readonly lastMs: number;
  /** Earliest time of the next attempt. */
  readonly openAtMs: number;
  /** As {@link openAtMs}, before the last failure. */
  readonly openedAtMs: number;
}

/**
 * Counts failures by key in bounded memory. Keys with a wait are stored apart from keys without, so that cheap failures
 * under many new keys do not evict a key that is waiting.
 */
export class FailureBook {
  readonly #limits: FailureLimits;
  /** In order of the last failure, oldest first. */
  readonly #free = new Map<string, Failures>();
  readonly #waiting = new Map<string, Failures>();

  constructor(limits: FailureLimits) {
    this.#limits = limits;
  }

  /** The remaining wait of a key, in milliseconds; 0 for none. @param nowMs on the monotonic clock */
  waitMs(key: string, nowMs: number): number {
    const known = this.#waiting.get(key);
    if (known === undefined || nowMs - known.lastMs > this.#limits.forgetMs) return 0;
    return Math.max(0, known.openAtMs - nowMs);
  }

  /** Counts a failure of a key. */
  count(key: string, nowMs: number): void {
    const { freeFailures, firstWaitMs, waitMsMax } = this.#limits;
    const before = this.#leftOf(key, nowMs);
    const waits = before + 1 - freeFailures;
    const waitMs = waits <= 0 ? 0 : Math.min(firstWaitMs * 2 ** Math.min(waits - 1, 30), waitMsMax);
    const openedAtMs = this.#find(key)?.openAtMs ?? nowMs;
    this.#put(key, { count: before + 1, lastMs: nowMs, openAtMs: nowMs + waitMs, openedAtMs });
  }

  /** Removes one counted failure that was none. What had to wait before it still has to. */
  takeBack(key: string): void {
    const known = this.#find(key);
    if (known === undefined) return;
    if (known.count <= 1) this.forget(key);
    else this.#put(key, { ...known, count: known.count - 1, openAtMs: known.openedAtMs });
  }

  forget(key: string): void {
    this.#free.delete(key);
    this.#waiting.delete(key);
  }

  /** Failures of a key that still count. */
  #leftOf(key: string, nowMs: number): number {
    const { forgetMs, forgiveMs = Number.POSITIVE_INFINITY } = this.#limits;
    const known = this.#find(key);
    if (known === undefined || nowMs - known.lastMs > forgetMs) return 0;
    return Math.max(0, known.count - (nowMs - known.lastMs) / forgiveMs);
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
