import { invalid } from '#runtime/errors/service-error.ts';
import type { SqlValue } from '../sql-value.ts';
import { calendarDay, DAY, dayOfTimestamp, daysOf, requireTimestamp, SECOND } from '../time/calendar.ts';
import { startOfDate } from '../time/time-arithmetic.ts';
import { type FunctionDefinition, overloaded, strict } from './overload.ts';

const MILLISECOND = 1_000n;
const MINUTE = 60n * SECOND;
const HOUR = 60n * MINUTE;

/** Days from Monday, 1969-12-29, to 1970-01-01. */
const EPOCH_WEEKDAY = 3;

/** Largest number of seconds in TO_TIMESTAMP that a double still gives to the microsecond, and far beyond all dates. */
const SECONDS_MAX = 1e12;

/** Functions on dates and times. All times are in UTC. */
export const dateFunctions: readonly FunctionDefinition[] = [
  overloaded(
    'DATE_TRUNC',
    strict(['text', 'timestamptz'], 'timestamptz', truncatedTo),
    strict(['text', 'timestamp'], 'timestamp', truncatedTo),
    strict(['text', 'date'], 'timestamptz', (unit, date) => truncatedTo(unit, startOfDate(date))),
  ),
  ...['DATE_PART', 'EXTRACT'].map((name) =>
    overloaded(
      name,
      strict(['text', 'timestamptz'], 'double', partOfTimestamp),
      strict(['text', 'timestamp'], 'double', partOfTimestamp),
      strict(['text', 'date'], 'double', (field, date) => partOfTimestamp(field, startOfDate(date))),
      strict(['text', 'interval'], 'double', partOfInterval),
    ),
  ),
  overloaded('TO_TIMESTAMP', strict(['double'], 'timestamptz', ofSeconds)),
  overloaded(
    'DATE',
    strict(['timestamptz'], 'date', dayOfTimestamp),
    strict(['timestamp'], 'date', dayOfTimestamp),
    strict(['date'], 'date', (date) => date),
  ),
];

function ofSeconds(seconds: number): SqlValue {
  if (!(Math.abs(seconds) <= SECONDS_MAX)) throw invalid('timestamp out of range');
  const whole = Math.floor(seconds);
  return requireTimestamp(BigInt(whole) * SECOND + BigInt(Math.round((seconds - whole) * 1e6)));
}

function floorTo(microseconds: bigint, step: bigint): bigint {
  const rest = microseconds % step;
  return microseconds - (rest < 0n ? rest + step : rest);
}

function firstOfMonth(year: number, month: number): bigint {
  return startOfDate(daysOf({ year, month, day: 1 }));
}

/** Days since Monday of the same week. */
function weekday(days: number): number {
  return (((days + EPOCH_WEEKDAY) % 7) + 7) % 7;
}

const truncations: ReadonlyMap<string, (microseconds: bigint) => bigint> = new Map([
  ['microseconds', (value: bigint) => value],
  ['milliseconds', (value: bigint) => floorTo(value, MILLISECOND)],
  ['second', (value: bigint) => floorTo(value, SECOND)],
  ['minute', (value: bigint) => floorTo(value, MINUTE)],
  ['hour', (value: bigint) => floorTo(value, HOUR)],
  ['day', (value: bigint) => floorTo(value, DAY)],
  ['week', (value: bigint) => startOfDate(dayOfTimestamp(value) - weekday(dayOfTimestamp(value)))],
  ['month', (value: bigint) => firstOfMonth(yearOf(value), monthOf(value))],
  ['quarter', (value: bigint) => firstOfMonth(yearOf(value), monthOf(value) - ((monthOf(value) - 1) % 3))],
  ['year', (value: bigint) => firstOfMonth(yearOf(value), 1)],
  ['decade', (value: bigint) => firstOfMonth(Math.floor(yearOf(value) / 10) * 10, 1)],
  ['century', (value: bigint) => firstOfMonth(Math.floor((yearOf(value) - 1) / 100) * 100 + 1, 1)],
  ['millennium', (value: bigint) => firstOfMonth(Math.floor((yearOf(value) - 1) / 1_000) * 1_000 + 1, 1)],
]);

function yearOf(microseconds: bigint): number {
  return calendarDay(dayOfTimestamp(microseconds)).year;
}

function monthOf(microseconds: bigint): number {
  return calendarDay(dayOfTimestamp(microseconds)).month;
}

/** Microseconds since midnight. */
function timeOf(microseconds: bigint): number {
  return Number(microseconds - floorTo(microseconds, DAY));
}

const timestampParts: ReadonlyMap<string, (microseconds: bigint) => number> = new Map([
  ['microseconds', (value: bigint) => timeOf(value) % 60e6],
  ['milliseconds', (value: bigint) => (timeOf(value) % 60e6) / 1e3],
  ['second', (value: bigint) => (timeOf(value) % 60e6) / 1e6],
  ['minute', (value: bigint) => Math.floor(timeOf(value) / 60e6) % 60],
  ['hour', (value: bigint) => Math.floor(timeOf(value) / 3_600e6)],
  ['day', (value: bigint) => calendarDay(dayOfTimestamp(value)).day],
  ['dow', (value: bigint) => (weekday(dayOfTimestamp(value)) + 1) % 7],
  ['isodow', (value: bigint) => weekday(dayOfTimestamp(value)) + 1],
  ['doy', (value: bigint) => dayOfTimestamp(value) - firstDayOf(yearOf(value)) + 1],
  ['week', (value: bigint) => isoWeek(dayOfTimestamp(value)).week],
  ['isoyear', (value: bigint) => isoWeek(dayOfTimestamp(value)).year],
  ['month', monthOf],
  ['quarter', (value: bigint) => Math.ceil(monthOf(value) / 3)],
  ['year', yearOf],
  ['decade', (value: bigint) => Math.floor(yearOf(value) / 10)],
  ['century', (value: bigint) => Math.ceil(yearOf(value) / 100)],
  ['millennium', (value: bigint) => Math.ceil(yearOf(value) / 1_000)],
  ['epoch', (value: bigint) => Number(value) / 1e6],
  ['timezone', () => 0],
]);

/** An interval is so many microseconds, so it has no months. */
const intervalParts: ReadonlyMap<string, (microseconds: bigint) => number> = new Map([
  ['microseconds', (value: bigint) => Number(value % MINUTE)],
  ['milliseconds', (value: bigint) => Number(value % MINUTE) / 1e3],
  ['second', (value: bigint) => Number(value % MINUTE) / 1e6],
  ['minute', (value: bigint) => Number((value % HOUR) / MINUTE)],
  ['hour', (value: bigint) => Number((value % DAY) / HOUR)],
  ['day', (value: bigint) => Number(value / DAY)],
  ['epoch', (value: bigint) => Number(value) / 1e6],
]);

function firstDayOf(year: number): number {
  return daysOf({ year, month: 1, day: 1 });
}

/** A week belongs to the year of its Thursday. */
function isoWeek(days: number): { readonly year: number; readonly week: number } {
  const thursday = days - weekday(days) + EPOCH_WEEKDAY;
  const { year } = calendarDay(thursday);
  return { year, week: Math.floor((thursday - firstDayOf(year)) / 7) + 1 };
}

/** Also the plural, and the singular of those that are named in the plural. */
function entryOf<T>(entries: ReadonlyMap<string, T>, name: string): T {
  const lower = name.toLowerCase();
  const found = entries.get(lower) ?? entries.get(`${lower}s`) ?? entries.get(lower.replace(/s$/, ''));
  if (found === undefined)
    throw invalid(`Unsupported unit '${name}'. Supported units: ${[...entries.keys()].join(', ')}`);
  return found;
}

function truncatedTo(unit: string, microseconds: bigint): bigint {
  return requireTimestamp(entryOf(truncations, unit)(microseconds));
}

function partOfTimestamp(field: string, microseconds: bigint): number {
  return entryOf(timestampParts, field)(microseconds);
}

function partOfInterval(field: string, microseconds: bigint): number {
  return entryOf(intervalParts, field)(microseconds) + 0;
}
