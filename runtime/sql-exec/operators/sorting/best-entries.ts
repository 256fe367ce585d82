/** The best of many entries, in a heap whose root is the worst of them. */
export class BestEntries<Entry> {
  /** In no certain order but that the first one is the worst. */
  readonly entries: Entry[] = [];
  readonly #count: number;
  readonly #isWorse: (a: Entry, b: Entry) => boolean;

  /**
   * @param count the most entries, 1 or more
   * @param isWorse whether an entry comes behind another
   */
  constructor(count: number, isWorse: (a: Entry, b: Entry) => boolean) {
    this.#count = count;
    this.#isWorse = isWorse;
  }

  /** The entry that the next one replaces; undefined: there is room for more. */
  get worst(): Entry | undefined {
    return this.entries.length === this.#count ? this.entries[0] : undefined;
  }

  /** Adds an entry, in the place of {@link worst} where there is one. */
  add(entry: Entry): void {
    if (this.entries.length < this.#count) this.#rise(entry);
    else this.#sink(entry);
  }

  /** Adds an entry at the bottom of the heap, and moves it up. */
  #rise(entry: Entry): void {
    const { entries } = this;
    let at = entries.length;
    entries.push(entry);
    while (at > 0) {
      const above = (at - 1) >> 1;
      if (!this.#isWorse(entry, entries[above] as Entry)) break;
      entries[at] = entries[above] as Entry;
      at = above;
    }
    entries[at] = entry;
  }

  /** Puts an entry in the place of the root, and moves it down. */
  #sink(entry: Entry): void {
    const { entries } = this;
    let at = 0;
    for (;;) {
      let below = 2 * at + 1;
      if (below >= entries.length) break;
      if (below + 1 < entries.length && this.#isWorse(entries[below + 1] as Entry, entries[below] as Entry))
        below += 1;
      if (!this.#isWorse(entries[below] as Entry, entry)) break;
      entries[at] = entries[below] as Entry;
      at = below;
    }
    entries[at] = entry;
  }
}
