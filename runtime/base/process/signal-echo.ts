import type { Clock } from '../time/clock.ts';

/**
 * Time within which a repeated signal counts as the same request, in milliseconds. Ctrl-C goes to every process in the
 * terminal, and npm forwards it too: a program started by npm receives each Ctrl-C twice.
 */
const ECHO_MS = 250;

/** Recognizes the repetition of a signal. */
export class SignalEcho {
  readonly #clock: Clock;
  #signal = '';
  #heardMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether a signal only repeats the one before. */
  isEcho(signal: string): boolean {
    const nowMs = this.#clock.monotonicMs();
    if (signal === this.#signal && nowMs - this.#heardMs < ECHO_MS) return true;
    this.#signal = signal;
    this.#heardMs = nowMs;
    return false;
  }
}
