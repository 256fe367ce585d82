import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { dateMilliseconds, isDateText, isTimeText } from '#runtime/content/values/date-text.ts';

describe('dates', () => {
  it.each([
    '2024-02-29',
    '2000-02-29',
    '2024-01-31T12:00:00Z',
    '2024-01-31t12:00:00z',
    '2024-01-31 12:00:00+02:00',
    '2024-01-31T23:59:60.123456789-11:30',
  ])('takes %s', (text) => {
    expect(isDateText(text)).toBe(true);
    expect(Number.isFinite(dateMilliseconds(text))).toBe(true);
  });

  it.each([
    '',
    '2023-02-29',
    '1900-02-29',
    '2024-13-01',
    '2024-00-10',
    '2024-04-31',
    '2024-1-1',
    '2024-01-31T24:00:00Z',
    '2024-01-31T12:00:00',
    '2024-01-31T12:00Z',
    '20240131',
    '2024-01-31T12:00:00Z\n',
    'yesterday',
  ])('refuses %j', (text) => {
    expect(isDateText(text)).toBe(false);
  });

  it('takes every date JavaScript writes, and reads the same instant', () => {
    const dates = fc.date({ min: new Date('0001-01-01'), max: new Date('9999-12-31'), noInvalidDate: true });
    fc.assert(
      fc.property(dates, (date) => {
        expect(isDateText(date.toISOString())).toBe(true);
        expect(dateMilliseconds(date.toISOString())).toBe(date.getTime());
      }),
    );
  });

  it('knows times of day', () => {
    for (const text of ['09:30', '23:59:59', '09:30:00.5Z', '09:30+01:00'])
      expect(isTimeText(text)).toBe(true);
    for (const text of ['24:00', '9:30', '09:60', '']) expect(isTimeText(text)).toBe(false);
  });
});
