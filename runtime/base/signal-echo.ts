import type { Clock } from './clock.ts';

/**
 * Time in which the same signal is the same wish, in milliseconds. Ctrl-C goes to every process in the terminal, and
 * npm passes on what it gets: a program that npm started hears each Ctrl-C twice.
 */
const ECHO_MS = 250;

/** Tells a signal from the echo of the one before. */
export class SignalEcho {
  readonly #clock: Clock;
  #signal = '';
  #heardMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether a signal is nothing but the one before once more. */
  isEcho(signal: string): boolean {
    const nowMs = this.#clock.monotonicMs();
    if (signal === this.#signal && nowMs - this.#heardMs < ECHO_MS) return true;
    this.#signal = signal;
    this.#heardMs = nowMs;
    return false;
  }
}
