import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { implicitCast, resolveCast } from '#runtime/sql-values/casts/resolve-cast.ts';
import { Jsonb, type SqlValue } from '#runtime/sql-values/sql-value.ts';
import { toText } from '#runtime/sql-values/to-text.ts';
import { typeNamed, typeText } from '#runtime/sql-values/types/type-names.ts';
import { commonType, sameType } from '#runtime/sql-values/types/common-type.ts';
import { arrayOf, intType, textType, unknownType } from '#runtime/sql-values/types/basic-types.ts';

function type(name: string) {
  return name.endsWith('[]') ? typeNamed(name.slice(0, -2), true) : typeNamed(name, false);
}

function cast(value: SqlValue, from: string, to: string): SqlValue {
  return resolveCast(type(from), type(to))!.evaluate(value);
}

describe('names of types', () => {
  it.each([
    ['INTEGER', 'INT'],
    ['int4', 'INT'],
    ['Int8', 'BIGINT'],
    ['double precision', 'DOUBLE'],
    ['Double', 'DOUBLE'],
    ['bool', 'BOOLEAN'],
    ['String', 'TEXT'],
    ['varchar', 'TEXT'],
    ['json', 'JSONB'],
    ['timestamp', 'TIMESTAMP'],
  ])('reads %s', (name, expected) => {
    expect(typeText(typeNamed(name, false))).toBe(expected);
    expect(typeText(typeNamed(name, true))).toBe(`${expected}[]`);
  });

  it.each(['numeric', 'Decimal', 'money', 'constructor'])('refuses %s', (name) => {
    expect(() => typeNamed(name, false)).toThrow(`Unsupported SQL type: ${name.toUpperCase()}`);
  });
});

describe('common types', () => {
  it.each([
    [['int', 'bigint'], 'BIGINT'],
    [['double', 'int', 'bigint'], 'DOUBLE'],
    [['path', 'text'], 'TEXT'],
    [['uuid', 'uuid'], 'UUID'],
    [['date', 'timestamptz', 'timestamp'], 'TIMESTAMPTZ'],
    [['int[]', 'double[]'], 'DOUBLE[]'],
  ])('of %s is %s', (names, expected) => {
    expect(typeText(commonType(names.map(type)))).toBe(expected);
  });

  it('leaves an unknown type to the others, and is text without any', () => {
    expect(commonType([unknownType, intType])).toBe(intType);
    expect(commonType([unknownType, unknownType])).toBe(textType);
    expect(commonType([])).toBe(textType);
  });

  it.each([
    ['int', 'text'],
    ['jsonb', 'text'],
    ['boolean', 'int'],
    ['interval', 'date'],
    ['int[]', 'int'],
  ])('does not exist for %s and %s', (a, b) => {
    expect(() => commonType([type(a), type(b)])).toThrow(
      `Type mismatch: expected ${a.toUpperCase()}, got ${b.toUpperCase()}`,
    );
  });

  it('compares the elements of arrays', () => {
    expect(sameType(type('int[]'), type('int[]'))).toBe(true);
    expect(sameType(type('int[]'), type('text[]'))).toBe(false);
    expect(sameType(type('int'), type('int[]'))).toBe(false);
  });
});

describe('casts of texts', () => {
  it.each([
    ['41', 'int', 41],
    [' -41 ', 'int', -41],
    ['41.9', 'int', 41],
    ['-41.9', 'int', -41],
    ['1e3', 'int', 1000],
    ['.9', 'int', 0],
    ['0000000000000000000000000000007', 'int', 7],
    ['-2147483648', 'int', -2147483648],
    ['9007199254740993.9', 'bigint', 9007199254740993n],
    ['-9223372036854775808', 'bigint', -9223372036854775808n],
    ['1.5', 'double', 1.5],
    ['-Infinity', 'double', Number.NEGATIVE_INFINITY],
    ['NaN', 'double', Number.NaN],
    ['YES', 'boolean', true],
    ['t', 'boolean', true],
    ['1', 'boolean', true],
    ['No', 'boolean', false],
    ['0', 'boolean', false],
    ['/a/b', 'path', '/a/b'],
    ['A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11', 'uuid', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'],
    ['{a0eebc999c0b4ef8bb6d6bb9bd380a11}', 'uuid', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'],
  ])('reads %s as %s', (text, to, expected) => {
    expect(cast(text, 'text', to)).toBe(expected);
  });

  it.each([
    ['x', 'int'],
    ['', 'int'],
    ['0x10', 'int'],
    ['1 2', 'int'],
    ['1e', 'bigint'],
    ['--1', 'double'],
    ['ja', 'boolean'],
    ['a/b', 'path'],
    ['', 'path'],
    ['a0eebc99', 'uuid'],
    ['{a0eebc999c0b4ef8bb6d6bb9bd380a11', 'uuid'],
    ['soon', 'timestamptz'],
    ['soon', 'date'],
  ])('refuses "%s" as %s', (text, to) => {
    expect(() => cast(text, 'text', to)).toThrow(`Cannot cast '${text}' to ${to.toUpperCase()}`);
  });

  it.each([
    ['2147483648', 'int', 'integer out of range'],
    ['-2147483649', 'int', 'integer out of range'],
    ['1e300', 'int', 'integer out of range'],
    ['9223372036854775808', 'bigint', 'bigint out of range'],
    [`-${'9'.repeat(100)}`, 'bigint', 'bigint out of range'],
    ['1e400', 'bigint', 'bigint out of range'],
    ['1e400', 'double', 'value out of range: overflow'],
  ])('refuses %s as %s, which is out of range', (text, to, message) => {
    expect(() => cast(text, 'text', to)).toThrow(message);
  });

  it('cuts a long text in a message', () => {
    expect(() => cast('x'.repeat(1_000), 'text', 'int')).toThrow(/^Cannot cast 'x{100}…' to INT$/);
  });

  it('reads long hostile texts in linear time', () => {
    const zeros = '0'.repeat(300_000);
    expect(() => cast(`${zeros}x`, 'text', 'int')).toThrow('Cannot cast');
    expect(cast(`${zeros}1`, 'text', 'bigint')).toBe(1n);
    expect(() => cast(`${'9'.repeat(300_000)}x`, 'text', 'double')).toThrow('Cannot cast');
    expect(() => cast('9'.repeat(300_000), 'text', 'int')).toThrow('integer out of range');
  });

  it('reads JSON', () => {
    expect(cast('{"a":[1]}', 'text', 'jsonb')).toEqual(new Jsonb({ a: [1] }));
    expect(() => cast('{', 'text', 'jsonb')).toThrow('Invalid JSON literal');
  });

  it('reads arrays', () => {
    expect(cast('{1,NULL,3}', 'text', 'int[]')).toEqual([1, null, 3]);
    expect(cast('{"a b",c}', 'text', 'text[]')).toEqual(['a b', 'c']);
  });
});

describe('casts of numbers', () => {
  it('cuts fractions off', () => {
    expect(cast(2.9, 'double', 'int')).toBe(2);
    expect(cast(-2.9, 'double', 'int')).toBe(-2);
    expect(Object.is(cast(-0.5, 'double', 'int'), 0)).toBe(true);
    expect(cast(1e18, 'double', 'bigint')).toBe(10n ** 18n);
  });

  it.each([
    [2147483648, 'double', 'int', 'integer out of range'],
    [Number.NaN, 'double', 'int', 'integer out of range'],
    [2147483648n, 'bigint', 'int', 'integer out of range'],
    [9.3e18, 'double', 'bigint', 'bigint out of range'],
    [Number.NaN, 'double', 'bigint', 'bigint out of range'],
    [Number.POSITIVE_INFINITY, 'double', 'bigint', 'bigint out of range'],
  ])('refuses %s of %s as %s', (value, from, to, message) => {
    expect(() => cast(value, from, to)).toThrow(message);
  });

  it('makes JSON of them', () => {
    expect(cast(1, 'int', 'jsonb')).toEqual(new Jsonb(1));
    expect(cast(9007199254740993n, 'bigint', 'jsonb')).toEqual(new Jsonb(9007199254740993n));
    expect(cast(true, 'boolean', 'jsonb')).toEqual(new Jsonb(true));
  });
});

describe('casts of JSON', () => {
  it.each([
    [new Jsonb('40'), 'int', 40],
    [new Jsonb(40.7), 'int', 40],
    [new Jsonb('yes'), 'boolean', true],
    [new Jsonb(true), 'boolean', true],
    [new Jsonb('/a'), 'path', '/a'],
    [new Jsonb(null), 'int', null],
    [new Jsonb('1970-01-02'), 'date', 1],
    [new Jsonb('x'), 'text', '"x"'],
    [new Jsonb(null), 'text', 'null'],
    [new Jsonb([9007199254740993n]), 'text', '[9007199254740993]'],
    [new Jsonb({ b: 1, a: [true, null] }), 'text', '{"b":1,"a":[true,null]}'],
  ])('%o as %s', (json, to, expected) => {
    expect(cast(json, 'jsonb', to)).toBe(expected);
  });

  it('takes the elements of arrays', () => {
    const json = new Jsonb(['a', 1, null, { k: 1 }]);
    expect(cast(json, 'jsonb', 'text[]')).toEqual(['a', '1', null, '{"k":1}']);
    expect(cast(new Jsonb([1, '2']), 'jsonb', 'int[]')).toEqual([1, 2]);
    expect(() => cast(new Jsonb({}), 'jsonb', 'int[]')).toThrow('Cannot cast JSONB to INT[]');
    expect(() => cast(new Jsonb({}), 'jsonb', 'int')).toThrow("Cannot cast '{}' to INT");
  });
});

describe('casts of times', () => {
  it('takes the day of a timestamp', () => {
    expect(cast(-1n, 'timestamptz', 'date')).toBe(-1);
    expect(cast(-1, 'date', 'timestamp')).toBe(-86_400_000_000n);
  });
});

describe('which casts there are', () => {
  it.each([
    ['int', 'double'],
    ['text', 'path'],
    ['path', 'text'],
    ['int[]', 'bigint[]'],
    ['date', 'timestamptz'],
  ])('%s becomes %s by itself', (from, to) => {
    expect(implicitCast(type(from), type(to))?.result).toEqual(type(to));
  });

  it.each([
    ['text', 'int'],
    ['int', 'text'],
    ['double', 'int'],
    ['text', 'jsonb'],
    ['jsonb', 'text'],
    ['text[]', 'int[]'],
  ])('%s becomes %s only where it is written', (from, to) => {
    expect(implicitCast(type(from), type(to))).toBeUndefined();
    expect(resolveCast(type(from), type(to))).toBeDefined();
  });

  it.each([
    ['interval', 'int'],
    ['boolean', 'double'],
    ['int', 'date'],
    ['uuid', 'path'],
    ['int', 'int[]'],
  ])('%s cannot become %s', (from, to) => {
    expect(resolveCast(type(from), type(to))).toBeUndefined();
  });

  it('lets a literal become anything', () => {
    for (const name of ['int', 'date', 'jsonb', 'text[]', 'path']) {
      expect(implicitCast(unknownType, type(name))?.result).toEqual(type(name));
    }
  });
});

describe('texts of values', () => {
  /** What PostgreSQL 15 writes. */
  it.each([
    [1e15, '1e+15'],
    [123456789012345, '123456789012345'],
    [0.0001, '0.0001'],
    [0.00001, '1e-05'],
    [1e-7, '1e-07'],
    [1e20, '1e+20'],
    [-0, '-0'],
    [1.2345678901234568e17, '1.2345678901234568e+17'],
    [-1.5e300, '-1.5e+300'],
    [5e-324, '5e-324'],
    [0.1, '0.1'],
    [Number.NEGATIVE_INFINITY, '-Infinity'],
    [Number.NaN, 'NaN'],
  ])('of %s is %s', (value, expected) => {
    expect(toText(value, type('double'))).toBe(expected);
  });

  it('quotes elements of arrays where they need it', () => {
    const items = ['a', 'b c', '', 'NULL', 'q"\\', null, '{}'];
    expect(toText(items, arrayOf(textType))).toBe('{a,"b c","","NULL","q\\"\\\\",NULL,"{}"}');
    expect(cast(toText(items, arrayOf(textType)), 'text', 'text[]')).toEqual(items);
  });

  it('is refused for an array that repeats a long text', () => {
    const long = 'x'.repeat(1_000_000);
    expect(() => toText(new Array<string>(1_000).fill(long), arrayOf(textType))).toThrow(
      'longer than 16 MiB',
    );
    expect(() => cast(new Array<string>(20).fill(long), 'text[]', 'text')).toThrow('longer than 16 MiB');
  });

  it('are read as the same value', () => {
    fc.assert(
      fc.property(fc.double(), fc.maxSafeInteger(), fc.array(fc.string()), (double, whole, texts) => {
        expect(cast(cast(double, 'double', 'text'), 'text', 'double')).toBe(double);
        expect(cast(cast(BigInt(whole), 'bigint', 'text'), 'text', 'bigint')).toBe(BigInt(whole));
        expect(cast(cast(texts, 'text[]', 'text'), 'text', 'text[]')).toEqual(texts);
      }),
      { numRuns: 200 },
    );
  });
});

describe('work', () => {
  it('is estimated where it depends on a length', () => {
    const work = (from: string, to: string, value: SqlValue) =>
      resolveCast(type(from), type(to))!.work?.([value]);
    for (const to of ['int', 'double', 'jsonb', 'text[]', 'uuid']) {
      expect(work('text', to, 'x'.repeat(1_000))).toBeGreaterThan(900);
    }
    expect(work('jsonb', 'text', new Jsonb('x'.repeat(1_000)))).toBeGreaterThan(900);
    expect(work('text[]', 'jsonb', ['x'.repeat(1_000)])).toBeGreaterThan(900);
    expect(work('int', 'double', 1)).toBeUndefined();
    expect(work('text', 'int', null)).toBe(0);
  });
});

it('a PATH has at most 16,384 characters, so that no function of paths takes long', () => {
  const longest = `/${'a'.repeat(16_383)}`;
  expect(cast(longest, 'text', 'path')).toBe(longest);
  expect(() => cast(`${longest}a`, 'text', 'path')).toThrow('A PATH has at most 16384 characters');
});
