import { invalid } from '#runtime/errors/service-error.ts';

/** A day of the proleptic Gregorian calendar. */
export interface CalendarDay {
  readonly year: number;
  /** 1 to 12. */
  readonly month: number;
  /** 1 to 31. */
  readonly day: number;
}

/** Microseconds of a second. */
export const SECOND = 1_000_000n;
/** Microseconds of a day. */
export const DAY = 86_400n * SECOND;

const YEAR_MIN = 1;
const YEAR_MAX = 9_999;
/** Days of 400 years, after which the calendar repeats. */
const ERA_DAYS = 146_097;
/** Days from 0000-03-01 to 1970-01-01. */
const EPOCH_DAYS = 719_468;

const monthDays = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** Number of days of a month. @param month 1 to 12 */
function daysInMonth(year: number, month: number): number {
  const isLeap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  return month === 2 && isLeap ? 29 : monthDays[month - 1]!;
}

/** Whether a day exists, in the years 1 to 9999. */
export function isCalendarDay({ year, month, day }: CalendarDay): boolean {
  if (year < YEAR_MIN || year > YEAR_MAX || month < 1 || month > 12) return false;
  return day >= 1 && day <= daysInMonth(year, month);
}

/** Days from 1970-01-01 to a day. The year begins in March here, so that the leap day is the last of a year. */
export function daysOf({ year, month, day }: CalendarDay): number {
  const shifted = month <= 2 ? year - 1 : year;
  const era = Math.floor(shifted / 400);
  const yearOfEra = shifted - era * 400;
  const dayOfYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1;
  const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear;
  return era * ERA_DAYS + dayOfEra - EPOCH_DAYS;
}

/** The day that is so many days after 1970-01-01; the inverse of {@link daysOf}. */
export function calendarDay(days: number): CalendarDay {
  const shifted = days + EPOCH_DAYS;
  const era = Math.floor(shifted / ERA_DAYS);
  const dayOfEra = shifted - era * ERA_DAYS;
  const yearOfEra = Math.floor(
    (dayOfEra -
      Math.floor(dayOfEra / 1_460) +
      Math.floor(dayOfEra / 36_524) -
      Math.floor(dayOfEra / (ERA_DAYS - 1))) /
      365,
  );
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const shiftedMonth = Math.floor((5 * dayOfYear + 2) / 153);
  const day = dayOfYear - Math.floor((153 * shiftedMonth + 2) / 5) + 1;
  const month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9;
  return { year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day };
}

/** The first DATE, in days since 1970-01-01. */
export const DATE_MIN = daysOf({ year: YEAR_MIN, month: 1, day: 1 });
/** The last DATE, in days since 1970-01-01. */
export const DATE_MAX = daysOf({ year: YEAR_MAX, month: 12, day: 31 });
/** The first TIMESTAMP, in microseconds since 1970-01-01. */
export const TIMESTAMP_MIN = BigInt(DATE_MIN) * DAY;
/** The last TIMESTAMP, in microseconds since 1970-01-01. */
export const TIMESTAMP_MAX = BigInt(DATE_MAX + 1) * DAY - 1n;

/** The date itself. @throws {ServiceError} `VALIDATION_FAILED` outside of the years 1 to 9999 */
export function requireDate(days: number): number {
  if (!(days >= DATE_MIN && days <= DATE_MAX)) throw invalid('date out of range');
  return days;
}

/** The timestamp itself. @throws {ServiceError} `VALIDATION_FAILED` outside of the years 1 to 9999 */
export function requireTimestamp(microseconds: bigint): bigint {
  if (microseconds < TIMESTAMP_MIN || microseconds > TIMESTAMP_MAX) throw invalid('timestamp out of range');
  return microseconds;
}

/** Days since 1970-01-01 of the day, in UTC, that a timestamp is in. */
export function dayOfTimestamp(microseconds: bigint): number {
  const days = microseconds / DAY;
  return Number(microseconds < 0n && days * DAY !== microseconds ? days - 1n : days);
}
