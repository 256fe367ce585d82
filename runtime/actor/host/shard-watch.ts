import type { Clock, Timer } from '#runtime/base/time/clock.ts';
import type { CommitLoop } from '#runtime/commit/commit-loop.ts';
import type { ActorId } from '../ports.ts';

/** Interval of the looks, in milliseconds. */
const LOOK_MS = 1_000;

/** Most shards of one look, each of which takes 17 to 40 µs, so that no look holds the event loop for long. */
export const SHARDS_AT_ONCE = 100;

/** Open actors by id. An actor that is opened is added at the end. */
export type WatchedActors = ReadonlyMap<ActorId, { readonly loop: Pick<CommitLoop, 'checkShard'> }>;

/**
 * Looks every second whether other files were copied over the shards of some open actors, so that an actor is stopped
 * which is only read. The looks take turns: each continues where the one before ended.
 */
export class ShardWatch {
  readonly #clock: Clock;
  readonly #open: WatchedActors;
  /** The actors of this round that are left. An iterator of a map follows what is added and removed meanwhile. */
  #left: ReturnType<WatchedActors['values']>;
  #timer: Timer | undefined;
  #isOver = false;

  constructor(clock: Clock, open: WatchedActors) {
    this.#clock = clock;
    this.#open = open;
    this.#left = open.values();
  }

  /** Begins. Nothing happens when it was ended before. */
  start(): void {
    if (this.#isOver) return;
    this.#timer = this.#clock.after(LOOK_MS, () => {
      this.start();
      this.#look();
    });
  }

  /** Ends it; no look begins after that. */
  end(): void {
    this.#isOver = true;
    this.#timer?.cancel();
  }

  #look(): void {
    for (let left = Math.min(SHARDS_AT_ONCE, this.#open.size); left > 0; left -= 1)
      this.#next()?.loop.checkShard();
  }

  #next(): ReturnType<WatchedActors['get']> {
    const next = this.#left.next();
    if (next.done !== true) return next.value;
    this.#left = this.#open.values();
    return this.#left.next().value;
  }
}
