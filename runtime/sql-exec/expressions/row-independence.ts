import { foldExpression, partsOf } from '#runtime/sql-plan/bind/expression-walk.ts';
import type { BoundExpression } from '#runtime/sql-plan/bound/bound-statement.ts';

/** Tells which parts of an expression have one value in a whole run, so that it is computed once. */
export class RowIndependence {
  /** Each part is looked at once, however often it is asked about. */
  readonly #known = new Map<BoundExpression, boolean>();

  /** Whether an expression names no column, has no query and calls no volatile function. */
  of(expression: BoundExpression): boolean {
    return foldExpression<boolean>(
      expression,
      (part) => this.#known.get(part) ?? decided(part),
      (part, parts) => {
        const isIndependent = !isVolatileCall(part) && parts.every((each) => each);
        this.#known.set(part, isIndependent);
        return isIndependent;
      },
    );
  }
}

/** What is known of an expression without a walk: most have a column among their own parts. */
function decided(expression: BoundExpression): boolean | undefined {
  if (expression.kind === 'constant') return true;
  if (readsRow(expression)) return false;
  return partsOf(expression).some(readsRow) ? false : undefined;
}

function readsRow(expression: BoundExpression): boolean {
  return expression.kind === 'column' || 'query' in expression;
}

function isVolatileCall(expression: BoundExpression): boolean {
  return 'function' in expression && expression.function.isVolatile === true;
}
