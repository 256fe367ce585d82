import { isJsonArray, isJsonObject, type JsonValue, ownValue } from '#runtime/content/values/json-value.ts';
import { Jsonb } from '../sql-value.ts';
import { isIndex, placeAt, placeOf } from './key-path.ts';

/** The value of a key of an object. @returns undefined when it is no object, or has no such key */
export function memberOf(value: JsonValue, key: string): JsonValue | undefined {
  return isJsonObject(value) ? ownValue(value, key) : undefined;
}

/** The item of an array; a negative index counts from the end. @returns undefined when there is none */
export function itemOf(value: JsonValue, index: number): JsonValue | undefined {
  if (!isJsonArray(value)) return undefined;
  const place = placeAt(index, value.length);
  return place === undefined ? undefined : value[place];
}

/** The value at a path of keys; those that are whole numbers are indexes of arrays. @returns undefined when there is none */
export function valueAt(value: JsonValue, keys: readonly string[]): JsonValue | undefined {
  let current: JsonValue | undefined = value;
  for (const key of keys) {
    if (isJsonArray(current))
      current = isIndex(key) ? current[placeOf(key, current.length) ?? -1] : undefined;
    else current = current === undefined ? undefined : memberOf(current, key);
  }
  return current;
}

/** A value of SQL: NULL for one that is missing. */
export function asJsonb(value: JsonValue | undefined): Jsonb | null {
  return value === undefined ? null : new Jsonb(value);
}

/** The text of a value, as `->>` gives it: a string as it is, JSON's null as NULL, JSON text for any other. */
export function asText(value: JsonValue | undefined): string | null {
  if (value === undefined || value === null) return null;
  return typeof value === 'string' ? value : JSON.stringify(value);
}
