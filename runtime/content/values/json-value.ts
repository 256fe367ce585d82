import type { ExactNumber } from '#runtime/base/text/exact-number.ts';
import { isLargeJson, jsonPieces } from '#runtime/base/text/sliced-json.ts';

/** Any JSON value, read-only. Numbers that a double cannot represent are bigints. */
export type JsonValue = null | boolean | ExactNumber | string | readonly JsonValue[] | JsonObject;

/**
 * A JSON object, read-only. Keys come from callers, so one may be `__proto__` or `constructor`: read with
 * {@link ownValue} and copy with {@link withKey}, never with a bare `object[key]` or `copy[key] = value`.
 */
export interface JsonObject {
  readonly [key: string]: JsonValue;
}

/** Whether a value is a JSON object (not null, not an array). */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Whether a value is a JSON array; unlike `Array.isArray` it narrows read-only arrays. */
export function isJsonArray(value: unknown): value is readonly JsonValue[] {
  return Array.isArray(value);
}

/**
 * The value of an own key of an object. `__proto__` and the names of `Object.prototype` are ordinary keys.
 *
 * @returns undefined when the object has no such own key
 */
export function ownValue(object: JsonObject, key: string): JsonValue | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

/**
 * Sets a key of an object under construction. An assignment to `__proto__` would change the prototype and lose the
 * value, so that key is defined instead.
 */
export function setKey(target: Record<string, JsonValue>, key: string, value: JsonValue): void {
  if (key === '__proto__') {
    Object.defineProperty(target, key, { value, writable: true, enumerable: true, configurable: true });
  } else {
    target[key] = value;
  }
}

/** A copy with one key set, in the original key order. */
export function withKey(object: JsonObject, key: string, value: JsonValue): JsonObject {
  const copy: Record<string, JsonValue> = { ...object };
  setKey(copy, key, value);
  return copy;
}

/** A copy without one key, or the object itself when it has no such key. */
export function withoutKey(object: JsonObject, key: string): JsonObject {
  if (!Object.hasOwn(object, key)) return object;
  const copy: Record<string, JsonValue> = { ...object };
  delete copy[key];
  return copy;
}

/** Deep equality of JSON values; the order of object keys is ignored. */
export function jsonEquals(a: JsonValue, b: JsonValue): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (isJsonArray(a) || isJsonArray(b)) {
    if (!isJsonArray(a) || !isJsonArray(b) || a.length !== b.length) return false;
    return a.every((item, index) => jsonEquals(item, b[index]!));
  }
  const keys = Object.keys(a);
  if (keys.length !== Object.keys(b).length) return false;
  return keys.every((key) => Object.hasOwn(b, key) && jsonEquals(a[key]!, b[key]!));
}

/**
 * The text of a value with sorted object keys, so that equal values have equal texts. Used for comparing array items,
 * and for hashes by {@link canonicalPieces}; lone surrogates are written as escapes, as `JSON.stringify` does.
 */
export function canonicalJson(value: JsonValue): string {
  if (isJsonArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (isJsonObject(value)) {
    const parts = Object.keys(value)
      .sort()
      .map((key) => `${JSON.stringify(key)}:${canonicalJson(value[key]!)}`);
    return `{${parts.join(',')}}`;
  }
  return JSON.stringify(value);
}

/** Approximate length of a piece. */
const PIECE = 64 * 1024;

/** The text of {@link canonicalJson} in pieces of about `PIECE` characters. The work may pause between two pieces. */
export function* canonicalPieces(value: JsonValue): Generator<string, void> {
  if (!isLargeJson(value, PIECE)) {
    yield canonicalJson(value);
    return;
  }
  let text = '';
  for (const part of canonicalParts(value)) {
    text += part;
    if (text.length < PIECE) continue;
    yield text;
    text = '';
  }
  yield text;
}

function* canonicalParts(value: JsonValue): Generator<string, void> {
  if (!isLargeJson(value, PIECE)) {
    yield canonicalJson(value);
  } else if (isJsonArray(value)) {
    let before = '[';
    for (const item of value) {
      yield before;
      yield* canonicalParts(item);
      before = ',';
    }
    yield ']';
  } else if (isJsonObject(value)) {
    let before = '{';
    for (const key of Object.keys(value).sort()) {
      yield `${before}${JSON.stringify(key)}:`;
      yield* canonicalParts(value[key]!);
      before = ',';
    }
    yield '}';
  } else {
    yield* jsonPieces(value, PIECE);
  }
}
