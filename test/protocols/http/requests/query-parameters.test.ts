import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseQuery } from '#protocols/http/requests/query-parameters.ts';

describe('parseQuery', () => {
  it('gives the first value of a name, and all of them in order', () => {
    const query = parseQuery('a=1&b=2&a=3&flag&empty=');
    expect(query.get('a')).toBe('1');
    expect(query.all('a')).toEqual(['1', '3']);
    expect(query.get('flag')).toBe('');
    expect(query.get('empty')).toBe('');
    expect(query.get('missing')).toBeUndefined();
  });

  it('goes through the names in order, up to the one that is wanted', () => {
    const asked: string[] = [];
    const found = parseQuery('a=1&b=2&a=3&flag').findName((name) => asked.push(name) > 1);
    expect([found, asked]).toEqual(['b', ['a', 'b']]);
    expect(parseQuery('a=1').findName(() => false)).toBeUndefined();
    expect(parseQuery('').findName(() => true)).toBeUndefined();
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

  it('names the spelling that was used', () => {
    const spelt = (query: string) => parseQuery(query).spelling('perPage');
    expect([spelt('per_page=5'), spelt('perPage=6'), spelt('per_page=5&perPage=6'), spelt('')]).toEqual([
      'per_page',
      'perPage',
      'perPage',
      'perPage',
    ]);
    expect(() => parseQuery('include_system=maybe').flag('includeSystem')).toThrowError(
      expect.objectContaining({
        field: 'include_system',
        message: "The query parameter 'include_system' must be true or false.",
      }),
    );
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
    const most = parseQuery(Array.from({ length: 256 }, (_, i) => `p${i}=1`).join('&'));
    expect([most.get('p0'), most.get('p255')]).toEqual(['1', '1']);
    expect(() => parseQuery(Array.from({ length: 257 }, (_, i) => `p${i}=1`).join('&'))).toThrow(/256/);
  });
});
