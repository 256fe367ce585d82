import { describe, expect, it } from 'vitest';
import { jsonOperators } from '#runtime/sql-values/json/json-operators.ts';
import type { SqlType } from '#runtime/sql-values/sql-type.ts';
import { Jsonb, type SqlValue } from '#runtime/sql-values/sql-value.ts';
import {
  arrayOf,
  doubleType,
  intType,
  jsonbType,
  pathType,
  textType,
  unknownType,
} from '#runtime/sql-values/types/basic-types.ts';
import { typeOf } from '../functions/call.ts';
import { operatorCases } from './operator-cases.ts';

function between(operator: string, left: SqlValue, right: SqlValue): SqlValue {
  const found = jsonOperators.get(operator)?.([jsonbType, typeOf(right)]);
  if (found === undefined) throw new TypeError(`no ${operator} for ${typeOf(right).name}`);
  return found.isStrict && (left === null || right === null) ? null : found.evaluate(left, right);
}

function text(value: SqlValue): string {
  return JSON.stringify(value instanceof Jsonb ? value.value : value);
}

describe('operators on JSON, as in PostgreSQL', () => {
  for (const [operator, left, right, result] of operatorCases)
    it(`${text(left)} ${operator} ${text(right)}`, () => {
      expect(between(operator, left, right)).toEqual(result);
    });
});

describe('operators that differ from PostgreSQL', () => {
  it('writes a container without spaces, in its own order', () => {
    expect(between('->>', new Jsonb({ a: { bb: 1, c: [1, 2] } }), 'a')).toBe('{"bb":1,"c":[1,2]}');
    expect(between('->>', new Jsonb({ a: 9007199254740993n }), 'a')).toBe('9007199254740993');
  });

  it.each<[string, SqlValue]>([
    ['as array text', '{a,"b c",1}'],
    ['as JSON text', '["a","b c",1]'],
    ['as JSON', new Jsonb(['a', 'b c', 1])],
    ['as an array of texts', ['a', 'b c', '1']],
  ])('takes a path %s', (_, path) => {
    const json = new Jsonb({ a: { 'b c': [5, 6] } });
    expect(between('#>', json, path)).toEqual(new Jsonb(6));
    expect(between('#>>', json, path)).toBe('6');
    expect(between('#-', json, path)).toEqual(new Jsonb({ a: { 'b c': [5] } }));
  });

  it('takes keys in the same forms', () => {
    expect(between('?|', new Jsonb({ a: 1 }), '{x,a}')).toBe(true);
    expect(between('?&', new Jsonb(['a']), new Jsonb(['a', 'x']))).toBe(false);
    expect(between('-', new Jsonb({ a: 1, b: 2 }), new Jsonb(['b']))).toEqual(new Jsonb({ a: 1 }));
  });

  it('merges NULL as nothing, and replaces what is no object', () => {
    const json = new Jsonb({ a: 1 });
    expect(between('||', json, null)).toBe(json);
    expect(between('||', null, json)).toBe(json);
    expect(between('||', null, null)).toBe(null);
    expect(between('||', new Jsonb([1]), new Jsonb([2]))).toEqual(new Jsonb([2]));
    expect(between('||', json, new Jsonb(null))).toEqual(new Jsonb(null));
  });

  it('finds no match for what is no path', () => {
    expect(between('@?', new Jsonb({}), 'no path')).toBe(false);
    expect(between('@@', new Jsonb({}), '$[')).toBe(false);
  });

  it('matches what a path finds, or a condition that is true', () => {
    const json = new Jsonb({ a: [1, 2] });
    expect(between('@?', json, '$.a[*] ? (@ > 1)')).toBe(true);
    expect(between('@?', json, '$.a[*] ? (@ > 2)')).toBe(false);
    expect(between('@@', json, '$.a[*] > 1')).toBe(true);
    expect(between('@@', json, '$.a[*] > 2')).toBe(false);
    expect(between('@@', json, '$.a')).toBe(true);
    expect(between('@@', json, '$.a > "x"')).toBe(false);
  });
});

describe('NULL', () => {
  it.each(['->', '->>', '#>', '#>>', '@>', '<@', '?', '?|', '?&', '#-', '@?', '@@', '-'])(
    '%s is strict',
    (operator) => {
      const right = operator === '@>' || operator === '<@' ? jsonbType : textType;
      expect(jsonOperators.get(operator)?.([jsonbType, right])?.isStrict).toBe(true);
    },
  );
});

describe('errors', () => {
  it.each<[string, unknown, SqlValue, string]>([
    ['-', { a: 1 }, 0, 'Cannot delete from a JSON object using an integer index'],
    ['-', 'a', 0, 'Cannot delete from a JSON scalar'],
    ['-', 1, 'a', 'Cannot delete from a JSON scalar'],
    ['#-', 1, ['a'], 'Cannot delete path in a JSON scalar'],
    ['#-', [1], ['a'], "Invalid path format: 'a' is no index of an array"],
    ['#>', {}, 'a', "Invalid path format: expected '{key,…}', got 'a'"],
    ['#>', {}, '{a', 'Invalid path format'],
    ['#>', {}, '{a,}', 'Invalid path format: a key is empty'],
    ['#>', {}, '{a,"b}', 'Invalid path format: a quote is not closed'],
    ['#>', {}, '{"a"b}', "Invalid path format: unexpected 'b'"],
    ['#>', {}, '{a{}', "Invalid path format: unexpected '{'"],
    ['#>', {}, '{a\\}', 'Invalid path format: text ends after a backslash'],
    ['#>', {}, '{NULL}', 'Invalid path format: a key is NULL'],
    ['#>', {}, '["a",{}]', 'Invalid path format: expected keys and indexes'],
    ['#>', {}, new Jsonb({}), 'Invalid path format: expected an array of keys'],
    ['#>', {}, Array(1_001).fill('a'), 'Invalid path format: more than 1000 keys'],
  ])('%s on %j by %j: %s', (operator, left, right, message) => {
    expect(() => between(operator, new Jsonb(left as never), right)).toThrow(message);
  });
});

describe('types', () => {
  function parameters(operator: string, left: SqlType, right: SqlType): string[] | undefined {
    return jsonOperators
      .get(operator)?.([left, right])
      ?.parameters.map(({ name }) => name);
  }

  it('takes literals as what the operator needs', () => {
    expect(parameters('->', unknownType, unknownType)).toEqual(['jsonb', 'text']);
    expect(parameters('@>', jsonbType, unknownType)).toEqual(['jsonb', 'jsonb']);
    expect(parameters('||', unknownType, jsonbType)).toEqual(['jsonb', 'jsonb']);
    expect(parameters('-', jsonbType, unknownType)).toEqual(['jsonb', 'text']);
    expect(parameters('#>', jsonbType, unknownType)).toEqual(['jsonb', 'text']);
    expect(parameters('->', jsonbType, intType)).toEqual(['jsonb', 'int']);
  });

  it('is not for other types', () => {
    expect(parameters('->', textType, textType)).toBe(undefined);
    expect(parameters('->', jsonbType, doubleType)).toBe(undefined);
    expect(parameters('||', jsonbType, textType)).toBe(undefined);
    expect(parameters('-', intType, intType)).toBe(undefined);
    expect(parameters('@@', textType, textType)).toBe(undefined);
    expect(parameters('#>', jsonbType, arrayOf(intType))).toBe(undefined);
    expect(parameters('#>', jsonbType, pathType)).toBe(undefined);
  });
});

describe('work', () => {
  function work(operator: string, left: Jsonb, right: SqlValue): number {
    return (
      jsonOperators
        .get(operator)?.([jsonbType, typeOf(right)])
        ?.work?.([left, right]) ?? 0
    );
  }
  const numbers = new Jsonb(Array.from({ length: 10_000 }, (_, index) => index));
  const objects = new Jsonb(Array.from({ length: 10_000 }, (_, index) => ({ index })));

  it('counts the pairs of items that are compared', () => {
    expect(work('@>', objects, objects)).toBeGreaterThan(1e9);
    expect(work('@>', numbers, numbers)).toBeLessThan(1e7);
    expect(work('@>', new Jsonb({ a: objects.value, b: 1 }), new Jsonb({ b: 1 }))).toBeLessThan(1e3);
  });

  it('compares large arrays of scalars in time proportional to their lengths', () => {
    // Each with each would be 4 * 10^10 comparisons, so this test would not end in time.
    const many = Array.from({ length: 200_000 }, (_, index) => index);
    expect(between('@>', new Jsonb(many), new Jsonb(many.toReversed()))).toBe(true);
    expect(between('@>', new Jsonb(many), new Jsonb([...many, -1]))).toBe(false);
  });

  it('counts what is written, copied and searched', () => {
    expect(work('->>', new Jsonb({ a: objects.value, b: 1 }), 'a')).toBeGreaterThan(1e5);
    expect(work('->>', new Jsonb({ a: objects.value, b: 1 }), 'b')).toBe(0);
    expect(work('||', objects, objects)).toBeGreaterThan(1e5);
    expect(work('-', objects, 0)).toBeGreaterThan(1e5);
    expect(work('?', numbers, 'a')).toBeGreaterThan(1e4);
    expect(work('@?', objects, '$.**.**')).toBeGreaterThan(1e6);
  });
});
