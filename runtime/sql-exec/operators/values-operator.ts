import type { Execution } from '../execution.ts';
import type { Operator, Row } from '../operator.ts';
import { BATCH_ROWS } from './generated-operator.ts';
import { ROW_WORK } from './row-memory.ts';
import type { RowExpression } from './row-expression.ts';

const noColumns: Row = [];

/** Rows of expressions without columns: `VALUES`, and the one row that `SELECT 1` reads from. */
export class ValuesOperator implements Operator {
  readonly #execution: Execution;
  #rows: readonly (readonly RowExpression[])[];
  #position = 0;

  constructor(execution: Execution, rows: readonly (readonly RowExpression[])[]) {
    this.#execution = execution;
    this.#rows = rows;
  }

  *next(): Generator<undefined, readonly Row[] | undefined> {
    const made: Row[] = [];
    while (this.#position < this.#rows.length && made.length < BATCH_ROWS) {
      this.#execution.spend(ROW_WORK);
      made.push(this.#rows[this.#position]!.map((expression) => expression(noColumns)));
      this.#position += 1;
      if (!this.#execution.isDue) continue;
      this.#execution.pausing();
      yield undefined;
    }
    return made.length === 0 ? undefined : made;
  }

  close(): void {
    this.#rows = [];
  }
}
