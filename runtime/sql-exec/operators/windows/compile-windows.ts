import type {
  BoundAggregate,
  BoundExpression,
  BoundSort,
  BoundWindow,
} from '#runtime/sql-plan/bound/bound-statement.ts';
import { invalid } from '#runtime/errors/service-error.ts';
import type { CompiledAggregate } from '../compiled-aggregate.ts';
import type { CompiledWindow, WindowPartitioning } from '../compiled-window.ts';
import type { RowExpression } from '../row-expression.ts';
import type { SortKey } from '../sort-key.ts';
import { ExpressionKeys } from './expression-key.ts';

/** How the expressions of windows are compiled for the rows of their input. */
export interface WindowCompiler {
  expression(expression: BoundExpression): RowExpression;
  sort(keys: readonly BoundSort[]): readonly SortKey[];
  aggregate(aggregate: BoundAggregate): CompiledAggregate;
}

/**
 * Compiles windows. Those with equal partitions and orders are given the same partitioning, so that they are computed together.
 *
 * @throws {ServiceError} `VALIDATION_FAILED` for what aggregates over windows do not have
 */
export function compileWindows(
  windows: readonly BoundWindow[],
  compiler: WindowCompiler,
): readonly CompiledWindow[] {
  const keys = new ExpressionKeys();
  const known = new Map<string, WindowPartitioning>();
  return windows.map((window) => {
    const key = partitioningKey(window, keys);
    const partitioning = known.get(key) ?? compilePartitioning(window, compiler);
    known.set(key, partitioning);
    const { frame, type } = window;
    return { function: compileFunction(window.function, compiler), type, partitioning, frame };
  });
}

function compilePartitioning(
  { orderBy, partitionBy }: BoundWindow,
  compiler: WindowCompiler,
): WindowPartitioning {
  return {
    partitionBy: partitionBy.map((expression) => compiler.expression(expression)),
    partitionTypes: partitionBy.map(({ type }) => type),
    orderBy: compiler.sort(orderBy),
  };
}

function compileFunction(
  bound: BoundWindow['function'],
  compiler: WindowCompiler,
): CompiledWindow['function'] {
  if (bound.kind === 'window') {
    const args = bound.args.map((argument) => compiler.expression(argument));
    return { kind: 'window', name: bound.name, args };
  }
  const { aggregate } = bound;
  if (aggregate.isDistinct) throw invalid('DISTINCT is not implemented for window functions');
  if (aggregate.orderBy.length > 0) {
    throw invalid('aggregate ORDER BY is not implemented for window functions');
  }
  return { kind: 'aggregate', aggregate: compiler.aggregate(aggregate) };
}

function partitioningKey({ orderBy, partitionBy }: BoundWindow, keys: ExpressionKeys): string {
  const partitions = partitionBy.map((expression) => keys.of(expression));
  const orders = orderBy.map(
    ({ expression, isDescending, nullsFirst }) => `${isDescending} ${nullsFirst} ${keys.of(expression)}`,
  );
  return [partitions.length, ...partitions, ...orders].join('\n');
}
