import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks';

/** Time between two samples, in milliseconds; a finer one wakes an idle process more often. */
const resolutionMs = 20;

const nanosecondsPerSecond = 1e9;

/** How late the event loop was, in seconds. */
export interface LagReading {
  readonly p50Seconds: number;
  readonly p99Seconds: number;
  readonly maxSeconds: number;
}

/**
 * Watches how late timers of this process fire: the time for which no request could be served. Samples are
 * taken outside of JavaScript, so watching does not add to what is watched.
 */
export class EventLoopLag {
  readonly #histogram: IntervalHistogram = monitorEventLoopDelay({ resolution: resolutionMs });

  /** Starts sampling; further calls do nothing. */
  start(): void {
    this.#histogram.enable();
  }

  /** Stops sampling; what was sampled stays readable. */
  stop(): void {
    this.#histogram.disable();
  }

  /** The lag since the start or the last {@link EventLoopLag.reset}; zeros before the first sample. */
  read(): LagReading {
    const histogram = this.#histogram;
    if (histogram.count === 0) return { p50Seconds: 0, p99Seconds: 0, maxSeconds: 0 };
    // A sample is the whole time between two wake-ups: the part that was planned is not lag.
    const lag = (nanoseconds: number): number =>
      Math.max(0, nanoseconds - resolutionMs * 1e6) / nanosecondsPerSecond;
    return {
      p50Seconds: lag(histogram.percentile(50)),
      p99Seconds: lag(histogram.percentile(99)),
      maxSeconds: lag(histogram.max),
    };
  }

  /** Forgets what was sampled, so that a reading tells about the time since now. */
  reset(): void {
    this.#histogram.reset();
  }
}
