// Imported instead of the global: that is read through a getter, and a request reads the clock often.
import { performance } from 'node:perf_hooks';

/** A running timer; `cancel` is idempotent. */
export interface Timer {
  cancel(): void;
}

/**
 * The time of the engine. All code that needs time receives a clock, so that a simulation can replace it. `wallMs` may
 * jump; `monotonicMs` never runs backwards and is the only one used to measure durations.
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

/** The last wall time read that can be stored, in milliseconds since the Unix epoch. */
let storableMs = 0;

/**
 * The clock of the operating system. While it is before the Unix epoch, a time that cannot be stored, the wall time
 * keeps its last value.
 */
export const systemClock: Clock = {
  wallMs() {
    const wallMs = Date.now();
    if (wallMs < 0) return storableMs;
    storableMs = wallMs;
    return wallMs;
  },
  monotonicMs: () => performance.now(),
  after(delayMs, callback) {
    const handle = setTimeout(callback, delayMs);
    handle.unref();
    return { cancel: () => clearTimeout(handle) };
  },
  soon: (callback) => void setImmediate(callback),
};

/** Why a process must not start with the present wall clock, for people; undefined: it may. */
export function wallClockProblem(): string | undefined {
  const wallMs = Date.now();
  if (wallMs >= 0) return undefined;
  return `the clock of this machine shows ${new Date(wallMs).toISOString()}, which is before 1970: set it, and start again`;
}

/** Waits `delayMs` on the given clock. */
export function sleep(clock: Clock, delayMs: number): Promise<void> {
  return new Promise((resolve) => void clock.after(delayMs, resolve));
}
