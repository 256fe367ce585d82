import { assert } from '#runtime/base/assert.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { SqlValue } from '#runtime/sql-values/sql-value.ts';
import type { Execution } from '../execution.ts';
import type { Operator } from '../operator.ts';
import { ROW_WORK } from '../operators/row-memory.ts';
import type { SubqueryResult } from './subquery-results.ts';

/**
 * A subquery of an expression. It is independent of the rows around it, so it is run once, before the first row for which it
 * may be evaluated, and its result is kept.
 *
 * An error in it counts only where its value is used: a CASE may avoid that.
 */
export class SubqueryRun {
  readonly #execution: Execution;
  readonly #open: () => Operator;
  readonly #start: (valuesMax: number) => SubqueryResult;
  #valuesMax = 0;
  #result: SubqueryResult | undefined;
  #error: ServiceError | undefined;
  #operator: Operator | undefined;
  #bytes = 0;

  /** About how many rows it has. */
  readonly rows: number;

  /** @param start begins a result that keeps up to so many distinct values */
  constructor(
    execution: Execution,
    plan: { readonly rows: number; readonly open: () => Operator },
    start: (valuesMax: number) => SubqueryResult,
  ) {
    this.#execution = execution;
    this.rows = plan.rows;
    this.#open = plan.open;
    this.#start = start;
  }

  /** Runs the subquery, unless that has been done. */
  *run(): Generator<undefined, void> {
    if (this.#result !== undefined) return;
    const result = this.#start(this.#valuesMax);
    this.#operator = this.#open();
    try {
      yield* this.#read(this.#operator, result);
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== 'VALIDATION_FAILED') throw error;
      this.#error = error;
    }
    this.#operator.close();
    this.#operator = undefined;
    this.#result = result;
  }

  /** The value of the expression, after {@link run}. @param left what is compared with the rows; NULL if nothing is */
  value(left: SqlValue): SqlValue {
    if (this.#error !== undefined) throw this.#error;
    assert(this.#result !== undefined, 'a subquery is evaluated before it was run');
    return this.#result.value(left);
  }

  /** Has up to so many distinct values kept when it is run. */
  keepValues(most: number): void {
    this.#valuesMax = Math.max(this.#valuesMax, most);
  }

  /** The distinct values without NULL, after {@link run}; undefined: there are too many, or it has failed. */
  values(): readonly SqlValue[] | undefined {
    return this.#error === undefined ? this.#result?.values() : undefined;
  }

  /** Frees the result, also while it is being made. */
  close(): void {
    this.#operator?.close();
    this.#operator = undefined;
    this.#result = undefined;
    this.#error = undefined;
    this.#execution.budget.free(this.#bytes);
    this.#bytes = 0;
  }

  *#read(operator: Operator, result: SubqueryResult): Generator<undefined, void> {
    for (;;) {
      const batch = yield* operator.next();
      if (batch === undefined) return;
      for (const row of batch) {
        this.#execution.spend(ROW_WORK);
        const bytes = result.take(row);
        if (bytes === undefined) return;
        this.#execution.budget.keep(bytes);
        this.#bytes += bytes;
        if (!this.#execution.isDue) continue;
        this.#execution.pausing();
        yield undefined;
      }
    }
  }
}
