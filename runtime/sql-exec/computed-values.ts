import type { RequestBudget } from '#runtime/budget/request-budget.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { BoundExpression } from '#runtime/sql-plan/bound/bound-statement.ts';
import { valueBytes } from '#runtime/sql-values/ordering/value-bytes.ts';
import type { SqlValue } from '#runtime/sql-values/sql-value.ts';

/** Most bytes of memory that the kept values of a statement take together. */
export const COMPUTED_BYTES_MAX: number = 32 * 1024 * 1024;

/**
 * Values of expressions that are the same for every row of a statement, so that each is computed once. What has no room is
 * computed for each row, whose work is counted each time.
 */
export class ComputedValues {
  readonly #budget: RequestBudget;
  readonly #values = new Map<BoundExpression, SqlValue>();
  /** Expressions whose values were too large: these are not measured again. */
  readonly #tooLarge = new Set<BoundExpression>();
  #bytes = 0;

  constructor(budget: RequestBudget) {
    this.#budget = budget;
  }

  /** The value of an expression; undefined: it has to be computed. */
  get(expression: BoundExpression): SqlValue | undefined {
    return this.#values.get(expression);
  }

  /** Keeps a value where there is room. */
  keep(expression: BoundExpression, value: SqlValue): void {
    if (this.#tooLarge.has(expression)) return;
    const bytes = valueBytes(value);
    if (this.#bytes + bytes > COMPUTED_BYTES_MAX || !this.#hasRoom(bytes)) {
      this.#tooLarge.add(expression);
      return;
    }
    this.#bytes += bytes;
    this.#values.set(expression, value);
  }

  /** Forgets all values and frees their memory. */
  clear(): void {
    this.#values.clear();
    this.#tooLarge.clear();
    this.#budget.free(this.#bytes);
    this.#bytes = 0;
  }

  #hasRoom(bytes: number): boolean {
    try {
      this.#budget.keep(bytes);
      return true;
    } catch (error) {
      // The statement can go on without the kept value.
      if (error instanceof ServiceError) return false;
      throw error;
    }
  }
}
