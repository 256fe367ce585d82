import { ServiceError } from '#runtime/errors/service-error.ts';
import type { WorkspaceName } from '#runtime/sql-syntax/nodes/given-nodes.ts';
import type { NodesPlan } from '../../bound/bound-statement.ts';
import { isSchemaTable, type SchemaTable } from '../../schema-columns.ts';
import { storedNodes } from '../queries/from-binder.ts';
import { NameScope, namedColumns } from '../scopes/name-scope.ts';
import type { StatementBinding } from '../statement-binding.ts';

/** What the tables of the schema are changed by. */
const schemaStatements: Readonly<Record<SchemaTable, string>> = {
  NodeTypes: 'Use DDL syntax instead: CREATE/ALTER/DROP NODETYPE',
  Archetypes: 'Use DDL syntax instead: CREATE/ALTER/DROP ARCHETYPE',
  ElementTypes: 'Use DDL syntax instead: CREATE/ALTER/DROP ELEMENTTYPE',
  Workspaces: 'Use PUT /api/workspaces/{repo}/{name} instead',
};

/**
 * The workspace that a statement writes.
 *
 * @throws {ServiceError} `VALIDATION_FAILED` for a table of the schema, `WORKSPACE_NOT_FOUND`
 */
export function changedWorkspace(
  { isBare, name, span }: WorkspaceName,
  { binding }: { readonly binding: StatementBinding },
): string {
  if (isSchemaTable(name)) {
    const text = `Direct DML operations on '${name}' are not allowed. ${schemaStatements[name]}`;
    throw binding.error(text, span);
  }
  const workspace = binding.scope.workspaceNamed(name, isBare);
  if (workspace === undefined)
    throw new ServiceError('WORKSPACE_NOT_FOUND', `Workspace '${name}' not found`);
  return workspace;
}

/** The nodes of a workspace that a statement writes, and the names that its expressions may use. */
export interface ChangedTable {
  readonly plan: NodesPlan;
  readonly scope: NameScope;
}

/**
 * The nodes of a workspace as a statement that writes reads them.
 *
 * @param alias its name in the statement
 * @param branch another branch than that of the statement
 */
export function changedTable(
  workspace: string,
  alias: string,
  branch: string | undefined,
  binding: StatementBinding,
): ChangedTable {
  const relation = binding.newRelation();
  const table = storedNodes(relation, workspace, alias);
  table.branch = branch;
  const named = {
    name: alias,
    columns: namedColumns(relation, table.columns, []),
    isWorkspace: true,
    table,
    isNullExtended: false,
  };
  return { plan: table, scope: new NameScope([named], []) };
}
