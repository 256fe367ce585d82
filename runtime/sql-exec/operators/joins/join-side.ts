import type { Execution } from '../../execution.ts';
import type { Operator, Row } from '../../operator.ts';
import { ROW_WORK, rowBytes } from '../row-memory.ts';

/** The rows of one side of a join, kept in memory, with a mark at those that have found a partner. */
export class JoinSide {
  readonly #execution: Execution;
  readonly #input: Operator;
  readonly rows: Row[] = [];
  readonly #matched: boolean[] = [];
  #bytes = 0;

  constructor(execution: Execution, input: Operator) {
    this.#execution = execution;
    this.#input = input;
  }

  /**
   * Reads all rows, then closes the input.
   *
   * @param take is told each row and its position, and returns the bytes that it has kept for it; undefined: the row is left
   * out
   */
  *read(take: (row: Row, position: number) => number | undefined): Generator<undefined, void> {
    for (;;) {
      const batch = yield* this.#input.next();
      if (batch === undefined) break;
      for (const row of batch) {
        this.#execution.spend(ROW_WORK);
        const taken = take(row, this.rows.length);
        if (taken !== undefined) {
          this.#keep(rowBytes(row) + taken);
          this.rows.push(row);
          this.#matched.push(false);
        }
        if (!this.#execution.isDue) continue;
        this.#execution.pausing();
        yield undefined;
      }
    }
    this.#input.close();
  }

  mark(position: number): void {
    this.#matched[position] = true;
  }

  isMarked(position: number): boolean {
    return this.#matched[position]!;
  }

  close(): void {
    this.rows.length = 0;
    this.#matched.length = 0;
    this.#execution.budget.free(this.#bytes);
    this.#bytes = 0;
    this.#input.close();
  }

  #keep(bytes: number): void {
    this.#execution.budget.keep(bytes);
    this.#bytes += bytes;
  }
}
