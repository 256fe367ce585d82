import type { Clock } from '#runtime/base/time/clock.ts';

/** Number of consecutive failed applications to shards of a partition after which its owner steps down. */
const FAILURES_MAX = 3;

/** Time after which failures no longer count as consecutive, in milliseconds. */
const FORGET_MS = 10_000;

/** Counts recent failures of a partition's shards. */
export class ShardFailures {
  readonly #clock: Clock;
  #count = 0;
  #newestMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Counts a failure. @returns whether the owner should step down */
  note(): boolean {
    const nowMs = this.#clock.monotonicMs();
    this.#count = nowMs - this.#newestMs > FORGET_MS ? 1 : this.#count + 1;
    this.#newestMs = nowMs;
    return this.#count >= FAILURES_MAX;
  }
}
