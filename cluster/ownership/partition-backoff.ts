import type { Clock } from '#runtime/base/time/clock.ts';

/** Length of the first pause, in milliseconds. */
const REST_MS = 10_000;

/** Maximum length of a pause, in milliseconds; after a healthy period of this length the next pause is short again. */
const REST_MS_MAX = 300_000;

/**
 * Delays the repetition of an operation: twice as long each time. A member uses it to leave a partition to others
 * after its own files of it could not be written, and to keep shards that it has just rebuilt.
 */
export class PartitionBackoff {
  readonly #clock: Clock;
  /** On the monotonic clock. */
  #untilMs = Number.NEGATIVE_INFINITY;
  #lengthMs = REST_MS;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether a pause is under way. */
  get isOn(): boolean {
    return this.leftMs > 0;
  }

  /** Time until it ends, in milliseconds; 0 without a pause. */
  get leftMs(): number {
    return Math.max(0, this.#untilMs - this.#clock.monotonicMs());
  }

  /** Starts a pause. */
  begin(): void {
    const nowMs = this.#clock.monotonicMs();
    const hasBeenWell = nowMs - this.#untilMs > REST_MS_MAX;
    this.#lengthMs = hasBeenWell ? REST_MS : Math.min(REST_MS_MAX, 2 * this.#lengthMs);
    this.#untilMs = nowMs + this.#lengthMs;
  }
}
