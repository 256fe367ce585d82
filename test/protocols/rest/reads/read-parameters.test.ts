import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseQuery } from '#protocols/http/requests/query-parameters.ts';
import {
  clampedInteger,
  DEEP_LEVELS_MAX,
  LEVEL_MAX,
  PAGE_LIMIT_MAX,
  parseReadRevision,
  readShapeOf,
} from '#protocols/rest/reads/read-parameters.ts';

const shapeOf = (query: string, isListing = false) => readShapeOf(parseQuery(query), isListing);

describe('what a node read answers', () => {
  it('is the node, or its children with a trailing slash', () => {
    expect(shapeOf('')).toEqual({ kind: 'node' });
    expect(shapeOf('lang=de')).toEqual({ kind: 'node' });
    expect(shapeOf('', true)).toEqual({ kind: 'children' });
    expect(shapeOf('deep=false&flatten=0', true)).toEqual({ kind: 'children' });
  });

  it.each(['cursor=abc', 'limit=3'])('is a page with %s alone', (query) => {
    expect(shapeOf(query, true).kind).toBe('page');
    expect(shapeOf(query, false).kind).toBe('page');
  });

  it('is a page of 100 from the beginning with an empty cursor', () => {
    expect(shapeOf('cursor=', true)).toEqual({ kind: 'page', limit: 100, cursor: undefined });
    expect(shapeOf('cursor=abc', true)).toEqual({ kind: 'page', limit: 100, cursor: 'abc' });
  });

  it('is a map tree down to the level', () => {
    expect(shapeOf('level=3')).toEqual({ kind: 'tree', levels: 3, form: 'map' });
    expect(shapeOf('level=3', true)).toEqual({ kind: 'tree', levels: 3, form: 'map' });
  });

  it('caps level at 10 and deep at 100', () => {
    expect(shapeOf('level=11')).toMatchObject({ levels: LEVEL_MAX });
    expect(shapeOf('deep=true')).toEqual({ kind: 'tree', levels: DEEP_LEVELS_MAX, form: 'map' });
    expect(shapeOf('deep')).toMatchObject({ levels: DEEP_LEVELS_MAX });
  });

  it('is the whole subtree flat with flatten alone, and flatten wins over format', () => {
    expect(shapeOf('flatten=true')).toEqual({ kind: 'tree', levels: DEEP_LEVELS_MAX, form: 'flat' });
    expect(shapeOf('level=2&flatten=true&format=array')).toEqual({ kind: 'tree', levels: 2, form: 'flat' });
    expect(shapeOf('level=2&format=flat')).toEqual(shapeOf('level=2&flatten=true'));
  });

  it('takes each format by name and refuses another', () => {
    expect(shapeOf('level=2&format=array')).toMatchObject({ form: 'array' });
    expect(shapeOf('level=2&format=nested')).toMatchObject({ form: 'map' });
    expect(shapeOf('format=array', true)).toEqual({ kind: 'tree', levels: 1, form: 'array' });
    expect(() => shapeOf('format=xml')).toThrow("'format' must be one of");
    expect(() => shapeOf('format=constructor')).toThrow("'format' must be one of");
  });

  it.each([
    'level=2&limit=5',
    'deep&cursor=',
    'flatten=1&limit=5',
    'format=map&limit=5',
    'format=flat&limit=5',
  ])('is not both a tree and a page: %s', (query) => {
    expect(() => shapeOf(query)).toThrow('a tree is answered whole');
  });

  it('is a page with format=array, since its items are an array', () => {
    expect(shapeOf('format=array&limit=5').kind).toBe('page');
  });
});

describe('a whole number in the query string', () => {
  const bounds = { min: 1, max: PAGE_LIMIT_MAX };

  it('is clamped into its bounds for any value', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(10n ** 40n), max: 10n ** 40n }), (number) => {
        const found = clampedInteger(parseQuery(`limit=${number}`), 'limit', bounds) as number;
        const expected = number < 1n ? 1 : number > 1000n ? 1000 : Number(number);
        expect(found).toBe(expected);
      }),
    );
  });

  it.each(['', 'ten', '1.5', '1e3', '0x10', ' 5', '5,'])('refuses %j', (text) => {
    const query = parseQuery(`limit=${encodeURIComponent(text)}`);
    expect(() => clampedInteger(query, 'limit', bounds)).toThrow('must be a whole number');
  });

  it('is undefined when it is not there', () => {
    expect(clampedInteger(parseQuery('level=1'), 'limit', bounds)).toBeUndefined();
  });
});

describe('a revision to read at', () => {
  it('is read whole, and a bare integer as its first one', () => {
    expect(parseReadRevision('1700000000000-7')).toEqual({ ms: 1700000000000, counter: 7 });
    expect(parseReadRevision('1700000000000')).toEqual({ ms: 1700000000000, counter: 0 });
  });

  it.each(['', 'abc', '1-2-3', '-1', '1-', '1.5'])('refuses %j', (text) => {
    expect(() => parseReadRevision(text)).toThrowError(
      expect.objectContaining({ code: 'INVALID_REVISION_NUMBER' }),
    );
  });
});
