import { isJsonArray, isJsonObject, type JsonValue, ownValue } from '#runtime/content/values/json-value.ts';
import type { Jsonb } from '../sql-value.ts';
import { jsonBytes } from './json-limits.ts';

/** Estimated nanoseconds for a pair of values that are compared. */
const PAIR_WORK = 20;

/** Estimated bytes of a value, as `jsonBytes` counts a small one. */
const VALUE_BYTES = 8;

/** From this many items on an array of scalars is looked up in a set. */
const SET_FROM = 8;

type Scalar = Exclude<JsonValue, object> | null;

function isScalar(value: JsonValue): value is Scalar {
  return typeof value !== 'object' || value === null;
}

/**
 * Whether `left` contains `right`: of objects every key with a contained value, of arrays every item in some item,
 * scalars if equal. An array contains also a scalar that is one of its items, but only at the outermost level.
 */
export function jsonContains(left: JsonValue, right: JsonValue): boolean {
  if (isJsonArray(left) && isScalar(right)) return left.includes(right);
  return contains(left, right);
}

function contains(left: JsonValue, right: JsonValue): boolean {
  if (isScalar(right)) return left === right;
  if (isJsonArray(right)) return isJsonArray(left) && arrayContains(left, right);
  if (!isJsonObject(left)) return false;
  return Object.keys(right).every((key) => {
    const member = ownValue(left, key);
    return member !== undefined && contains(member, (right as Readonly<Record<string, JsonValue>>)[key]!);
  });
}

function arrayContains(left: readonly JsonValue[], right: readonly JsonValue[]): boolean {
  const scalars = right.length >= SET_FROM ? new Set(left.filter(isScalar).map(scalarKey)) : undefined;
  return right.every((wanted) => {
    if (!isScalar(wanted)) return left.some((item) => contains(item, wanted));
    return scalars === undefined ? left.includes(wanted) : scalars.has(scalarKey(wanted));
  });
}

/** Numbers as texts, because the engine hashes numbers so that a caller could choose those of one bucket. */
function scalarKey(value: Scalar): string {
  return typeof value === 'string' ? `s${value}` : `v${value}`;
}

/** Whether an array of a value has arrays or objects as items: these are compared with every item of the other side. */
function hasNestedItems(value: JsonValue): boolean {
  if (isScalar(value)) return false;
  if (isJsonArray(value)) return value.some((item) => !isScalar(item));
  return Object.values(value).some(hasNestedItems);
}

/** Estimated nanoseconds of {@link jsonContains}. Each pair of values is compared once at most. */
export function containsWork(left: Jsonb, right: Jsonb): number {
  const [a, b] = [jsonBytes(left) / VALUE_BYTES, jsonBytes(right) / VALUE_BYTES];
  const pairs = hasNestedItems(right.value) ? a * b : a + b;
  return pairs * PAIR_WORK;
}

/** Whether a text is a key of an object, an item of an array, or the value itself. */
export function hasKey(value: JsonValue, key: string): boolean {
  if (isJsonArray(value)) return value.includes(key);
  return isJsonObject(value) ? Object.hasOwn(value, key) : value === key;
}
