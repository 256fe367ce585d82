import { invalid } from '#runtime/errors/service-error.ts';
import { CheckWork } from '../validation/check-work.ts';
import type { FieldSchema } from './field-schema.ts';
import type { InitialStructure } from './initial-structure.ts';
import { jsonEquals, type JsonObject, type JsonValue } from '../values/json-value.ts';
import { compileProperty, type ResolvedProperty } from '../validation/property-check.ts';
import type { PropertySchema } from './property-schema.ts';
import { type FieldRules, Validation } from '../validation/validation.ts';

const noTypes = { nodeType: () => undefined, archetype: () => undefined, elementType: () => undefined };

/**
 * Checks a value that a definition gives to a property. With a default of the wrong type every create without that
 * property would fail, with a message about a value that was not sent. Elements are not checked, because their types
 * may be saved later.
 *
 * @returns what is wrong; undefined when it is valid
 */
export function valueViolation(
  schema: PropertySchema,
  value: JsonValue,
  work: CheckWork = new CheckWork(),
): string | undefined {
  if (schema.type === 'Element' || schema.type === 'Composite') return undefined;
  const validation = new Validation(noTypes, work);
  validation.enter(schema.name);
  const { items: _items, structure: _structure, ...plain } = schema;
  compileProperty(plain).check(value, validation);
  return validation.issues[0]?.message;
}

/** The parts of a node type that are checked. */
interface GivesDefaults {
  readonly overrides: JsonObject | null;
  readonly initial_structure: InitialStructure | null;
}

/**
 * Refuses invalid values for inherited and own properties: new defaults in `overrides`, and properties of the initial
 * structure. A value that is stored already may stay: its property may have changed since, and a definition that was
 * read can be sent back.
 *
 * @param given the definition to be written
 * @param resolved the same with everything it inherits
 * @param previous the one it replaces
 * @throws {ServiceError} `VALIDATION_FAILED`
 * @see docs/interface/node-types.md#property-schemas
 */
export function requireFittingValues(
  given: GivesDefaults,
  resolved: { readonly byName: ReadonlyMap<string, ResolvedProperty> } | undefined,
  previous: GivesDefaults | undefined,
): void {
  const complaintOf = (name: string, value: JsonValue): string | undefined => {
    const schema = resolved?.byName.get(name)?.schema;
    return schema === undefined ? undefined : valueViolation(schema, value);
  };
  requireFit('node_type.overrides', given.overrides, previous?.overrides, complaintOf);
  requireFit(
    'node_type.initial_structure.properties',
    given.initial_structure?.properties,
    previous?.initial_structure?.properties,
    complaintOf,
  );
}

function requireFit(
  place: string,
  given: JsonObject | null | undefined,
  previous: JsonObject | null | undefined,
  complaintOf: (name: string, value: JsonValue) => string | undefined,
): void {
  const stored = new Map(Object.entries(previous ?? {}));
  for (const [name, value] of Object.entries(given ?? {})) {
    const before = stored.get(name);
    if (before !== undefined && jsonEquals(before, value)) continue;
    const complaint = complaintOf(name, value);
    if (complaint === undefined) continue;
    const field = `${place}.${name}`;
    throw invalid(`${field}: the default does not fit: ${complaint}`, { field });
  }
}

/** Fields whose values contain no elements, whose types may be saved later, and are stored as they are written. */
const plainFields: ReadonlySet<string> = new Set([
  'TextField',
  'RichTextField',
  'NumberField',
  'DateField',
  'BooleanField',
  'JsonObjectField',
  'TagField',
  'OptionsField',
]);

/** The part of an archetype or element type that is checked. */
interface HasFields {
  readonly fields: readonly FieldSchema[];
}

/**
 * As {@link requireFittingValues}, for the defaults of the fields of an archetype or element type.
 *
 * @param kind wrapper of the definition, for the message
 * @throws {ServiceError} `VALIDATION_FAILED`
 */
export function requireFittingFieldDefaults(
  kind: 'archetype' | 'element_type',
  given: HasFields,
  resolved: FieldRules | undefined,
  previous: HasFields | undefined,
): void {
  const stored = new Map(previous?.fields.map((field) => [field.name, field.default_value]));
  for (const [index, { $type, default_value: value, name }] of given.fields.entries()) {
    if (value === undefined || value === null || !plainFields.has($type)) continue;
    const before = stored.get(name);
    if (before !== undefined && jsonEquals(before, value)) continue;
    const validation = new Validation(noTypes);
    validation.enter(name);
    resolved?.byName.get(name)?.check(value, validation);
    const [issue] = validation.issues;
    if (issue === undefined) continue;
    const field = `${kind}.fields.${index}.default_value`;
    throw invalid(`${field}: the default does not fit: ${issue.message}`, { field });
  }
}
