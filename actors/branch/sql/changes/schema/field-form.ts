import type { FieldType } from '#runtime/content/definitions/field-schema.ts';
import { isJsonArray, isJsonObject, type JsonObject } from '#runtime/content/values/json-value.ts';
import type { PropertyNode, PropertyTypeNode } from '#runtime/sql-syntax/nodes/schema-nodes.ts';
import { constantValue } from './constant-value.ts';
import type { MemberForm } from './member-form.ts';
import { metaOf } from './member-meta.ts';
import type { StatementValues } from './statement-values.ts';

/** The kinds of fields for the types of the dialect, by their names in lower case. The first one is made of a new field. */
const fieldTypesOf = new Map<string, readonly [FieldType, ...FieldType[]]>([
  ['string', ['TextField', 'RichTextField', 'OptionsField']],
  ['number', ['NumberField']],
  ['boolean', ['BooleanField']],
  ['date', ['DateField']],
  ['url', ['TextField']],
  ['reference', ['ReferenceField', 'ListingField']],
  ['resource', ['MediaField']],
  ['nodetype', ['TextField']],
  ['geometry', ['LocationField']],
  ['composite', ['CompositeField']],
  ['object', ['JsonObjectField']],
  ['element', ['ElementField']],
]);

/** Kinds of fields with values that only JSON can write. */
const jsonFields: ReadonlySet<string> = new Set([
  'JsonObjectField',
  'CompositeField',
  'LocationField',
  'ElementField',
  'SectionField',
]);

/** What the dialect says of a field; the other keys stay when it is modified. */
const expressible: ReadonlySet<string> = new Set([
  '$type',
  'name',
  'label',
  'required',
  'description',
  'default_value',
  'multiple',
  'translatable',
  'fields',
  'meta',
]);
/** The keys that stay when the kind of a field changes too; the others belong to its kind. */
const ofEveryKind: ReadonlySet<string> = new Set([
  'title',
  'help_text',
  'validations',
  'is_hidden',
  'design_value',
]);

/** The fields of archetypes and element types. @see docs/interface/node-types.md#fields-of-archetypes-and-element-types */
export const fieldForm: MemberForm = {
  noun: 'Field',

  write(node, name, previous, values) {
    refuseModifiers(node, values);
    const { $type, isMultiple } = kindOf(node.type, previous, values);
    const inner = node.type.kind === 'array-type' ? node.type.of : node.type;
    const listing = inner.kind === 'object-type' ? inner : undefined;
    const json = {
      ...kept(previous, $type),
      $type,
      name,
      ...(isMultiple ? { multiple: true } : {}),
      ...($type === 'CompositeField' ? { fields: listing === undefined ? ownFields(previous) : [] } : {}),
      ...modifiersOf(node, isMultiple || jsonFields.has($type), values),
      ...metaOf(previous, { order: node.order }),
    };
    return { json, listing };
  },

  object: (name) => ({ $type: 'CompositeField', name, fields: [] }),

  membersOf: (json) => (json.$type === 'CompositeField' ? ownFields(json) : undefined),

  withMembers: (json, members) => ({ ...json, fields: members }),
};

function ownFields(json: JsonObject | undefined): readonly JsonObject[] {
  return isJsonArray(json?.fields) ? json.fields.filter(isJsonObject) : [];
}

interface FieldKind {
  readonly $type: FieldType;
  readonly isMultiple: boolean;
}

/** The kind of field for a type. One that the type stands for as well stays, with its settings. */
function kindOf(
  type: PropertyTypeNode,
  previous: JsonObject | undefined,
  values: StatementValues,
): FieldKind {
  if (type.kind === 'object-type') return { $type: 'CompositeField', isMultiple: false };
  if (type.kind === 'array-type') {
    const { of } = type;
    if (of.kind === 'array-type') throw values.error('A field cannot be an array of arrays', of.span);
    // A section is a list of elements, of any type where it names none.
    if (of.kind === 'named-type' && of.name.toLowerCase() === 'element')
      return { $type: 'SectionField', isMultiple: false };
    return { ...kindOf(of, previous, values), isMultiple: true };
  }
  const name = type.name.toLowerCase();
  const possible = fieldTypesOf.get(name);
  if (possible === undefined) {
    const known = [...fieldTypesOf.keys()].join(', ');
    const text =
      name === 'array'
        ? 'A field that is an array needs the type of its items: Array OF String'
        : `Unknown field type '${type.name.slice(0, 80)}'; known are ${known}`;
    throw values.error(text, type.span);
  }
  const $type = possible.find((each) => each === previous?.$type) ?? possible[0];
  if ($type === 'ElementField' && previous?.$type !== 'ElementField') {
    throw values.error(
      'A field of type Element needs an element type, which the statement cannot name; use Array OF Element, or the route of the definition',
      type.span,
    );
  }
  return { $type, isMultiple: false };
}

function kept(previous: JsonObject | undefined, $type: FieldType): JsonObject {
  const isSame = previous?.$type === $type;
  return Object.fromEntries(
    Object.entries(previous ?? {}).filter(([key]) => (isSame ? !expressible.has(key) : ofEveryKind.has(key))),
  );
}

function modifiersOf(node: PropertyNode, isJson: boolean, values: StatementValues): JsonObject {
  const { defaultValue, description, label } = node;
  return {
    ...(node.isRequired ? { required: true } : {}),
    ...(node.isTranslatable ? { translatable: true } : {}),
    ...(label === undefined ? {} : { label: values.text(label) }),
    ...(description === undefined ? {} : { description: values.text(description) }),
    ...(defaultValue === undefined ? {} : { default_value: constantValue(defaultValue, isJson, values) }),
  };
}

/** Fields have neither indexes nor unique values. */
function refuseModifiers(node: PropertyNode, values: StatementValues): void {
  const [index] = node.indexes;
  const indexWord = index === 'property' ? 'PROPERTY_INDEX' : index?.toUpperCase();
  const word = node.isUnique
    ? 'UNIQUE'
    : (indexWord ?? (node.allowsAdditional ? 'ALLOW_ADDITIONAL_PROPERTIES' : undefined));
  if (word === undefined) return;
  throw values.error(`${word} is for properties of node types and mixins; a field cannot have it`, node.span);
}
