import { propertyTypes } from '#runtime/content/definitions/property-schema.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '#runtime/content/values/json-value.ts';
import type {
  ObjectTypeNode,
  PropertyIndex,
  PropertyNode,
  PropertyTypeNode,
} from '#runtime/sql-syntax/nodes/schema-nodes.ts';
import { constantValue } from './constant-value.ts';
import type { MemberForm } from './member-form.ts';
import { metaOf } from './member-meta.ts';
import type { StatementValues } from './statement-values.ts';

const typesBySpelling = new Map<string, string>(propertyTypes.map((type) => [type.toLowerCase(), type]));

/** Types with values that only JSON can write. */
const jsonTypes: ReadonlySet<string> = new Set(['Array', 'Object', 'Element', 'Composite', 'Geometry']);

const indexNames: Readonly<Record<PropertyIndex, string>> = {
  fulltext: 'Fulltext',
  vector: 'Vector',
  property: 'Property',
};

/** What the dialect says of a property; the other keys of its schema stay when it is modified. */
const expressible: ReadonlySet<string> = new Set([
  'name',
  'type',
  'required',
  'unique',
  'default',
  'structure',
  'items',
  'allow_additional_properties',
  'is_translatable',
  'index',
  'meta',
]);

/** The properties of node types and mixins. @see docs/interface/node-types.md#property-schemas */
export const propertyForm: MemberForm = {
  noun: 'Property',

  write(node, name, previous, values) {
    const { json: type, listing } = typeOf(node.type, previous, values);
    const json = {
      ...without(previous ?? {}, expressible),
      name,
      ...type,
      ...modifiersOf(node, String(type.type), values),
      ...metaOf(previous, {
        label: node.label === undefined ? undefined : values.text(node.label),
        description: node.description === undefined ? undefined : values.text(node.description),
        order: node.order,
      }),
    };
    return { json, listing };
  },

  object: (name) => ({ name, type: 'Object' }),

  membersOf(json) {
    const inner = innermost(json);
    if (inner.type !== 'Object') return undefined;
    const structure = isJsonObject(inner.structure) ? inner.structure : {};
    return Object.entries(structure).map(([name, schema]) => ({ ...(schema as JsonObject), name }));
  },

  withMembers(json, members) {
    if (json.type === 'Array' && isJsonObject(json.items)) {
      return { ...json, items: propertyForm.withMembers(json.items, members) };
    }
    if (members.length === 0 && json.structure === undefined) return json;
    return { ...json, structure: Object.fromEntries(members.map((member) => [String(member.name), member])) };
  },
};

/** What the innermost array of a schema has as items; the schema itself when it is no array. */
function innermost(json: JsonObject): JsonObject {
  let inner = json;
  while (inner.type === 'Array' && isJsonObject(inner.items)) inner = inner.items;
  return inner;
}

interface WrittenType {
  readonly json: JsonObject;
  readonly listing: ObjectTypeNode | undefined;
}

/** The keys of a schema that its type decides. */
function typeOf(
  node: PropertyTypeNode,
  previous: JsonObject | undefined,
  values: StatementValues,
): WrittenType {
  switch (node.kind) {
    case 'named-type': {
      const type = typesBySpelling.get(node.name.toLowerCase());
      if (type === undefined) {
        const known = propertyTypes.join(', ');
        throw values.error(
          `Unknown property type '${node.name.slice(0, 80)}'; known are ${known}`,
          node.span,
        );
      }
      // Array and Object without a list say nothing of what is in them.
      const kept = previous?.type === type ? previous : {};
      return { json: { type, ...only(kept, 'items'), ...only(kept, 'structure') }, listing: undefined };
    }
    case 'array-type': {
      const items = previous?.type === 'Array' && isJsonObject(previous.items) ? previous.items : {};
      const { json, listing } = typeOf(node.of, items, values);
      return { json: { type: 'Array', items: { ...without(items, typeKeys), ...json } }, listing };
    }
    case 'object-type':
      return { json: { type: 'Object' }, listing: node };
  }
}

const typeKeys: ReadonlySet<string> = new Set(['type', 'items', 'structure']);

function modifiersOf(node: PropertyNode, type: string, values: StatementValues): JsonObject {
  const { defaultValue, indexes } = node;
  return {
    ...(node.isRequired ? { required: true } : {}),
    ...(node.isUnique ? { unique: true } : {}),
    ...(node.isTranslatable ? { is_translatable: true } : {}),
    ...(node.allowsAdditional ? { allow_additional_properties: true } : {}),
    ...(indexes.length === 0 ? {} : { index: indexes.map((index) => indexNames[index]) }),
    ...(defaultValue === undefined
      ? {}
      : { default: constantValue(defaultValue, jsonTypes.has(type), values) }),
  };
}

function without(json: JsonObject, keys: ReadonlySet<string>): JsonObject {
  return Object.fromEntries(Object.entries(json).filter(([key]) => !keys.has(key)));
}

function only(json: JsonObject, key: string): Record<string, JsonValue> {
  return json[key] === undefined ? {} : { [key]: json[key] };
}
