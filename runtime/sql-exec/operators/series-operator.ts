import { invalid } from '#runtime/errors/service-error.ts';
import type { SqlType } from '#runtime/sql-values/sql-type.ts';
import type { SqlValue } from '#runtime/sql-values/sql-value.ts';
import type { Execution } from '../execution.ts';
import type { Row } from '../operator.ts';
import { BATCH_ROWS, type Batches, GeneratedOperator } from './generated-operator.ts';
import type { RowExpression } from './row-expression.ts';
import { ROW_WORK } from './row-memory.ts';

const noColumns: Row = [];

/** What a series is made from; expressions without columns. */
export interface Series {
  readonly start: RowExpression;
  readonly stop: RowExpression;
  readonly step: RowExpression;
  /** Type of the values: a number or a time. */
  readonly type: SqlType;
}

/** The rows of GENERATE_SERIES: a value each, from `start` in steps as long as `stop` is not passed. */
export class SeriesOperator extends GeneratedOperator {
  readonly #series: Series;
  /** Whether rows have the value; otherwise they have no columns. */
  readonly #isRead: boolean;

  constructor(execution: Execution, series: Series, isRead: boolean) {
    super(execution, []);
    this.#series = series;
    this.#isRead = isRead;
  }

  protected *batches(): Batches {
    const { start, step, stop, type } = this.#series;
    const bounds = [start, stop, step].map((expression) => expression(noColumns));
    if (bounds.includes(null)) return;
    let batch: Row[] = [];
    for (const value of seriesValues(bounds as NonNullable<SqlValue>[], type)) {
      this.execution.spend(ROW_WORK);
      batch.push(this.#isRead ? [value] : noColumns);
      if (batch.length === BATCH_ROWS) {
        yield batch;
        batch = [];
      }
      if (this.execution.isDue) yield this.pause();
    }
    if (batch.length > 0) yield batch;
  }
}

/** @throws {ServiceError} `VALIDATION_FAILED` for a step of zero, and for bounds that are no numbers */
function* seriesValues(
  [start, stop, step]: readonly NonNullable<SqlValue>[],
  { name }: SqlType,
): Generator<SqlValue, void> {
  const bounds = [start, stop, step];
  if (name === 'double' && !bounds.every(Number.isFinite)) {
    throw invalid('The arguments of GENERATE_SERIES must be finite');
  }
  if (Number(step) === 0) throw invalid('The step of GENERATE_SERIES must not be zero');
  if (name === 'double') yield* doubles(bounds as number[]);
  else if (name === 'int') for (const value of wholes(bounds as number[])) yield Number(value);
  else yield* wholes(bounds as bigint[]);
}

function* wholes(bounds: readonly (number | bigint)[]): Generator<bigint, void> {
  const [start, stop, step] = bounds.map(BigInt) as [bigint, bigint, bigint];
  for (let value = start; step > 0n ? value <= stop : value >= stop; value += step) yield value;
}

/** Each value is computed from the first one, so that no errors add up. */
function* doubles(bounds: readonly number[]): Generator<number, void> {
  const [start, stop, step] = bounds as [number, number, number];
  let last: number | undefined;
  for (let count = 0; ; count += 1) {
    const value = start + count * step;
    if (step > 0 ? value > stop : value < stop) return;
    // A step that is too small to change the value would never end.
    if (value === last) throw invalid('The step of GENERATE_SERIES is too small for its start');
    last = value;
    yield value;
  }
}
