import type { Clock, Timer } from '#runtime/base/time/clock.ts';
import { eventLoopSecondsBounds, Histogram } from './instruments.ts';

/** Interval of samples, in milliseconds; a shorter one wakes an idle process more often. */
const RESOLUTION_MS = 20;

const MS_PER_SECOND = 1000;

/**
 * Measures how late timers of this process fire: the time in which no request could be served. A sample is due every
 * 20 ms and is taken when the event loop is free again, so a long stall is one sample of its whole length.
 */
export class EventLoopLag {
  readonly #clock: Clock;
  /** Lateness of the samples, in seconds. */
  readonly seconds = new Histogram(eventLoopSecondsBounds);
  #timer: Timer | undefined;

  /** @param clock the real clock, even in a simulation, because the event loop of the process is measured */
  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Starts sampling; further calls do nothing. */
  start(): void {
    if (this.#timer === undefined) this.#schedule();
  }

  /** Stops sampling; the samples stay readable. */
  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #schedule(): void {
    const dueMs = this.#clock.monotonicMs() + RESOLUTION_MS;
    this.#timer = this.#clock.after(RESOLUTION_MS, () => {
      const lateMs = this.#clock.monotonicMs() - dueMs;
      this.seconds.observe(Math.max(0, lateMs) / MS_PER_SECOND);
      this.#schedule();
    });
  }
}
