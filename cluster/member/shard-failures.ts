import type { Clock } from '#runtime/base/clock.ts';

/** Applications to shards of a partition that may fail one after the other before its owner steps down. */
const FAILURES_MAX = 3;

/** Time after which failures are none of the same trouble, in milliseconds. */
const FORGET_MS = 10_000;

/** Counts how often the shards of a partition failed lately. */
export class ShardFailures {
  readonly #clock: Clock;
  #count = 0;
  #newestMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Takes note of one more. @returns whether it is enough for the owner to step down */
  note(): boolean {
    const nowMs = this.#clock.monotonicMs();
    this.#count = nowMs - this.#newestMs > FORGET_MS ? 1 : this.#count + 1;
    this.#newestMs = nowMs;
    return this.#count >= FAILURES_MAX;
  }
}
