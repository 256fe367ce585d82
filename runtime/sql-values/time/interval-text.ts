import { invalid } from '#runtime/errors/service-error.ts';
import { shortened } from '../text-excerpt.ts';
import { DAY, SECOND } from './calendar.ts';
import { requireInterval } from './time-arithmetic.ts';

/** Longest text that is read, in characters. */
const LENGTH_MAX = 1_000;

const MINUTE = 60n * SECOND;
const HOUR = 60n * MINUTE;

/** Microseconds of each unit, by all of its names. */
const units: ReadonlyMap<string, bigint> = new Map(
  (
    [
      [1n, 'us', 'µs', 'usec', 'usecs', 'microsecond', 'microseconds'],
      [1_000n, 'ms', 'msec', 'msecs', 'millisecond', 'milliseconds'],
      [SECOND, 's', 'sec', 'secs', 'second', 'seconds'],
      [MINUTE, 'm', 'min', 'mins', 'minute', 'minutes'],
      [HOUR, 'h', 'hr', 'hrs', 'hour', 'hours'],
      [DAY, 'd', 'day', 'days'],
      [7n * DAY, 'w', 'week', 'weeks'],
      [30n * DAY, 'mon', 'mons', 'month', 'months'],
      [(1_461n * DAY) / 4n, 'y', 'yr', 'yrs', 'year', 'years'],
    ] as const
  ).flatMap(([size, ...names]) => names.map((name): [string, bigint] => [name, size])),
);

const supported =
  'microseconds, milliseconds, seconds, minutes, hours, days, weeks, months (30 days), years (365.25 days)';

const clockShape = /\s*([+-]?)(\d+):(\d{1,2})(?::(\d{1,2})(?:\.(\d*))?)?(?=\s|$)/y;
const amountShape = /\s*([+-]?)(?:(\d+)(?:\.(\d*))?|\.(\d+))\s*([^\s\d.+-]*)/y;

/**
 * Reads a duration: pairs of a number and a unit, and a time of day: `2 days 3 hours`, `1.5 h`, `-1 day 06:00:00`. A number
 * without a unit is in seconds.
 *
 * @returns microseconds
 * @throws {ServiceError} `VALIDATION_FAILED`
 */
export function parseInterval(text: string): bigint {
  const end = text.trimEnd().length;
  let total = 0n;
  let at = 0;
  if (end > LENGTH_MAX || end === 0) throw notAnInterval(text);
  while (at < end) {
    clockShape.lastIndex = at;
    amountShape.lastIndex = at;
    const clock = clockShape.exec(text);
    const match = clock ?? amountShape.exec(text);
    // Only the last number may be without a unit: `1-2` means months elsewhere.
    if (match === null || (clock === null && match[5] === '' && at + match[0].length < end))
      throw notAnInterval(text);
    total += clock === null ? amountOf(match) : clockOf(clock, text);
    at += match[0].length;
  }
  return requireInterval(total);
}

/** Microseconds of a number with its unit. */
function amountOf([, sign, whole = '0', fraction, onlyFraction, unit]: RegExpExecArray): bigint {
  const size = unit === '' ? SECOND : units.get(unit!.toLowerCase());
  if (size === undefined)
    throw invalid(`Unsupported INTERVAL unit '${shortened(unit!)}'. Supported units: ${supported}`);
  const micros = BigInt(whole) * size + fractionOf(fraction ?? onlyFraction ?? '', size);
  return sign === '-' ? -micros : micros;
}

/** Microseconds of a time of day; the sign holds for all of it. */
function clockOf(
  [, sign, hours, minutes, seconds = '0', fraction = '']: RegExpExecArray,
  text: string,
): bigint {
  if (Number(minutes) > 59 || Number(seconds) > 59) throw notAnInterval(text);
  const whole = BigInt(hours!) * HOUR + BigInt(minutes!) * MINUTE + BigInt(seconds) * SECOND;
  const micros = whole + fractionOf(fraction, SECOND);
  return sign === '-' ? -micros : micros;
}

/** Microseconds of the digits behind the point, rounded to the nearest. */
function fractionOf(digits: string, size: bigint): bigint {
  if (digits === '') return 0n;
  const scale = 10n ** BigInt(digits.length);
  return (BigInt(digits) * size * 2n + scale) / (2n * scale);
}

function notAnInterval(text: string): Error {
  return invalid(`Cannot cast '${shortened(text)}' to INTERVAL`);
}

/** The text of a duration, as PostgreSQL writes days and hours: `1 day 06:00:00`, `-2 days -00:00:01.5`, `00:00:00`. */
export function intervalText(microseconds: bigint): string {
  const isNegative = microseconds < 0n;
  const size = isNegative ? -microseconds : microseconds;
  const sign = isNegative ? '-' : '';
  const days = size / DAY;
  const time = size % DAY;
  const dayText = days === 0n ? '' : `${sign}${days} ${days === 1n && !isNegative ? 'day' : 'days'}`;
  if (time === 0n && days !== 0n) return dayText;
  const clock = [time / HOUR, (time / MINUTE) % 60n, (time / SECOND) % 60n];
  const clockText = clock.map((part) => String(part).padStart(2, '0')).join(':');
  const fraction = String(time % SECOND)
    .padStart(6, '0')
    .replace(/0+$/, '');
  return `${dayText}${dayText === '' ? '' : ' '}${sign}${clockText}${fraction === '' ? '' : `.${fraction}`}`;
}
