/** Removed rows that a walk must pass before their range is remembered. */
const PASSED_MIN = 16;

/** Maximum number of ranges remembered per table. */
const RANGES_MAX = 16;

/**
 * Key ranges known to be empty, from the start of a walk to its first row. For tables used as queues: rows removed at
 * their front stay in the shard until the removal is applied, and every walk would pass all of them again (creates
 * were 27 times slower after a day's idempotency keys had expired).
 *
 * Invariant: no key of a range has a value. Every write, and every undo of writes, must be reported with
 * {@link EmptyRanges.written}; discarding a whole batch must forget all ranges.
 */
export class EmptyRanges {
  /** For each table: start of a range → its exclusive end. */
  readonly #tables: (Map<string, string> | undefined)[] = [];

  #writes = 0;

  /** Increases with every write. */
  get writes(): number {
    return this.#writes;
  }

  /** Lower bound of the first row of a walk that begins at `start`. */
  firstAfter(table: number, start: string): string {
    return this.#tables[table]?.get(start) ?? start;
  }

  /**
   * A walk that began at `start` has passed removed rows, and no write occurred meanwhile.
   *
   * @param passed number of removed rows
   * @param end the first existing key, or the end of the walk
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

  /** Forgets all ranges. */
  forget(): void {
    this.#tables.length = 0;
  }
}
