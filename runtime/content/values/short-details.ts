import { isJsonArray, type JsonObject, type JsonValue } from './json-value.ts';

/** Characters of a text, and entries of a list, that are kept of details that are too long. */
const SHORT_TEXT = 200;
const SHORT_LIST = 10;

/**
 * Details that are shortened until their JSON text fits: first long texts and lists, then everything but the names.
 *
 * @returns the same details if they fit
 */
export function shortDetails(details: JsonObject, charactersMax: number): JsonObject {
  const fits = (given: JsonObject): boolean => JSON.stringify(given).length <= charactersMax;
  if (fits(details)) return details;
  const shorter = Object.fromEntries(
    Object.entries(details).map(([name, value]) => [name, shortValue(value)]),
  );
  return fits(shorter) ? shorter : { shortened: Object.keys(details).slice(0, SHORT_LIST).map(shortText) };
}

function shortValue(value: JsonValue): JsonValue {
  if (typeof value === 'string') return shortText(value);
  if (!isJsonArray(value)) return value;
  const kept = value.slice(0, SHORT_LIST).map(shortValue);
  return value.length > SHORT_LIST ? [...kept, `… ${value.length - SHORT_LIST} more`] : kept;
}

function shortText(text: string): string {
  return text.length > SHORT_TEXT ? `${text.slice(0, SHORT_TEXT)}…` : text;
}
