import type { DataStatement } from '#runtime/sql-syntax/nodes/data-nodes.ts';
import type { SelectItem } from '#runtime/sql-syntax/nodes/syntax-nodes.ts';
import { visit } from '#runtime/sql-syntax/visitor.ts';
import { isAggregate } from '#runtime/sql-values/aggregates/resolve-aggregate.ts';
import type { BoundReturning } from '../../bound/bound-change.ts';
import type { BoundExpression, OutputColumn } from '../../bound/bound-statement.ts';
import { type NodeColumn, nodeColumns } from '../../node-columns.ts';
import type { StatementScope } from '../../ports.ts';
import { rewriteExpression } from '../expression-walk.ts';
import { constantOf } from '../expressions/typing.ts';
import { isWindowFunction } from '../expressions/window-binder.ts';
import { bindQuery } from '../queries/query-binder.ts';
import { expressionContext, statementContext } from '../queries/query-context.ts';
import { selectEntries } from '../queries/select-list.ts';
import { StatementBinding } from '../statement-binding.ts';
import { changedTable } from './changed-table.ts';
import { ChosenNodes, withoutSubqueries } from './chosen-nodes.ts';

/** What an UPDATE does not tell: its rows are those before the server stamps them. */
const stampedColumns: ReadonlySet<NodeColumn> = new Set(['updated_at', 'updated_by', '__revision']);

/**
 * Binds RETURNING.
 *
 * @param workspace that the statement writes
 * @returns undefined: the statement has none
 * @throws {ServiceError} `VALIDATION_FAILED`, also for aggregates, windows and subqueries
 */
export function bindReturning(
  statement: DataStatement,
  workspace: string,
  source: string,
  scope: StatementScope,
): BoundReturning | undefined {
  const { returning, table } = statement;
  if (returning === undefined) return undefined;
  // It is a statement of its own, over nodes that are written already.
  const binding = new StatementBinding(source, scope);
  const context = withoutSubqueries(statementContext(binding, bindQuery), 'RETURNING');
  for (const item of returning.items) refuseAggregates(item, binding);
  const nodes = changedTable(workspace, table.name, undefined, binding);
  const list = { ...returning, from: nodes.scope.relations };
  const expressions = expressionContext(context, nodes.scope, 'RETURNING');
  const output = selectEntries(list, nodes.scope, context).map((entry): OutputColumn => {
    const bound = context.typing.settled(entry.bind(expressions), entry.node?.span ?? returning.span);
    const expression = statement.kind === 'update' ? beforeStamps(bound, nodes.plan.relation) : bound;
    return { name: entry.name, expression };
  });
  const written = new ChosenNodes(nodes, [], binding.relationCount);
  return {
    columns: output.map(({ name }) => ({ name })),
    output,
    statementFor: (ids) => written.among(ids, output),
  };
}

function refuseAggregates(item: SelectItem, binding: StatementBinding): void {
  if (item.kind === 'star') return;
  visit(item.expression, (node) => {
    if (node.kind !== 'call') return;
    if (node.over !== undefined || isWindowFunction(node.name))
      throw binding.error('window functions are not allowed in RETURNING', node.span);
    if (isAggregate(node.name))
      throw binding.error('aggregate functions are not allowed in RETURNING', node.span);
  });
}

/** An expression in which the columns that the server stamps are NULL. */
function beforeStamps(root: BoundExpression, relation: number): BoundExpression {
  return rewriteExpression(root, (expression) => {
    if (expression.kind !== 'column' || expression.relation !== relation) return undefined;
    const { name } = nodeColumns[expression.column] as (typeof nodeColumns)[number];
    return stampedColumns.has(name) ? constantOf(expression.type, null) : undefined;
  });
}
