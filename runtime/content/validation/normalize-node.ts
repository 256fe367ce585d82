import type { ResolvedArchetype } from '../resolution/field-resolver.ts';
import type { FieldRules } from './validation.ts';
import { locationToPoint } from '../values/geometry.ts';
import { JSON_DEPTH_MAX } from '../values/json-bounds.ts';
import {
  isJsonArray,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  ownValue,
  setKey,
  withKey,
} from '../values/json-value.ts';
import type { ResolvedSource } from '../resolution/schema-resolver.ts';

/**
 * Converts properties to their stored form: elements written as `{element_type, content: {…}}` are flattened, locations
 * of archetype and element fields become GeoJSON Points. Values already in stored form are returned without a copy.
 * Values nested too deep are left unchanged, and the check refuses them.
 *
 * @see docs/interface/nodes.md#property-values
 */
export function normalizeProperties(
  archetype: ResolvedArchetype | null,
  properties: JsonObject,
  source: ResolvedSource,
): JsonObject {
  const shaped = normalizeObject(properties, source, 0);
  return archetype?.hasLocation === true ? normalizeFields(shaped, archetype) : shaped;
}

function normalizeValue(value: JsonValue, source: ResolvedSource, depth: number): JsonValue {
  if (typeof value !== 'object' || value === null || depth > JSON_DEPTH_MAX) return value;
  if (isJsonArray(value)) return normalizeArray(value, source, depth);
  const shaped = normalizeObject(value, source, depth);
  return typeof shaped.element_type === 'string'
    ? normalizeElement(shaped, shaped.element_type, source)
    : shaped;
}

function normalizeArray(
  list: readonly JsonValue[],
  source: ResolvedSource,
  depth: number,
): readonly JsonValue[] {
  let copy: JsonValue[] | null = null;
  for (let index = 0; index < list.length; index += 1) {
    const item = list[index]!;
    const shaped = normalizeValue(item, source, depth + 1);
    if (shaped === item) continue;
    copy ??= [...list];
    copy[index] = shaped;
  }
  return copy ?? list;
}

function normalizeObject(object: JsonObject, source: ResolvedSource, depth: number): JsonObject {
  let copy: Record<string, JsonValue> | null = null;
  for (const key in object) {
    const value = object[key]!;
    if (typeof value !== 'object' || value === null) continue;
    const shaped = normalizeValue(value, source, depth + 1);
    if (shaped === value) continue;
    copy ??= { ...object };
    setKey(copy, key, shaped);
  }
  return copy ?? object;
}

function normalizeElement(element: JsonObject, name: string, source: ResolvedSource): JsonObject {
  const type = source.elementType(name);
  const content = ownValue(element, 'content');
  const isNested =
    isJsonObject(content) && (type === undefined ? hasOnlyElementKeys(element) : !type.byName.has('content'));
  const flat = isNested ? flatten(element, content) : element;
  return type?.hasLocation === true ? normalizeFields(flat, type) : flat;
}

/** An element of an unknown type is flattened only in the exact old form: another `content` may be a field. */
function hasOnlyElementKeys(element: JsonObject): boolean {
  return Object.keys(element).every((key) => ['element_type', 'uuid', 'id', 'content'].includes(key));
}

function flatten(element: JsonObject, content: JsonObject): JsonObject {
  const { content: _, ...own } = element;
  // Own keys take precedence: a content key named `element_type` must not change the type of the element.
  return { ...content, ...own };
}

/** Converts the locations among the fields of an object, and of composites in it, to Points. */
function normalizeFields(object: JsonObject, rules: FieldRules): JsonObject {
  let result = object;
  for (const [name, field] of rules.byName) {
    const isLocation = field.schema.$type === 'LocationField';
    if (!isLocation && !(field.nested?.hasLocation ?? false)) continue;
    const value = ownValue(result, name);
    if (value === undefined) continue;
    const each = (item: JsonValue): JsonValue => {
      if (isLocation) return locationToPoint(item);
      return isJsonObject(item) ? normalizeFields(item, field.nested!) : item;
    };
    const shaped = normalizeItems(value, each);
    if (shaped !== value) result = withKey(result, name, shaped);
  }
  return result;
}

/** Applies `each` to the value itself, or to the items of a list, plain or as `{items}`. */
function normalizeItems(value: JsonValue, each: (item: JsonValue) => JsonValue): JsonValue {
  if (isJsonArray(value)) {
    const shaped = value.map(each);
    return shaped.every((item, index) => item === value[index]) ? value : shaped;
  }
  const items = isJsonObject(value) ? ownValue(value, 'items') : undefined;
  if (!isJsonArray(items)) return each(value);
  const shaped = normalizeItems(items, each);
  return shaped === items ? value : withKey(value as JsonObject, 'items', shaped);
}
