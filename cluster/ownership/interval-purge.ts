import type { Clock } from '#runtime/base/time/clock.ts';

/** Interval of the removal of expired data, in milliseconds. */
const PURGE_MS = 600_000;

/** Removes expired data of a partition at intervals. */
export class IntervalPurge {
  readonly #clock: Clock;
  readonly #purge: () => Promise<void> | undefined;
  /** Monotonic time of the last removal. */
  #purgedMs = 0;

  constructor(clock: Clock, purge: () => Promise<void> | undefined) {
    this.#clock = clock;
    this.#purge = purge;
  }

  /** Begins a removal when the interval is over. Data that cannot be removed is tried again with the next one. */
  runWhenDue(): void {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#purgedMs < PURGE_MS) return;
    this.#purgedMs = nowMs;
    this.#purge()?.catch(() => undefined);
  }
}
