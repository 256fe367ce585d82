import { describe, expect, it } from 'vitest';
import type { JsonValue } from '#runtime/content/values/json-value.ts';
import { fromParameter } from '#runtime/sql-values/from-parameter.ts';
import { Jsonb, type SqlValue } from '#runtime/sql-values/sql-value.ts';
import { toJson } from '#runtime/sql-values/to-json.ts';
import { typeNamed } from '#runtime/sql-values/types/type-names.ts';

describe('values of parameters', () => {
  it.each([
    [null, 'unknown', null],
    ['x', 'unknown', 'x'],
    [true, 'boolean', true],
    [5, 'int', 5],
    [-(2 ** 31), 'int', -(2 ** 31)],
    [2 ** 31, 'bigint', 2n ** 31n],
    [9007199254740993n, 'bigint', 9007199254740993n],
    [4611686018427388000, 'bigint', 4611686018427388000n],
    [2n ** 63n, 'double', 2 ** 63],
    [1e300, 'double', 1e300],
    [1.5, 'double', 1.5],
    [{ a: 1 }, 'jsonb', new Jsonb({ a: 1 })],
    [[1], 'jsonb', new Jsonb([1])],
  ] satisfies readonly [JsonValue, string, SqlValue][])('%o is %s', (json, name, value) => {
    expect(fromParameter(json)).toEqual({ type: { name }, value });
  });

  it('has no negative zero among whole numbers', () => {
    expect(Object.is(fromParameter(-0).value, 0)).toBe(true);
  });
});

describe('values in answers', () => {
  it.each([
    [null, 'int', null],
    [5, 'int', 5],
    [5n, 'bigint', 5],
    [9007199254740993n, 'bigint', 9007199254740993n],
    [1.5, 'double', 1.5],
    [Number.NaN, 'double', 'NaN'],
    [Number.NEGATIVE_INFINITY, 'double', '-Infinity'],
    [false, 'boolean', false],
    ['/a', 'path', '/a'],
    [0n, 'timestamptz', '1970-01-01T00:00:00Z'],
    [1_500_000n, 'timestamp', '1970-01-01T00:00:01.500'],
    [1, 'date', '1970-01-02'],
    [90_000_000n, 'interval', '00:01:30'],
    [new Jsonb({ a: [1] }), 'jsonb', { a: [1] }],
    [new Jsonb(null), 'jsonb', null],
  ] satisfies readonly [SqlValue, string, JsonValue][])('%o of %s is %o', (value, name, expected) => {
    expect(toJson(value, typeNamed(name, false))).toEqual(expected);
  });

  it('has arrays as arrays', () => {
    expect(toJson([1n, null], typeNamed('bigint', true))).toEqual([1, null]);
    expect(toJson([0n], typeNamed('timestamptz', true))).toEqual(['1970-01-01T00:00:00Z']);
  });
});
