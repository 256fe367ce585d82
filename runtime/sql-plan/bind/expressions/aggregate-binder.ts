import type { CallNode } from '#runtime/sql-syntax/nodes/syntax-nodes.ts';
import { resolveAggregate } from '#runtime/sql-values/aggregates/resolve-aggregate.ts';
import type { AggregateFunction } from '#runtime/sql-values/scalar-function.ts';
import type { SqlType } from '#runtime/sql-values/sql-type.ts';
import type { BoundAggregate, BoundExpression, BoundSort } from '../../bound/bound-statement.ts';
import { AGGREGATES_MAX } from '../limits.ts';
import { bindSortKey } from '../sort-key.ts';
import type { StatementBinding } from '../statement-binding.ts';
import type { ExpressionContext } from './expression-context.ts';

/** Binds a call of an aggregate without OVER. @throws {ServiceError} `VALIDATION_FAILED` where there may be none */
export function bindAggregate(node: CallNode, context: ExpressionContext): BoundExpression {
  const { aggregates, binding } = context;
  if (aggregates === undefined)
    throw binding.error(`Aggregate function ${node.name} not allowed in ${context.clause}`, node.span);
  const column = aggregates.column(bindAggregateCall(node, context));
  if (aggregates.aggregates.length > AGGREGATES_MAX)
    throw binding.error(`A SELECT may have at most ${AGGREGATES_MAX} different aggregates`, node.span);
  return column;
}

/** Binds the parts of a call of an aggregate, with or without OVER. */
export function bindAggregateCall(node: CallNode, context: ExpressionContext): BoundAggregate {
  const { binding, typing } = context;
  // Over a window the arguments belong to the query itself, where its aggregates are known; otherwise to its input.
  const inner: ExpressionContext =
    node.over === undefined
      ? { ...context, aggregates: undefined, windows: undefined, clause: 'an aggregate function' }
      : { ...context, windows: undefined, clause: 'a window function' };
  if (node.isStar && node.name !== 'COUNT')
    throw binding.error(`${node.name}(*) is not supported: only COUNT takes *`, node.span);
  if (node.isStar && node.isDistinct)
    throw binding.error('DISTINCT needs an argument: COUNT(DISTINCT x)', node.span);
  const bound = node.args.map((argument) => context.bind(argument, inner));
  const { scalar, args } = typing.resolve<AggregateFunction>(bound, node.span, (types: readonly SqlType[]) =>
    resolveAggregate(node.name, types),
  );
  const fitting = args.map((argument, index) =>
    typing.cast(argument, scalar.parameters[index] ?? argument.type, node.args[index]!.span),
  );
  const orderBy = node.orderBy.map((item) => bindSortKey(item, inner));
  if (node.isDistinct) requireOrderOfArguments(node, fitting, orderBy, binding);
  const filter =
    node.filter === undefined
      ? undefined
      : typing.condition(
          context.bind(node.filter, { ...inner, clause: 'FILTER clause' }),
          'FILTER',
          node.filter.span,
        );
  return { function: scalar, args: fitting, isDistinct: node.isDistinct, orderBy, filter };
}

/** Values that are taken once have no other columns to be ordered by. */
function requireOrderOfArguments(
  node: CallNode,
  args: readonly BoundExpression[],
  orderBy: readonly BoundSort[],
  binding: StatementBinding,
): void {
  const numbers = binding.numbers;
  const known = new Set(args.map((argument) => numbers.of(argument)));
  for (const [index, key] of orderBy.entries()) {
    if (known.has(numbers.of(key.expression))) continue;
    const refused = 'In an aggregate with DISTINCT, ORDER BY expressions must appear in its arguments';
    throw binding.error(refused, node.orderBy[index]!.expression.span);
  }
}
