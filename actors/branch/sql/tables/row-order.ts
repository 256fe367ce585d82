import { isNodeId } from '#runtime/content/content-node.ts';
import type { TableRead } from '#runtime/sql-exec/ports.ts';
import type { BoundExpression } from '#runtime/sql-plan/bound/bound-statement.ts';
import { type NodeColumn, nodeColumns } from '#runtime/sql-plan/node-columns.ts';
import { comparedColumn, comparisonOf } from './known-conditions.ts';
import type { NodeTable } from './node-table.ts';

/** The column by which the rows are to be sorted first, if no other decides among the rows of a node. */
export interface FirstKey {
  readonly column: NodeColumn;
  readonly isDescending: boolean;
}

/** A condition on the place of nodes, and the position, or the id, behind which they are. */
export interface PlaceBound {
  readonly condition: BoundExpression;
  readonly after: string;
}

/** The key of an order that decides alone: those before it have one value, and no two nodes have the same value of it. */
export function firstKeyOf(
  { conditions, locales, plan }: NodeTable,
  order: TableRead['order'],
): FirstKey | undefined {
  for (const { isDescending, wanted } of order) {
    if (wanted.kind === 'property') return undefined;
    const { name } = nodeColumns[wanted.column] as (typeof nodeColumns)[number];
    const isFixed = conditions
      .map(comparisonOf)
      .some(
        (each) =>
          each?.operator === '=' &&
          each.values.length === 1 &&
          comparedColumn(each.operand, plan.relation) === name,
      );
    if (isFixed) continue;
    // In several locales a node has several rows.
    if (locales.length > 1 && order.length > 1) return undefined;
    return { column: name, isDescending };
  }
  return undefined;
}

/** The id behind which all rows are by a condition, so that the next page in the order of ids begins there. */
export function idBehind({ conditions, plan }: NodeTable, reverse: boolean): PlaceBound | undefined {
  const operator = reverse ? '<' : '>';
  for (const condition of conditions) {
    const found = comparisonOf(condition);
    if (found?.operator !== operator) continue;
    if (comparedColumn(found.operand, plan.relation) !== 'id') continue;
    const [after] = found.values;
    if (typeof after === 'string' && isNodeId(after)) return { condition, after };
  }
  return undefined;
}
