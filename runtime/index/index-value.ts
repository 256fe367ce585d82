import { Buffer } from 'node:buffer';
import { placeOf } from '#runtime/base/text/exact-number.ts';
import { isLargeJson, jsonPieces } from '#runtime/base/text/sliced-json.ts';
import { sortInSlices } from '#runtime/base/event-loop/sliced-sort.ts';
import { textSlices } from '#runtime/base/text/sliced-text.ts';
import { isJsonArray, isJsonObject, type JsonValue } from '#runtime/content/values/json-value.ts';
import {
  boundedPart,
  boundedPartInSteps,
  sortableNumber,
  VALUE_PART_BYTES,
} from '#runtime/shard/binary-key.ts';

/** Approximate length of the parts of a canonical text that are hashed at a time. */
const PIECE_CHARACTERS = 1 << 16;

/**
 * The key of a scalar in a property index: a type letter, then bytes that sort like the value. Scans recheck the stored
 * value, because long texts are cut and zero characters are folded.
 *
 * @returns undefined for values that are not indexed: null, arrays, objects
 */
export function indexValue(value: JsonValue): string | undefined {
  switch (typeof value) {
    case 'string':
      return `s${boundedPart(value.includes('\0') ? value.replaceAll('\0', '\u0001') : value, VALUE_PART_BYTES)}`;
    case 'number':
      // A zero byte would end the part, so the eight bytes are written in hex.
      return `n${Buffer.from(sortableNumber(value), 'latin1').toString('hex')}`;
    case 'bigint': {
      // Between two doubles: it sorts after the lower one, whose own key is a prefix of this one.
      const { double, tail } = placeOf(value);
      return `n${Buffer.from(sortableNumber(double), 'latin1').toString('hex')}${tail}`;
    }
    case 'boolean':
      return value ? 'b1' : 'b0';
    default:
      return undefined;
  }
}

/** As {@link indexValue}, in steps: yields only for a long text. */
export function* indexValueInSteps(value: JsonValue): Generator<undefined, string | undefined> {
  if (typeof value !== 'string' || !isLargeJson(value)) return indexValue(value);
  return `s${yield* boundedPartInSteps(textSlices(value), VALUE_PART_BYTES, 1)}`;
}

/**
 * The key of a value in a unique index: JSON text with sorted keys, so that equal values have equal texts.
 *
 * @returns undefined for null, which never conflicts
 */
export function uniqueValue(value: JsonValue): string | undefined {
  return value === null ? undefined : boundedPart(canonicalText(value), VALUE_PART_BYTES);
}

/** As {@link uniqueValue}, in steps: yields only for a large value. */
export function* uniqueValueInSteps(value: JsonValue): Generator<undefined, string | undefined> {
  if (!isLargeJson(value)) return uniqueValue(value);
  return yield* boundedPartInSteps(joined(canonicalPieces(value)), VALUE_PART_BYTES);
}

/** Joins small pieces, because hashing costs a call for each. */
function* joined(pieces: Iterable<string | undefined>): Generator<string | undefined, void> {
  let text = '';
  for (const piece of pieces) {
    if (piece === undefined) yield undefined;
    else text += piece;
    if (text.length < PIECE_CHARACTERS) continue;
    yield text;
    text = '';
  }
  yield text;
}

/** The result of {@link canonicalText} in pieces; undefined between steps. */
function* canonicalPieces(value: JsonValue): Generator<string | undefined, void> {
  if (typeof value === 'string') return yield* jsonPieces(value);
  if (!isLargeJson(value)) return yield canonicalText(value);
  if (isJsonArray(value)) {
    let opening = '[';
    for (const item of value) {
      yield opening;
      yield* canonicalPieces(item);
      opening = ',';
    }
    return yield ']';
  }
  if (!isJsonObject(value)) return yield canonicalText(value);
  let opening = '{';
  const keys = yield* sortInSlices(Object.keys(value), (a, b) => (a < b ? -1 : a > b ? 1 : 0));
  for (const key of keys) {
    yield `${opening}${JSON.stringify(key)}:`;
    yield* canonicalPieces(value[key] as JsonValue);
    opening = ',';
  }
  yield '}';
}

function canonicalText(value: JsonValue): string {
  if (isJsonArray(value)) return `[${value.map(canonicalText).join(',')}]`;
  if (!isJsonObject(value)) return JSON.stringify(value);
  const keys = Object.keys(value).sort();
  return `{${keys.map((key) => `${JSON.stringify(key)}:${canonicalText(value[key] as JsonValue)}`).join(',')}}`;
}
