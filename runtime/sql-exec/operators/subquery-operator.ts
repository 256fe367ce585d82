import type { Operator, Row } from '../operator.ts';
import type { SubqueryRun } from '../runs/subquery-run.ts';

/** The rows of its input, behind which subqueries may be evaluated: they are run as soon as there is a row. */
export class SubqueryOperator implements Operator {
  readonly #input: Operator;
  readonly #subqueries: readonly SubqueryRun[];
  readonly #isFirst: boolean;

  /** @param isFirst whether the input itself evaluates the subqueries, so that they are run before its first row */
  constructor(input: Operator, subqueries: readonly SubqueryRun[], isFirst: boolean) {
    this.#input = input;
    this.#subqueries = subqueries;
    this.#isFirst = isFirst;
  }

  *next(): Generator<undefined, readonly Row[] | undefined> {
    if (this.#isFirst) yield* this.#run();
    const batch = yield* this.#input.next();
    if (batch !== undefined && !this.#isFirst) yield* this.#run();
    return batch;
  }

  close(): void {
    // the subqueries belong to the statement
    this.#input.close();
  }

  *#run(): Generator<undefined, void> {
    for (const subquery of this.#subqueries) yield* subquery.run();
  }
}
