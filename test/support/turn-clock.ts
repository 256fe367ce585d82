import type { Clock, Timer } from '#runtime/base/time/clock.ts';

/**
 * A clock that only work moves, and an event loop whose turns a test runs one at a time: what is called soon is called
 * in the next turn.
 */
export class TurnClock implements Clock {
  /** Time each turn so far took, in milliseconds. */
  readonly turnsMs: number[] = [];
  #nowMs = 1000;
  #soon: (() => void)[] = [];

  wallMs(): number {
    return this.#nowMs;
  }

  monotonicMs(): number {
    return this.#nowMs;
  }

  after(): Timer {
    throw new Error('nothing here waits for a time');
  }

  soon(callback: () => void): void {
    this.#soon.push(callback);
  }

  /** Something holds the processor. */
  work(ms: number): void {
    this.#nowMs += ms;
  }

  /**
   * One turn of the event loop.
   *
   * @param arriving what the network brings in it
   */
  async turn(arriving: () => void = () => {}): Promise<void> {
    const startMs = this.#nowMs;
    const ready = this.#soon;
    this.#soon = [];
    for (const callback of [arriving, ...ready]) {
      callback();
      // Everything that follows from it, as between two callbacks of Node.
      await new Promise<void>((resolve) => setImmediate(resolve));
    }
    this.turnsMs.push(this.#nowMs - startMs);
  }
}
