import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { resolveCast } from '#runtime/sql-values/casts/resolve-cast.ts';
import { resolveOperator } from '#runtime/sql-values/operators/resolve-operator.ts';
import type { SqlType } from '#runtime/sql-values/sql-type.ts';
import { Jsonb, type SqlValue } from '#runtime/sql-values/sql-value.ts';
import { intervalText, parseInterval } from '#runtime/sql-values/time/interval-text.ts';
import { toText } from '#runtime/sql-values/to-text.ts';
import { unknownType } from '#runtime/sql-values/types/basic-types.ts';
import { sameType } from '#runtime/sql-values/types/common-type.ts';
import { typeNamed, typeText } from '#runtime/sql-values/types/type-names.ts';

function type(name: string): SqlType {
  if (name === 'unknown') return unknownType;
  return name.endsWith('[]') ? typeNamed(name.slice(0, -2), true) : typeNamed(name, false);
}

function cast(value: SqlValue, from: SqlType, to: SqlType): SqlValue {
  if (value === null || sameType(from, to)) return value;
  return resolveCast(from, to)!.evaluate(value);
}

/** Evaluates an operator as an executor does: the operands are cast to its parameters. */
function apply(operator: string, ...operands: readonly (readonly [SqlValue, string])[]): SqlValue {
  const types = operands.map(([, name]) => type(name));
  const { evaluate, isStrict, parameters } = resolveOperator(operator, types);
  const values = operands.map(([value], index) => cast(value, types[index]!, parameters[index]!));
  return isStrict && values.includes(null) ? null : evaluate(...values);
}

/** The text of the result for operands that are given as texts, with its type. */
function ofTexts(operator: string, ...operands: readonly (readonly [string, string])[]): string {
  const types = operands.map(([, name]) => type(name));
  const { result } = resolveOperator(operator, types);
  const values = operands.map(([text, name]): [SqlValue, string] => [
    cast(text, type('text'), type(name)),
    name,
  ]);
  return `${typeText(result)} ${toText(apply(operator, ...values), result)}`;
}

describe('arithmetic of numbers', () => {
  it.each([
    ['+', 1, 2, 3],
    ['-', 1, 2, -1],
    ['*', 3, 2, 6],
    ['/', 7, 2, 3.5],
    ['%', 7, 4, 3],
    ['%', -7, 4, -3],
  ])('%s of %s and %s gives a double', (operator, a, b, expected) => {
    expect(apply(operator, [a, 'int'], [b, 'int'])).toBe(expected);
    expect(apply(operator, [BigInt(a), 'bigint'], [b, 'double'])).toBe(expected);
    expect(resolveOperator(operator, [type('int'), type('int')]).result.name).toBe('double');
  });

  it('refuses a division by zero, of doubles too', () => {
    for (const operator of ['/', '%']) {
      for (const name of ['int', 'double']) {
        expect(() => apply(operator, [1, name], [0, name])).toThrow('Division by zero');
        expect(() => apply(operator, [1, name], [-0, name])).toThrow('Division by zero');
      }
      expect(() => apply(operator, [1n, 'bigint'], [0n, 'bigint'])).toThrow('Division by zero');
    }
  });

  it('refuses results that a double cannot hold', () => {
    const [large, small] = [1.7e308, 1e-300];
    expect(() => apply('+', [large, 'double'], [large, 'double'])).toThrow('value out of range: overflow');
    expect(() => apply('-', [-large, 'double'], [large, 'double'])).toThrow('value out of range: overflow');
    expect(() => apply('*', [large, 'double'], [2, 'int'])).toThrow('value out of range: overflow');
    expect(() => apply('/', [large, 'double'], [0.1, 'double'])).toThrow('value out of range: overflow');
    expect(() => apply('*', [small, 'double'], [small, 'double'])).toThrow('value out of range: underflow');
    expect(() => apply('/', [small, 'double'], [large, 'double'])).toThrow('value out of range: underflow');
  });

  it('computes with infinity', () => {
    const infinity = Number.POSITIVE_INFINITY;
    expect(apply('+', [infinity, 'double'], [1, 'int'])).toBe(infinity);
    expect(apply('/', [1, 'int'], [infinity, 'double'])).toBe(0);
    expect(apply('*', [0, 'int'], [infinity, 'double'])).toBeNaN();
  });

  it('keeps the type under a sign', () => {
    expect(apply('-', [5, 'int'])).toBe(-5);
    expect(Object.is(apply('-', [0, 'int']), 0)).toBe(true);
    expect(apply('-', [5n, 'bigint'])).toBe(-5n);
    expect(apply('+', [5.5, 'double'])).toBe(5.5);
    expect(resolveOperator('-', [type('int')]).result.name).toBe('int');
    expect(apply('-', [parseInterval('1 day'), 'interval'])).toBe(-86_400_000_000n);
    expect(() => apply('-', [-(2 ** 31), 'int'])).toThrow('integer out of range');
    expect(() => apply('-', [-(2n ** 63n), 'bigint'])).toThrow('bigint out of range');
    expect(() => apply('-', ['a', 'text'])).toThrow('Type mismatch: expected DOUBLE, got TEXT');
  });

  it('gives NULL for NULL', () => {
    expect(apply('+', [null, 'int'], [1, 'int'])).toBeNull();
    expect(apply('/', [1, 'int'], [null, 'int'])).toBeNull();
  });
});

describe('arithmetic of times', () => {
  /** What PostgreSQL 15 gives; hours beyond a day are made days by it with `justify_hours`. */
  it.each([
    [
      '2031-01-31T00:00:00Z',
      'timestamptz',
      '+',
      '1 day 6 hours',
      'interval',
      'TIMESTAMPTZ 2031-02-01T06:00:00Z',
    ],
    ['1 day', 'interval', '+', '2031-01-31T00:00:00Z', 'timestamptz', 'TIMESTAMPTZ 2031-02-01T00:00:00Z'],
    ['2031-03-01', 'timestamptz', '-', '1 day', 'interval', 'TIMESTAMPTZ 2031-02-28T00:00:00Z'],
    ['2031-03-01', 'timestamptz', '-', '2031-02-27 12:00', 'timestamptz', 'INTERVAL 1 day 12:00:00'],
    ['2031-03-01', 'timestamptz', '-', '2031-02-28', 'date', 'INTERVAL 1 day'],
    ['2031-03-01', 'timestamp', '-', '2031-03-02', 'timestamp', 'INTERVAL -1 days'],
    ['2031-03-01', 'date', '+', '3', 'int', 'DATE 2031-03-04'],
    ['3', 'int', '+', '2031-03-01', 'date', 'DATE 2031-03-04'],
    ['2031-03-01', 'date', '-', '1', 'int', 'DATE 2031-02-28'],
    ['2031-03-01', 'date', '-', '2031-02-01', 'date', 'INT 28'],
    ['2031-03-01', 'date', '+', '90 min', 'interval', 'TIMESTAMP 2031-03-01T01:30:00'],
    ['2031-03-01', 'date', '-', '90 min', 'interval', 'TIMESTAMP 2031-02-28T22:30:00'],
    ['1 day', 'interval', '+', '6 hours', 'interval', 'INTERVAL 1 day 06:00:00'],
    ['1 day', 'interval', '-', '30 hours', 'interval', 'INTERVAL -06:00:00'],
    ['1 day', 'interval', '*', '2', 'int', 'INTERVAL 2 days'],
    ['2', 'bigint', '*', '1 day', 'interval', 'INTERVAL 2 days'],
    ['1.5', 'double', '*', '1 day', 'interval', 'INTERVAL 1 day 12:00:00'],
    ['1 day', 'interval', '/', '4', 'int', 'INTERVAL 06:00:00'],
    ['1 day', 'interval', '/', '0.5', 'double', 'INTERVAL 2 days'],
  ])('%s::%s %s %s::%s', (a, aType, operator, b, bType, expected) => {
    expect(ofTexts(operator, [a, aType], [b, bType])).toBe(expected);
  });

  it('takes a literal for an interval where it is added, and for a time where it is subtracted', () => {
    expect(resolveOperator('+', [type('timestamptz'), unknownType]).parameters[1]?.name).toBe('interval');
    expect(resolveOperator('-', [type('timestamptz'), unknownType]).parameters[1]?.name).toBe('timestamptz');
    expect(resolveOperator('+', [unknownType, type('interval')]).parameters[0]?.name).toBe('interval');
  });

  it('refuses what is out of range', () => {
    expect(() => ofTexts('+', ['9999-12-31', 'timestamptz'], ['1 day', 'interval'])).toThrow(
      'timestamp out of range',
    );
    expect(() => ofTexts('-', ['0001-01-01', 'date'], ['1', 'int'])).toThrow('date out of range');
    expect(() => ofTexts('+', ['100000000 days', 'interval'], ['100000000 days', 'interval'])).toThrow(
      'interval out of range',
    );
    expect(() => ofTexts('*', ['1 day', 'interval'], ['1e300', 'double'])).toThrow('interval out of range');
    expect(() => ofTexts('*', ['1 day', 'interval'], ['NaN', 'double'])).toThrow('interval out of range');
    expect(() => ofTexts('*', ['1 day', 'interval'], ['9007199254740993', 'bigint'])).toThrow(
      'interval out of range',
    );
    expect(() => ofTexts('/', ['1 day', 'interval'], ['0', 'int'])).toThrow('Division by zero');
  });

  it.each([
    ['timestamptz', '+', 'timestamptz', 'Type mismatch'],
    ['interval', '-', 'timestamptz', 'Type mismatch'],
    ['timestamptz', '*', 'int', 'Type mismatch'],
    ['int', '-', 'date', 'Type mismatch: expected INT, got DATE'],
    ['int', '/', 'interval', 'Type mismatch: expected INT, got INTERVAL'],
    ['text', '+', 'int', 'Type mismatch: expected TEXT, got INT'],
    ['int', '+', 'text', 'Type mismatch: expected INT, got TEXT'],
    ['int', '+', 'unknown', 'Type mismatch: expected INT, got TEXT'],
    ['unknown', '+', 'unknown', 'Type mismatch: expected DOUBLE, got TEXT'],
    ['boolean', '+', 'boolean', 'Type mismatch: expected DOUBLE, got BOOLEAN'],
  ])('%s %s %s is refused', (a, operator, b, message) => {
    expect(() => resolveOperator(operator, [type(a), type(b)])).toThrow(message);
  });
});

describe('comparisons', () => {
  it.each([
    [1, 'int', '<', 1.5, 'double', true],
    [1, 'int', '=', 1n, 'bigint', true],
    [9007199254740993n, 'bigint', '>', 9007199254740992, 'double', true],
    [9007199254740993n, 'bigint', '=', 9007199254740992, 'double', false],
    [0, 'int', '=', -0, 'double', true],
    [Number.NaN, 'double', '=', Number.NaN, 'double', true],
    [Number.NaN, 'double', '>', Number.POSITIVE_INFINITY, 'double', true],
    [Number.NaN, 'double', '<=', 1n, 'bigint', false],
    [1n, 'bigint', '<', Number.NaN, 'double', true],
    [0.1 + 0.2, 'double', '=', 0.3, 'double', false],
    ['10', 'text', '<', '9', 'text', true],
    ['Z', 'text', '<', 'a', 'text', true],
    ['\u{1f600}', 'text', '>', '\uffee', 'text', true],
    ['/a', 'path', '=', '/a', 'text', true],
    ['/a', 'path', '<', '/a/b', 'path', true],
    [false, 'boolean', '<', true, 'boolean', true],
    [1, 'date', '<=', 86_400_000_000n, 'timestamptz', true],
    ['1970-01-02', 'unknown', '=', 1, 'date', true],
    ['yes', 'unknown', '=', true, 'boolean', true],
    [true, 'boolean', '=', 'no', 'unknown', false],
    [parseInterval('24 hours'), 'interval', '=', '1 day', 'unknown', true],
    [new Jsonb({ a: 1, b: 2 }), 'jsonb', '=', new Jsonb({ b: 2, a: 1 }), 'jsonb', true],
    [new Jsonb({ a: 1 }), 'jsonb', '=', '{"a":1}', 'unknown', true],
    [new Jsonb([1, 2]), 'jsonb', '=', new Jsonb([2, 1]), 'jsonb', false],
    [new Jsonb('10'), 'jsonb', '<', new Jsonb('9'), 'jsonb', true],
    [new Jsonb(10), 'jsonb', '<', new Jsonb(9), 'jsonb', false],
    [[1, 2], 'int[]', '<', [1, 3], 'int[]', true],
    [[1], 'int[]', '<', [1, 0], 'int[]', true],
    [[1, null], 'int[]', '=', [1, null], 'int[]', true],
    [[1, null], 'int[]', '>', [1, 5], 'int[]', true],
    [['a'], 'text[]', '=', '{a}', 'unknown', true],
    ['a', 'unknown', '=', 'a', 'unknown', true],
  ])('%o::%s %s %o::%s', (a, aType, operator, b, bType, expected) => {
    expect(apply(operator, [a, aType], [b, bType])).toBe(expected);
    const negated = { '=': '<>', '<': '>=', '>': '<=', '<=': '>' }[operator]!;
    expect(apply(negated, [a, aType], [b, bType])).toBe(!expected);
  });

  it('gives NULL for NULL', () => {
    for (const operator of ['=', '<>', '<', '>=']) {
      expect(apply(operator, [null, 'int'], [1, 'int'])).toBeNull();
      expect(apply(operator, [null, 'text'], [null, 'text'])).toBeNull();
    }
  });

  it('tells distinct values apart without NULL', () => {
    for (const [a, b, isDistinct] of [
      [1, 1, false],
      [1, 2, true],
      [null, 1, true],
      [1, null, true],
      [null, null, false],
    ] as const) {
      expect(apply('IS DISTINCT FROM', [a, 'int'], [b, 'int'])).toBe(isDistinct);
      expect(apply('IS NOT DISTINCT FROM', [a, 'int'], [b, 'int'])).toBe(!isDistinct);
    }
    expect(apply('IS DISTINCT FROM', [new Jsonb(null), 'jsonb'], [null, 'jsonb'])).toBe(true);
  });

  it.each([
    ['text', 'int', 'Type mismatch: expected TEXT, got INT'],
    ['int', 'text', 'Type mismatch: expected INT, got TEXT'],
    ['unknown', 'int', 'Type mismatch: expected TEXT, got INT'],
    ['double', 'unknown', 'Type mismatch: expected DOUBLE, got TEXT'],
    ['jsonb', 'int', 'Type mismatch: expected JSONB, got INT'],
    ['jsonb', 'text', 'Type mismatch: expected JSONB, got TEXT'],
    ['text', 'timestamptz', 'Type mismatch: expected TEXT, got TIMESTAMPTZ'],
    ['boolean', 'int', 'Type mismatch: expected BOOLEAN, got INT'],
    ['int[]', 'int', 'Type mismatch: expected INT[], got INT'],
    ['int[]', 'text[]', 'Type mismatch: expected INT[], got TEXT[]'],
  ])('%s with %s is refused', (a, b, message) => {
    for (const operator of ['=', '<>', '<', 'IS DISTINCT FROM']) {
      expect(() => resolveOperator(operator, [type(a), type(b)])).toThrow(message);
    }
  });

  it('agree with each other for all numbers', () => {
    const number = fc.oneof(
      fc.double().map((value): [SqlValue, string] => [value, 'double']),
      fc
        .bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })
        .map((value): [SqlValue, string] => [value, 'bigint']),
      fc.integer().map((value): [SqlValue, string] => [value, 'int']),
    );
    fc.assert(
      fc.property(number, number, (a, b) => {
        const results = ['<', '=', '>'].map((operator) => apply(operator, a, b));
        expect(results.filter((result) => result === true)).toHaveLength(1);
        expect(apply('<', b, a)).toBe(results[2]);
      }),
      { numRuns: 300 },
    );
  });
});

describe('concatenation', () => {
  it.each([
    ['a', 'text', 'b', 'text', 'ab'],
    ['a', 'unknown', 5, 'int', 'a5'],
    [1e20, 'double', '!', 'unknown', '1e+20!'],
    ['/a', 'path', '/b', 'unknown', '/a/b'],
    [true, 'boolean', '', 'text', 'true'],
    ['on ', 'text', 1, 'date', 'on 1970-01-02'],
    ['', 'text', [1, null], 'int[]', '{1,NULL}'],
    [null, 'text', 'b', 'text', null],
  ])('of %o::%s and %o::%s', (a, aType, b, bType, expected) => {
    expect(apply('||', [a, aType], [b, bType])).toBe(expected);
    expect(resolveOperator('||', [type(aType), type(bType)]).result.name).toBe('text');
  });

  it.each([
    [[1], 'int[]', [2.5], 'double[]', [1, 2.5]],
    [[1], 'int[]', 2, 'int', [1, 2]],
    [0, 'int', [1], 'int[]', [0, 1]],
    [['a'], 'text[]', 'b', 'unknown', ['a', 'b']],
    [null, 'int[]', [1], 'int[]', [1]],
    [[1], 'int[]', null, 'int[]', [1]],
    [null, 'int[]', null, 'int[]', null],
    [[1], 'int[]', null, 'int', [1, null]],
  ])('of arrays: %o::%s and %o::%s', (a, aType, b, bType, expected) => {
    expect(apply('||', [a, aType], [b, bType])).toEqual(expected);
  });

  it('refuses two numbers, and results that are too long', () => {
    expect(() => apply('||', [1, 'int'], [2, 'int'])).toThrow('Type mismatch: expected TEXT, got INT');
    const long = 'x'.repeat(9 * 1024 * 1024);
    expect(() => apply('||', [long, 'text'], [long, 'text'])).toThrow('|| result is longer than 16 MiB');
    const array = new Array<number>(600_000).fill(1);
    expect(() => apply('||', [array, 'int[]'], [array, 'int[]'])).toThrow('more than 1000000 elements');
  });
});

describe('other operators', () => {
  it('takes elements of arrays, the first of which is 1', () => {
    expect(apply('[]', [['a', 'b'], 'text[]'], [1, 'int'])).toBe('a');
    expect(apply('[]', [['a', 'b'], 'text[]'], [0, 'int'])).toBeNull();
    expect(apply('[]', [['a', 'b'], 'text[]'], [3, 'int'])).toBeNull();
    expect(() => apply('[]', ['a', 'text'], [1, 'int'])).toThrow('Type mismatch: expected TEXT[], got TEXT');
    expect(() => apply('[]', [['a'], 'text[]'], ['a', 'text'])).toThrow(
      'Type mismatch: expected INT, got TEXT',
    );
  });

  it('asks the operators of JSON', () => {
    expect(apply('->', [new Jsonb({ a: 1 }), 'jsonb'], ['a', 'unknown'])).toEqual(new Jsonb(1));
    expect(apply('[]', [new Jsonb(['x', 'y']), 'jsonb'], [0, 'int'])).toEqual(new Jsonb('x'));
    expect(apply('-', [new Jsonb({ a: 1, b: 2 }), 'jsonb'], ['a', 'unknown'])).toEqual(new Jsonb({ b: 2 }));
    expect(apply('||', [new Jsonb({ a: 1 }), 'jsonb'], ['{"b":2}', 'unknown'])).toEqual(
      new Jsonb({ a: 1, b: 2 }),
    );
    expect(() => apply('->', [1, 'int'], ['a', 'text'])).toThrow('Type mismatch: expected JSONB, got INT');
  });

  it('refuses operators that do not exist', () => {
    expect(() => resolveOperator('~', [type('text'), type('text')])).toThrow('Unsupported expression: ~');
    expect(() => resolveOperator('~', [type('text')])).toThrow('Unsupported expression: ~');
    expect(() => resolveOperator('constructor', [type('text'), type('text')])).toThrow('Unsupported');
  });

  it('estimates the work of long operands', () => {
    const long = 'x'.repeat(10_000);
    const json = new Jsonb([long]);
    for (const [operator, name, value] of [
      ['=', 'text', long],
      ['<', 'jsonb', json],
      ['=', 'jsonb', json],
      ['LIKE', 'text', long],
      ['ILIKE', 'text', long],
      ['=', 'text[]', [long]],
    ] as const) {
      const work = resolveOperator(operator, [type(name), type(name)]).work?.([value, value]);
      expect(work, operator).toBeGreaterThanOrEqual(10_000);
    }
    expect(resolveOperator('||', [type('text'), type('jsonb')]).work?.(['', json])).toBeGreaterThan(10_000);
    expect(resolveOperator('=', [type('int'), type('int')]).work).toBeUndefined();
  });

  it.each(['=', '<', 'IS DISTINCT FROM', '||', 'LIKE'])('estimates the work of %s for NULL', (operator) => {
    const { work } = resolveOperator(operator, [type('text'), type('text')]);
    for (const [a, b] of [
      [null, 'a'],
      ['a', null],
    ] as const) {
      expect(work?.([a, b])).toBeLessThan(10_000);
    }
  });

  it('keeps the sum of intervals exact', () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: -(2n ** 61n), max: 2n ** 61n }),
        fc.integer({ min: -3, max: 3 }),
        (micros, factor) => {
          const scaled = apply('*', [micros, 'interval'], [factor, 'int']);
          expect(scaled).toBe(micros * BigInt(factor));
          expect(parseInterval(intervalText(micros))).toBe(micros);
        },
      ),
      { numRuns: 200 },
    );
  });
});
