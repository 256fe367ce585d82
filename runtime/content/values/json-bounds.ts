import type { JsonValue } from './json-value.ts';
import { isJsonArray } from './json-value.ts';

/** Limit of nesting of a property value or a schema definition, in levels. */
export const JSON_DEPTH_MAX = 128;
/** The longest object key anywhere in a value, in UTF-16 units. */
export const JSON_KEY_LENGTH_MAX = 1024;

const TOO_DEEP = -1;
/** The result of {@link measureJson} for a key over {@link JSON_KEY_LENGTH_MAX}. */
export const KEY_TOO_LONG = -2;
const NOT_FINITE = -3;

const messages: Readonly<Record<number, string>> = {
  [TOO_DEEP]: `nests deeper than ${JSON_DEPTH_MAX} levels`,
  [KEY_TOO_LONG]: `has a key longer than ${JSON_KEY_LENGTH_MAX} characters`,
  [NOT_FINITE]: 'has a number too large to be stored',
};

/**
 * Measures a value and checks the bounds of stored values. It runs on each property of each write, so it returns a
 * number and allocates nothing.
 *
 * @param depth the level of the value, 1 for the value of a property
 * @returns the size in units (UTF-16 units of text and keys, 8 for any other scalar); negative when a bound is
 *   exceeded, see {@link boundMessage}
 */
export function measureJson(value: JsonValue, depth = 1): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) {
    // JSON.parse reads 1e999 as Infinity, which JSON cannot write again.
    return typeof value === 'number' && !Number.isFinite(value) ? NOT_FINITE : 8;
  }
  if (depth > JSON_DEPTH_MAX) return TOO_DEEP;
  let size = 8;
  if (isJsonArray(value)) {
    for (const item of value) {
      const measured = measureJson(item, depth + 1);
      if (measured < 0) return measured;
      size += measured;
    }
    return size;
  }
  for (const key in value) {
    if (key.length > JSON_KEY_LENGTH_MAX) return KEY_TOO_LONG;
    const measured = measureJson(value[key]!, depth + 1);
    if (measured < 0) return measured;
    size += measured + key.length;
  }
  return size;
}

/** The message for a negative result of {@link measureJson}, to follow the name of the value. */
export function boundMessage(measured: number): string {
  return messages[measured] ?? 'is out of bounds';
}
