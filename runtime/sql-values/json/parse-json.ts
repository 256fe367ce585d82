import { InexactNumberError, parseExactJson } from '#runtime/base/text/exact-json.ts';
import { checkJsonWork } from '#runtime/base/text/json-work.ts';
import { isJsonArray, type JsonValue } from '#runtime/content/values/json-value.ts';
import { invalid, type ServiceError } from '#runtime/errors/service-error.ts';
import { JSON_LEVELS_MAX } from './json-limits.ts';

/** Values and keys in one text. Parsing this many takes about 20 ms, and cannot be interrupted. */
const VALUES_MAX = 200_000;

/** Estimated nanoseconds for a character, for a value or bracket, for a key, and for a number of many digits. */
const CHARACTER_WORK = 5;
const VALUE_WORK = 150;
const KEY_WORK = 1_000;
const LONG_NUMBER_WORK = 5_000;

/** Digits that a double may not represent. */
const LONG_NUMBER_DIGITS = 16;

/** Longest text that is looked at for an estimate: a longer one is counted as if it were all values. */
const ESTIMATED_LENGTH_MAX = 1_000_000;

/** Longest excerpt of a text in a message. */
const EXCERPT_MAX = 80;

/** Estimated nanoseconds that {@link parseJson} takes. Costs about a nanosecond per character itself. */
export function parseJsonWork(text: string): number {
  if (text.length > ESTIMATED_LENGTH_MAX) return (text.length / 2) * VALUE_WORK;
  let work = text.length * CHARACTER_WORK;
  let digits = 0;
  for (let offset = 0; offset < text.length; offset += 1) {
    const unit = text.charCodeAt(offset);
    const isDigit = unit >= 0x30 && unit <= 0x39;
    digits = isDigit ? digits + 1 : 0;
    if (digits === LONG_NUMBER_DIGITS) work += LONG_NUMBER_WORK;
    // , [ {
    else if (unit === 0x2c || unit === 0x5b || unit === 0x7b) work += VALUE_WORK;
    // :
    else if (unit === 0x3a) work += KEY_WORK;
  }
  return work;
}

function badJson(reason: string): ServiceError {
  return invalid(`Invalid JSON literal: ${reason}`);
}

function excerpt(text: string): string {
  return text.length > EXCERPT_MAX ? `${text.slice(0, EXCERPT_MAX)}…` : text;
}

/**
 * The value of a JSON text. Numbers are exact, as everywhere in content.
 *
 * @throws {ServiceError} `VALIDATION_FAILED`: no JSON, too deep, too many values, or a number that cannot be kept
 */
export function parseJson(text: string): JsonValue {
  const checking = checkJsonWork(text, { depthMax: JSON_LEVELS_MAX, valuesMax: VALUES_MAX });
  let step = checking.next();
  while (step.done !== true) step = checking.next();
  if (step.value.kind === 'too-deep') throw badJson(`nested deeper than ${JSON_LEVELS_MAX} levels`);
  if (step.value.kind === 'too-much') throw badJson(`more than ${VALUES_MAX} values`);
  let value: JsonValue;
  try {
    value = parseExactJson(text) as JsonValue;
  } catch (error) {
    if (error instanceof InexactNumberError) throw badJson(`number out of range: ${error.literal}`);
    if (error instanceof SyntaxError) throw badJson(excerpt(text));
    throw error;
  }
  if (!hasFiniteNumbers(value)) throw badJson('number out of range');
  return value;
}

/** Whether no number of a value is infinite, as a number too large for a double becomes. */
function hasFiniteNumbers(value: JsonValue): boolean {
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value !== 'object' || value === null) return true;
  const items = isJsonArray(value) ? value : Object.values(value);
  return items.every(hasFiniteNumbers);
}
