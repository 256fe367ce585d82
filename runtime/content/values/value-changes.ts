import { sizeUpTo } from '#runtime/base/text/sliced-json.ts';
import {
  isJsonArray,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  jsonEquals,
  ownValue,
} from './json-value.ts';
import { referenceTarget } from './references.ts';
import { formatPointer } from '../translations/translation-pointer.ts';

/** A place at which two values differ. */
export interface ValueChange {
  /** JSON pointer to it. */
  readonly path: string;
  /** Undefined when there was no value. */
  readonly before: JsonValue | undefined;
  /** Undefined when there is no value any more. */
  readonly after: JsonValue | undefined;
}

/** Approximate number of characters compared between two yields. */
const STEP = 64 * 1024;

/** Cost of comparing a key or an item without its value, in characters. */
const ITEM_COST = 32;

/**
 * Compares JSON values. The changes are readable for people and can be applied by programs: setting each path in order
 * to `after`, or removing it where there is none, turns the old value into the new one.
 *
 * Objects are compared key by key. Lists of objects are compared item by item if no item has moved; then items are
 * added or removed only at the end, and removals start with the last one. Any other value is one change, and so is a
 * reference, because a part of one has no meaning.
 *
 * @see docs/decisions/0051-changes-of-properties.md
 */
export class ValueComparison {
  readonly #itemKey: string;
  /** Approximate number of characters compared since the last yield. */
  #compared = 0;

  /** @param itemKey the key that identifies the items of a list */
  constructor(itemKey: string) {
    this.#itemKey = itemKey;
  }

  /** The changes from one value to another one; none for equal values. Yields undefined between steps. */
  *changes(
    path: string,
    before: JsonValue | undefined,
    after: JsonValue | undefined,
  ): Generator<ValueChange | undefined, void> {
    if (before === after) return;
    if (before !== undefined && after !== undefined) {
      if (isPlainObject(before) && isPlainObject(after)) {
        yield* this.#inObjects(path, before, after);
        return;
      }
      if (isJsonArray(before) && isJsonArray(after) && (yield* this.#haveStayed(before, after))) {
        yield* this.#inLists(path, before, after);
        return;
      }
      if (yield* this.#areEqual(before, after)) return;
    }
    yield { path, before, after };
  }

  *#inObjects(path: string, before: JsonObject, after: JsonObject): Generator<ValueChange | undefined, void> {
    for (const key of Object.keys(before)) {
      if (this.#count(ITEM_COST)) yield undefined;
      yield* this.changes(path + formatPointer([key]), ownValue(before, key), ownValue(after, key));
    }
    for (const key of Object.keys(after)) {
      if (this.#count(ITEM_COST)) yield undefined;
      if (Object.hasOwn(before, key)) continue;
      yield* this.changes(path + formatPointer([key]), undefined, ownValue(after, key));
    }
  }

  /** The last item is removed first, so that the positions of the others stay valid. */
  *#inLists(
    path: string,
    before: readonly JsonValue[],
    after: readonly JsonValue[],
  ): Generator<ValueChange | undefined, void> {
    const common = Math.min(before.length, after.length);
    for (let index = 0; index < common; index += 1) {
      if (this.#count(ITEM_COST)) yield undefined;
      yield* this.changes(`${path}/${index}`, before[index], after[index]);
    }
    for (let index = common; index < after.length; index += 1)
      yield { path: `${path}/${index}`, before: undefined, after: after[index] };
    for (let index = before.length - 1; index >= common; index -= 1)
      yield { path: `${path}/${index}`, before: before[index], after: undefined };
  }

  /**
   * Whether the items of two lists can be compared one by one: they are objects with the same key at the same position.
   * Items without a key count as the same when their number has not changed.
   */
  *#haveStayed(before: readonly JsonValue[], after: readonly JsonValue[]): Generator<undefined, boolean> {
    const common = Math.min(before.length, after.length);
    for (let index = 0; index < common; index += 1) {
      if (this.#count(ITEM_COST)) yield undefined;
      const [one, other] = [before[index] as JsonValue, after[index] as JsonValue];
      if (!isPlainObject(one) || !isPlainObject(other)) return false;
      const key = ownValue(one, this.#itemKey);
      if (key !== ownValue(other, this.#itemKey)) return false;
      if (key === undefined && before.length !== after.length) return false;
    }
    return common > 0;
  }

  *#areEqual(a: JsonValue, b: JsonValue): Generator<undefined, boolean> {
    const size = sizeUpTo(a, STEP);
    if (this.#count(size)) yield undefined;
    if (size <= STEP || typeof a !== 'object' || typeof b !== 'object' || a === null || b === null)
      return jsonEquals(a, b);
    if (isJsonArray(a) || isJsonArray(b)) {
      if (!isJsonArray(a) || !isJsonArray(b) || a.length !== b.length) return false;
      for (let index = 0; index < a.length; index += 1)
        if (!(yield* this.#areEqual(a[index] as JsonValue, b[index] as JsonValue))) return false;
      return true;
    }
    const keys = Object.keys(a);
    if (keys.length !== Object.keys(b).length) return false;
    for (const key of keys) {
      if (!Object.hasOwn(b, key)) return false;
      if (!(yield* this.#areEqual(a[key] as JsonValue, b[key] as JsonValue))) return false;
    }
    return true;
  }

  /** Whether it is time to yield. */
  #count(characters: number): boolean {
    this.#compared += characters;
    if (this.#compared <= STEP) return false;
    this.#compared = 0;
    return true;
  }
}

/** Whether a value is an object whose keys can be compared one by one. */
function isPlainObject(value: JsonValue): value is JsonObject {
  return isJsonObject(value) && referenceTarget(value) === undefined;
}
