import { type ExactNumber, isNumber } from '#runtime/base/exact-number.ts';
import { DefinitionReader } from './definition-reader.ts';
import type { JsonObject, JsonValue } from './json-value.ts';
import { PROPERTY_SCHEMA_DEPTH_MAX, PROPERTY_SCHEMAS_MAX } from './property-schema.ts';
import { requireFieldTypeName } from './type-name.ts';

/** Every kind of field an archetype or element type may have. @see Supplement 3.4 */
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

/** A field of an archetype or element type. Absent keys were not given. @see Supplement 3.4 */
export interface FieldSchema {
  readonly $type: FieldType;
  readonly name: string;
  readonly title?: string;
  readonly label?: string;
  readonly required?: boolean;
  readonly description?: string;
  readonly help_text?: string;
  /** Fills an absent key when a node is created. */
  readonly default_value?: JsonValue;
  readonly validations?: readonly JsonValue[];
  readonly is_hidden?: boolean;
  /** The value is a list of what the field describes. */
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

type Reading = 'string' | 'boolean' | 'number' | 'count' | 'strings' | 'list';

const configKeys: Readonly<Record<FieldType, Readonly<Record<string, Reading>>>> = {
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
  return Object.freeze({
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
}

/** The settings, under `config` or directly on the field. */
function parseConfig(field: DefinitionReader, $type: FieldType): { config?: FieldConfig } {
  const keys = configKeys[$type];
  const nested = field.optionalObject('config');
  const config: FieldConfig = {
    ...pick(field, keys),
    ...(nested === null ? {} : pick(new DefinitionReader(nested, field.place('config')), keys)),
  };
  if (config.date_mode !== undefined && !dateModes.has(config.date_mode)) {
    throw field.badValue('config', `date_mode must be one of ${[...dateModes].join(', ')}`);
  }
  if ($type === 'OptionsField' && config.render_as !== undefined && !optionStyles.has(config.render_as)) {
    throw field.badValue('config', `render_as must be one of ${[...optionStyles].join(', ')}`);
  }
  return Object.keys(config).length === 0 ? {} : { config: Object.freeze(config) };
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

/** Reads the keys that are there, each by its kind. */
function pick(reader: DefinitionReader, keys: Readonly<Record<string, Reading>>): Record<string, JsonValue> {
  const picked: Record<string, JsonValue> = {};
  for (const [key, reading] of Object.entries(keys)) {
    if (reader.raw(key) === undefined) continue;
    picked[key] = readAs(reader, key, reading);
  }
  return picked;
}

function readAs(reader: DefinitionReader, key: string, reading: Reading): JsonValue {
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

/** A free value; null is a value here. */
function free(reader: DefinitionReader, key: string): Record<string, JsonValue> {
  return reader.has(key) ? { [key]: reader.json[key]! } : {};
}
