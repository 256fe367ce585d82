import type { SqlTypeName } from '#runtime/sql-values/sql-type.ts';
import type { RelationColumn, SchemaPlan } from './bound/bound-statement.ts';

/** The name of a table of the schema. */
export type SchemaTable = SchemaPlan['table'];

type Columns = Readonly<Record<string, SqlTypeName>>;

const publication = {
  created_at: 'timestamptz',
  updated_at: 'timestamptz',
  published_at: 'timestamptz',
  published_by: 'text',
} as const satisfies Columns;

const tables = {
  NodeTypes: {
    id: 'text',
    name: 'text',
    strict: 'boolean',
    extends: 'text',
    mixins: 'jsonb',
    overrides: 'jsonb',
    description: 'text',
    icon: 'text',
    version: 'int',
    properties: 'jsonb',
    allowed_children: 'jsonb',
    required_nodes: 'jsonb',
    initial_structure: 'jsonb',
    versionable: 'boolean',
    immutable: 'boolean',
    publishable: 'boolean',
    auditable: 'boolean',
    indexable: 'boolean',
    index_types: 'jsonb',
    ...publication,
    previous_version: 'text',
    __branch: 'text',
  },
  Archetypes: {
    id: 'text',
    name: 'text',
    extends: 'text',
    base_node_type: 'text',
    title: 'text',
    description: 'text',
    icon: 'text',
    fields: 'jsonb',
    initial_content: 'jsonb',
    view: 'jsonb',
    layout: 'jsonb',
    publishable: 'boolean',
    version: 'int',
    ...publication,
    __branch: 'text',
  },
  ElementTypes: {
    id: 'text',
    name: 'text',
    description: 'text',
    icon: 'text',
    fields: 'jsonb',
    layout: 'jsonb',
    publishable: 'boolean',
    version: 'int',
    ...publication,
    __branch: 'text',
  },
  Workspaces: {
    name: 'text',
    description: 'text',
    allowed_node_types: 'jsonb',
    allowed_root_node_types: 'jsonb',
    created_at: 'timestamptz',
    updated_at: 'timestamptz',
    __branch: 'text',
  },
} as const satisfies Record<SchemaTable, Columns>;

/** Whether a name is that of a table of the schema. Such names are reserved: no workspace is read by them. */
export function isSchemaTable(name: string): name is SchemaTable {
  return Object.hasOwn(tables, name);
}

/** The columns of each table of the schema, in the order of `SELECT *`. */
export const schemaColumns: Readonly<Record<SchemaTable, readonly RelationColumn[]>> = {
  NodeTypes: relationColumns(tables.NodeTypes),
  Archetypes: relationColumns(tables.Archetypes),
  ElementTypes: relationColumns(tables.ElementTypes),
  Workspaces: relationColumns(tables.Workspaces),
};

function relationColumns(columns: Columns): readonly RelationColumn[] {
  return Object.entries(columns).map(([name, type]) => ({ name, type: { name: type } }));
}
