import { type Clock, systemClock } from '#runtime/base/time/clock.ts';
import { HANDLERS_MS } from '#runtime/base/event-loop/handler-turns.ts';

/** What each piece of work takes, in milliseconds. */
const WORK_MS = 2;

/** Works of one turn at most: of what arrives in it, and of what waited for it. */
export const WORKS_MAX = (2 * (HANDLERS_MS + WORK_MS)) / WORK_MS;

/** Counts the pieces of work that are done in each turn of the real event loop, on a clock that only they move. */
export class WorkedTurns {
  readonly clock: Clock;
  /** The most in one turn. */
  most = 0;
  total = 0;
  #inTurn = 0;

  constructor() {
    const startMs = 1_000;
    const monotonicMs = (): number => startMs + this.total * WORK_MS;
    this.clock = {
      wallMs: () => systemClock.wallMs(),
      monotonicMs,
      after: (delayMs, callback) => systemClock.after(delayMs, callback),
      soon: (callback) => systemClock.soon(callback),
    };
  }

  work(): void {
    if (this.#inTurn === 0) setImmediate(() => (this.#inTurn = 0));
    this.total += 1;
    this.#inTurn += 1;
    this.most = Math.max(this.most, this.#inTurn);
  }
}
