import { describe, expect, it } from 'vitest';
import {
  matchesPath,
  PATH_VISITS_MAX,
  valuesAtPath,
} from '#runtime/sql-values/json/path/evaluate-json-path.ts';
import { parseJsonPath } from '#runtime/sql-values/json/path/parse-json-path.ts';
import { Jsonb, type SqlValue } from '#runtime/sql-values/sql-value.ts';
import type { JsonValue } from '#runtime/content/values/json-value.ts';
import { call } from '../functions/call.ts';
import { pathCases } from './operator-cases.ts';

function found(path: string, json: JsonValue): readonly JsonValue[] {
  return valuesAtPath(json, parseJsonPath(path));
}

describe('JSONPath, as in PostgreSQL', () => {
  for (const [path, json, result] of pathCases)
    it(`${path} in ${JSON.stringify(json.value).slice(0, 40)}`, () => {
      expect(found(path, json.value)).toEqual(result.value);
    });
});

describe('JSONPath beyond PostgreSQL', () => {
  const json = { a: { 'k k': [{ x: 1 }, { x: 5 }] }, x: 2 };
  it.each<[string, JsonValue[]]>([
    ["$.a['k k'][0].x", [1]],
    ['$.a["k k"][-1].x', [5]],
    ["$['x']", [2]],
    ['$..x', [2, 1, 5]],
    ["$..['k k'][0]", [{ x: 1 }]],
    ['$..[0].x', [1]],
    ['$..[*].x', [1, 5]],
    ['$..[?(@.x > 1)]', [{ x: 5 }]],
    ["$.a['k k'][?(@.x > 1)].x", [5]],
    ["$.a['k k'][?(@.x = 1)].x", [1]],
    ["$.a['k k'][?(@.x <> 1)].x", [5]],
    ['$.a..*', [[{ x: 1 }, { x: 5 }], { x: 1 }, { x: 5 }, 1, 5]],
  ])('%s', (path, result) => {
    expect(found(path, json)).toEqual(result);
  });

  it('finds own keys only', () => {
    expect(found('$.toString', {})).toEqual([]);
    expect(found('$.__proto__', JSON.parse('{"__proto__":1}'))).toEqual([1]);
  });

  it('compares exact numbers', () => {
    expect(matchesPath(9007199254740993n, parseJsonPath('$ > 9007199254740992'))).toBe(true);
  });
});

describe('paths that are refused', () => {
  it.each(
    [
      ['', 'unexpected end at position 1'],
      ['a', "unexpected 'a' at position 1"],
      ['$.', 'unexpected end at position 3'],
      ['$[', 'unexpected end at position 3'],
      ['$[1', 'unexpected end at position 4'],
      ['$["a', 'a quote is not closed at position 5'],
      ['$["a\\', 'a quote is not closed'],
      ['$."\\u12"', 'unexpected'],
      ['$ ? @.a', "unexpected '@.a'"],
      ['$ ? (@.a', 'unexpected end'],
      ['$ ? (1)', "unexpected ')'"],
      ['$ ? (@.a like_regex "x")', 'unexpected'],
      ['$[99999999999]', 'an index is too large'],
      ['$.a b', "unexpected 'b'"],
      [`$${'.a'.repeat(201)}`, 'more than 200 steps'],
      [`$.${'a'.repeat(10_000)}`, 'longer than 10000 characters'],
      [`${'('.repeat(5_000)}`, 'nested deeper than 50 levels'],
      [`${'!'.repeat(5_000)}`, 'nested deeper than 50 levels'],
      ['$ ? (@ ' + '? (@ '.repeat(51), 'nested deeper than 50 levels'],
    ].map(([path, message]) => [path!.slice(0, 30), message!, path!] as const),
  )('%s: %s', (_, message, path) => {
    expect(() => parseJsonPath(path)).toThrow(/^Invalid JSONPath: /);
    expect(() => parseJsonPath(path)).toThrow(message);
  });
});

describe('bounds of work', () => {
  const tree = (levels: number): JsonValue =>
    levels === 0 ? 1 : { a: tree(levels - 1), b: [tree(levels - 1)] };

  it.each(
    [
      '$..*..*..*',
      '$.**.**.**.**',
      '$..* ? (exists(@..*..*))',
      `$[${Array(800).fill('0 to last').join(',')}]${'[*]'.repeat(100)}`,
    ].map((path) => [path.slice(0, 30), path] as const),
  )('%s', (_, path) => {
    const wide = Array.from({ length: 1_000 }, () => 1);
    expect(() => found(path, path.startsWith('$[') ? wide : tree(9))).toThrow(
      `A JSONPath may look at ${PATH_VISITS_MAX} values`,
    );
  });
});

describe('functions with a JSONPath', () => {
  const json = new Jsonb(
    JSON.parse('{"a":[1,"x",null,{"b":true}],"n":null,"i":7.9,"s":"7","b":true,"big":1e12,"$k":3}'),
  );

  it.each<[string, SqlValue[], SqlValue]>([
    ['JSON_VALUE', [json, '$.a[1]'], 'x'],
    ['JSON_VALUE', [json, '$.i'], '7.9'],
    ['JSON_VALUE', [json, '$.b'], 'true'],
    ['JSON_VALUE', [json, '$.n'], null],
    ['JSON_VALUE', [json, '$.zz'], null],
    ['JSON_VALUE', [json, '$.a'], null],
    ['JSON_VALUE', [null, '$.a'], null],
    ['JSON_EXISTS', [json, '$.n'], true],
    ['JSON_EXISTS', [json, '$.zz'], false],
    ['JSON_EXISTS', [null, '$.zz'], false],
    ['JSON_EXISTS', [json, '$.i > 7'], true],
    ['JSON_EXISTS', [json, '$.i > 8'], false],
    ['JSON_QUERY', [json, '$.a'], new Jsonb([1, 'x', null, { b: true }])],
    ['JSON_QUERY', [json, '$.a[0]'], null],
    ['JSON_QUERY', [json, '$.a[*]'], null],
    ['JSON_QUERY', [json, '$.zz'], null],
    ['JSON_QUERY', [json, '$.a[0 to 1]', 'WITH WRAPPER'], new Jsonb([1, 'x'])],
    ['JSON_QUERY', [json, '$.a', 'with wrapper'], new Jsonb([[1, 'x', null, { b: true }]])],
    ['JSON_QUERY', [json, '$.a[3]', 'CONDITIONAL WRAPPER'], new Jsonb({ b: true })],
    ['JSON_QUERY', [json, '$.a[0]', 'CONDITIONAL WRAPPER'], new Jsonb([1])],
    ['JSON_QUERY', [json, '$.a[0 to 1]', 'CONDITIONAL WRAPPER'], new Jsonb([1, 'x'])],
    ['JSON_QUERY', [json, '$.zz', 'WITH WRAPPER', 'EMPTY ARRAY'], new Jsonb([])],
    ['JSON_QUERY', [json, '$.zz', 'WITH WRAPPER', 'EMPTY OBJECT'], new Jsonb({})],
    ['JSON_QUERY', [json, '$.i', 'WITHOUT WRAPPER', 'NULL', 'EMPTY OBJECT'], new Jsonb({})],
    ['JSON_QUERY', [null, '$.i'], null],
    ['JSON_GET_TEXT', [json, 's'], '7'],
    ['JSON_GET_TEXT', [json, '$.s'], '7'],
    ['JSON_GET_TEXT', [json, 'i'], null],
    ['JSON_GET_INT', [json, 'i'], 7],
    ['JSON_GET_INT', [json, '$.a[0]'], 1],
    ['JSON_GET_INT', [json, '$k'], 3],
    ['JSON_GET_INT', [json, 's'], null],
    ['JSON_GET_INT', [json, 'big'], null],
    ['JSON_GET_INT', [json, '$.a[*]'], null],
    ['JSON_GET_DOUBLE', [json, 'i'], 7.9],
    ['JSON_GET_DOUBLE', [json, 'b'], null],
    ['JSON_GET_BOOL', [json, 'b'], true],
    ['JSON_GET_BOOL', [json, 'i'], null],
    ['JSON_GET_BOOL', [json, 'toString'], null],
    ['JSON_GET', [json, 'a.3.b'], new Jsonb(true)],
    ['JSON_GET', [json, '$.a[3].b'], new Jsonb(true)],
    ['JSON_GET', [json, 'a.x'], null],
    ['JSON_GET', [json, 'n'], new Jsonb(null)],
  ])('%s(%j) is %j', (name, args, result) => {
    expect(call(name, ...args)).toEqual(result);
  });

  it.each<[string, SqlValue[], string]>([
    ['JSON_VALUE', [json, '$.a[*]'], 'JSON_VALUE: the path finds 4 values, expected one'],
    ['JSON_VALUE', [json, 'a'], "Invalid JSONPath: unexpected 'a' at position 1"],
    ['JSON_EXISTS', [json, '$['], 'Invalid JSONPath'],
    ['JSON_QUERY', [json, '$.zz', 'WITHOUT WRAPPER', 'ERROR'], 'JSON_QUERY: the path finds no value'],
    [
      'JSON_QUERY',
      [json, '$.i', 'WITHOUT WRAPPER', 'NULL', 'ERROR'],
      'JSON_QUERY: the path finds no single array or object',
    ],
    ['JSON_QUERY', [json, '$', 'WRAP'], "JSON_QUERY: unsupported wrapper 'WRAP'"],
    ['JSON_QUERY', [json, '$', 'WITH WRAPPER', 'X'], "JSON_QUERY: unsupported behavior 'X'"],
  ])('%s(%j): %s', (name, args, message) => {
    expect(() => call(name, ...args)).toThrow(message);
  });
});
