import type { Memtable } from './memtable.ts';

/**
 * What the commands of an actor read above its shard: the changes of their batch, and beneath them what is durable.
 *
 * Nothing is kept of a batch that is over, nor of durable memtables that were applied since: an actor that nobody reads from
 * for minutes would hold its last batch as long, which may be hundreds of megabytes.
 */
export class CommandMemtables {
  readonly #durable: () => readonly Memtable[];
  #batch: Memtable | undefined;
  /** The durable memtables of `#stack`. */
  #beneath: readonly Memtable[] | undefined;
  #stack: readonly Memtable[] = [];

  /** @param durable newest first; another array whenever it is not the same memtables any more */
  constructor(durable: () => readonly Memtable[]) {
    this.#durable = durable;
  }

  /** Changes of the batch that is being made; undefined when none is. */
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
