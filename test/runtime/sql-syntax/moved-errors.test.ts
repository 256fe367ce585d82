import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { movedError, offsetOf, placeIn, placeOf, sqlError } from '#runtime/sql-syntax/sql-error.ts';

describe('a place', () => {
  it('is where it was made of', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 60 }), fc.nat(70), (text, at) => {
        const place = placeOf(text, at);
        const offset = offsetOf(text, place);
        expect(placeOf(text, offset)).toEqual(place);
        // The second half of a pair has the place of the first one behind it, or none of its own.
        expect(Math.abs(offset - Math.min(at, text.length))).toBeLessThanOrEqual(1);
      }),
    );
  });

  it('behind the text or its line is their end', () => {
    expect(offsetOf('ab\ncd', { line: 1, column: 9 })).toBe(2);
    expect(offsetOf('ab\ncd', { line: 7, column: 1 })).toBe(5);
    expect(offsetOf('😀b', { line: 1, column: 2 })).toBe(2);
  });
});

describe('an error of a part of a text', () => {
  const whole = 'SELECT 1 AS a;\n  SELECT bogus AS b';
  const part = 'SELECT bogus AS b';
  const shift = whole.indexOf(part);

  it('is as one of the whole text', () => {
    const error = sqlError('Column not found: bogus', part, { start: part.indexOf('bogus') });
    const moved = movedError(error, part, whole, (offset) => offset + shift);
    const expected = sqlError('Column not found: bogus', whole, { start: whole.indexOf('bogus') });
    expect([moved.code, moved.message, moved.details]).toEqual([
      expected.code,
      expected.message,
      expected.details,
    ]);
    expect(placeIn(moved)).toEqual({ line: 2, column: 10 });
  });

  it('keeps its code, field and other facts', () => {
    const details = { line: 1, column: 8, node: 'b1' };
    const error = new ServiceError('NODE_NOT_FOUND', 'no place in the text', { details, field: 'x' });
    const moved = movedError(error, part, whole, (offset) => offset + shift);
    expect(moved).toMatchObject({
      code: 'NODE_NOT_FOUND',
      message: 'no place in the text',
      field: 'x',
      details: { line: 2, column: 10, node: 'b1' },
    });
  });

  it('has no place where the whole text has none of it', () => {
    const error = sqlError('Column not found: bogus', part, { start: 7 });
    const moved = movedError(error, part, whole, () => undefined);
    expect([moved.message, placeIn(moved)]).toEqual(['Column not found: bogus', undefined]);
  });

  it('without a place is the same', () => {
    const error = new ServiceError('NODE_NOT_FOUND');
    expect(movedError(error, part, whole, (offset) => offset)).toBe(error);
    expect(placeIn(error)).toBeUndefined();
  });
});
