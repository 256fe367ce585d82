import type { Clock } from '#runtime/base/clock.ts';

/** How long the first rest is, in milliseconds. */
const REST_MS = 10_000;

/** How long a rest becomes, in milliseconds; whoever was well for as long begins with a short one again. */
const REST_MS_MAX = 300_000;

/**
 * How long a member does not try again what it may try as soon as it is asked: twice as long each time. So it leaves a
 * partition to others after its own files of it could not be written, and keeps shards that it has just built anew.
 */
export class Rest {
  readonly #clock: Clock;
  /** On the monotonic clock. */
  #untilMs = Number.NEGATIVE_INFINITY;
  #lengthMs = REST_MS;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether it is not over yet. */
  get isOn(): boolean {
    return this.#clock.monotonicMs() < this.#untilMs;
  }

  /** Begins one. */
  begin(): void {
    const nowMs = this.#clock.monotonicMs();
    const hasBeenWell = nowMs - this.#untilMs > REST_MS_MAX;
    this.#lengthMs = hasBeenWell ? REST_MS : Math.min(REST_MS_MAX, 2 * this.#lengthMs);
    this.#untilMs = nowMs + this.#lengthMs;
  }
}
