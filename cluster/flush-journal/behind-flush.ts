import type { FlushJournal } from './flush-journal.ts';

/** What waits at most; whoever brings more waits. One flush is for all of them. */
const WAITING_MAX = 64;

/**
 * Lets pass, in order, what a flush journal has on the disk: shards must never have what a stream that lost its end
 * could not be given back.
 */
export class BehindFlush<Item extends { readonly sequence: number }> {
  readonly #journal: FlushJournal;
  readonly #apply: (item: Item) => Promise<void>;
  #waiting: Item[] = [];
  #running: Promise<void> | undefined;
  #failure: { readonly cause: unknown } | undefined;

  /** @param apply takes what passes; one call at a time */
  constructor(journal: FlushJournal, apply: (item: Item) => Promise<void>) {
    this.#journal = journal;
    this.#apply = apply;
  }

  /**
   * Takes what the journal was given before; resolves when there is room for more.
   *
   * @throws what the journal or `apply` failed with, now or earlier
   */
  async take(item: Item): Promise<void> {
    this.#waiting.push(item);
    this.#start();
    while (this.#waiting.length >= WAITING_MAX && this.#running !== undefined) await this.#running;
    this.#requireWell();
  }

  /** Resolves when everything taken before has passed. @throws as {@link take} */
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
