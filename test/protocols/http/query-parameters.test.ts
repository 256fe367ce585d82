import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseQuery } from '#protocols/http/query-parameters.ts';

describe('parseQuery', () => {
  it('gives the first value of a name, and all of them in order', () => {
    const query = parseQuery('a=1&b=2&a=3&flag&empty=');
    expect(query.get('a')).toBe('1');
    expect(query.all('a')).toEqual(['1', '3']);
    expect(query.get('flag')).toBe('');
    expect(query.get('empty')).toBe('');
    expect(query.get('missing')).toBeUndefined();
    expect(query.names).toEqual(['a', 'b', 'flag', 'empty']);
  });

  it('finds a camelCase name under its snake_case spelling, camelCase first', () => {
    expect(parseQuery('per_page=5').either('perPage')).toBe('5');
    expect(parseQuery('per_page=5&perPage=6').either('perPage')).toBe('6');
    expect(parseQuery('include_code=true').flag('includeCode')).toBe(true);
  });

  it('reads what URLSearchParams writes', () => {
    const text = fc.string({ unit: 'grapheme' }).filter((value) => value.isWellFormed());
    fc.assert(
      fc.property(fc.array(fc.tuple(text, text), { maxLength: 20 }), (pairs) => {
        const written = new URLSearchParams(pairs).toString();
        const query = parseQuery(written);
        for (const [name] of pairs) {
          if (name === '') continue;
          expect(query.all(name)).toEqual(
            pairs.filter(([other]) => other === name).map(([, value]) => value),
          );
        }
      }),
    );
  });

  it('takes whole numbers within their bounds only', () => {
    const bounds = { min: 1, max: 1000 };
    expect(parseQuery('limit=10').integer('limit', bounds)).toBe(10);
    expect(parseQuery('').integer('limit', bounds)).toBeUndefined();
    for (const bad of ['0', '1001', 'ten', '1.5', '', '1e2', ' 1', '0x10', '99999999999999999999']) {
      expect(() => parseQuery(`limit=${bad}`).integer('limit', bounds)).toThrow(
        /'limit' must be a whole number/,
      );
    }
  });

  it('takes true, 1 and the bare name for yes, false and 0 for no, nothing else', () => {
    expect(parseQuery('deep').flag('deep')).toBe(true);
    expect(parseQuery('deep=1').flag('deep')).toBe(true);
    expect(parseQuery('deep=false').flag('deep')).toBe(false);
    expect(parseQuery('').flag('deep')).toBeUndefined();
    expect(() => parseQuery('deep=yes').flag('deep')).toThrow(/true or false/);
  });

  it('refuses broken percent-encoding and more parameters than its bound', () => {
    expect(() => parseQuery('a=%zz')).toThrow(/'a' has broken percent-encoding/);
    expect(() => parseQuery('a=%ff')).toThrow(/broken percent-encoding/);
    expect(parseQuery(Array.from({ length: 256 }, (_, i) => `p${i}=1`).join('&')).names).toHaveLength(256);
    expect(() => parseQuery(Array.from({ length: 257 }, (_, i) => `p${i}=1`).join('&'))).toThrow(/256/);
  });
});
