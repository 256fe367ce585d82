import { KnownNames } from '#runtime/errors/known-names.ts';
import { DefinitionReader } from './definition-reader.ts';
import { type InitialStructure, parseInitialStructure } from './initial-structure.ts';
import { type JsonObject, type JsonValue, ownValue } from '../values/json-value.ts';
import {
  type IndexKind,
  parseIndexKinds,
  parsePropertySchemas,
  type PropertySchema,
} from './property-schema.ts';
import { type SchemaStamps, schemaStampNames } from './schema-record.ts';
import { requireNodeTypeName } from './type-name.ts';
import { CheckWork } from '../validation/check-work.ts';
import { valueViolation } from './fitting-defaults.ts';

/** A column of a compound index. */
export interface CompoundIndexColumn {
  /** A property, or `__node_type`, `__created_at`, `__updated_at`. */
  readonly property: string;
  readonly ascending: boolean;
  readonly column_type: 'String' | 'Integer' | 'Timestamp' | 'Boolean';
}

/** An index over several properties. */
export interface CompoundIndex {
  readonly name: string;
  readonly columns: readonly CompoundIndexColumn[];
  readonly has_order_column: boolean;
}

/**
 * A caller's definition of a node type; a mixin is a node type with `is_mixin`. The keys are those of the wire format,
 * and all are present (otherwise null or an empty list), so that a definition is its own JSON form. A null flag is
 * inherited from the parent type.
 *
 * @see docs/interface/node-types.md#fields-of-a-node-type
 */
export interface NodeTypeDefinition {
  /** Set by the caller, else by the server. */
  readonly id?: string;
  readonly name: string;
  readonly strict: boolean | null;
  readonly extends: string | null;
  readonly mixins: readonly string[];
  /** New defaults of inherited properties. */
  readonly overrides: JsonObject | null;
  readonly is_mixin: boolean;
  readonly description: string | null;
  readonly icon: string | null;
  readonly properties: readonly PropertySchema[];
  /** Node type names; empty or `*` allows any. */
  readonly allowed_children: readonly string[];
  /** Stored, not enforced. */
  readonly required_nodes: readonly string[];
  readonly initial_structure: InitialStructure | null;
  readonly versionable: boolean | null;
  readonly immutable: boolean | null;
  readonly publishable: boolean | null;
  readonly auditable: boolean | null;
  readonly indexable: boolean | null;
  readonly index_types: readonly IndexKind[] | null;
  readonly compound_indexes: readonly CompoundIndex[];
  readonly meta?: JsonObject;
}

/** A stored node type. */
export interface NodeType extends NodeTypeDefinition, SchemaStamps {
  readonly id: string;
}

const definedFields: Readonly<Record<keyof NodeTypeDefinition, true>> = {
  id: true,
  name: true,
  strict: true,
  extends: true,
  mixins: true,
  overrides: true,
  is_mixin: true,
  description: true,
  icon: true,
  properties: true,
  allowed_children: true,
  required_nodes: true,
  initial_structure: true,
  versionable: true,
  immutable: true,
  publishable: true,
  auditable: true,
  indexable: true,
  index_types: true,
  compound_indexes: true,
  meta: true,
};

/** Fields of the definition of a node type or mixin. */
export const nodeTypeFields: KnownNames = new KnownNames(Object.keys(definedFields), schemaStampNames);

/** Fields of a compound index. */
export const compoundIndexFields: KnownNames = new KnownNames(['name', 'columns', 'has_order_column']);

/** Fields of a column of a compound index. */
export const indexColumnFields: KnownNames = new KnownNames(['property', 'ascending', 'column_type']);

const columnTypes: ReadonlySet<string> = new Set(['String', 'Integer', 'Timestamp', 'Boolean']);

/**
 * Reads the definition of a node type or mixin from inside the wrapper `node_type`. Fields set by the server are
 * ignored, so that a definition that was read can be sent back.
 *
 * @param json the definition, from JSON
 * @param kind `mixin` sets `is_mixin`, whatever the definition says
 * @throws {ServiceError} `UNPROCESSABLE_BODY` for a missing field or a wrong type, `VALIDATION_FAILED` for a bad value
 *   and an unknown field
 */
export function parseNodeTypeDefinition(
  json: unknown,
  kind: 'node_type' | 'mixin' = 'node_type',
): NodeTypeDefinition {
  const reader = DefinitionReader.whole(json, 'node_type');
  const id = reader.optionalString('id');
  const meta = reader.optionalObject('meta');
  const parent = reader.optionalString('extends');
  const definition: NodeTypeDefinition = Object.freeze({
    ...(id === null ? {} : { id }),
    name: requireNodeTypeName(reader, 'name', reader.string('name')),
    strict: reader.optionalBoolean('strict'),
    extends: parent === null ? null : requireNodeTypeName(reader, 'extends', parent),
    mixins: typeNames(reader, 'mixins'),
    overrides: reader.optionalObject('overrides'),
    is_mixin: kind === 'mixin' || (reader.optionalBoolean('is_mixin') ?? false),
    description: reader.optionalString('description'),
    icon: reader.optionalString('icon'),
    properties: requireFittingDefaults(reader, parsePropertySchemas(reader)),
    allowed_children: reader.strings('allowed_children'),
    required_nodes: reader.strings('required_nodes'),
    initial_structure: parseInitialStructure(reader),
    versionable: reader.optionalBoolean('versionable'),
    immutable: reader.optionalBoolean('immutable'),
    publishable: reader.optionalBoolean('publishable'),
    auditable: reader.optionalBoolean('auditable'),
    indexable: reader.optionalBoolean('indexable'),
    index_types: parseIndexKinds(reader, 'index_types') ?? null,
    compound_indexes: reader.objects('compound_indexes').map(parseCompoundIndex),
    ...(meta === null ? {} : { meta }),
  });
  reader.refuseOthers(nodeTypeFields);
  return definition;
}

function requireFittingDefaults(
  reader: DefinitionReader,
  properties: readonly PropertySchema[],
): readonly PropertySchema[] {
  const work = new CheckWork();
  for (const [index, schema] of properties.entries()) {
    for (const key of ['default', 'value'] as const) {
      const value = schema[key];
      const complaint = value === undefined ? undefined : valueViolation(schema, value, work);
      if (complaint !== undefined)
        throw reader.badValue(`properties.${index}.${key}`, `the ${key} does not fit: ${complaint}`);
    }
  }
  return properties;
}

function typeNames(reader: DefinitionReader, key: string): readonly string[] {
  return reader.strings(key).map((name) => requireNodeTypeName(reader, key, name));
}

function parseCompoundIndex(reader: DefinitionReader): CompoundIndex {
  const columns = reader.objects('columns');
  if (columns.length === 0) throw reader.badValue('columns', 'a compound index needs at least one column');
  const index = Object.freeze({
    name: reader.string('name'),
    columns: columns.map(parseIndexColumn),
    has_order_column: reader.optionalBoolean('has_order_column') ?? false,
  });
  reader.refuseOthers(compoundIndexFields);
  return index;
}

function parseIndexColumn(reader: DefinitionReader): CompoundIndexColumn {
  const type = reader.optionalString('column_type') ?? 'String';
  if (!columnTypes.has(type)) {
    throw reader.badValue('column_type', `must be one of ${[...columnTypes].join(', ')}`);
  }
  const column = Object.freeze({
    property: reader.string('property'),
    ascending: reader.optionalBoolean('ascending') ?? true,
    column_type: type as CompoundIndexColumn['column_type'],
  });
  reader.refuseOthers(indexColumnFields);
  return column;
}

/** The default that an override gives to a property; undefined when there is none. */
export function overriddenDefault(definition: NodeTypeDefinition, property: string): JsonValue | undefined {
  return definition.overrides === null ? undefined : ownValue(definition.overrides, property);
}
