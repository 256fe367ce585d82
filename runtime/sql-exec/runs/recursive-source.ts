import type { Execution } from '../execution.ts';
import type { Operator, Row } from '../operator.ts';
import { keyBytes, ROW_WORK } from '../operators/row-memory.ts';
import type { RowSource } from './common-table-run.ts';

/** What a recursive common table consists of. */
export interface RecursiveParts {
  /** Opens the part that does not refer to the table. */
  readonly openBase: () => Operator;
  /** Opens the other part; it reads {@link RecursiveSource.round}. */
  readonly openStep: () => Operator;
  /** The key of a row, where rows that were there before are left out. */
  readonly key: ((row: Row) => string) | undefined;
}

/**
 * The rows of a recursive common table, in rounds: each has the rows that the step makes of the rows of the round before. It
 * ends with a round without rows. One without end is stopped by the limits of the statement.
 */
export class RecursiveSource implements RowSource {
  readonly #execution: Execution;
  readonly #parts: RecursiveParts;
  readonly #seen = new Set<string>();
  #operator: Operator | undefined;
  #round: readonly Row[] = [];
  #bytes = 0;

  constructor(execution: Execution, parts: RecursiveParts) {
    this.#execution = execution;
    this.#parts = parts;
  }

  /** The rows of the round before. */
  get round(): readonly Row[] {
    return this.#round;
  }

  *batches(): Generator<readonly Row[] | undefined, void> {
    let open = this.#parts.openBase;
    for (;;) {
      const made: Row[] = [];
      this.#execution.spend(ROW_WORK);
      const operator = open();
      this.#operator = operator;
      for (;;) {
        const batch = yield* operator.next();
        if (batch === undefined) break;
        const fresh = yield* this.#fresh(batch);
        if (fresh.length === 0) continue;
        for (const row of fresh) made.push(row);
        yield fresh;
      }
      operator.close();
      if (made.length === 0) return;
      this.#round = made;
      open = this.#parts.openStep;
    }
  }

  close(): void {
    this.#operator?.close();
    this.#operator = undefined;
    this.#round = [];
    this.#seen.clear();
    this.#execution.budget.free(this.#bytes);
    this.#bytes = 0;
  }

  *#fresh(batch: readonly Row[]): Generator<undefined, readonly Row[]> {
    const { key } = this.#parts;
    if (key === undefined) return batch;
    const fresh: Row[] = [];
    for (const row of batch) {
      this.#execution.spend(ROW_WORK);
      const text = key(row);
      if (!this.#seen.has(text)) {
        const bytes = keyBytes(text);
        this.#execution.budget.keep(bytes);
        this.#bytes += bytes;
        this.#seen.add(text);
        fresh.push(row);
      }
      if (!this.#execution.isDue) continue;
      this.#execution.pausing();
      yield undefined;
    }
    return fresh;
  }
}
