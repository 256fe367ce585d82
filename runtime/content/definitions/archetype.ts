import { KnownNames } from '#runtime/errors/known-names.ts';
import { DefinitionReader } from './definition-reader.ts';
import { type FieldSchema, parseFieldSchemas } from './field-schema.ts';
import type { JsonObject, JsonValue } from '../values/json-value.ts';
import { type SchemaStamps, schemaStampNames } from './schema-record.ts';
import { requireFieldTypeName, requireNodeTypeName } from './type-name.ts';

/**
 * A caller's definition of an archetype: a set of fields for nodes of one type. The keys are those of the wire format,
 * and all are present.
 *
 * @see docs/interface/node-types.md#archetypes
 */
export interface ArchetypeDefinition {
  readonly id?: string;
  readonly name: string;
  readonly extends: string | null;
  readonly icon: string | null;
  readonly title: string | null;
  readonly description: string | null;
  /** The node type a node must have to use this archetype; null allows any. */
  readonly base_node_type: string | null;
  readonly fields: readonly FieldSchema[];
  readonly initial_content: JsonObject | null;
  /** For display only. */
  readonly layout: readonly JsonValue[] | null;
  readonly strict: boolean | null;
  readonly publishable: boolean | null;
  readonly meta?: JsonObject;
}

/** A stored archetype. */
export interface Archetype extends ArchetypeDefinition, SchemaStamps {
  readonly id: string;
}

const definedFields: Readonly<Record<keyof ArchetypeDefinition, true>> = {
  id: true,
  name: true,
  extends: true,
  icon: true,
  title: true,
  description: true,
  base_node_type: true,
  fields: true,
  initial_content: true,
  layout: true,
  strict: true,
  publishable: true,
  meta: true,
};

/** Fields of the definition of an archetype. */
export const archetypeFields: KnownNames = new KnownNames(Object.keys(definedFields), schemaStampNames);

/**
 * Reads the definition of an archetype from inside the wrapper `archetype`. Fields set by the server are ignored, so
 * that a definition that was read can be sent back.
 *
 * @param json the definition, from JSON
 * @throws {ServiceError} `UNPROCESSABLE_BODY`, `VALIDATION_FAILED`
 */
export function parseArchetypeDefinition(json: unknown): ArchetypeDefinition {
  const reader = DefinitionReader.whole(json, 'archetype');
  const id = reader.optionalString('id');
  const meta = reader.optionalObject('meta');
  const parent = reader.optionalString('extends');
  const base = reader.optionalString('base_node_type');
  const definition: ArchetypeDefinition = Object.freeze({
    ...(id === null ? {} : { id }),
    name: requireFieldTypeName(reader, 'name', reader.string('name')),
    extends: parent === null ? null : requireFieldTypeName(reader, 'extends', parent),
    icon: reader.optionalString('icon'),
    title: reader.optionalString('title'),
    description: reader.optionalString('description'),
    base_node_type: base === null ? null : requireNodeTypeName(reader, 'base_node_type', base),
    fields: parseFieldSchemas(reader),
    initial_content: reader.optionalObject('initial_content'),
    layout: parseLayout(reader),
    strict: reader.optionalBoolean('strict'),
    publishable: reader.optionalBoolean('publishable'),
    ...(meta === null ? {} : { meta }),
  });
  reader.refuseOthers(archetypeFields);
  return definition;
}

const layoutTypes: ReadonlySet<string> = new Set(['container', 'group', 'tab_panel', 'field', 'grid']);

/**
 * Reads `layout`: a list of nodes tagged by `type`. The content of a node is not checked; it concerns only the client
 * that displays it.
 *
 * @returns null when absent
 * @throws {ServiceError} `UNPROCESSABLE_BODY`, `VALIDATION_FAILED`
 */
export function parseLayout(owner: DefinitionReader): readonly JsonValue[] | null {
  const layout = owner.optionalArray('layout');
  if (layout === null) return null;
  for (const node of owner.objects('layout')) {
    const type = node.string('type');
    if (!layoutTypes.has(type)) throw node.badValue('type', `must be one of ${[...layoutTypes].join(', ')}`);
  }
  return layout;
}
