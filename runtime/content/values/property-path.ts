import { invalid } from '#runtime/errors/service-error.ts';
import { JSON_DEPTH_MAX } from './json-bounds.ts';
import {
  isJsonArray,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  ownValue,
  withKey,
  withoutKey,
} from './json-value.ts';
import { withoutFormerPath } from './references.ts';

/**
 * Splits a dotted property path (`hero.title`, `items.0.name`) into its keys.
 *
 * @param field the field or parameter it comes from, for the message
 * @throws {ServiceError} `VALIDATION_FAILED` for an empty key or too many
 */
export function parsePropertyPath(text: string, field = 'property'): readonly string[] {
  const keys = text.split('.');
  if (keys.includes('')) throw invalid(`'${text.slice(0, 80)}' is not a property path`, { field });
  requireShort(keys, field);
  return keys;
}

function requireShort(keys: readonly string[], field = 'property'): void {
  if (keys.length > JSON_DEPTH_MAX) {
    throw invalid(`A property path has at most ${JSON_DEPTH_MAX} keys`, { field });
  }
}

/** A property whose own name contains dots takes precedence over nested keys. */
function literalKey(properties: JsonObject, keys: readonly string[]): string | null {
  if (keys.length === 1) return keys[0]!;
  const joined = keys.join('.');
  return Object.hasOwn(properties, joined) ? joined : null;
}

/**
 * The value at a property path: objects by key, arrays by index.
 *
 * @returns undefined when there is none
 * @see docs/interface/nodes.md#setting-one-property
 */
export function getProperty(properties: JsonObject, keys: readonly string[]): JsonValue | undefined {
  const literal = literalKey(properties, keys);
  if (literal !== null) return ownValue(properties, literal);
  let value: JsonValue | undefined = properties;
  for (const key of keys) {
    if (isJsonArray(value)) value = /^(?:0|[1-9]\d*)$/.test(key) ? value[Number(key)] : undefined;
    else if (isJsonObject(value)) value = ownValue(value, key);
    else return undefined;
  }
  return value;
}

/**
 * The properties with one value set. Objects on the way that are missing (or null) are made; an array takes an
 * index up to its length, which appends. A reference that gets another target loses the path of the former one.
 *
 * @returns a copy that shares everything outside the path with the original
 * @throws {ServiceError} `VALIDATION_FAILED` when a value on the path is neither object nor array, or an index is out
 *   of range
 */
export function setProperty(properties: JsonObject, keys: readonly string[], value: JsonValue): JsonObject {
  requireShort(keys);
  const literal = literalKey(properties, keys);
  if (literal !== null) return withKey(properties, literal, value);
  return setWithin(properties, keys, 0, value) as JsonObject;
}

/**
 * The properties without one value. An item that is taken out of an array moves the later ones up. A reference that gets
 * another target loses the path of the former one.
 *
 * @returns a copy that shares everything outside the path with the original; undefined when there is no such value
 * @throws {ServiceError} `VALIDATION_FAILED` when the path has too many keys
 */
export function removeProperty(properties: JsonObject, keys: readonly string[]): JsonObject | undefined {
  requireShort(keys);
  const literal = literalKey(properties, keys);
  if (literal !== null)
    return Object.hasOwn(properties, literal) ? withoutKey(properties, literal) : undefined;
  return removeWithin(properties, keys, 0) as JsonObject | undefined;
}

function removeWithin(
  target: JsonValue | undefined,
  keys: readonly string[],
  at: number,
): JsonValue | undefined {
  const key = keys[at]!;
  const isLast = at === keys.length - 1;
  if (isJsonArray(target)) {
    const index = /^(?:0|[1-9]\d{0,8})$/.test(key) ? Number(key) : -1;
    if (index < 0 || index >= target.length) return undefined;
    if (isLast) return target.toSpliced(index, 1);
    const changed = removeWithin(target[index], keys, at + 1);
    return changed === undefined ? undefined : target.with(index, changed);
  }
  if (!isJsonObject(target) || !Object.hasOwn(target, key)) return undefined;
  if (isLast) return relinked(target, withoutKey(target, key), at);
  const changed = removeWithin(target[key], keys, at + 1);
  return changed === undefined ? undefined : withKey(target, key, changed);
}

function setWithin(
  target: JsonValue | undefined,
  keys: readonly string[],
  at: number,
  value: JsonValue,
): JsonValue {
  if (at === keys.length) return value;
  const key = keys[at]!;
  if (isJsonArray(target)) {
    const index = /^(?:0|[1-9]\d{0,8})$/.test(key) ? Number(key) : -1;
    if (index < 0 || index > target.length) {
      throw invalid(`'${keys.slice(0, at + 1).join('.')}' is not an index of the array`, {
        field: 'property',
      });
    }
    const copy = [...target];
    copy[index] = setWithin(target[index], keys, at + 1, value);
    return copy;
  }
  if (target === undefined || target === null)
    return withKey({}, key, setWithin(undefined, keys, at + 1, value));
  if (!isJsonObject(target)) {
    throw invalid(`'${keys.slice(0, at).join('.')}' is not an object`, { field: 'property' });
  }
  const changed = withKey(target, key, setWithin(ownValue(target, key), keys, at + 1, value));
  return key === 'svc:path' ? changed : relinked(target, changed, at);
}

/** @param at how deep the object is; the properties themselves, at 0, are no reference */
function relinked(before: JsonObject, after: JsonObject, at: number): JsonObject {
  return at === 0 ? after : withoutFormerPath(before, after);
}
