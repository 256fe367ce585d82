import { RequestBudget } from '#runtime/budget/request-budget.ts';
import { Execution } from '#runtime/sql-exec/execution.ts';
import type { Operator, Row } from '#runtime/sql-exec/operator.ts';
import type { CompiledAggregate } from '#runtime/sql-exec/operators/compiled-aggregate.ts';
import type { SortKey } from '#runtime/sql-exec/operators/sort-key.ts';
import { comparatorOf } from '#runtime/sql-values/ordering/comparator.ts';
import { valueBytes } from '#runtime/sql-values/ordering/value-bytes.ts';
import type { Accumulator, AggregateFunction } from '#runtime/sql-values/scalar-function.ts';
import type { SqlType } from '#runtime/sql-values/sql-type.ts';
import { Jsonb, type SqlValue, StoredJson } from '#runtime/sql-values/sql-value.ts';

/** Limits that no test reaches by accident. */
export const wide = { workMax: 1e12, memoryMax: 2 ** 40 };

/** An execution with the given limits. */
export function executionWith(limits: Partial<typeof wide> = {}): Execution {
  return new Execution(new RequestBudget({ ...wide, ...limits }));
}

/** An input of given rows, in batches. It yields before each batch. */
export class RowsInput implements Operator {
  readonly #rows: readonly Row[];
  readonly #batchRows: number;
  #at = 0;
  /** Rows that were asked for. */
  read = 0;
  isClosed = false;

  constructor(rows: readonly Row[], batchRows = 100) {
    this.#rows = rows;
    this.#batchRows = batchRows;
  }

  *next(): Generator<undefined, readonly Row[] | undefined> {
    yield undefined;
    if (this.#at >= this.#rows.length) return undefined;
    const batch = this.#rows.slice(this.#at, this.#at + this.#batchRows);
    this.#at += batch.length;
    this.read = this.#at;
    return batch;
  }

  close(): void {
    this.isClosed = true;
  }
}

/** The batches of an operator, which is not closed. */
export function batchesOf(operator: Operator): Row[][] {
  const batches: Row[][] = [];
  for (;;) {
    const steps = operator.next();
    let step = steps.next();
    while (step.done !== true) step = steps.next();
    if (step.value === undefined) return batches;
    batches.push([...step.value]);
  }
}

/** The rows of an operator, which is not closed. */
export function rowsOf(operator: Operator): Row[] {
  return batchesOf(operator).flat();
}

/** Most estimated work between two yields, in nanoseconds, until the end. */
export function longestStep(operator: Operator, execution: Execution): number {
  let [before, longest] = [execution.budget.work, 0];
  const look = (): void => {
    longest = Math.max(longest, execution.budget.work - before);
    before = execution.budget.work;
  };
  for (;;) {
    const steps = operator.next();
    let step = steps.next();
    for (; step.done !== true; step = steps.next()) look();
    look();
    if (step.value === undefined) return longest;
  }
}

/** JSON that is stored, of many empty objects: its text is short for what it takes once it is read. */
export function storedObjects({ budget }: Execution, count: number): Jsonb {
  return new Jsonb(new StoredJson(JSON.stringify(Array.from({ length: count }, () => ({}))), budget));
}

export const int: SqlType = { name: 'int' };
export const bigint: SqlType = { name: 'bigint' };
export const double: SqlType = { name: 'double' };
export const text: SqlType = { name: 'text' };
export const jsonb: SqlType = { name: 'jsonb' };

/** Reads a slot. */
export function slot(at: number): (row: Row) => SqlValue {
  return (row) => row[at] as SqlValue;
}

/** A key of an order over a slot; by default ascending with NULLs last. */
export function sortKey(at: number, type: SqlType, isDescending = false, nullsFirst = isDescending): SortKey {
  return { read: slot(at), compare: comparatorOf(type), isDescending, nullsFirst };
}

/** An aggregate over slots. */
export function aggregate(
  taken: AggregateFunction,
  slots: readonly number[],
  rest: Partial<Pick<CompiledAggregate, 'isDistinct' | 'orderBy' | 'filter'>> = {},
): CompiledAggregate {
  return {
    function: taken,
    args: slots.map(slot),
    argTypes: taken.parameters,
    isDistinct: false,
    orderBy: [],
    filter: undefined,
    ...rest,
  };
}

/** COUNT of any number of arguments. */
export function countOf(...parameters: readonly SqlType[]): AggregateFunction {
  return folded('COUNT', parameters, bigint, 0n, (count) => (count as bigint) + 1n);
}

/** SUM of integers. */
export const sumOfInts: AggregateFunction = folded('SUM', [int], bigint, null, (sum, value) =>
  sum === null ? BigInt(value as number) : (sum as bigint) + BigInt(value as number),
);

/** SUM of doubles. */
export const sumOfDoubles: AggregateFunction = folded('SUM', [double], double, null, (sum, value) =>
  sum === null ? value : (sum as number) + (value as number),
);

/** MIN or MAX. */
export function extremeOf(name: 'MIN' | 'MAX', type: SqlType): AggregateFunction {
  const compare = comparatorOf(type);
  return folded(name, [type], type, null, (best, value) =>
    best === null || (name === 'MIN' ? compare(value, best) < 0 : compare(value, best) > 0) ? value : best,
  );
}

/** ARRAY_AGG: keeps NULLs. */
export function arrayOf(type: SqlType): AggregateFunction {
  return {
    name: 'ARRAY_AGG',
    parameters: [type],
    result: { name: 'array', element: type },
    skipsNulls: false,
    start: (): Accumulator => {
      const items: SqlValue[] = [];
      return {
        add: ([value]) => {
          items.push(value as SqlValue);
          return 8 + valueBytes(value as SqlValue);
        },
        result: () => (items.length === 0 ? null : [...items]),
      };
    },
  };
}

function folded(
  name: string,
  parameters: readonly SqlType[],
  result: SqlType,
  start: SqlValue,
  fold: (before: SqlValue, value: SqlValue) => SqlValue,
): AggregateFunction {
  return {
    name,
    parameters,
    result,
    skipsNulls: true,
    start: (): Accumulator => {
      let value = start;
      return {
        add: ([argument = null]) => {
          value = fold(value, argument);
          return 0;
        },
        result: () => value,
      };
    },
  };
}
