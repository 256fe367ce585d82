import type { SqlTypeName } from '#runtime/sql-values/sql-type.ts';
import type { RelationColumn } from './bound/bound-statement.ts';

const columns = {
  id: 'text',
  path: 'path',
  name: 'text',
  node_type: 'text',
  archetype: 'text',
  properties: 'jsonb',
  parent_name: 'text',
  version: 'int',
  created_at: 'timestamptz',
  updated_at: 'timestamptz',
  published_at: 'timestamptz',
  published_by: 'text',
  created_by: 'text',
  updated_by: 'text',
  translations: 'jsonb',
  owner_id: 'text',
  relations: 'jsonb',
  parent_path: 'path',
  depth: 'int',
  locale: 'text',
  __revision: 'text',
  __branch: 'text',
  __workspace: 'text',
  __order: 'text',
  __tree_order: 'text',
} as const satisfies Record<string, SqlTypeName>;

/** The name of a column of a workspace. */
export type NodeColumn = keyof typeof columns;

/** The columns of every workspace, in the order of `SELECT *`. */
export const nodeColumns: readonly (RelationColumn & { readonly name: NodeColumn })[] = Object.entries(
  columns,
).map(([name, type]) => ({ name: name as NodeColumn, type: { name: type } }));
