import type { SortItem } from '#runtime/sql-syntax/nodes/syntax-nodes.ts';
import type { BoundExpression, BoundSort } from '../bound/bound-statement.ts';
import type { ExpressionContext } from './expressions/expression-context.ts';

/** Binds a key of an order whose expression is read as it is: in a window or an aggregate. */
export function bindSortKey(item: SortItem, context: ExpressionContext): BoundSort {
  const bound = context.bind(item.expression, context);
  return sortKey(item, context.typing.settled(bound, item.expression.span));
}

/** A key of an order by a bound expression. NULLs are larger than all values. */
export function sortKey(item: SortItem, expression: BoundExpression): BoundSort {
  const { isDescending } = item;
  return { expression, isDescending, nullsFirst: item.nullsFirst ?? isDescending };
}
