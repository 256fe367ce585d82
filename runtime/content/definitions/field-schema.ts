import { type ExactNumber, isNumber } from '#runtime/base/text/exact-number.ts';
import { KnownNames } from '#runtime/errors/known-names.ts';
import { DefinitionReader } from './definition-reader.ts';
import type { JsonObject, JsonValue } from '../values/json-value.ts';
import { PROPERTY_SCHEMA_DEPTH_MAX, PROPERTY_SCHEMAS_MAX } from './property-schema.ts';
import { requireFieldTypeName } from './type-name.ts';

/**
 * All kinds of fields of archetypes and element types. @see
 * docs/interface/node-types.md#fields-of-archetypes-and-element-types
 */
export const fieldTypes = [
  'TextField',
  'RichTextField',
  'NumberField',
  'DateField',
  'BooleanField',
  'JsonObjectField',
  'LocationField',
  'MediaField',
  'ReferenceField',
  'ListingField',
  'TagField',
  'OptionsField',
  'ElementField',
  'SectionField',
  'CompositeField',
] as const;

/** A kind of field, the tag `$type`. */
export type FieldType = (typeof fieldTypes)[number];

/** Settings of a field; which ones apply depends on its `$type`. */
export interface FieldConfig {
  readonly max_length?: number;
  readonly is_integer?: boolean;
  readonly min_value?: ExactNumber;
  readonly max_value?: ExactNumber;
  readonly date_format?: string;
  readonly date_mode?: 'DateTime' | 'Date' | 'Time' | 'TimeRange';
  readonly allowed_types?: readonly string[];
  readonly allowed_entry_types?: readonly string[];
  readonly sort_by?: string;
  readonly sort_order?: string;
  readonly limit?: number;
  readonly allowed_tags?: readonly string[];
  readonly max_tags?: number;
  readonly options?: readonly JsonValue[];
  readonly render_as?: string;
  readonly multi_select?: boolean;
}

/**
 * A field of an archetype or element type. Keys not given are absent. @see
 * docs/interface/node-types.md#fields-of-archetypes-and-element-types
 */
export interface FieldSchema {
  readonly $type: FieldType;
  readonly name: string;
  readonly title?: string;
  readonly label?: string;
  readonly required?: boolean;
  readonly description?: string;
  readonly help_text?: string;
  /** Default of an absent key when a node is created. */
  readonly default_value?: JsonValue;
  readonly validations?: readonly JsonValue[];
  readonly is_hidden?: boolean;
  /** The value is a list of values of this field. */
  readonly multiple?: boolean;
  readonly design_value?: JsonValue;
  readonly translatable?: boolean;
  readonly config?: FieldConfig;
  /** Of an ElementField. */
  readonly element_type?: string;
  /** Of a SectionField. */
  readonly allowed_element_types?: readonly string[];
  readonly render_as?: string;
  /** Of a CompositeField. */
  readonly fields?: readonly FieldSchema[];
  readonly layout?: JsonValue;
  readonly meta?: JsonObject;
}

/** Type of a field setting: a `count` is a whole number from 0, a `list` has any values. */
export type FieldReading = 'string' | 'boolean' | 'number' | 'count' | 'strings' | 'list';

/** The settings of each kind of field, under `config` or directly on the field. */
export const fieldSettings: Readonly<Record<FieldType, Readonly<Record<string, FieldReading>>>> = {
  TextField: { max_length: 'count' },
  RichTextField: { max_length: 'count' },
  NumberField: { is_integer: 'boolean', min_value: 'number', max_value: 'number' },
  DateField: { date_format: 'string', date_mode: 'string' },
  BooleanField: {},
  JsonObjectField: {},
  LocationField: {},
  MediaField: { allowed_types: 'strings' },
  ReferenceField: { allowed_entry_types: 'strings' },
  ListingField: { allowed_entry_types: 'strings', sort_by: 'string', sort_order: 'string', limit: 'count' },
  TagField: { allowed_tags: 'strings', max_tags: 'count' },
  OptionsField: { options: 'list', render_as: 'string', multi_select: 'boolean' },
  ElementField: {},
  SectionField: {},
  CompositeField: {},
};

/** Keys of every kind of field. */
const commonKeys: readonly (keyof FieldSchema)[] = [
  '$type',
  'name',
  'title',
  'label',
  'required',
  'description',
  'help_text',
  'default_value',
  'validations',
  'is_hidden',
  'multiple',
  'design_value',
  'translatable',
  'config',
  'meta',
];

/** Keys of some kinds of fields besides their settings. */
const nestedKeys: Readonly<Partial<Record<FieldType, readonly (keyof FieldSchema)[]>>> = {
  ElementField: ['element_type'],
  SectionField: ['allowed_element_types', 'render_as'],
  CompositeField: ['fields', 'layout'],
};

/** Fields of the `config` of each kind of field. */
export const fieldConfigFields: Readonly<Record<FieldType, KnownNames>> = byFieldType(
  (type) => new KnownNames(Object.keys(fieldSettings[type])),
);

/** Fields of each kind of field. */
export const fieldFields: Readonly<Record<FieldType, KnownNames>> = byFieldType(
  (type) => new KnownNames([...commonKeys, ...(nestedKeys[type] ?? []), ...Object.keys(fieldSettings[type])]),
);

function byFieldType<T>(make: (type: FieldType) => T): Readonly<Record<FieldType, T>> {
  return Object.fromEntries(fieldTypes.map((type) => [type, make(type)])) as Record<FieldType, T>;
}

const knownFieldTypes: ReadonlySet<string> = new Set(fieldTypes);
const dateModes: ReadonlySet<string> = new Set(['DateTime', 'Date', 'Time', 'TimeRange']);
const optionStyles: ReadonlySet<string> = new Set(['Dropdown', 'Radio', 'Checkbox']);

/**
 * Reads the `fields` of an archetype, an element type or a composite field.
 *
 * @throws {ServiceError} `UNPROCESSABLE_BODY`, `VALIDATION_FAILED`
 */
export function parseFieldSchemas(owner: DefinitionReader, depth = 1): readonly FieldSchema[] {
  const readers = owner.objects('fields');
  if (readers.length > PROPERTY_SCHEMAS_MAX)
    throw owner.badValue('fields', `at most ${PROPERTY_SCHEMAS_MAX} fields`);
  if (depth > PROPERTY_SCHEMA_DEPTH_MAX) {
    throw owner.badValue('fields', `fields nest at most ${PROPERTY_SCHEMA_DEPTH_MAX} levels`);
  }
  const seen = new Set<string>();
  return readers.map((reader) => {
    const field = parseFieldSchema(reader, depth);
    if (seen.has(field.name)) throw reader.badValue('name', `field '${field.name}' is declared twice`);
    seen.add(field.name);
    return field;
  });
}

function parseFieldSchema(reader: DefinitionReader, depth: number): FieldSchema {
  const tag = reader.string('$type');
  if (!knownFieldTypes.has(tag)) {
    throw reader.badValue('$type', `unknown field type '${tag}'; known are ${fieldTypes.join(', ')}`);
  }
  const $type = tag as FieldType;
  const name = reader.string('name');
  if (name === '') throw reader.badValue('name', 'must not be empty');
  const field = Object.freeze({
    $type,
    name,
    ...pick(reader, {
      title: 'string',
      label: 'string',
      required: 'boolean',
      description: 'string',
      help_text: 'string',
    }),
    ...free(reader, 'default_value'),
    ...pick(reader, { validations: 'list', is_hidden: 'boolean', multiple: 'boolean' }),
    ...free(reader, 'design_value'),
    ...pick(reader, { translatable: 'boolean' }),
    ...parseConfig(reader, $type),
    ...parseNested(reader, $type, depth),
    ...free(reader, 'meta'),
  }) as FieldSchema;
  reader.refuseOthers(fieldFields[$type]);
  return field;
}

/** The settings, under `config` or directly on the field. */
function parseConfig(field: DefinitionReader, $type: FieldType): { config?: FieldConfig } {
  const keys = fieldSettings[$type];
  const nested = field.optionalObject('config');
  const config: FieldConfig = {
    ...pick(field, keys),
    ...(nested === null ? {} : nestedConfig(new DefinitionReader(nested, field.place('config')), $type)),
  };
  if (config.date_mode !== undefined && !dateModes.has(config.date_mode)) {
    throw field.badValue('config', `date_mode must be one of ${[...dateModes].join(', ')}`);
  }
  if ($type === 'OptionsField' && config.render_as !== undefined && !optionStyles.has(config.render_as)) {
    throw field.badValue('config', `render_as must be one of ${[...optionStyles].join(', ')}`);
  }
  return Object.keys(config).length === 0 ? {} : { config: Object.freeze(config) };
}

function nestedConfig(reader: DefinitionReader, $type: FieldType): FieldConfig {
  const config = pick(reader, fieldSettings[$type]);
  reader.refuseOthers(fieldConfigFields[$type]);
  return config;
}

function parseNested(reader: DefinitionReader, $type: FieldType, depth: number): Partial<FieldSchema> {
  if ($type === 'ElementField') {
    return { element_type: requireFieldTypeName(reader, 'element_type', reader.string('element_type')) };
  }
  if ($type === 'SectionField') {
    const names = reader.strings('allowed_element_types');
    for (const name of names) requireFieldTypeName(reader, 'allowed_element_types', name);
    return { allowed_element_types: names, ...pick(reader, { render_as: 'string' }) };
  }
  if ($type === 'CompositeField') {
    reader.array('fields');
    return { fields: parseFieldSchemas(reader, depth + 1), ...free(reader, 'layout') };
  }
  return {};
}

/** Reads the keys that are present, each by its type. */
function pick(
  reader: DefinitionReader,
  keys: Readonly<Record<string, FieldReading>>,
): Record<string, JsonValue> {
  const picked: Record<string, JsonValue> = {};
  for (const [key, reading] of Object.entries(keys)) {
    if (reader.raw(key) === undefined) continue;
    picked[key] = readAs(reader, key, reading);
  }
  return picked;
}

function readAs(reader: DefinitionReader, key: string, reading: FieldReading): JsonValue {
  if (reading === 'string') return reader.string(key);
  if (reading === 'boolean') return reader.optionalBoolean(key);
  if (reading === 'strings') return reader.strings(key);
  if (reading === 'list') return reader.array(key);
  const value = reader.raw(key)!;
  if (!isNumber(value)) throw reader.badValue(key, 'must be a number');
  if (reading === 'count' && !(Number.isSafeInteger(value) && value >= 0)) {
    throw reader.badValue(key, 'must be a whole number, 0 or more');
  }
  return value;
}

/** A value of any type; null counts as a value. */
function free(reader: DefinitionReader, key: string): Record<string, JsonValue> {
  return reader.has(key) ? { [key]: reader.json[key]! } : {};
}
