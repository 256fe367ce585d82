import { isJsonArray, isJsonObject, type JsonValue, ownValue } from '#runtime/content/values/json-value.ts';
import type { Jsonb } from '../sql-value.ts';
import { jsonValues } from './json-limits.ts';

/** Estimated nanoseconds for a pair of values that are compared. */
const PAIR_WORK = 40;

/** The same for a value that is put into a set, or looked up in it. */
const LOOKUP_WORK = 200;

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

/** Arrays in a value. `nested`: one has arrays or objects as items, which are compared with every item of the other side. */
function arraysIn(value: JsonValue): 'none' | 'flat' | 'nested' {
  if (isScalar(value)) return 'none';
  if (isJsonArray(value)) return value.some((item) => !isScalar(item)) ? 'nested' : 'flat';
  let found: 'none' | 'flat' = 'none';
  for (const member of Object.values(value)) {
    const inMember = arraysIn(member);
    if (inMember === 'nested') return inMember;
    if (inMember === 'flat') found = inMember;
  }
  return found;
}

/** Estimated nanoseconds of {@link jsonContains}. Each pair of values is compared once at most. */
export function containsWork(left: Jsonb, right: Jsonb): number {
  const wanted = jsonValues(right);
  const arrays = arraysIn(right.value);
  // Of an object only the keys that are wanted are looked at.
  if (arrays === 'none') return wanted * PAIR_WORK;
  const values = jsonValues(left);
  return (values + wanted) * LOOKUP_WORK + (arrays === 'nested' ? values * wanted * PAIR_WORK : 0);
}

/** Whether a text is a key of an object, an item of an array, or the value itself. */
export function hasKey(value: JsonValue, key: string): boolean {
  if (isJsonArray(value)) return value.includes(key);
  return isJsonObject(value) ? Object.hasOwn(value, key) : value === key;
}
