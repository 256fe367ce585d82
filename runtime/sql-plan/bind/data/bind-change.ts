import { unreachable } from '#runtime/base/assert.ts';
import type { DataStatement } from '#runtime/sql-syntax/nodes/data-nodes.ts';
import type { BoundChange } from '../../bound/bound-change.ts';
import type { StatementScope } from '../../ports.ts';
import { bindDelete } from './delete-binder.ts';
import { bindInsert } from './insert-binder.ts';
import { bindUpdate } from './update-binder.ts';

/**
 * Binds a statement that writes rows: the rows or the nodes that it is about, the new values in the types of their columns,
 * and what it returns.
 *
 * @param source the text that the places of the statement refer to, for messages
 * @throws {ServiceError} `VALIDATION_FAILED`, with line and column where they are known; `WORKSPACE_NOT_FOUND`
 * @see docs/interface/sql-writes.md
 */
export function bindChange(statement: DataStatement, source: string, scope: StatementScope): BoundChange {
  switch (statement.kind) {
    case 'insert':
      return bindInsert(statement, source, scope);
    case 'update':
      return bindUpdate(statement, source, scope);
    case 'delete':
      return bindDelete(statement, source, scope);
    default:
      return unreachable(statement);
  }
}
