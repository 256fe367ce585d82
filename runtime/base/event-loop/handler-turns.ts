import type { Clock } from '../time/clock.ts';

/** Time in one turn of the event loop after which no further handler starts, in milliseconds. */
export const HANDLERS_MS = 8;

/** A handler that has not started. */
interface Waiter {
  /** Whether the caller still waits for the answer. */
  readonly isWanted: () => boolean;
  readonly begin: () => void;
}

/**
 * Limits how long the handlers that start in one turn of the event loop hold it. A turn receives the requests of all
 * connections, and each handler may work for a millisecond or two before it yields, so a thousand of them would block
 * everything else for seconds. So would thousands of small requests on one connection. Handlers above the limit start
 * in later turns: each key in turn, and within a key in order of arrival.
 *
 * The time counts from the start of the first handler of the turn, and includes other work of the turn.
 */
export class HandlerTurns {
  readonly #clock: Clock;
  /** Keys with waiting handlers, the next one first. */
  readonly #lines = new Map<string, Waiter[]>();
  /** Start of the first handler of this turn, on the clock's `monotonicMs`; undefined before. */
  #startedMs: number | undefined;
  /** One function for all turns; a turn in which everything has begun makes no promise. */
  readonly #endTurn = (): void => {
    if (this.#lines.size === 0) this.#startedMs = undefined;
    else void this.#nextTurn();
  };

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Requests a start in this turn.
   *
   * @returns whether the handler may start now; else call {@link wait}
   */
  mayBegin(): boolean {
    if (this.#lines.size > 0) return false;
    if (this.#startedMs !== undefined) return !this.#isUsedUp(this.#startedMs);
    this.#openTurn();
    return true;
  }

  /**
   * Queues a handler after everything that has arrived by now: one that {@link mayBegin} refused, or one that must not
   * start within the callback that received it.
   *
   * @param key owner of the request
   * @param isWanted checked before the start; an unwanted handler is dropped
   * @param begin must not throw
   */
  wait(key: string, isWanted: () => boolean, begin: () => void): void {
    if (this.#lines.size === 0 && this.#startedMs === undefined) this.#openTurn();
    const line = this.#lines.get(key);
    if (line === undefined) this.#lines.set(key, [{ isWanted, begin }]);
    else line.push({ isWanted, begin });
  }

  #openTurn(): void {
    this.#startedMs = this.#clock.monotonicMs();
    this.#clock.soon(this.#endTurn);
  }

  #isUsedUp(startedMs: number): boolean {
    return this.#clock.monotonicMs() - startedMs >= HANDLERS_MS;
  }

  async #nextTurn(): Promise<void> {
    const startedMs = this.#clock.monotonicMs();
    while (this.#lines.size > 0 && !this.#isUsedUp(startedMs)) {
      this.#beginNext();
      // Work that follows in microtasks counts as well.
      await null;
    }
    this.#startedMs = undefined;
    if (this.#lines.size > 0) this.#clock.soon(this.#endTurn);
  }

  #beginNext(): void {
    const [key, line] = this.#lines.entries().next().value as [string, Waiter[]];
    const { begin, isWanted } = line.shift() as Waiter;
    // A key that is set again moves to the end.
    this.#lines.delete(key);
    if (line.length > 0) this.#lines.set(key, line);
    if (isWanted()) begin();
  }
}
