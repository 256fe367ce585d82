import { jsonBytes } from './json/json-limits.ts';
import type { SqlType } from './sql-type.ts';
import { Jsonb, type SqlValue } from './sql-value.ts';
import { requireTextLength } from './text/text-limit.ts';
import { intervalText } from './time/interval-text.ts';
import { dateText, timestampText, timestamptzText } from './time/timestamp-text.ts';
import { elementOf } from './types/basic-types.ts';

/** Longest text of a value that is neither text, JSON nor an array, in characters. */
const SCALAR_LENGTH = 32;
/** Estimated nanoseconds for writing a character of JSON or of an array. */
const CHARACTER_WORK = 10;

/** How far {@link textLength} is above the length of a text at most. */
const UNITS_PER_UNIT_MAX = 4;

/** An element of an array that is written without quotes. */
const plainElement = /^[^\s{}",\\]+$/;

/**
 * The text of a value, as a cast to TEXT gives it. Timestamps are in the form of ISO 8601, JSON is serialized, arrays are as
 * in PostgreSQL: `{a,"b c",NULL}`.
 *
 * @param value not NULL
 * @throws {ServiceError} `VALIDATION_FAILED` for an array whose text would be far too long
 */
export function toText(value: SqlValue, type: SqlType): string {
  if (typeof value === 'string') return value;
  switch (type.name) {
    case 'double':
      return doubleText(value as number);
    case 'timestamptz':
      return timestamptzText(value as bigint);
    case 'timestamp':
      return timestampText(value as bigint);
    case 'date':
      return dateText(value as number);
    case 'interval':
      return intervalText(value as bigint);
    case 'jsonb':
      return JSON.stringify((value as Jsonb).value);
    case 'array':
      return arrayText(value as readonly SqlValue[], elementOf(type));
    default:
      return String(value);
  }
}

/** Upper bound of the length of {@link toText}, about, in UTF-16 units. Costs no more than a look at each element. */
export function textLength(value: SqlValue): number {
  if (typeof value === 'string') return value.length;
  if (value instanceof Jsonb) return 2 * jsonBytes(value);
  if (typeof value !== 'object' || value === null) return SCALAR_LENGTH;
  let length = 2;
  for (const item of value) length += 4 + textLength(item);
  return length;
}

/** Estimated nanoseconds of {@link toText}. */
export function textWork(value: SqlValue): number {
  return typeof value === 'object' ? textLength(value) * CHARACTER_WORK : 0;
}

/** The elements of an array may share one long text: it is refused before it is written again and again. */
function arrayText(items: readonly SqlValue[], element: SqlType): string {
  requireTextLength(textLength(items) / UNITS_PER_UNIT_MAX, 'The text of an array');
  return `{${items.map((item) => elementText(item, element)).join(',')}}`;
}

function elementText(value: SqlValue, type: SqlType): string {
  if (value === null) return 'NULL';
  const text = toText(value, type);
  if (type.name === 'array' || (plainElement.test(text) && text.toUpperCase() !== 'NULL')) return text;
  return `"${text.replace(/["\\]/g, '\\$&')}"`;
}

/**
 * The shortest text that gives the same double when it is read, in the form of PostgreSQL: `0.1`, `1e+20`, `1e-07`,
 * `Infinity`, `NaN`.
 */
function doubleText(value: number): string {
  if (!Number.isFinite(value)) return String(value);
  if (Object.is(value, -0)) return '-0';
  const size = Math.abs(value);
  if (value === 0 || (size >= 1e-4 && size < 1e15)) return String(value);
  const [mantissa, power] = value.toExponential().split('e') as [string, string];
  return `${mantissa}e${power[0]}${power.slice(1).padStart(2, '0')}`;
}
