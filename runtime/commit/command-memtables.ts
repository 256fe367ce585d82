import type { Memtable } from './memtable.ts';

/**
 * The memtables that commands of an actor read above its shard: the changes of their batch, then the durable memtables.
 *
 * References to a finished batch and to applied memtables are dropped. Otherwise an actor without reads would hold its
 * last batch for minutes, which may be hundreds of megabytes.
 */
export class CommandMemtables {
  readonly #durable: () => readonly Memtable[];
  #batch: Memtable | undefined;
  /** The durable memtables of `#stack`. */
  #beneath: readonly Memtable[] | undefined;
  #stack: readonly Memtable[] = [];

  /** @param durable newest first; returns a different array whenever the memtables differ */
  constructor(durable: () => readonly Memtable[]) {
    this.#durable = durable;
  }

  /** Changes of the running batch; undefined when there is none. */
  get batch(): Memtable | undefined {
    return this.#batch;
  }

  set batch(batch: Memtable | undefined) {
    this.#batch = batch;
    this.#beneath = undefined;
    this.#stack = [];
  }

  /** All of them, newest first. */
  get all(): readonly Memtable[] {
    const durable = this.#durable();
    if (this.#batch === undefined) return durable;
    if (this.#beneath !== durable) {
      this.#beneath = durable;
      this.#stack = [this.#batch, ...durable];
    }
    return this.#stack;
  }
}
