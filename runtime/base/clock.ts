// Not the global: that is looked up through a getter each time, and a request looks at the clock often.
import { performance } from 'node:perf_hooks';

/** A running timer; `cancel` is idempotent. */
export interface Timer {
  cancel(): void;
}

/**
 * Time as the engine sees it. Everything that needs time receives a clock, so that a simulation can own it.
 * `wallMs` may jump; `monotonicMs` never runs backwards and is the only one used to measure durations.
 */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  wallMs(): number;
  /** Milliseconds on a clock that never runs backwards, with fractions. */
  monotonicMs(): number;
  /** Calls back once after `delayMs`; the timer does not keep the process alive. */
  after(delayMs: number, callback: () => void): Timer;
  /** Calls back once in a later turn of the event loop. */
  soon(callback: () => void): void;
}

/** The clock of the operating system. */
export const systemClock: Clock = {
  wallMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  after(delayMs, callback) {
    const handle = setTimeout(callback, delayMs);
    handle.unref();
    return { cancel: () => clearTimeout(handle) };
  },
  soon: (callback) => void setImmediate(callback),
};

/** Waits `delayMs` on the given clock. */
export function sleep(clock: Clock, delayMs: number): Promise<void> {
  return new Promise((resolve) => void clock.after(delayMs, resolve));
}
