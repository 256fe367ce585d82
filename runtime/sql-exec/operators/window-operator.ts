import { valueBytes } from '#runtime/sql-values/ordering/value-bytes.ts';
import type { SqlValue } from '#runtime/sql-values/sql-value.ts';
import type { Execution } from '../execution.ts';
import type { Operator, Row } from '../operator.ts';
import type { CompiledWindow, WindowPartitioning } from './compiled-window.ts';
import { BATCH_ROWS, type Batches, GeneratedOperator } from './generated-operator.ts';
import { BYTE_WORK, ROW_WORK, rowBytes } from './row-memory.ts';
import { frameAggregateValues } from './windows/frame-aggregates.ts';
import { partitionsOf } from './windows/partitions.ts';
import { windowFunctionValues } from './windows/window-functions.ts';
import type { PartitionRow, PutResult, WindowPartition } from './windows/window-partition.ts';

/** Bytes of a reference to a result. */
const RESULT_BYTES = 8;

/** Estimated nanoseconds of a window for a partition, besides its rows. */
const PARTITION_WORK = 1_000;

/** The rows of its input, in its order, each with the results of functions over windows behind its own slots. */
export class WindowOperator extends GeneratedOperator {
  readonly #input: Operator;
  readonly #windows: readonly CompiledWindow[];

  constructor(execution: Execution, input: Operator, windows: readonly CompiledWindow[]) {
    super(execution, [input]);
    this.#input = input;
    this.#windows = windows;
  }

  protected *batches(): Batches {
    const rows = yield* this.#rows();
    this.#input.close();
    this.keep(RESULT_BYTES * this.#windows.length * rows.length);
    const results = this.#windows.map(() => new Array<SqlValue>(rows.length).fill(null));
    for (const partitioning of new Set(this.#windows.map((window) => window.partitioning))) {
      yield* this.#compute(partitioning, rows, results);
    }
    for (let start = 0; start < rows.length; start += BATCH_ROWS) {
      const batch: Row[] = [];
      for (let at = start; at < Math.min(rows.length, start + BATCH_ROWS); at++) {
        batch.push([...(rows[at] as Row), ...results.map((values) => values[at] as SqlValue)]);
        this.execution.spend(ROW_WORK + 10 * results.length);
        if (this.execution.isDue) yield this.pause();
      }
      yield batch;
    }
  }

  *#rows(): Generator<undefined, readonly Row[]> {
    const { execution } = this;
    const all: Row[] = [];
    for (let rows = yield* this.#input.next(); rows !== undefined; rows = yield* this.#input.next()) {
      for (const row of rows) {
        const bytes = rowBytes(row);
        execution.spend(ROW_WORK + bytes * BYTE_WORK);
        this.keep(bytes);
        all.push(row);
        if (execution.isDue) yield this.pause();
      }
    }
    return all;
  }

  /** Computes all windows with a partitioning, one partition after the other. */
  *#compute(
    partitioning: WindowPartitioning,
    rows: readonly Row[],
    results: readonly SqlValue[][],
  ): Generator<undefined, void> {
    const computed = this.#windows
      .map((window, at) => ({ window, values: results[at] as SqlValue[] }))
      .filter(({ window }) => window.partitioning === partitioning);
    let kept = 0;
    const keep = (bytes: number): void => {
      this.keep(bytes);
      kept += bytes;
    };
    for (const partition of partitionsOf(this.execution, rows, partitioning, keep)) {
      if (partition === undefined) {
        yield undefined;
        continue;
      }
      for (const { values, window } of computed) {
        this.execution.spend(PARTITION_WORK);
        yield* this.#values(window, partition, this.#into(values, partition));
      }
    }
    this.keep(-kept);
  }

  /** Rows behind one another often have equal values: they share one of them, which is counted once. */
  #into(values: SqlValue[], partition: WindowPartition): PutResult {
    let last: SqlValue = null;
    return (place, value) => {
      if (!Object.is(value, last)) {
        const bytes = valueBytes(value);
        this.execution.spend(bytes * BYTE_WORK);
        this.keep(bytes);
        last = value;
      }
      values[(partition.rows[place] as PartitionRow).position] = last;
    };
  }

  #values(window: CompiledWindow, partition: WindowPartition, put: PutResult): Generator<undefined, void> {
    const { execution } = this;
    if (window.function.kind === 'window') {
      const { args, name } = window.function;
      return windowFunctionValues(execution, window, name, args, partition, put);
    }
    const { aggregate } = window.function;
    return frameAggregateValues(
      { execution, aggregate, partition, keep: (bytes) => this.keep(bytes) },
      window,
      put,
    );
  }
}
