import {
  isJsonArray,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  ownValue,
  setKey,
  withKey,
  withoutKey,
} from '#runtime/content/values/json-value.ts';
import { invalid } from '#runtime/errors/service-error.ts';
import { isIndex, placeAt, placeOf } from './key-path.ts';

/** `left || right`: objects are merged, in any other case the right side replaces the left one. */
export function merged(left: JsonValue, right: JsonValue): JsonValue {
  if (!isJsonObject(left) || !isJsonObject(right)) return right;
  const result: Record<string, JsonValue> = { ...left };
  for (const key of Object.keys(right)) setKey(result, key, right[key]!);
  return result;
}

/**
 * A copy without some keys of an object, or without these strings in an array.
 *
 * @throws {ServiceError} `VALIDATION_FAILED` for a scalar
 */
export function withoutKeys(value: JsonValue, keys: readonly string[]): JsonValue {
  const removed = new Set(keys);
  if (isJsonArray(value)) return value.filter((item) => typeof item !== 'string' || !removed.has(item));
  if (!isJsonObject(value)) throw invalid('Cannot delete from a JSON scalar');
  const result: Record<string, JsonValue> = {};
  for (const key of Object.keys(value)) if (!removed.has(key)) setKey(result, key, value[key]!);
  return result;
}

/**
 * A copy without an item of an array; a negative index counts from the end.
 *
 * @throws {ServiceError} `VALIDATION_FAILED` for a value that is no array
 */
export function withoutItem(value: JsonValue, index: number): JsonValue {
  if (isJsonObject(value)) throw invalid('Cannot delete from a JSON object using an integer index');
  if (!isJsonArray(value)) throw invalid('Cannot delete from a JSON scalar');
  const place = placeAt(index, value.length);
  return place === undefined ? value : value.toSpliced(place, 1);
}

/**
 * A copy without what is at a path; the value itself when there is nothing.
 *
 * @throws {ServiceError} `VALIDATION_FAILED` for a scalar, or a key of an array that is no whole number
 */
export function withoutPath(value: JsonValue, keys: readonly string[]): JsonValue {
  if (typeof value !== 'object' || value === null) throw invalid('Cannot delete path in a JSON scalar');
  return keys.length === 0 ? value : removed(value, keys, 0);
}

function removed(value: JsonValue, keys: readonly string[], at: number): JsonValue {
  const key = keys[at]!;
  const isLast = at === keys.length - 1;
  if (isJsonArray(value)) {
    const place = arrayPlace(key, value.length);
    if (place === undefined) return value;
    return isLast ? value.toSpliced(place, 1) : value.with(place, removed(value[place]!, keys, at + 1));
  }
  if (!isJsonObject(value)) return value;
  if (isLast) return withoutKey(value, key);
  const member = ownValue(value, key);
  return member === undefined ? value : withKey(value, key, removed(member, keys, at + 1));
}

/** @throws {ServiceError} `VALIDATION_FAILED` for a key that is no whole number */
function arrayPlace(key: string, length: number): number | undefined {
  if (!isIndex(key)) throw invalid(`Invalid path format: '${key}' is no index of an array`);
  return placeOf(key, length);
}

/**
 * A copy with a value set at a path. Objects that are missing on the way are created; of an array only an item that is
 * there can be set, and below a scalar nothing can.
 *
 * @param createsMissing false: nothing is set where nothing is
 * @throws {ServiceError} `VALIDATION_FAILED` for a scalar, or a key of an array that is no whole number
 */
export function withPath(
  value: JsonValue,
  keys: readonly string[],
  replacement: JsonValue,
  createsMissing: boolean,
): JsonValue {
  if (typeof value !== 'object' || value === null) throw invalid('Cannot set path in a JSON scalar');
  return keys.length === 0 ? value : changed(value, { keys, replacement, createsMissing }, 0);
}

interface Change {
  readonly keys: readonly string[];
  readonly replacement: JsonValue;
  readonly createsMissing: boolean;
}

function changed(value: JsonValue, change: Change, at: number): JsonValue {
  if (at === change.keys.length) return change.replacement;
  const key = change.keys[at]!;
  if (isJsonArray(value)) {
    const place = arrayPlace(key, value.length);
    return place === undefined ? value : value.with(place, changed(value[place]!, change, at + 1));
  }
  if (!isJsonObject(value)) return value;
  const member = ownValue(value, key);
  if (member !== undefined) return withKey(value, key, changed(member, change, at + 1));
  return change.createsMissing ? withKey(value, key, created(change, at + 1)) : value;
}

function created({ keys, replacement }: Change, from: number): JsonValue {
  let value = replacement;
  for (let at = keys.length - 1; at >= from; at -= 1) value = singleton(keys[at]!, value);
  return value;
}

function singleton(key: string, value: JsonValue): JsonObject {
  const object: Record<string, JsonValue> = {};
  setKey(object, key, value);
  return object;
}

/** A copy without the keys of objects whose value is null, at every level; nulls in arrays stay. */
export function withoutNulls(value: JsonValue): JsonValue {
  if (isJsonArray(value)) return value.map(withoutNulls);
  if (!isJsonObject(value)) return value;
  const result: Record<string, JsonValue> = {};
  for (const key of Object.keys(value)) {
    const member = value[key]!;
    if (member !== null) setKey(result, key, withoutNulls(member));
  }
  return result;
}
