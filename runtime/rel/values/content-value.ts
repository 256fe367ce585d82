import {
  isJsonArray,
  type JsonObject,
  type JsonValue,
  ownValue,
  setKey,
} from '#runtime/content/values/json-value.ts';
import { referenceTarget } from '#runtime/content/values/references.ts';
import { type Evaluation, KEY_WORK, STEP_WORK } from '../evaluation/evaluation.ts';

/** Work of recognising the shape of an object. */
const SHAPE_WORK = 32;

/** The types of GeoJSON geometries. */
const geometryTypes = new Set([
  'Point',
  'MultiPoint',
  'LineString',
  'MultiLineString',
  'Polygon',
  'MultiPolygon',
  'GeometryCollection',
]);

/**
 * A stored value as conditions see it. Objects with a meaning of their own are recognised by their shape, at any depth:
 *
 * - a reference is the id of its target, a URL its address, a file its `uuid`;
 * - a geometry and an element are null.
 *
 * @returns the value itself when nothing in it has such a shape
 * @throws {Fault} of kind `work`
 * @see docs/interface/condition-language.md#values-of-the-node
 */
export function contentValue(evaluation: Evaluation, value: JsonValue): JsonValue {
  if (typeof value === 'string') {
    evaluation.spend(value.length);
    return value;
  }
  if (typeof value !== 'object' || value === null) return value;
  return isJsonArray(value) ? listValue(evaluation, value) : objectValue(evaluation, value as JsonObject);
}

function listValue(evaluation: Evaluation, list: readonly JsonValue[]): readonly JsonValue[] {
  evaluation.spend(list.length * STEP_WORK);
  let copy: JsonValue[] | undefined;
  for (let index = 0; index < list.length; index += 1) {
    const item = list[index]!;
    const seen = contentValue(evaluation, item);
    if (seen === item) continue;
    copy ??= [...list];
    copy[index] = seen;
  }
  return copy ?? list;
}

function objectValue(evaluation: Evaluation, object: JsonObject): JsonValue {
  evaluation.spend(SHAPE_WORK);
  const shape = shapeValue(object);
  if (shape !== undefined) return shape;
  const keys = Object.keys(object);
  evaluation.spend(keys.length * KEY_WORK);
  let copy: Record<string, JsonValue> | undefined;
  for (const key of keys) {
    const item = object[key]!;
    const seen = contentValue(evaluation, item);
    if (seen === item) continue;
    copy ??= { ...object };
    setKey(copy, key, seen);
  }
  return copy ?? object;
}

/** What stands for an object with a meaning of its own; undefined for all others. */
function shapeValue(object: JsonObject): string | null | undefined {
  const target = referenceTarget(object);
  if (target !== undefined) return target.ref;
  const url = ownValue(object, 'svc:url');
  if (typeof url === 'string') return url;
  if (typeof ownValue(object, 'element_type') === 'string') return null;
  const uuid = ownValue(object, 'uuid');
  if (typeof uuid === 'string' && typeof ownValue(object, 'mime_type') === 'string') return uuid;
  return isGeometry(object) ? null : undefined;
}

function isGeometry(object: JsonObject): boolean {
  const type = ownValue(object, 'type');
  if (typeof type !== 'string' || !geometryTypes.has(type)) return false;
  const parts = ownValue(object, type === 'GeometryCollection' ? 'geometries' : 'coordinates');
  return parts !== undefined && isJsonArray(parts);
}
