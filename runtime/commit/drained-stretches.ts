/** Removed rows a walk passes before it is worth remembering that they are gone. */
const PASSED_MIN = 16;

/** Stretches remembered of one table. */
const STRETCHES_MAX = 16;

/**
 * Which stretches of keys are known to be empty, from where walks begin up to the first row. For tables that are used
 * as queues: what was removed at their front stays in the shard until it is applied, and every walk would pass all of
 * it again (27 times slower creates were seen, when a day's idempotency keys had expired).
 *
 * Invariant: no key of a stretch has a value. Who writes says so with {@link DrainedStretches.written}, who takes
 * writes back as well; who throws a whole batch away forgets everything.
 */
export class DrainedStretches {
  /** For each table: beginning of a stretch → its end, which is not in it. */
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
    let stretches = this.#tables[table];
    if (passed < PASSED_MIN && stretches?.has(start) !== true) return;
    if (stretches === undefined || stretches.size >= STRETCHES_MAX) {
      stretches = new Map();
      this.#tables[table] = stretches;
    }
    stretches.set(start, end);
  }

  /** A key may have a value from now on. */
  written(table: number, key: string): void {
    this.#writes += 1;
    const stretches = this.#tables[table];
    if (stretches === undefined) return;
    for (const [start, end] of stretches) if (key >= start && key < end) stretches.set(start, key);
  }

  /** Nothing is known any more. */
  forget(): void {
    this.#tables.length = 0;
  }
}
