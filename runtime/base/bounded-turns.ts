import { BoundedQueue } from './bounded-queue.ts';

/** How much goes on at once, and how much may wait for it. */
export interface TurnLimits {
  /** Works under way at once. */
  readonly runningMax: number;
  /** Works that wait for their turn. */
  readonly waitingMax: number;
}

/**
 * Runs a bounded number of works at once. The others begin in the order they came; one more than may wait is
 * refused instead of queued.
 */
export class BoundedTurns {
  readonly #runningMax: number;
  readonly #waiting: BoundedQueue<() => void>;
  #running = 0;

  constructor({ runningMax, waitingMax }: TurnLimits) {
    this.#runningMax = runningMax;
    this.#waiting = new BoundedQueue(waitingMax);
  }

  /**
   * Begins a work as soon as it is its turn: at once when there is room.
   *
   * @returns what becomes of the work; undefined when too many wait, and then it never begins
   */
  run<Result>(work: () => Promise<Result>): Promise<Result> | undefined {
    if (this.#running < this.#runningMax) {
      this.#running += 1;
      return this.#finish(work);
    }
    let begin = (): void => {};
    const turn = new Promise<void>((resolve) => {
      begin = resolve;
    });
    if (!this.#waiting.push(begin)) return undefined;
    return turn.then(() => this.#finish(work));
  }

  async #finish<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } finally {
      // The place is handed on, not given back, so that nobody overtakes those who wait.
      const next = this.#waiting.shift();
      if (next === undefined) this.#running -= 1;
      else next();
    }
  }
}
