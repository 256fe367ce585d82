import { KnownNames } from '#runtime/errors/known-names.ts';
import { type Constraints, parseConstraints } from './constraints.ts';
import { DefinitionReader } from './definition-reader.ts';
import { isDerivedName } from './derived-names.ts';
import type { JsonObject, JsonValue } from '../values/json-value.ts';

/** All property types. @see docs/interface/node-types.md#property-schemas */
export const propertyTypes = [
  'String',
  'Number',
  'Boolean',
  'Array',
  'Object',
  'Date',
  'URL',
  'Reference',
  'NodeType',
  'Element',
  'Composite',
  'Resource',
  'Geometry',
] as const;

/** A property type. */
export type PropertyType = (typeof propertyTypes)[number];

/** All kinds of indexes of a property or a type. */
export const indexKinds = ['Fulltext', 'Vector', 'Property'] as const;

/** A kind of index. */
export type IndexKind = (typeof indexKinds)[number];

/** Limit of nesting of `structure` and `items` of one property, in levels. */
export const PROPERTY_SCHEMA_DEPTH_MAX = 16;
/** The most properties one type may declare, and the most keys one `structure` may have. */
export const PROPERTY_SCHEMAS_MAX = 1_000;

/** The declaration of a property. Keys not given are absent. @see docs/interface/node-types.md#property-schemas */
export interface PropertySchema {
  readonly name: string;
  readonly type: PropertyType;
  readonly required?: boolean;
  readonly unique?: boolean;
  /** Default of an absent key when a node is created. */
  readonly default?: JsonValue;
  /** The only allowed value. */
  readonly value?: JsonValue;
  readonly constraints?: Constraints;
  /** Keys of an Object. */
  readonly structure?: Readonly<Record<string, PropertySchema>>;
  /** False: an Object must not have keys outside `structure`. */
  readonly allow_additional_properties?: boolean;
  /** Every item of an Array. */
  readonly items?: PropertySchema;
  readonly is_translatable?: boolean;
  readonly index?: readonly IndexKind[];
  readonly meta?: JsonObject;
}

const declaredFields: Readonly<Record<keyof PropertySchema, true>> = {
  name: true,
  type: true,
  required: true,
  unique: true,
  default: true,
  value: true,
  constraints: true,
  structure: true,
  allow_additional_properties: true,
  items: true,
  is_translatable: true,
  index: true,
  meta: true,
};

/** Fields of the declaration of a property; `property_type` is an alias. */
export const propertyFields: KnownNames = new KnownNames(Object.keys(declaredFields), ['property_type']);

const typeBySpelling = new Map<string, PropertyType>(propertyTypes.map((type) => [type.toLowerCase(), type]));
const indexBySpelling = new Map<string, IndexKind>(indexKinds.map((kind) => [kind.toLowerCase(), kind]));

/**
 * Reads the `properties` of a node type.
 *
 * @throws {ServiceError} `UNPROCESSABLE_BODY`, `VALIDATION_FAILED`
 */
export function parsePropertySchemas(type: DefinitionReader): readonly PropertySchema[] {
  const readers = type.objects('properties');
  if (readers.length > PROPERTY_SCHEMAS_MAX) {
    throw type.badValue('properties', `a type declares at most ${PROPERTY_SCHEMAS_MAX} properties`);
  }
  const seen = new Set<string>();
  return readers.map((reader) => {
    const schema = parsePropertySchema(reader, reader.string('name'), 1);
    if (seen.has(schema.name)) throw reader.badValue('name', `property '${schema.name}' is declared twice`);
    seen.add(schema.name);
    return schema;
  });
}

function parsePropertySchema(reader: DefinitionReader, name: string, depth: number): PropertySchema {
  if (depth > PROPERTY_SCHEMA_DEPTH_MAX) {
    throw reader.badValue('type', `property schemas nest at most ${PROPERTY_SCHEMA_DEPTH_MAX} levels`);
  }
  if (name === '') throw reader.badValue('name', 'must not be empty');
  if (isDerivedName(name)) throw reader.badValue('name', `'${name}' is derived from the type`);
  const schema: PropertySchema = Object.freeze({
    name,
    type: parsePropertyType(reader),
    ...flag(reader, 'required'),
    ...flag(reader, 'unique'),
    ...json(reader, 'default'),
    ...json(reader, 'value'),
    ...given('constraints', parseConstraints(reader)),
    ...given('structure', parseStructure(reader, depth)),
    ...flag(reader, 'allow_additional_properties'),
    ...given('items', parseItems(reader, name, depth)),
    ...flag(reader, 'is_translatable'),
    ...given('index', parseIndexKinds(reader, 'index')),
    ...given('meta', reader.optionalObject('meta') ?? undefined),
  });
  reader.refuseOthers(propertyFields);
  return schema;
}

/** Longer than the name of any type or index kind. */
const SPELLING_LENGTH_MAX = 64;

/** The value for a name in any capitalisation. The length of the name is checked first. */
function bySpelling<T>(known: ReadonlyMap<string, T>, spelling: string): T | undefined {
  return spelling.length > SPELLING_LENGTH_MAX ? undefined : known.get(spelling.toLowerCase());
}

/** Reads `type`, or its alias `property_type`; any capitalisation. */
function parsePropertyType(reader: DefinitionReader): PropertyType {
  const key =
    reader.raw('type') === undefined && reader.raw('property_type') !== undefined ? 'property_type' : 'type';
  const spelling = reader.string(key);
  const type = bySpelling(typeBySpelling, spelling);
  if (type === undefined) {
    throw reader.badValue(key, `unknown property type '${spelling}'; known are ${propertyTypes.join(', ')}`);
  }
  return type;
}

/**
 * Reads a list of index kinds; any capitalisation.
 *
 * @returns undefined when the list is absent
 * @throws {ServiceError} `UNPROCESSABLE_BODY`, `VALIDATION_FAILED`
 */
export function parseIndexKinds(reader: DefinitionReader, key: string): readonly IndexKind[] | undefined {
  if (reader.raw(key) === undefined) return undefined;
  const kinds = reader.strings(key).map((spelling) => {
    const kind = bySpelling(indexBySpelling, spelling);
    if (kind === undefined) {
      throw reader.badValue(key, `unknown index '${spelling}'; known are ${indexKinds.join(', ')}`);
    }
    return kind;
  });
  return [...new Set(kinds)];
}

function parseStructure(
  reader: DefinitionReader,
  depth: number,
): Readonly<Record<string, PropertySchema>> | undefined {
  const structure = reader.optionalObject('structure');
  if (structure === null) return undefined;
  const names = Object.keys(structure);
  if (names.length > PROPERTY_SCHEMAS_MAX) {
    throw reader.badValue('structure', `at most ${PROPERTY_SCHEMAS_MAX} keys`);
  }
  // fromEntries defines keys, so that one named `__proto__` stays a key.
  return Object.fromEntries(
    names.map((name) => {
      const nested = new DefinitionReader(
        structure[name]!,
        `${reader.place('structure')}.${name}`,
        reader.work,
      );
      return [name, parsePropertySchema(nested, name, depth + 1)];
    }),
  );
}

function parseItems(reader: DefinitionReader, name: string, depth: number): PropertySchema | undefined {
  if (reader.raw('items') === undefined) return undefined;
  const nested = new DefinitionReader(reader.raw('items'), reader.place('items'), reader.work);
  return parsePropertySchema(nested, nested.optionalString('name') ?? name, depth + 1);
}

type FlagKey = 'required' | 'unique' | 'is_translatable' | 'allow_additional_properties';

function flag(reader: DefinitionReader, key: FlagKey): Partial<Record<FlagKey, boolean>> {
  const value = reader.optionalBoolean(key);
  return value === null ? {} : { [key]: value };
}

/** A value of any type; null counts as a value (`default: null`). */
function json(
  reader: DefinitionReader,
  key: 'default' | 'value',
): { default?: JsonValue; value?: JsonValue } {
  return reader.has(key) ? { [key]: reader.json[key]! } : {};
}

function given<K extends string, V>(key: K, value: V | undefined): { readonly [P in K]?: V } {
  return value === undefined ? {} : ({ [key]: value } as { readonly [P in K]: V });
}
