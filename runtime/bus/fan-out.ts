import type { Clock } from '#runtime/base/clock.ts';

/** Something with work to hand out, a little at a time. */
export interface FanOutSource {
  /** Does a bounded piece. @returns whether there is more to do at once */
  turn(): boolean;
}

/**
 * How long handing out may hold the event loop, in milliseconds. Half of what it may at most: what the receivers do
 * is counted only after they did it.
 */
const SLICE_MS = 4;

/**
 * Hands out what many sources have, in turns, so that none keeps the others waiting, and in slices, so that however
 * many receivers there are nobody else waits for long. All sources of a process share one: each having its own
 * slice, a hundred of them would hold the loop a hundred times as long.
 */
export class FanOut {
  readonly #clock: Clock;
  readonly #waiting = new Set<FanOutSource>();
  #isRunning = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** There is work again. Nothing is done before the present turn of the event loop is over. */
  wake(source: FanOutSource): void {
    this.#waiting.add(source);
    if (this.#isRunning) return;
    this.#isRunning = true;
    this.#clock.soon(() => void this.#run());
  }

  async #run(): Promise<void> {
    let startedMs = this.#clock.monotonicMs();
    // A set is walked in the order things came: one that has more goes behind the others.
    for (const source of this.#waiting) {
      this.#waiting.delete(source);
      if (source.turn()) this.#waiting.add(source);
      // The receivers run now, in microtasks, and their work counts.
      await null;
      if (this.#clock.monotonicMs() - startedMs < SLICE_MS) continue;
      await new Promise<void>((resolve) => this.#clock.soon(resolve));
      startedMs = this.#clock.monotonicMs();
    }
    this.#isRunning = false;
  }
}
