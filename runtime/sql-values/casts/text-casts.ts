import { invalid } from '#runtime/errors/service-error.ts';
import { parseDate, parseTimestamp, parseTimestamptz } from '../time/timestamp-text.ts';
import { parseInterval } from '../time/interval-text.ts';
import { parseJson } from '../json/parse-json.ts';
import type { SqlType } from '../sql-type.ts';
import { Jsonb, type SqlValue } from '../sql-value.ts';
import {
  booleanType,
  dateType,
  pathType,
  timestamptzType,
  timestampType,
  uuidType,
} from '../types/basic-types.ts';
import { cannotCast } from './cast-error.ts';
import { bigintOfText, doubleOfText, intOfText } from './number-casts.ts';

const truths: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['t', true],
  ['yes', true],
  ['y', true],
  ['1', true],
  ['false', false],
  ['f', false],
  ['no', false],
  ['n', false],
  ['0', false],
]);

/** Length of the longest of these words, in characters. */
const TRUTH_LENGTH_MAX = 5;

const uuidShape = /^\{?[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}\}?$/i;

/**
 * The value of a text as a type other than an array; NULL only where the type has no values of its own.
 *
 * @throws {ServiceError} `VALIDATION_FAILED` for a text that is no such value
 */
export function valueOfText(text: string, type: SqlType): SqlValue {
  switch (type.name) {
    case 'int':
      return intOfText(text);
    case 'bigint':
      return bigintOfText(text);
    case 'double':
      return doubleOfText(text);
    case 'boolean':
      return booleanOfText(text);
    case 'uuid':
      return uuidOfText(text);
    case 'path':
      return pathOfText(text);
    case 'timestamptz':
      return required(parseTimestamptz(text), text, timestamptzType);
    case 'timestamp':
      return required(parseTimestamp(text), text, timestampType);
    case 'date':
      return required(parseDate(text), text, dateType);
    case 'interval':
      return parseInterval(text);
    case 'jsonb':
      return new Jsonb(parseJson(text));
    default:
      return text;
  }
}

function required<T>(value: T | undefined, text: string, type: SqlType): T {
  if (value === undefined) throw cannotCast(text, type);
  return value;
}

function booleanOfText(text: string): boolean {
  const trimmed = text.trim();
  const word = trimmed.length > TRUTH_LENGTH_MAX ? undefined : truths.get(trimmed.toLowerCase());
  return required(word, text, booleanType);
}

/** The usual form of an identifier, in lower case. */
function uuidOfText(text: string): string {
  if (!uuidShape.test(text) || text.startsWith('{') !== text.endsWith('}')) throw cannotCast(text, uuidType);
  const digits = text.toLowerCase().replace(/[{}-]/g, '');
  return [
    digits.slice(0, 8),
    digits.slice(8, 12),
    digits.slice(12, 16),
    digits.slice(16, 20),
    digits.slice(20),
  ].join('-');
}

/** Longest path, in UTF-16 units: above what can be stored, and so short that every function of paths is. */
const PATH_LENGTH_MAX = 16_384;

function pathOfText(text: string): string {
  if (text.length > PATH_LENGTH_MAX) throw invalid(`A PATH has at most ${PATH_LENGTH_MAX} characters`);
  if (!text.startsWith('/')) throw cannotCast(text, pathType);
  return text;
}
