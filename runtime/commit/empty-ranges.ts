/** Removed rows a walk passes before it is worth remembering that they are gone. */
const PASSED_MIN = 16;

/** Ranges remembered of one table. */
const RANGES_MAX = 16;

/**
 * Which ranges of keys are known to be empty, from where walks begin up to the first row. For tables that are used
 * as queues: what was removed at their front stays in the shard until it is applied, and every walk would pass all of
 * it again (27 times slower creates were seen, when a day's idempotency keys had expired).
 *
 * Invariant: no key of a range has a value. Who writes says so with {@link EmptyRanges.written}, who takes
 * writes back as well; who throws a whole batch away forgets everything.
 */
export class EmptyRanges {
  /** For each table: beginning of a range → its end, which is not in it. */
  readonly #tables: (Map<string, string> | undefined)[] = [];

  #writes = 0;

  /** Rises with every write. */
  get writes(): number {
    return this.#writes;
  }

  /** Where a walk that begins at `start` meets its first row at the earliest. */
  firstAfter(table: number, start: string): string {
    return this.#tables[table]?.get(start) ?? start;
  }

  /**
   * A walk that began at `start` has passed removed rows, and nothing was written meanwhile.
   *
   * @param passed how many
   * @param end the first key that is there, or the end of the walk
   */
  walked(table: number, start: string, passed: number, end: string): void {
    let ranges = this.#tables[table];
    if (passed < PASSED_MIN && ranges?.has(start) !== true) return;
    if (ranges === undefined || ranges.size >= RANGES_MAX) {
      ranges = new Map();
      this.#tables[table] = ranges;
    }
    ranges.set(start, end);
  }

  /** A key may have a value from now on. */
  written(table: number, key: string): void {
    this.#writes += 1;
    const ranges = this.#tables[table];
    if (ranges === undefined) return;
    for (const [start, end] of ranges) if (key >= start && key < end) ranges.set(start, key);
  }

  /** Nothing is known any more. */
  forget(): void {
    this.#tables.length = 0;
  }
}
