import type { FlushJournal } from './flush-journal.ts';

/** Maximum number of waiting items; further callers wait. One flush serves all of them. */
const WAITING_MAX = 64;

/**
 * Passes items, in order, once the flush journal has them on the disk. Otherwise shards could have records that
 * cannot be restored to a stream that lost its end.
 */
export class FlushGate<Item extends { readonly sequence: number }> {
  readonly #journal: FlushJournal;
  readonly #apply: (item: Item) => Promise<void>;
  #waiting: Item[] = [];
  #running: Promise<void> | undefined;
  #failure: { readonly cause: unknown } | undefined;

  /** @param apply receives the passed items; one call at a time */
  constructor(journal: FlushJournal, apply: (item: Item) => Promise<void>) {
    this.#journal = journal;
    this.#apply = apply;
  }

  /**
   * Accepts an item that the journal was given before; resolves when there is space for more.
   *
   * @throws the error of the journal or of `apply`, now or earlier
   */
  async take(item: Item): Promise<void> {
    this.#waiting.push(item);
    this.#start();
    while (this.#waiting.length >= WAITING_MAX && this.#running !== undefined) await this.#running;
    this.#requireWell();
  }

  /** Resolves when all accepted items have passed. @throws as {@link take} */
  async drain(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
    this.#requireWell();
  }

  #requireWell(): void {
    if (this.#failure !== undefined) throw this.#failure.cause;
  }

  #start(): void {
    if (this.#running !== undefined || this.#failure !== undefined) return;
    this.#running = this.#passOn()
      .catch((cause: unknown) => {
        this.#failure = { cause };
        this.#waiting = [];
      })
      .finally(() => {
        this.#running = undefined;
        if (this.#waiting.length > 0) this.#start();
      });
  }

  async #passOn(): Promise<void> {
    const items = [...this.#waiting];
    await this.#journal.whenFlushed((items.at(-1) as Item).sequence);
    this.#waiting = this.#waiting.slice(items.length);
    for (const item of items) await this.#apply(item);
  }
}
