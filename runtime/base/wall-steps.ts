import type { Clock } from './clock.ts';

/**
 * Wall time that passes beyond monotonic time, or behind it, and is taken for a step, in milliseconds. What is less adds
 * up until it is one.
 */
const STEP_MS_MIN = 2_000;

/** Steps that are remembered each for itself; of more, the two oldest count as one. */
const STEPS_MAX = 64;

/** The wall clock went ahead, by what no time passed for. */
interface Step {
  /** The latest wall time that was seen before it. */
  readonly fromMs: number;
  /** By how much, in milliseconds. */
  readonly byMs: number;
}

/**
 * Tells how old something is that carries a wall time, when the wall clock was set in between: somebody set it, or
 * the machine slept. The wall clock is read here by everybody who gives such times, so that what was given before a
 * step is known from what came after it.
 *
 * An age is never told as more than the time that has passed on the monotonic clock, as far as this process saw it. It
 * is told as less where a clock that was set back gave times that are still ahead.
 */
export class WallSteps {
  readonly #clock: Clock;
  /** Wall time less monotonic time, as of the last step. */
  #offsetMs: number;
  #seenMs: number;
  /** The oldest first. */
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
   * How old something is, in milliseconds.
   *
   * @param atMs wall time it carries
   * @param nowMs wall time as of {@link now}
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

  /** A clock that is set back takes back what it was ahead, the newest steps first. */
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
