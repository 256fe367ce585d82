import type { DeleteStatement } from '#runtime/sql-syntax/nodes/data-nodes.ts';
import type { BoundDelete } from '../../bound/bound-change.ts';
import type { StatementScope } from '../../ports.ts';
import { bindQuery } from '../queries/query-binder.ts';
import { statementContext } from '../queries/query-context.ts';
import { StatementBinding } from '../statement-binding.ts';
import { changedTable, changedWorkspace } from './changed-table.ts';
import { bindCondition, ChosenNodes, withoutSubqueries } from './chosen-nodes.ts';
import { pointOf, routedBranch } from './point.ts';
import { bindReturning } from './returning-binder.ts';

/**
 * Binds DELETE.
 *
 * @throws {ServiceError} `VALIDATION_FAILED`, `WORKSPACE_NOT_FOUND`
 */
export function bindDelete(statement: DeleteStatement, source: string, scope: StatementScope): BoundDelete {
  const binding = new StatementBinding(source, scope);
  const context = withoutSubqueries(statementContext(binding, bindQuery), 'UPDATE/DELETE');
  const workspace = changedWorkspace(statement.table, context);
  const routed = routedBranch(statement, source, scope);
  const branch = routed === scope.branch ? undefined : routed;
  const table = changedTable(workspace, statement.table.name, branch, binding);
  const conditions = bindCondition(statement, table, context);
  const nodes = new ChosenNodes(table, conditions, binding.relationCount);
  return {
    kind: 'delete',
    workspace,
    branch,
    // Its value is that of a parameter, which binding need not know.
    get point() {
      return pointOf(statement, source, scope);
    },
    matched: nodes.all([]),
    matchedAmong: (ids) => nodes.among(ids, []),
    idsAfter: (id, limit) => nodes.after(id, limit),
    returning: bindReturning(statement, workspace, source, scope),
  };
}
