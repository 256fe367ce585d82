import { invalid } from '#runtime/errors/service-error.ts';
import {
  calendarDay,
  DAY,
  dayOfTimestamp,
  daysOf,
  isCalendarDay,
  requireTimestamp,
  SECOND,
} from './calendar.ts';

/** Longest text that is read, in characters. */
const LENGTH_MAX = 64;

/** Largest offset from UTC, in hours; so in PostgreSQL. */
const OFFSET_HOURS_MAX = 15;

const shape =
  /^(\d{4})-(\d{1,2})-(\d{1,2})(?:[Tt ] ?(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,](\d+))?)? ?([Zz]|[+-]\d{1,2}(?::?\d{2})?)?)?$/;

/** What a text says, without regard to the offset. */
interface LocalTime {
  /** Microseconds since 1970-01-01. */
  readonly microseconds: bigint;
  /** Minutes before UTC. */
  readonly offset: number;
}

/**
 * Reads a date and time as an instant: `2031-05-01`, `2031-05-01 10:00`, `2031-05-01T10:00:00.5+02:00`. Without an offset it
 * is in UTC. Fractions are rounded to microseconds.
 *
 * @returns microseconds since 1970-01-01 00:00 UTC; undefined: the text has another form
 * @throws {ServiceError} `VALIDATION_FAILED` for a day or time that does not exist
 */
export function parseTimestamptz(text: string): bigint | undefined {
  const local = parseLocal(text);
  return local && requireTimestamp(local.microseconds - BigInt(local.offset * 60) * SECOND);
}

/** As {@link parseTimestamptz}, but an offset has no effect, as in PostgreSQL. */
export function parseTimestamp(text: string): bigint | undefined {
  const local = parseLocal(text);
  return local && requireTimestamp(local.microseconds);
}

/**
 * Reads the date of a text that {@link parseTimestamp} accepts.
 *
 * @returns days since 1970-01-01; undefined: the text has another form
 * @throws {ServiceError} `VALIDATION_FAILED` for a day or time that does not exist
 */
export function parseDate(text: string): number | undefined {
  const microseconds = parseTimestamp(text);
  return microseconds === undefined ? undefined : dayOfTimestamp(microseconds);
}

function parseLocal(text: string): LocalTime | undefined {
  const trimmed = text.length > LENGTH_MAX ? '' : text.trim();
  const match = shape.exec(trimmed);
  if (match === null) return undefined;
  const [year, month, day] = [Number(match[1]), Number(match[2]), Number(match[3])];
  const [hour, minute, second] = [Number(match[4] ?? 0), Number(match[5] ?? 0), Number(match[6] ?? 0)];
  const fraction = fractionOf(match[7]);
  const offset = offsetOf(match[8]);
  // A second may be 60, for a leap second, and the day ends at 24:00.
  const isTime =
    minute < 60 && second <= 60 && (hour < 24 || (hour === 24 && minute + second === 0 && fraction === 0n));
  if (!isCalendarDay({ year, month, day }) || !isTime || offset === undefined)
    throw invalid(`date/time field value out of range: '${trimmed}'`);
  const seconds = daysOf({ year, month, day }) * 86_400 + hour * 3_600 + minute * 60 + second;
  return { microseconds: BigInt(seconds) * SECOND + fraction, offset };
}

/** Microseconds of the digits behind the point, rounded. */
function fractionOf(digits: string | undefined): bigint {
  if (digits === undefined) return 0n;
  const micros = BigInt(digits.slice(0, 6).padEnd(6, '0'));
  return digits.charCodeAt(6) >= 53 ? micros + 1n : micros;
}

/** @returns minutes before UTC; undefined: there is no such offset */
function offsetOf(text: string | undefined): number | undefined {
  if (text === undefined || text === 'Z' || text === 'z') return 0;
  const digits = text.slice(1).replace(':', '');
  const hours = Number(digits.length <= 2 ? digits : digits.slice(0, -2));
  const minutes = digits.length <= 2 ? 0 : Number(digits.slice(-2));
  if (hours > OFFSET_HOURS_MAX || minutes > 59) return undefined;
  return (text.startsWith('-') ? -1 : 1) * (hours * 60 + minutes);
}

/** The text of a date: `2031-05-01`. */
export function dateText(days: number): string {
  const { year, month, day } = calendarDay(days);
  return `${padded(year, 4)}-${padded(month, 2)}-${padded(day, 2)}`;
}

/** The text of a timestamp without a zone, as ISO 8601 has it: `2031-05-01T10:00:00`, `2031-05-01T10:00:00.500`. */
export function timestampText(microseconds: bigint): string {
  const days = dayOfTimestamp(microseconds);
  return `${dateText(days)}T${timeOfDayText(Number(microseconds - BigInt(days) * DAY))}`;
}

/** The text of an instant, in UTC: `2031-05-01T10:00:00Z`. */
export function timestamptzText(microseconds: bigint): string {
  return `${timestampText(microseconds)}Z`;
}

/** The fraction has as many digits as are needed: none, 3 or 6. */
function timeOfDayText(microseconds: number): string {
  const seconds = Math.floor(microseconds / 1e6);
  const fraction = microseconds % 1e6;
  const clock = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60, seconds % 60];
  const text = clock.map((part) => padded(part, 2)).join(':');
  if (fraction === 0) return text;
  return fraction % 1_000 === 0 ? `${text}.${padded(fraction / 1_000, 3)}` : `${text}.${padded(fraction, 6)}`;
}

function padded(value: number, digits: number): string {
  return String(value).padStart(digits, '0');
}
