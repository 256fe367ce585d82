import { invalid } from '#runtime/errors/service-error.ts';
import { boundMessage, JSON_DEPTH_MAX, JSON_KEY_LENGTH_MAX, KEY_TOO_LONG } from '../values/json-bounds.ts';
import {
  isJsonArray,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  ownValue,
  setKey,
  withKey,
} from '../values/json-value.ts';
import type { ResolvedNodeType } from '../resolution/type-resolver.ts';
import { EXPANDED_KEY } from '../values/references.ts';
import { UuidIndex, uuidOf } from '../values/uuid-index.ts';

/**
 * Keys whose values identify or order things; a translation must not change them. @see
 * docs/interface/translations.md#translated-values
 */
export const neverTranslatable: ReadonlySet<string> = new Set([
  'uuid',
  'id',
  'element_type',
  'slug',
  'node_type',
  'archetype',
  'parent',
  'order',
  'sort_order',
  'weight',
]);

/** Keys of a reference. A pointer to one would leave a reference that names two nodes, or store a node in it. */
const partsOfReferences: ReadonlySet<string> = new Set([
  'svc:ref',
  'svc:workspace',
  'svc:path',
  EXPANDED_KEY,
]);

/**
 * Refuses a pointer, or a key of one, that is too long for an overlay. It is checked before the pointer is split,
 * because splitting costs as much as the request is long.
 *
 * @throws {ServiceError} `VALIDATION_FAILED` for more than {@link JSON_KEY_LENGTH_MAX} characters
 */
export function requireShortPointer(pointer: string): void {
  if (pointer.length > JSON_KEY_LENGTH_MAX)
    throw invalid(`The translation ${boundMessage(KEY_TOO_LONG)}`, { field: 'translations' });
}

/**
 * Splits a JSON pointer into its keys, after counting them.
 *
 * @throws {ServiceError} `VALIDATION_FAILED`
 */
export function parsePointer(pointer: string): readonly string[] {
  if (!pointer.startsWith('/') || pointer === '/' || /~(?![01])/.test(pointer)) {
    throw invalid(`'${pointer.slice(0, 80)}' is not a JSON pointer to a property`, { field: 'translations' });
  }
  const keys = pointer.slice(1).split('/', JSON_DEPTH_MAX + 1);
  if (keys.length > JSON_DEPTH_MAX) {
    throw invalid(`A pointer has at most ${JSON_DEPTH_MAX} keys`, { field: 'translations' });
  }
  return keys.map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** The JSON pointer with these keys. */
export function formatPointer(keys: readonly string[]): string {
  return keys.map((key) => `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

/**
 * Resolves pointers in the properties of one node, and replaces their targets. It caches the positions of array items
 * and its copies: an array or object is read and copied once, however many pointers lead into it. So an instance is for
 * one use: its input must not change meanwhile, and its results may still change. Its methods yield only while a long
 * array is read.
 */
export class PointerWalk {
  readonly #indexes = new Map<readonly JsonValue[], UuidIndex>();
  /** Copies made here that may be modified. */
  readonly #own = new Set<JsonValue>();

  /** The target of a pointer, which addresses array items by their `uuid`; undefined when there is none. */
  *valueAt(properties: JsonObject, keys: readonly string[]): Generator<undefined, JsonValue | undefined> {
    let value: JsonValue | undefined = properties;
    for (const key of keys) {
      if (isJsonArray(value)) value = value[(yield* this.#indexOf(value)).placeOf(key)];
      else if (isJsonObject(value)) value = ownValue(value, key);
      else return undefined;
    }
    return value;
  }

  /**
   * The keys of a pointer, with each item `uuid` replaced by its index; undefined when the pointer has no target.
   */
  *placeOf(properties: JsonObject, keys: readonly string[]): Generator<undefined, string[] | undefined> {
    const place: string[] = [];
    let value: JsonValue | undefined = properties;
    for (const key of keys) {
      if (isJsonArray(value)) {
        const index: number = (yield* this.#indexOf(value)).placeOf(key);
        value = value[index];
        place.push(String(index));
      } else if (isJsonObject(value)) {
        value = ownValue(value, key);
        place.push(key);
      } else return undefined;
    }
    return value === undefined ? undefined : place;
  }

  /**
   * The value with the target of a pointer replaced. The last key of an object may be new; any other missing part, for
   * example an unknown `uuid`, leaves the value unchanged.
   */
  *replaceAt(
    value: JsonValue,
    keys: readonly string[],
    replacement: JsonValue,
    at = 0,
  ): Generator<undefined, JsonValue> {
    if (at === keys.length) return replacement;
    const key = keys[at]!;
    if (isJsonArray(value)) {
      const index = yield* this.#indexOf(value);
      const place = index.placeOf(key);
      const current = value[place];
      if (current === undefined) return value;
      const changed = yield* this.replaceAt(current, keys, replacement, at + 1);
      if (changed === current) return value;
      const copy = this.#withItem(value, index, place, changed);
      index.replaceFirst(key, uuidOf(changed));
      return copy;
    }
    if (!isJsonObject(value)) return value;
    const current = ownValue(value, key);
    if (current === undefined && at < keys.length - 1) return value;
    const changed = yield* this.replaceAt(current ?? null, keys, replacement, at + 1);
    return changed === current ? value : this.#withKey(value, key, changed);
  }

  /**
   * Checks that a pointer passes only through objects (by key) and arrays (by `uuid`). An unknown `uuid` ends the
   * check: reads ignore it, and the item may come back.
   *
   * @throws {ServiceError} `VALIDATION_FAILED` when a value on the way is neither, or a key on the way is missing
   * @see docs/interface/translations.md#translated-values
   */
  *requireReachable(properties: JsonObject, keys: readonly string[]): Generator<undefined, void> {
    let value: JsonValue | undefined = properties;
    for (const key of keys.slice(0, -1)) {
      if (isJsonArray(value)) {
        const place: number = (yield* this.#indexOf(value)).placeOf(key);
        if (place === -1) return;
        value = value[place];
      } else {
        value = ownValue(value as JsonObject, key);
      }
      if (isJsonObject(value) || isJsonArray(value)) continue;
      throw invalid(`Pointer '${formatPointer(keys)}': '${key}' is not an object or array`, {
        field: 'translations',
      });
    }
  }

  *#indexOf(list: readonly JsonValue[]): Generator<undefined, UuidIndex> {
    let index = this.#indexes.get(list);
    if (index === undefined) {
      index = yield* UuidIndex.of(list);
      this.#indexes.set(list, index);
    }
    return index;
  }

  #withItem(list: readonly JsonValue[], index: UuidIndex, place: number, item: JsonValue): JsonValue {
    let copy = list as JsonValue[];
    if (!this.#own.has(list as JsonValue)) {
      copy = list.slice();
      this.#own.add(copy);
      this.#indexes.set(copy, index);
    }
    copy[place] = item;
    return copy;
  }

  #withKey(object: JsonObject, key: string, value: JsonValue): JsonValue {
    if (this.#own.has(object)) {
      setKey(object, key, value);
      return object;
    }
    const copy = withKey(object, key, value);
    this.#own.add(copy);
    return copy;
  }
}

/**
 * Checks that a translation may be written at a pointer, whatever the present properties are.
 *
 * @throws {ServiceError} `VALIDATION_FAILED` for a key that is never translatable, a part of a reference, or a property
 *   the type declares as not translatable
 */
export function requireTranslatable(keys: readonly string[], type: ResolvedNodeType | null): void {
  const last = keys[keys.length - 1]!;
  if (neverTranslatable.has(last)) throw invalid(`'${last}' cannot be translated`, { field: 'translations' });
  const part = keys.find((key, at) => at > 0 && partsOfReferences.has(key));
  if (part !== undefined) {
    throw invalid(`'${part}' is a part of a reference, which is translated as a whole`, {
      field: 'translations',
    });
  }
  const property = keys[0]!;
  if (type?.byName.get(property)?.schema.is_translatable === false) {
    throw invalid(`Property '${property}' of NodeType '${type.name}' is not translatable`, {
      field: 'translations',
    });
  }
}

/**
 * The places a translator is expected to fill: strings, at any depth, with their pointers. When the type marks
 * properties `is_translatable: true`, only those count; one marked false never does.
 *
 * @returns their pointers, and undefined at each visited value, so that the work may pause
 */
export function* translatablePointers(
  properties: JsonObject,
  type: ResolvedNodeType | null,
): Generator<string | undefined, void> {
  const marked = (type?.properties ?? []).filter((schema) => schema.is_translatable === true);
  for (const key of Object.keys(properties)) {
    if (marked.length > 0 && !marked.some((schema) => schema.name === key)) continue;
    if (type?.byName.get(key)?.schema.is_translatable === false) continue;
    yield* texts(properties[key]!, [key]);
  }
}

function* texts(value: JsonValue, keys: readonly string[]): Generator<string | undefined, void> {
  yield undefined;
  const last = keys[keys.length - 1]!;
  if (neverTranslatable.has(last) || last.startsWith('svc:') || keys.length > JSON_DEPTH_MAX) return;
  if (typeof value === 'string') {
    if (value !== '') yield formatPointer(keys);
  } else if (isJsonArray(value)) {
    for (const item of value) {
      const uuid = uuidOf(item);
      if (uuid !== undefined) yield* texts(item, [...keys, uuid]);
    }
  } else if (isJsonObject(value)) {
    for (const key of Object.keys(value)) yield* texts(value[key]!, [...keys, key]);
  }
}
