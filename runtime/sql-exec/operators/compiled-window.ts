import type { BoundWindow } from '#runtime/sql-plan/bound/bound-statement.ts';
import type { SqlType } from '#runtime/sql-values/sql-type.ts';
import type { CompiledAggregate } from './compiled-aggregate.ts';
import type { RowExpression } from './row-expression.ts';
import type { SortKey } from './sort-key.ts';

/** Which rows belong together, and their order. Windows with the same object are computed in one pass. */
export interface WindowPartitioning {
  readonly partitionBy: readonly RowExpression[];
  readonly partitionTypes: readonly SqlType[];
  readonly orderBy: readonly SortKey[];
}

/** Name of a function that exists over windows only. */
export type WindowFunctionName = Extract<BoundWindow['function'], { readonly kind: 'window' }>['name'];

/** A function over a window whose expressions are compiled. */
export interface CompiledWindow {
  readonly function:
    | { readonly kind: 'aggregate'; readonly aggregate: CompiledAggregate }
    | { readonly kind: 'window'; readonly name: WindowFunctionName; readonly args: readonly RowExpression[] };
  /** Type of the result. */
  readonly type: SqlType;
  readonly partitioning: WindowPartitioning;
  readonly frame: BoundWindow['frame'];
}
