import { compareTexts } from '#runtime/base/text/text-order.ts';
import {
  isJsonArray,
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from '#runtime/content/values/json-value.ts';

/**
 * The total order of JSON values, that of PostgreSQL but for empty arrays, which are arrays here in every place: null, texts by
 * code point, numbers, false, true, arrays, objects. Of two arrays, and of two objects, the one with fewer members comes first; of
 * as many, the first members that differ decide. Members of objects come shorter keys first, then by key.
 *
 * @returns 0 exactly for equal values
 */
export function compareJson(a: JsonValue, b: JsonValue): number {
  if (a === b) return 0;
  const rank = rankOf(a);
  const difference = rank - rankOf(b);
  if (difference !== 0) return difference;
  if (typeof a === 'string') return compareTexts(a, b as string);
  if (isJsonArray(a)) return compareArrays(a, b as readonly JsonValue[]);
  if (isJsonObject(a)) return compareObjects(a, b as JsonObject);
  return a! < b! ? -1 : a! > b! ? 1 : 0;
}

function rankOf(value: JsonValue): number {
  if (value === null) return 0;
  switch (typeof value) {
    case 'string':
      return 1;
    case 'number':
    case 'bigint':
      return 2;
    case 'boolean':
      return 3;
    default:
      return isJsonArray(value) ? 4 : 5;
  }
}

function compareArrays(a: readonly JsonValue[], b: readonly JsonValue[]): number {
  if (a.length !== b.length) return a.length - b.length;
  for (let index = 0; index < a.length; index += 1) {
    const order = compareJson(a[index]!, b[index]!);
    if (order !== 0) return order;
  }
  return 0;
}

function compareObjects(a: JsonObject, b: JsonObject): number {
  const [keys, others] = [Object.keys(a), Object.keys(b)];
  if (keys.length !== others.length) return keys.length - others.length;
  keys.sort(compareKeys);
  others.sort(compareKeys);
  for (let index = 0; index < keys.length; index += 1) {
    const [key, other] = [keys[index]!, others[index]!];
    // Once two keys differ, these decide, not the lengths by which each side is sorted.
    const order = compareTexts(key, other) || compareJson(a[key]!, b[other]!);
    if (order !== 0) return order;
  }
  return 0;
}

function compareKeys(a: string, b: string): number {
  return Buffer.byteLength(a) - Buffer.byteLength(b) || compareTexts(a, b);
}
