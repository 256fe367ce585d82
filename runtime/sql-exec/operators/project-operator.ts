import type { Execution } from '../execution.ts';
import type { Operator, Row } from '../operator.ts';
import type { RowExpression } from './row-expression.ts';
import { RowwiseOperator } from './rowwise-operator.ts';

/** Rows of expressions over the rows of the input. */
export class ProjectOperator extends RowwiseOperator {
  readonly #expressions: readonly RowExpression[];

  constructor(execution: Execution, input: Operator, expressions: readonly RowExpression[]) {
    super(execution, input);
    this.#expressions = expressions;
  }

  protected make(row: Row): Row {
    return this.#expressions.map((expression) => expression(row));
  }
}
