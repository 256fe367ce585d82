import type { Execution } from '../execution.ts';
import type { Operator, Row } from '../operator.ts';
import type { CommonTableRun } from '../runs/common-table-run.ts';
import { BATCH_ROWS } from './generated-operator.ts';
import { ROW_WORK } from './row-memory.ts';

/** The rows of a common table, which are made while they are read. */
export class CommonTableOperator implements Operator {
  readonly #execution: Execution;
  readonly #table: CommonTableRun;
  #position = 0;

  constructor(execution: Execution, table: CommonTableRun) {
    this.#execution = execution;
    this.#table = table;
  }

  *next(): Generator<undefined, readonly Row[] | undefined> {
    this.#execution.spend(ROW_WORK);
    while (this.#position >= this.#table.rows.length) {
      if (!(yield* this.#table.more())) return undefined;
    }
    const batch = this.#table.rows.slice(this.#position, this.#position + BATCH_ROWS);
    this.#position += batch.length;
    return batch;
  }

  close(): void {
    // the table belongs to the statement: others may read it
  }
}
