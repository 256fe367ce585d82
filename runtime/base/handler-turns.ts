import type { Clock } from './clock.ts';

/** Time in one turn of the event loop after which no further handler begins, in milliseconds. */
export const HANDLERS_MS = 8;

/** A handler that has not begun. */
interface Waiter {
  /** Whether somebody still waits for the answer. */
  readonly isWanted: () => boolean;
  readonly begin: () => void;
}

/**
 * Bounds how long the handlers that begin in one turn of the event loop hold it. A turn takes in the requests of all
 * connections that have sent one, and each handler may work for a millisecond or two before it rests, so a thousand of
 * them would keep everything else waiting for seconds. So do thousands of requests that one connection brings at once,
 * however little each of them takes. Handlers that find the turn used up begin in later ones: those of
 * each key in turn, and those of a key in the order of arrival.
 *
 * The time is that since the first handler of the turn began. Whatever else the turn does meanwhile counts as well.
 */
export class HandlerTurns {
  readonly #clock: Clock;
  /** The key that is next first; only those somebody waits under. */
  readonly #lines = new Map<string, Waiter[]>();
  /** When the first handler of this turn began, on the clock's `monotonicMs`; undefined before. */
  #startedMs: number | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Takes a place in this turn.
   *
   * @returns whether the handler may begin now; else {@link wait}
   */
  mayBegin(): boolean {
    if (this.#lines.size > 0) return false;
    if (this.#startedMs !== undefined) return !this.#isUsedUp(this.#startedMs);
    this.#openTurn();
    return true;
  }

  /**
   * Has a handler begin behind everything that has arrived by now: one that {@link mayBegin} has said no to, or one that
   * is not to begin within the callback that brought it.
   *
   * @param key whom the request counts for
   * @param isWanted asked before it begins; one that is not wanted any more is forgotten
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
    this.#clock.soon(() => void this.#nextTurn());
  }

  #isUsedUp(startedMs: number): boolean {
    return this.#clock.monotonicMs() - startedMs >= HANDLERS_MS;
  }

  async #nextTurn(): Promise<void> {
    const startedMs = this.#clock.monotonicMs();
    while (this.#lines.size > 0 && !this.#isUsedUp(startedMs)) {
      this.#beginNext();
      // What follows from it counts as well.
      await null;
    }
    this.#startedMs = undefined;
    if (this.#lines.size > 0) this.#clock.soon(() => void this.#nextTurn());
  }

  #beginNext(): void {
    const [key, line] = this.#lines.entries().next().value as [string, Waiter[]];
    const { begin, isWanted } = line.shift() as Waiter;
    // A key that is set anew is the last.
    this.#lines.delete(key);
    if (line.length > 0) this.#lines.set(key, line);
    if (isWanted()) begin();
  }
}
