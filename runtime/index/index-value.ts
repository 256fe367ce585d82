import { Buffer } from 'node:buffer';
import { placeOf } from '#runtime/base/exact-number.ts';
import { isJsonArray, isJsonObject, type JsonValue } from '#runtime/content/json-value.ts';
import { boundedPart, sortableNumber, VALUE_PART_BYTES } from '#runtime/shard/binary-key.ts';

/**
 * A scalar as it stands in a property index: a type letter, then bytes that sort like the value. Scans recheck
 * the stored value, because long texts are cut and zero characters are folded.
 *
 * @returns undefined for what is not indexed: null, arrays, objects
 */
export function indexValue(value: JsonValue): string | undefined {
  switch (typeof value) {
    case 'string':
      return `s${boundedPart(value.includes('\0') ? value.replaceAll('\0', '\u0001') : value, VALUE_PART_BYTES)}`;
    case 'number':
      // A zero byte would end the part, so the eight bytes are spelt in hex.
      return `n${Buffer.from(sortableNumber(value), 'latin1').toString('hex')}`;
    case 'bigint': {
      // Between two doubles: behind the one below it, whose own key is the beginning of this one.
      const { double, tail } = placeOf(value);
      return `n${Buffer.from(sortableNumber(double), 'latin1').toString('hex')}${tail}`;
    }
    case 'boolean':
      return value ? 'b1' : 'b0';
    default:
      return undefined;
  }
}

/**
 * A value as it stands in a unique index: JSON text with sorted keys, so that equal values have equal texts.
 *
 * @returns undefined for null, which never clashes
 */
export function uniqueValue(value: JsonValue): string | undefined {
  return value === null ? undefined : boundedPart(canonicalText(value), VALUE_PART_BYTES);
}

function canonicalText(value: JsonValue): string {
  if (isJsonArray(value)) return `[${value.map(canonicalText).join(',')}]`;
  if (!isJsonObject(value)) return JSON.stringify(value);
  const keys = Object.keys(value).sort();
  return `{${keys.map((key) => `${JSON.stringify(key)}:${canonicalText(value[key] as JsonValue)}`).join(',')}}`;
}
