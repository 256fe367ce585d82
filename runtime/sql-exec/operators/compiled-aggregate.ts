import type { AggregateFunction } from '#runtime/sql-values/scalar-function.ts';
import type { SqlType } from '#runtime/sql-values/sql-type.ts';
import type { RowExpression } from './row-expression.ts';
import type { SortKey } from './sort-key.ts';

/** An aggregate of a group, or over a window, whose expressions are compiled. */
export interface CompiledAggregate {
  readonly function: AggregateFunction;
  readonly args: readonly RowExpression[];
  readonly argTypes: readonly SqlType[];
  /** Whether equal arguments are taken in once. */
  readonly isDistinct: boolean;
  /** The order in which rows are taken in; empty: that of the input. */
  readonly orderBy: readonly SortKey[];
  /** Only rows for which it is TRUE are taken in. */
  readonly filter: RowExpression | undefined;
}
