import type { Execution } from '../execution.ts';
import type { Operator, Row } from '../operator.ts';
import type { RecursiveSource } from '../runs/recursive-source.ts';
import { BATCH_ROWS } from './generated-operator.ts';
import { ROW_WORK } from './row-memory.ts';

/** In the step of a recursive common table: the rows of the round before. */
export class RoundOperator implements Operator {
  readonly #execution: Execution;
  readonly #rows: readonly Row[];
  #position = 0;

  constructor(execution: Execution, source: RecursiveSource) {
    this.#execution = execution;
    this.#rows = source.round;
  }

  // biome-ignore lint/correctness/useYield: there is nothing to wait for
  *next(): Generator<undefined, readonly Row[] | undefined> {
    this.#execution.spend(ROW_WORK);
    const batch = this.#rows.slice(this.#position, this.#position + BATCH_ROWS);
    this.#position += batch.length;
    return batch.length === 0 ? undefined : batch;
  }

  close(): void {
    this.#position = this.#rows.length;
  }
}
