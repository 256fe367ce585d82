import {
  type FieldReading,
  fieldSettings,
  type FieldType,
  fieldTypes,
} from '#runtime/content/definitions/field-schema.ts';
import { indexKinds, propertyTypes } from '#runtime/content/definitions/property-schema.ts';
import { readOnly } from '#protocols/http/requests/body-shape.ts';
import type { JsonSchema } from '#protocols/http/route.ts';

const text = { type: 'string' } as const;
const textOrNull = { type: ['string', 'null'] } as const;
const flag = { type: 'boolean' } as const;
const flagOrNull = { type: ['boolean', 'null'] } as const;
const number = { type: 'number' } as const;
const count = { type: 'integer', minimum: 0 } as const;
const texts = { type: 'array', items: text } as const;
const anyList = { type: 'array' } as const;
const anyObject = { type: 'object', additionalProperties: true } as const;
const anyObjectOrNull = { type: ['object', 'null'], additionalProperties: true } as const;
const time = { type: 'string', format: 'date-time' } as const;
const indexKind = { type: 'string', enum: indexKinds } as const;

type Properties = Readonly<Record<string, JsonSchema>>;

function ref(name: string): JsonSchema {
  return { $ref: `#/components/schemas/${name}` };
}

function listOf(items: JsonSchema): JsonSchema {
  return { type: 'array', items };
}

function closed(properties: Properties, ...required: readonly string[]): JsonSchema {
  return { type: 'object', required, properties, additionalProperties: false };
}

/** A schema with additional required fields. */
function requiring(name: string, ...required: readonly string[]): JsonSchema {
  return { allOf: [ref(name), { required }] };
}

/** Fields of a definition that the server sets. */
const stamps: Properties = {
  version: { type: 'integer', minimum: 1 },
  created_at: time,
  updated_at: time,
  published_at: { type: ['string', 'null'], format: 'date-time' },
  published_by: textOrNull,
  previous_version: textOrNull,
};

const constraints: Properties = {
  min: { type: ['number', 'string'], description: 'Of a number or date; of a text or list its length.' },
  max: { type: ['number', 'string'] },
  minLength: count,
  maxLength: count,
  pattern: text,
  enum: { type: 'array', minItems: 1 },
  minimum: number,
  maximum: number,
  exclusiveMinimum: number,
  exclusiveMaximum: number,
  multipleOf: { type: 'number', exclusiveMinimum: 0 },
  minItems: count,
  maxItems: count,
  uniqueItems: flag,
};

const property: Properties = {
  name: text,
  type: {
    ...text,
    description: `One of ${propertyTypes.join(', ')}, in any case.`,
    'x-aliases': ['property_type'],
  },
  required: flag,
  unique: flag,
  default: { description: 'Fills an absent property when a node is created.' },
  value: { description: 'The only value the property may have.' },
  constraints: ref('ConstraintsBody'),
  structure: {
    type: 'object',
    description: 'Keys of an Object, each with a property schema.',
    additionalProperties: ref('PropertyBody'),
  },
  allow_additional_properties: flag,
  items: ref('PropertyBody'),
  is_translatable: flag,
  index: listOf(indexKind),
  meta: anyObject,
};

const nodeType: Properties = {
  id: text,
  name: { ...text, pattern: '^[a-zA-Z]+:(?:[A-Z][a-z]*)+$' },
  strict: flagOrNull,
  extends: textOrNull,
  mixins: texts,
  overrides: anyObjectOrNull,
  is_mixin: flag,
  description: textOrNull,
  icon: textOrNull,
  allowed_children: texts,
  required_nodes: texts,
  versionable: flagOrNull,
  immutable: flagOrNull,
  publishable: flagOrNull,
  auditable: flagOrNull,
  indexable: flagOrNull,
  index_types: { type: ['array', 'null'], items: indexKind },
  compound_indexes: listOf(ref('CompoundIndexBody')),
  meta: anyObject,
};

const elementType: Properties = {
  id: text,
  name: text,
  extends: textOrNull,
  icon: textOrNull,
  title: textOrNull,
  description: textOrNull,
  initial_content: anyObjectOrNull,
  layout: { type: ['array', 'null'], description: 'For display only.' },
  strict: flagOrNull,
  publishable: flagOrNull,
  meta: anyObject,
};

const archetype: Properties = { ...elementType, base_node_type: textOrNull };

/** A response schema: unknown fields are valid, because a later server version may add some. */
function answer(definition: Properties, inner: Properties): JsonSchema {
  return { type: 'object', required: ['name'], properties: { ...definition, ...inner, ...stamps } };
}

/** A body schema: unknown fields are refused. */
function body(definition: Properties, inner: Properties): JsonSchema {
  return closed({ ...definition, ...inner, ...readOnly(stamps) });
}

const anyField = { fields: listOf({ ...anyObject, description: 'A field, tagged by `$type`.' }) };
const fields = { fields: listOf(ref('FieldBody')) };

const settings: Readonly<Record<FieldReading, JsonSchema>> = {
  string: text,
  boolean: flag,
  number,
  count,
  strings: texts,
  list: anyList,
};

const nested: Readonly<Partial<Record<FieldType, Properties>>> = {
  ElementField: { element_type: text },
  SectionField: { allowed_element_types: texts, render_as: text },
  CompositeField: { ...fields, layout: { description: 'For display only.' } },
};

/** A field type. Its settings are in `config` or beside `$type`. */
function field(type: FieldType): JsonSchema {
  const config = Object.fromEntries(
    Object.entries(fieldSettings[type]).map(([name, reading]) => [name, settings[reading]]),
  );
  const properties: Properties = {
    $type: { type: 'string', const: type },
    name: text,
    title: text,
    label: text,
    required: flag,
    description: text,
    help_text: text,
    default_value: {},
    validations: anyList,
    is_hidden: flag,
    multiple: flag,
    design_value: {},
    translatable: flag,
    config: closed(config),
    meta: {},
    ...config,
    ...nested[type],
  };
  return closed(properties, '$type', 'name', ...(type === 'ElementField' ? ['element_type'] : []));
}

const initialChild: Properties = {
  name: text,
  node_type: text,
  archetype: textOrNull,
  properties: anyObjectOrNull,
  translations: anyObjectOrNull,
  children: listOf(ref('InitialChildBody')),
};

const initialStructure: JsonSchema = {
  anyOf: [
    closed({ properties: anyObjectOrNull, children: initialChild.children as JsonSchema }),
    initialChild.children,
    { type: 'null' },
  ],
};

/**
 * Schemas of types, archetypes and element types, in responses and in bodies, for the components of the description.
 */
export const definitionSchemas: Readonly<Record<string, JsonSchema>> = {
  NodeType: answer(nodeType, {
    properties: listOf({ type: 'object', required: ['name', 'type'], properties: property }),
    initial_structure: anyObjectOrNull,
  }),
  Archetype: answer(archetype, anyField),
  ElementType: answer(elementType, anyField),
  NodeTypeBody: body(nodeType, {
    properties: listOf(requiring('PropertyBody', 'name')),
    initial_structure: ref('InitialStructureBody'),
  }),
  ArchetypeBody: body(archetype, fields),
  ElementTypeBody: body(elementType, fields),
  PropertyBody: closed(property, 'type'),
  ConstraintsBody: closed(constraints),
  CompoundIndexBody: closed(
    {
      name: text,
      columns: {
        type: 'array',
        minItems: 1,
        items: closed(
          {
            property: { ...text, description: 'Or `__node_type`, `__created_at`, `__updated_at`.' },
            ascending: { ...flag, default: true },
            column_type: { type: 'string', enum: ['String', 'Integer', 'Timestamp', 'Boolean'] },
          },
          'property',
        ),
      },
      has_order_column: { ...flag, default: false },
    },
    'name',
    'columns',
  ),
  FieldBody: {
    oneOf: fieldTypes.map((type) => ref(`${type}Body`)),
    discriminator: {
      propertyName: '$type',
      mapping: Object.fromEntries(fieldTypes.map((type) => [type, ref(`${type}Body`).$ref])),
    },
  },
  ...Object.fromEntries(fieldTypes.map((type) => [`${type}Body`, field(type)])),
  InitialStructureBody: initialStructure,
  InitialChildBody: closed(initialChild, 'name', 'node_type'),
};
