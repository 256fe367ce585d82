import type { Clock } from '#runtime/base/clock.ts';
import type { Caller, QueryContext } from '#runtime/commit/behaviour.ts';
import { checkWaiting, SLICE_MS } from '#runtime/commit/commit-loop.ts';
import type { ShardSnapshot, TableReader } from '#runtime/shard/shard.ts';

/** The parts of an actor that a query works with. */
export interface QueriedActor {
  /** Durable state; good within one turn of the event loop. */
  readonly view: TableReader;
  /** Pins it. */
  readonly pin: () => ShardSnapshot;
  /** Reads under way that span several turns of the event loop. */
  reads: number;
}

/** What one query works with. A class, not a set of closures: one is made for every point read. */
export class QueryScope implements QueryContext {
  readonly caller: Caller;
  readonly #actor: QueriedActor;
  readonly #clock: Clock;
  #sliceStartMs = -1;

  constructor(actor: QueriedActor, caller: Caller, clock: Clock) {
    this.caller = caller;
    this.#actor = actor;
    this.#clock = clock;
  }

  get view(): TableReader {
    return this.#actor.view;
  }

  pin(): ShardSnapshot {
    const actor = this.#actor;
    const snapshot = actor.pin();
    actor.reads += 1;
    let closed = false;
    return {
      get: (table, key) => snapshot.get(table, key),
      range: (table, range) => snapshot.range(table, range),
      close: () => {
        if (closed) return;
        closed = true;
        actor.reads -= 1;
        snapshot.close();
      },
    };
  }

  pause(): Promise<void> | undefined {
    const now = this.#clock.monotonicMs();
    if (this.#sliceStartMs < 0) this.#sliceStartMs = now;
    if (now - this.#sliceStartMs < SLICE_MS) return undefined;
    checkWaiting(this.caller, this.#clock);
    return new Promise<void>((resolve) =>
      this.#clock.soon(() => {
        this.#sliceStartMs = this.#clock.monotonicMs();
        resolve();
      }),
    );
  }
}
