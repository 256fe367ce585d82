import { describe, expect, it } from 'vitest';
import { PARAMETERS_MAX, parseSqlBody, SQL_LENGTH_MAX } from '#protocols/rest/sql/sql-body.ts';

const invalid = expect.objectContaining({ code: 'VALIDATION_FAILED' });
const unprocessable = expect.objectContaining({ code: 'UNPROCESSABLE_BODY' });

describe('the body of statements', () => {
  it('has a text, and values', () => {
    expect(parseSqlBody({ sql: 'SELECT 1' })).toMatchObject({ sql: 'SELECT 1', parameters: [] });
    const params = ['a', 1, null, { b: [true] }, 12345678901234567890n];
    expect(parseSqlBody({ sql: 'SELECT 1', params })).toMatchObject({ parameters: params });
    expect(parseSqlBody({ sql: 'SELECT 1', params: null })).toMatchObject({ parameters: [] });
    expect(parseSqlBody({ sql: '' })).toMatchObject({ sql: '' });
  });

  it('is refused with other types', () => {
    for (const body of [{}, { sql: null }, { sql: 1 }, { sql: ['SELECT 1'] }, [], 'SELECT 1', undefined])
      expect(() => parseSqlBody(body)).toThrowError(unprocessable);
    for (const params of ['x', 1, { 0: 'x' }, true])
      expect(() => parseSqlBody({ sql: 'SELECT 1', params })).toThrowError(unprocessable);
  });

  it('has bounds', () => {
    expect(parseSqlBody({ sql: ' '.repeat(SQL_LENGTH_MAX) }).sql).toHaveLength(SQL_LENGTH_MAX);
    expect(() => parseSqlBody({ sql: ' '.repeat(SQL_LENGTH_MAX + 1) })).toThrowError(invalid);
    const params = Array(PARAMETERS_MAX).fill(0);
    expect(parseSqlBody({ sql: '', params }).parameters).toHaveLength(PARAMETERS_MAX);
    expect(() => parseSqlBody({ sql: '', params: [...params, 0] })).toThrowError(invalid);
  });
});
