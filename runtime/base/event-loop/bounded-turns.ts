import { BoundedQueue } from '../queues/bounded-queue.ts';

/** Limits of running and waiting tasks. */
export interface TurnLimits {
  /** Limit of running tasks. */
  readonly runningMax: number;
  /** Limit of waiting tasks. */
  readonly waitingMax: number;
}

/**
 * Runs a bounded number of tasks at once. The others start in order of arrival. A task above the limit of waiting ones
 * is refused.
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
   * Starts a task in its turn: at once when there is capacity.
   *
   * @returns the result of the task; undefined when too many wait, and then it never starts
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
      // The slot is handed to the next one, not released, so that no newcomer overtakes it.
      const next = this.#waiting.shift();
      if (next === undefined) this.#running -= 1;
      else next();
    }
  }
}
