import { Buffer } from 'node:buffer';
import { placeOf } from '#runtime/base/text/exact-number.ts';
import { isLargeJson } from '#runtime/base/text/sliced-json.ts';
import { textSlices } from '#runtime/base/text/sliced-text.ts';
import { isJsonArray, type JsonValue } from '#runtime/content/values/json-value.ts';
import {
  boundedPart,
  boundedPartInSteps,
  sortableNumber,
  textBytes,
  VALUE_PART_BYTES,
} from '#runtime/shard/binary-key.ts';

/**
 * First characters of the keys of a property index, in the order of the kinds of values. Every key of a kind sorts
 * before the letter of the next one.
 */
export const KeyLetter = {
  boolean: 'b',
  number: 'n',
  text: 's',
  array: 'u',
  object: 'v',
  none: 'z',
} as const;

/** Characters that have two bytes in a key: a zero byte ends a part, and the other one marks both. */
const escaped = /[\u0000\u0001]/;
const everyEscaped = /[\u0000\u0001]/g;

/**
 * The key of a value in a property index. The order of keys is that of values: false, true, numbers, texts by their
 * UTF-8 bytes, arrays, objects, null and absent values. All arrays have one key, and so have all objects. A long text is
 * cut and followed by a hash: among texts with the same first {@link VALUE_PART_BYTES} bytes keys have no order.
 *
 * @param value undefined when the property is absent
 * @returns bytes without a zero byte
 */
export function indexKey(value: JsonValue | undefined): string {
  switch (typeof value) {
    case 'string':
      return KeyLetter.text + boundedPart(keyText(value), VALUE_PART_BYTES);
    case 'number':
      // A zero byte would end the part, so the eight bytes are written in hex.
      return KeyLetter.number + Buffer.from(sortableNumber(value), 'latin1').toString('hex');
    case 'bigint': {
      // Between two doubles: it sorts after the lower one, whose own key is a prefix of this one.
      const { double, tail } = placeOf(value);
      return indexKey(double) + tail;
    }
    case 'boolean':
      return `${KeyLetter.boolean}${value ? 1 : 0}`;
    default:
      if (value === undefined || value === null) return KeyLetter.none;
      return isJsonArray(value) ? KeyLetter.array : KeyLetter.object;
  }
}

/** As {@link indexKey}, in steps: yields only for a long text. */
export function* indexKeyInSteps(value: JsonValue | undefined): Generator<undefined, string> {
  if (typeof value !== 'string' || !isLargeJson(value)) return indexKey(value);
  return KeyLetter.text + (yield* boundedPartInSteps(slices(value, keyText), VALUE_PART_BYTES));
}

/**
 * The key of a value in an index that was built before keys were in the order of values. It differs for texts with the
 * characters that {@link indexKey} writes as two bytes.
 *
 * @returns undefined for values that had no row: null, arrays, objects
 */
export function olderIndexKey(value: JsonValue | undefined): string | undefined {
  if (typeof value === 'string') return KeyLetter.text + boundedPart(olderText(value), VALUE_PART_BYTES);
  return typeof value === 'object' || value === undefined ? undefined : indexKey(value);
}

/** As {@link olderIndexKey}, in steps: yields only for a long text. */
export function* olderIndexKeyInSteps(
  value: JsonValue | undefined,
): Generator<undefined, string | undefined> {
  if (typeof value !== 'string' || !isLargeJson(value)) return olderIndexKey(value);
  return KeyLetter.text + (yield* boundedPartInSteps(slices(value, olderText), VALUE_PART_BYTES));
}

/** Bytes of a text as they are in a key, before it is cut. */
export function textKeyBytes(text: string): string {
  return textBytes(keyText(text));
}

/** Whether a key is that of a text too long for it, so that other texts may have a place among its equals. */
export function isCutKey(key: string): boolean {
  return key.startsWith(KeyLetter.text) && key.length > KeyLetter.text.length + VALUE_PART_BYTES;
}

/** The part of a key up to which its order is that of the values. Values whose keys share it are to be compared. */
export function orderedPart(key: string): string {
  return isCutKey(key) ? key.slice(0, KeyLetter.text.length + VALUE_PART_BYTES) : key;
}

function keyText(text: string): string {
  if (!escaped.test(text)) return text;
  return text.replace(everyEscaped, (character) => (character === '\0' ? '\u0001\u0001' : '\u0001\u0002'));
}

function olderText(text: string): string {
  return text.includes('\0') ? text.replaceAll('\0', '\u0001') : text;
}

function* slices(text: string, form: (slice: string) => string): Generator<string, void> {
  for (const slice of textSlices(text)) yield form(slice);
}
