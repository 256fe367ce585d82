import type { Clock } from './clock.ts';

/**
 * Difference between elapsed wall time and elapsed monotonic time that counts as a step, in milliseconds. Smaller
 * differences add up until they reach it.
 */
const STEP_MS_MIN = 2_000;

/** Limit of stored steps; above it, the two oldest are combined. */
const STEPS_MAX = 64;

/** A forward step of the wall clock, without time passing. */
interface Step {
  /** The latest wall time seen before it. */
  readonly fromMs: number;
  /** Size of the step, in milliseconds. */
  readonly byMs: number;
}

/**
 * Computes the age of a wall time when the wall clock was set in between, or the machine slept. All such wall times are
 * read through this class, so that a time from before a step can be distinguished from one after it.
 *
 * An age is never more than the time that has passed on the monotonic clock while this process ran. It may be less,
 * when a clock that was set back had issued times that are still in the future.
 */
export class WallSteps {
  readonly #clock: Clock;
  /** Wall time minus monotonic time, as of the last step. */
  #offsetMs: number;
  #seenMs: number;
  /** Oldest first. */
  #steps: Step[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#seenMs = Math.floor(clock.wallMs());
    this.#offsetMs = this.#seenMs - clock.monotonicMs();
  }

  /** Wall time, in whole milliseconds. */
  now(): number {
    const wallMs = Math.floor(this.#clock.wallMs());
    const offsetMs = wallMs - this.#clock.monotonicMs();
    const byMs = offsetMs - this.#offsetMs;
    if (Math.abs(byMs) >= STEP_MS_MIN) {
      this.#offsetMs = offsetMs;
      if (byMs > 0) this.#ahead({ fromMs: this.#seenMs, byMs });
      else this.#back(-byMs);
    }
    this.#seenMs = wallMs;
    return wallMs;
  }

  /**
   * The age of a wall time, in milliseconds.
   *
   * @param atMs the wall time
   * @param nowMs present wall time from {@link now}
   */
  ageMs(atMs: number, nowMs: number): number {
    let ageMs = nowMs - atMs;
    for (const { byMs, fromMs } of this.#steps) if (atMs <= fromMs) ageMs -= byMs;
    return ageMs;
  }

  #ahead(step: Step): void {
    this.#steps.push(step);
    const [oldest, next] = this.#steps;
    if (this.#steps.length <= STEPS_MAX || oldest === undefined || next === undefined) return;
    const fromMs = Math.max(oldest.fromMs, next.fromMs);
    this.#steps.splice(0, 2, { fromMs, byMs: oldest.byMs + next.byMs });
  }

  /** A backward step cancels forward steps, the newest first. */
  #back(byMs: number): void {
    let left = byMs;
    while (left > 0) {
      const newest = this.#steps.pop();
      if (newest === undefined) return;
      if (newest.byMs > left) this.#steps.push({ ...newest, byMs: newest.byMs - left });
      left -= newest.byMs;
    }
  }
}
