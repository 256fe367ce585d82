import type { UpdateStatement } from '#runtime/sql-syntax/nodes/data-nodes.ts';
import type { Span } from '#runtime/sql-syntax/nodes/syntax-nodes.ts';
import type { BoundUpdate, UpdatedColumn } from '../../bound/bound-change.ts';
import type { BoundExpression, OutputColumn } from '../../bound/bound-statement.ts';
import { isNull } from '../../bound/open-constant.ts';
import type { StatementScope } from '../../ports.ts';
import { bindQuery } from '../queries/query-binder.ts';
import { expressionContext, type QueryContext, statementContext } from '../queries/query-context.ts';
import { StatementBinding } from '../statement-binding.ts';
import { type ChangedTable, changedTable, changedWorkspace } from './changed-table.ts';
import { bindCondition, ChosenNodes, withoutSubqueries } from './chosen-nodes.ts';
import { pointOf, routedBranch } from './point.ts';
import { bindReturning } from './returning-binder.ts';
import { columnsToUpdate } from './written-columns.ts';
import { writtenValue } from './written-values.ts';

/**
 * Binds UPDATE.
 *
 * @throws {ServiceError} `VALIDATION_FAILED`, `WORKSPACE_NOT_FOUND`
 */
export function bindUpdate(statement: UpdateStatement, source: string, scope: StatementScope): BoundUpdate {
  const binding = new StatementBinding(source, scope);
  const context = withoutSubqueries(statementContext(binding, bindQuery), 'UPDATE/DELETE');
  const workspace = changedWorkspace(statement.table, context);
  const written = statement.assignments.map(({ column }) => column);
  const columns = columnsToUpdate(written, statement.table.name, binding);
  const routed = routedBranch(statement, source, scope);
  const branch = routed === scope.branch ? undefined : routed;
  const table = changedTable(workspace, statement.table.name, branch, binding);
  const conditions = bindCondition(statement, table, context);
  const values = assignedValues(statement, columns, table, context);
  const nodes = new ChosenNodes(table, conditions, binding.relationCount);
  return {
    kind: 'update',
    workspace,
    branch,
    // Its value is that of a parameter, which binding need not know.
    get point() {
      return pointOf(statement, source, scope);
    },
    columns,
    matched: nodes.all(values),
    matchedAmong: (ids) => nodes.among(ids, values),
    idsAfter: (id, limit) => nodes.after(id, limit),
    returning: bindReturning(statement, workspace, source, scope),
  };
}

function assignedValues(
  { assignments }: UpdateStatement,
  columns: readonly UpdatedColumn[],
  { scope }: ChangedTable,
  context: QueryContext,
): readonly OutputColumn[] {
  context.binding.countColumns(assignments.length, assignments[0]!.column.span);
  const expressions = expressionContext(context, scope, 'SET clause');
  return assignments.map(({ value }, index) => {
    const name = columns[index]!;
    const expression = writtenValue(expressions.bind(value, expressions), name, value.span, context);
    requireObject(name, expression, value.span, context);
    return { name, expression };
  });
}

/** A node always has properties: NULL is not what removes them. */
function requireObject(
  name: UpdatedColumn,
  expression: BoundExpression,
  span: Span,
  { binding }: QueryContext,
): void {
  if (name === 'properties' && expression.kind === 'constant' && isNull(expression))
    throw binding.error('properties column must be a JSON object', span);
}
