import type { Clock } from '#runtime/base/time/clock.ts';

/** A source of deliveries, processed a little at a time. */
export interface FanOutSource {
  /** Does a bounded part of the work. @returns whether more work is ready */
  turn(): boolean;
}

/**
 * How long a delivery may hold the event loop, in milliseconds. It is half of the permitted time, because the work of
 * the receivers is counted only after they did it.
 */
const SLICE_MS = 4;

/**
 * Delivers from many sources, in turns, so that no source starves another, and in slices, so that the number of
 * receivers does not delay other work. All sources of a process share one instance: with a slice each, a hundred
 * sources would hold the event loop a hundred times as long.
 */
export class FanOut {
  readonly #clock: Clock;
  readonly #waiting = new Set<FanOutSource>();
  #isRunning = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Adds a source that has work. Nothing is done before the present turn of the event loop is over. */
  wake(source: FanOutSource): void {
    this.#waiting.add(source);
    if (this.#isRunning) return;
    this.#isRunning = true;
    this.#clock.soon(() => void this.#run());
  }

  async #run(): Promise<void> {
    let startedMs = this.#clock.monotonicMs();
    // A set iterates in insertion order: a source with more work is added again at the end.
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
