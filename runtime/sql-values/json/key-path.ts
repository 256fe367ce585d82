import { invalid, type ServiceError } from '#runtime/errors/service-error.ts';
import { isJsonArray, type JsonValue } from '#runtime/content/values/json-value.ts';
import { Jsonb, type SqlValue } from '../sql-value.ts';
import { parseJson } from './parse-json.ts';
import { ownText } from '../text/own-text.ts';

/** Most keys of a path. */
const KEYS_MAX = 1_000;

/** Estimated nanoseconds for a character of a path as text. */
const CHARACTER_WORK = 10;

const whole = /^-?\d{1,9}$/;

function badPath(reason: string): ServiceError {
  return invalid(`Invalid path format: ${reason}`);
}

/** Estimated nanoseconds of {@link keysOf}. */
export function keysWork(path: SqlValue): number {
  return typeof path === 'string' ? path.length * CHARACTER_WORK : 0;
}

/**
 * The keys of a path into a JSON value, or of a list of keys: array text `{a,b}`, JSON text `["a","b"]`, a JSON array,
 * or an array of texts.
 *
 * @throws {ServiceError} `VALIDATION_FAILED`
 */
export function keysOf(path: SqlValue): readonly string[] {
  const keys =
    typeof path === 'string' ? keysOfText(path) : path instanceof Jsonb ? keysOfJson(path.value) : path;
  if (!Array.isArray(keys)) throw badPath('expected an array of keys');
  if (keys.length > KEYS_MAX) throw badPath(`more than ${KEYS_MAX} keys`);
  return keys.map((key) => {
    if (typeof key !== 'string') throw badPath('a key is NULL');
    return key;
  });
}

function keysOfJson(value: JsonValue): readonly (string | null)[] {
  if (!isJsonArray(value)) throw badPath('expected an array of keys');
  return value.map((key) => {
    if (typeof key === 'string') return key;
    if (typeof key === 'number') return String(key);
    throw badPath('expected keys and indexes');
  });
}

function keysOfText(text: string): readonly (string | null)[] {
  const trimmed = text.trim();
  if (trimmed.startsWith('[')) return keysOfJson(parseJson(trimmed));
  return parseArrayText(trimmed);
}

/**
 * The elements of an array of texts as text: `{a,"b,c",NULL}`. In quotes, `\` stands before a quote or backslash.
 *
 * @returns null for a NULL without quotes
 * @throws {ServiceError} `VALIDATION_FAILED`
 */
export function parseArrayText(text: string): readonly (string | null)[] {
  if (!text.startsWith('{') || !text.endsWith('}') || text.length < 2)
    throw badPath(`expected '{key,…}', got '${text.slice(0, 80)}'`);
  const end = text.length - 1;
  if (text.slice(1, end).trim() === '') return [];
  const elements: (string | null)[] = [];
  let at = 1;
  while (at <= end) {
    const element = elementAt(text, at, end);
    elements.push(element.value);
    at = element.end + 1;
  }
  return elements;
}

/** An element of an array text, and the offset of the comma or brace after it. */
interface Element {
  readonly value: string | null;
  readonly end: number;
}

function elementAt(text: string, from: number, end: number): Element {
  let at = from;
  while (at < end && text[at] === ' ') at += 1;
  if (text[at] === '"') return quotedAt(text, at, end);
  const pieces: string[] = [];
  let copied = at;
  while (at < end && text[at] !== ',') {
    const unit = text[at];
    if (unit === '{' || unit === '}' || unit === '"') throw badPath(`unexpected '${unit}'`);
    if (unit === '\\') {
      pieces.push(text.slice(copied, at));
      at += 1;
      copied = at;
    }
    at += 1;
  }
  if (at > end) throw badPath('text ends after a backslash');
  pieces.push(text.slice(copied, at));
  const value = ownText(pieces.join('').trimEnd(), text);
  if (value === '') throw badPath('a key is empty; write it as ""');
  return { value: value.toUpperCase() === 'NULL' && pieces.length === 1 ? null : value, end: at };
}

function quotedAt(text: string, quote: number, end: number): Element {
  const pieces: string[] = [];
  let at = quote + 1;
  let copied = at;
  while (at < end && text[at] !== '"') {
    if (text[at] === '\\') {
      pieces.push(text.slice(copied, at));
      at += 1;
      copied = at;
    }
    at += 1;
  }
  if (at >= end) throw badPath('a quote is not closed');
  pieces.push(text.slice(copied, at));
  at += 1;
  while (at < end && text[at] === ' ') at += 1;
  if (at < end && text[at] !== ',') throw badPath(`unexpected '${text[at]}'`);
  return { value: ownText(pieces.join(''), text), end: at };
}

/**
 * The place in an array that a key means; a negative one counts from the end.
 *
 * @returns undefined when the key is no whole number, or there is no such place
 */
export function placeOf(key: string, length: number): number | undefined {
  return isIndex(key) ? placeAt(Number(key), length) : undefined;
}

/** Whether a key is a whole number, so that it may be an index of an array. */
export function isIndex(key: string): boolean {
  return whole.test(key);
}

/** As {@link placeOf}, of a number. */
export function placeAt(index: number, length: number): number | undefined {
  const place = index < 0 ? length + index : index;
  return place >= 0 && place < length ? place : undefined;
}
