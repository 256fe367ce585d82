import type { JsonObject, JsonValue } from '#runtime/content/values/json-value.ts';
import { isJsonObject } from '#runtime/content/values/json-value.ts';
import type { CreateDefinitionStatement, DefinitionClause } from '#runtime/sql-syntax/nodes/schema-nodes.ts';
import { hasFields } from '#runtime/sql-syntax/schema-parts.ts';
import { fieldForm } from './field-form.ts';
import { MemberList } from './member-list.ts';
import { propertyForm } from './property-form.ts';
import type { StatementValues } from './statement-values.ts';

type CompoundIndexClause = Extract<DefinitionClause, { kind: 'compound-index' }>;

/**
 * The definition that a CREATE describes, as the routes of definitions take it.
 *
 * @param name of the definition
 * @throws {ServiceError} `VALIDATION_FAILED` for what the dialect has and the definition cannot have
 */
export function createdDefinition(
  statement: CreateDefinitionStatement,
  name: string,
  values: StatementValues,
): JsonObject {
  const { clauses, target } = statement;
  const json: Record<string, JsonValue> = { name };
  for (const clause of clauses) {
    if (clause.kind !== 'compound-index') Object.assign(json, clauseJson(clause, statement, values));
  }
  const indexes = clauses.filter((clause) => clause.kind === 'compound-index');
  if (indexes.length > 0) {
    const types = typesByName(json.properties);
    json.compound_indexes = indexes.map((index) => compoundIndex(index, types, values));
  }
  // A type of its own is indexed; one that is made of others is where they are.
  const isOwn = json.extends === undefined && json.mixins === undefined;
  if (target === 'nodetype' && isOwn) json.indexable = true;
  return json;
}

function clauseJson(
  clause: Exclude<DefinitionClause, CompoundIndexClause>,
  { target }: CreateDefinitionStatement,
  values: StatementValues,
): JsonObject {
  switch (clause.kind) {
    case 'extends':
      return { extends: values.text(clause.name) };
    case 'base-node-type':
      return { base_node_type: values.text(clause.name) };
    case 'mixins':
      return { mixins: values.texts(clause.names) };
    case 'title':
    case 'description':
    case 'icon':
      return { [clause.kind]: values.text(clause.text) };
    case 'properties': {
      const members = new MemberList(hasFields(target) ? fieldForm : propertyForm, values, undefined);
      for (const property of clause.properties) members.add(property);
      return { [hasFields(target) ? 'fields' : 'properties']: members.toJson() };
    }
    case 'allowed-children':
      return { allowed_children: values.texts(clause.names) };
    case 'required-nodes':
      return { required_nodes: values.texts(clause.names) };
    case 'flag':
      return { [clause.flag]: true };
  }
}

/** The types of index columns, by the type of their property. */
const columnTypes: Readonly<Record<string, string>> = {
  Number: 'Integer',
  Boolean: 'Boolean',
  Date: 'Timestamp',
};
/** Columns that are no properties. */
const systemColumns = new Map([
  ['__node_type', 'String'],
  ['__created_at', 'Timestamp'],
  ['__updated_at', 'Timestamp'],
]);

function typesByName(properties: JsonValue | undefined): ReadonlyMap<string, string> {
  const list = Array.isArray(properties) ? properties.filter(isJsonObject) : [];
  return new Map(list.map((property) => [String(property.name), String(property.type)]));
}

function compoundIndex(
  clause: CompoundIndexClause,
  types: ReadonlyMap<string, string>,
  values: StatementValues,
): JsonObject {
  return {
    name: values.text(clause.name),
    columns: clause.columns.map(({ isDescending, name }) => ({
      property: name,
      ascending: !isDescending,
      column_type: systemColumns.get(name) ?? columnTypes[types.get(name) ?? ''] ?? 'String',
    })),
  };
}
