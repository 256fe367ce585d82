import type { Clock, Timer } from '#runtime/base/time/clock.ts';

/**
 * The life of one request from its call to the end of its response. Its caller, its time or the guard may end it early.
 * Then `signal` is aborted with the error, and everything that works for it stops.
 */
export class RequestLife {
  readonly #clock: Clock;
  readonly #controller = new AbortController();
  readonly #timers = new Set<Timer>();
  readonly #caller: AbortSignal | undefined;
  readonly #onClose: () => void;
  readonly #callerLeft = (): void => this.end(this.#caller?.reason);
  #isClosed = false;

  /**
   * @param caller ends it with its own reason, as `fetch` does
   * @param onClose called once, when it is over
   */
  constructor(clock: Clock, caller: AbortSignal | undefined, onClose: () => void) {
    this.#clock = clock;
    this.#caller = caller;
    this.#onClose = onClose;
    if (caller?.aborted === true) this.#callerLeft();
    else caller?.addEventListener('abort', this.#callerLeft, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Ends it early; of several reasons the first counts. */
  end(reason: unknown): void {
    if (this.#isClosed) return;
    this.#controller.abort(reason);
  }

  /** Ends it with an error unless the timer is cancelled within `ms`. */
  limit(ms: number, late: () => Error): Timer {
    const timer = this.#clock.after(ms, () => this.end(late()));
    const limit = {
      cancel: () => {
        timer.cancel();
        this.#timers.delete(limit);
      },
    };
    this.#timers.add(limit);
    return limit;
  }

  /** It is over: nothing can end it any more, and no timer remains. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#caller?.removeEventListener('abort', this.#callerLeft);
    for (const timer of this.#timers) timer.cancel();
    this.#onClose();
  }
}
