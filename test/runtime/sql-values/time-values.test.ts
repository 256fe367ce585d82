import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { intervalText, parseInterval } from '#runtime/sql-values/time/interval-text.ts';
import {
  dateText,
  parseDate,
  parseTimestamp,
  parseTimestamptz,
  timestampText,
  timestamptzText,
} from '#runtime/sql-values/time/timestamp-text.ts';
import { DATE_MAX, DATE_MIN, TIMESTAMP_MAX, TIMESTAMP_MIN } from '#runtime/sql-values/time/calendar.ts';

/** What PostgreSQL 15 gives for the same texts. */
const instants: readonly (readonly [string, string])[] = [
  ['2031-05-01', '2031-05-01T00:00:00Z'],
  ['2031-5-1 1:02', '2031-05-01T01:02:00Z'],
  [' 2031-05-01T10:00:00.5Z ', '2031-05-01T10:00:00.500Z'],
  ['2031-05-01T10:00:00.1234567Z', '2031-05-01T10:00:00.123457Z'],
  ['2031-12-31T23:59:59.9999999', '2032-01-01T00:00:00Z'],
  ['2031-05-01 24:00:00', '2031-05-02T00:00:00Z'],
  ['2031-05-01 23:59:60', '2031-05-02T00:00:00Z'],
  ['2031-05-01T10:00:00+02', '2031-05-01T08:00:00Z'],
  ['2031-05-01T10:00:00+0230', '2031-05-01T07:30:00Z'],
  ['2031-05-01T10:00:00-15:59', '2031-05-02T01:59:00Z'],
  ['2032-02-29', '2032-02-29T00:00:00Z'],
  ['2000-02-29', '2000-02-29T00:00:00Z'],
  ['1969-12-31 23:59:59.999999', '1969-12-31T23:59:59.999999Z'],
  ['0001-01-01', '0001-01-01T00:00:00Z'],
];

const noInstants = [
  '2031-02-29',
  '1900-02-29',
  '2031-04-31',
  '2031-13-01',
  '2031-00-01',
  '2031-05-00',
  '0000-01-01',
  '2031-05-01 24:00:01',
  '2031-05-01 10:60',
  '2031-05-01 10:00:61',
  '2031-05-01T10:00:00+16',
  '2031-05-01T10:00:00+02:60',
];

describe('timestamps as texts', () => {
  it.each(instants)('reads %s', (text, expected) => {
    expect(timestamptzText(parseTimestamptz(text)!)).toBe(expected);
  });

  it.each(noInstants)('refuses %s, which does not exist', (text) => {
    expect(() => parseTimestamptz(text)).toThrow('date/time field value out of range');
  });

  it.each(['', 'now', '2031-05', '20310501', '31-05-01', '2031-05-01 10', '2031-05-01x', '1'.repeat(70)])(
    'does not know the form of "%s"',
    (text) => {
      expect(parseTimestamptz(text)).toBeUndefined();
    },
  );

  it('refuses what an offset moves out of the range', () => {
    expect(() => parseTimestamptz('9999-12-31T23:59:59-01')).toThrow('timestamp out of range');
    expect(() => parseTimestamptz('0001-01-01T00:00:00+01')).toThrow('timestamp out of range');
  });

  it('ignores the offset of a timestamp without a zone', () => {
    expect(timestampText(parseTimestamp('2031-05-01T10:00:00+02')!)).toBe('2031-05-01T10:00:00');
  });

  it('reads the day of a date with a time', () => {
    expect(dateText(parseDate('1969-12-31T23:00:00Z')!)).toBe('1969-12-31');
    expect(parseDate('1970-01-02')).toBe(1);
  });

  it('agrees with the calendar of JavaScript on every day', () => {
    fc.assert(
      fc.property(fc.integer({ min: DATE_MIN, max: DATE_MAX }), (days) => {
        const text = dateText(days);
        expect(text).toBe(new Date(days * 86_400_000).toISOString().slice(0, 10));
        expect(parseDate(text)).toBe(days);
      }),
      { numRuns: 500 },
    );
  });

  it('reads what it writes', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: TIMESTAMP_MIN, max: TIMESTAMP_MAX }), (micros) => {
        expect(parseTimestamptz(timestamptzText(micros))).toBe(micros);
        expect(parseTimestamp(timestampText(micros))).toBe(micros);
      }),
      { numRuns: 300 },
    );
  });
});

/** What PostgreSQL 15 gives for the same texts, with `justify_hours`. */
const intervals: readonly (readonly [string, string])[] = [
  ['1 day 6 hours', '1 day 06:00:00'],
  ['-1 day -6 hours', '-1 days -06:00:00'],
  ['1.5 days', '1 day 12:00:00'],
  ['90 min', '01:30:00'],
  ['100 us', '00:00:00.0001'],
  ['2 ms', '00:00:00.002'],
  ['1 week 2 days', '9 days'],
  ['1.5 h', '01:30:00'],
  ['25:30', '1 day 01:30:00'],
  ['-00:00:01.5', '-00:00:01.5'],
  ['1 day 06:00:00', '1 day 06:00:00'],
  ['5', '00:00:05'],
  ['1 h 30', '01:00:30'],
  ['2d3h', '2 days 03:00:00'],
  ['.5 s', '00:00:00.5'],
  ['1. s', '00:00:01'],
  ['+3 S', '00:00:03'],
  ['0 days', '00:00:00'],
];

describe('intervals as texts', () => {
  it.each(intervals)('reads %s', (text, expected) => {
    expect(intervalText(parseInterval(text))).toBe(expected);
  });

  it('takes a month for 30 days and a year for 365.25', () => {
    expect(intervalText(parseInterval('1 month'))).toBe('30 days');
    expect(intervalText(parseInterval('2 years'))).toBe('730 days 12:00:00');
    expect(intervalText(parseInterval('-2 days 3 hours'))).toBe('-1 days -21:00:00');
  });

  it('names the unit that it does not know', () => {
    expect(() => parseInterval('3 moons')).toThrow(
      /^Unsupported INTERVAL unit 'moons'. Supported units: microseconds,/,
    );
  });

  it.each([
    '',
    ' ',
    'days',
    '1 day x',
    '1:75',
    '1-2',
    '5 1 day',
    '- -1 day',
    `1 day${' '.repeat(2_000)}1 day`,
  ])('refuses "%s"', (text) => {
    expect(() => parseInterval(text)).toThrow();
  });

  it('refuses what does not fit into 64 bits', () => {
    expect(() => parseInterval('106751992 days')).toThrow('interval out of range');
    expect(parseInterval('106751991 days')).toBe(106_751_991n * 86_400_000_000n);
    expect(() => parseInterval(`${'9'.repeat(900)} days`)).toThrow('interval out of range');
  });

  it('reads what it writes', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), (micros) => {
        expect(parseInterval(intervalText(micros))).toBe(micros);
      }),
      { numRuns: 300 },
    );
  });
});
