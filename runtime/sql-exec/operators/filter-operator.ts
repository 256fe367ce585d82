import type { Execution } from '../execution.ts';
import type { Operator, Row } from '../operator.ts';
import type { RowExpression } from './row-expression.ts';
import { RowwiseOperator } from './rowwise-operator.ts';

/** The rows for which all predicates are TRUE. They are evaluated in their order, up to the first that is not. */
export class FilterOperator extends RowwiseOperator {
  readonly #predicates: readonly RowExpression[];

  constructor(execution: Execution, input: Operator, predicates: readonly RowExpression[]) {
    super(execution, input);
    this.#predicates = predicates;
  }

  protected make(row: Row): Row | undefined {
    for (const predicate of this.#predicates) {
      if (predicate(row) !== true) return undefined;
    }
    return row;
  }
}
