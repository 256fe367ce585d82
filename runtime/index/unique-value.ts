import { isLargeJson, jsonPieces } from '#runtime/base/text/sliced-json.ts';
import { sortInSlices } from '#runtime/base/event-loop/sliced-sort.ts';
import { isJsonArray, isJsonObject, type JsonValue } from '#runtime/content/values/json-value.ts';
import { boundedPart, boundedPartInSteps, VALUE_PART_BYTES } from '#runtime/shard/binary-key.ts';

/** Approximate length of the parts of a canonical text that are hashed at a time. */
const PIECE_CHARACTERS = 1 << 16;

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
