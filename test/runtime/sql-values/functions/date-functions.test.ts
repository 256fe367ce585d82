import { describe, expect, it } from 'vitest';
import { resolveFunction } from '#runtime/sql-values/functions/function-catalog.ts';
import { parseInterval } from '#runtime/sql-values/time/interval-text.ts';
import { parseTimestamp, timestamptzText } from '#runtime/sql-values/time/timestamp-text.ts';
import {
  dateType,
  doubleType,
  intervalType,
  textType,
  timestamptzType,
  timestampType,
} from '#runtime/sql-values/types/basic-types.ts';

const truncate = resolveFunction('DATE_TRUNC', [textType, timestamptzType]);
const part = resolveFunction('DATE_PART', [textType, timestamptzType]);

/** All expected values are those of PostgreSQL 15 with the time zone UTC. */
describe('DATE_TRUNC', () => {
  it.each([
    ['microseconds', '2024-08-15T13:14:15.678901Z', '1969-12-28T23:59:59.999999Z'],
    ['milliseconds', '2024-08-15T13:14:15.678Z', '1969-12-28T23:59:59.999Z'],
    ['second', '2024-08-15T13:14:15Z', '1969-12-28T23:59:59Z'],
    ['minute', '2024-08-15T13:14:00Z', '1969-12-28T23:59:00Z'],
    ['hour', '2024-08-15T13:00:00Z', '1969-12-28T23:00:00Z'],
    ['day', '2024-08-15T00:00:00Z', '1969-12-28T00:00:00Z'],
    ['week', '2024-08-12T00:00:00Z', '1969-12-22T00:00:00Z'],
    ['month', '2024-08-01T00:00:00Z', '1969-12-01T00:00:00Z'],
    ['quarter', '2024-07-01T00:00:00Z', '1969-10-01T00:00:00Z'],
    ['year', '2024-01-01T00:00:00Z', '1969-01-01T00:00:00Z'],
    ['decade', '2020-01-01T00:00:00Z', '1960-01-01T00:00:00Z'],
    ['century', '2001-01-01T00:00:00Z', '1901-01-01T00:00:00Z'],
    ['millennium', '2001-01-01T00:00:00Z', '1001-01-01T00:00:00Z'],
  ])('%s', (unit, later, earlier) => {
    const [a, b] = ['2024-08-15T13:14:15.678901Z', '1969-12-28T23:59:59.999999Z'].map(parseTimestamp);
    expect(timestamptzText(truncate.evaluate(unit, a!) as bigint)).toBe(later);
    expect(timestamptzText(truncate.evaluate(unit.toUpperCase(), b!) as bigint)).toBe(earlier);
  });

  it('keeps the type of the time, and makes an instant of a date', () => {
    expect(resolveFunction('DATE_TRUNC', [textType, timestampType]).result).toEqual(timestampType);
    const ofDate = resolveFunction('DATE_TRUNC', [textType, dateType]);
    expect(ofDate.result).toEqual(timestamptzType);
    expect(ofDate.evaluate('month', 45)).toBe(parseTimestamp('1970-02-01'));
  });

  it('refuses other units, and results before the first year', () => {
    expect(() => truncate.evaluate('fortnight', 0n)).toThrow(
      "Unsupported unit 'fortnight'. Supported units: microseconds, milliseconds, second",
    );
    expect(() => truncate.evaluate('decade', parseTimestamp('0005-01-01')!)).toThrow(
      'timestamp out of range',
    );
  });
});

describe('DATE_PART', () => {
  it.each([
    ['microseconds', 15678901, 59500000],
    ['milliseconds', 15678.901, 59500],
    ['second', 15.678901, 59.5],
    ['minute', 14, 59],
    ['hour', 13, 23],
    ['day', 15, 1],
    ['dow', 4, 0],
    ['isodow', 4, 7],
    ['doy', 228, 1],
    ['week', 33, 52],
    ['isoyear', 2024, 1960],
    ['month', 8, 1],
    ['quarter', 3, 1],
    ['year', 2024, 1961],
    ['years', 2024, 1961],
    ['decade', 202, 196],
    ['century', 21, 20],
    ['millennium', 3, 2],
    ['epoch', 1723727655.678901, -283910400.5],
    ['timezone', 0, 0],
  ])('%s', (field, later, earlier) => {
    expect(part.evaluate(field, parseTimestamp('2024-08-15T13:14:15.678901Z')!)).toBe(later);
    expect(part.evaluate(field, parseTimestamp('1961-01-01T23:59:59.5Z')!)).toBe(earlier);
  });

  it('takes intervals and dates apart', () => {
    const ofInterval = resolveFunction('EXTRACT', [textType, intervalType]);
    const fields = ['microseconds', 'milliseconds', 'second', 'minute', 'hour', 'day', 'epoch'];
    const parts = (text: string) => fields.map((field) => ofInterval.evaluate(field, parseInterval(text)));
    expect(parts('2 days 3 hours 4 minutes 5.5 seconds')).toEqual([5500000, 5500, 5.5, 4, 3, 2, 183845.5]);
    expect(parts('-2 days -3 hours -4 minutes -5.5 seconds')).toEqual([
      -5500000, -5500, -5.5, -4, -3, -2, -183845.5,
    ]);
    expect(() => ofInterval.evaluate('month', 0n)).toThrow("Unsupported unit 'month'");
    expect(resolveFunction('DATE_PART', [textType, dateType]).evaluate('year', -1)).toBe(1969);
  });
});

describe('conversions', () => {
  it('makes instants of seconds', () => {
    const toTimestamp = resolveFunction('TO_TIMESTAMP', [doubleType]);
    expect(toTimestamp.evaluate(1284352323.5)).toBe(parseTimestamp('2010-09-13T04:32:03.5Z'));
    expect(toTimestamp.evaluate(-0.25)).toBe(parseTimestamp('1969-12-31T23:59:59.75Z'));
    for (const seconds of [Number.NaN, Number.POSITIVE_INFINITY, 1e300, 1e12])
      expect(() => toTimestamp.evaluate(seconds)).toThrow('timestamp out of range');
  });

  it('makes days of instants', () => {
    const date = resolveFunction('DATE', [timestamptzType]);
    expect(date.evaluate(parseTimestamp('1969-12-31T23:00:00Z')!)).toBe(-1);
  });
});
