import { KnownNames } from '#runtime/errors/known-names.ts';
import { parseLayout } from './archetype.ts';
import { DefinitionReader } from './definition-reader.ts';
import { type FieldSchema, parseFieldSchemas } from './field-schema.ts';
import type { JsonObject, JsonValue } from '../values/json-value.ts';
import { type SchemaStamps, schemaStampNames } from './schema-record.ts';
import { requireFieldTypeName } from './type-name.ts';

/**
 * A caller's definition of an element type: the fields of a value `{element_type, …}` within a property. The keys are
 * those of the wire format, and all are present.
 *
 * @see docs/interface/node-types.md#element-types
 */
export interface ElementTypeDefinition {
  readonly id?: string;
  readonly name: string;
  readonly extends: string | null;
  readonly icon: string | null;
  readonly title: string | null;
  readonly description: string | null;
  readonly fields: readonly FieldSchema[];
  readonly initial_content: JsonObject | null;
  /** For display only. */
  readonly layout: readonly JsonValue[] | null;
  readonly strict: boolean | null;
  readonly publishable: boolean | null;
  readonly meta?: JsonObject;
}

/** A stored element type. */
export interface ElementType extends ElementTypeDefinition, SchemaStamps {
  readonly id: string;
}

const definedFields: Readonly<Record<keyof ElementTypeDefinition, true>> = {
  id: true,
  name: true,
  extends: true,
  icon: true,
  title: true,
  description: true,
  fields: true,
  initial_content: true,
  layout: true,
  strict: true,
  publishable: true,
  meta: true,
};

/** Fields of the definition of an element type. */
export const elementTypeFields: KnownNames = new KnownNames(Object.keys(definedFields), schemaStampNames);

/**
 * Reads the definition of an element type from inside the wrapper `element_type`. Fields set by the server are ignored,
 * so that a definition that was read can be sent back.
 *
 * @param json the definition, from JSON
 * @throws {ServiceError} `UNPROCESSABLE_BODY`, `VALIDATION_FAILED`
 */
export function parseElementTypeDefinition(json: unknown): ElementTypeDefinition {
  const reader = DefinitionReader.whole(json, 'element_type');
  const id = reader.optionalString('id');
  const meta = reader.optionalObject('meta');
  const parent = reader.optionalString('extends');
  const definition: ElementTypeDefinition = Object.freeze({
    ...(id === null ? {} : { id }),
    name: requireFieldTypeName(reader, 'name', reader.string('name')),
    extends: parent === null ? null : requireFieldTypeName(reader, 'extends', parent),
    icon: reader.optionalString('icon'),
    title: reader.optionalString('title'),
    description: reader.optionalString('description'),
    fields: parseFieldSchemas(reader),
    initial_content: reader.optionalObject('initial_content'),
    layout: parseLayout(reader),
    strict: reader.optionalBoolean('strict'),
    publishable: reader.optionalBoolean('publishable'),
    ...(meta === null ? {} : { meta }),
  });
  reader.refuseOthers(elementTypeFields);
  return definition;
}
