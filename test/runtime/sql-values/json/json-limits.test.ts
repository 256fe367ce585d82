import { describe, expect, it } from 'vitest';
import { boundedJsonb, jsonBytes, JSON_LEVELS_MAX } from '#runtime/sql-values/json/json-limits.ts';
import { parseJson, parseJsonWork } from '#runtime/sql-values/json/parse-json.ts';
import { Jsonb, type SqlValue } from '#runtime/sql-values/sql-value.ts';
import { call } from '../functions/call.ts';

describe('JSON texts', () => {
  it('keeps numbers exact and keys of any name', () => {
    expect(parseJson('[9007199254740993, 0.1]')).toEqual([9007199254740993n, 0.1]);
    expect(Object.keys(parseJson('{"__proto__":1}') as object)).toEqual(['__proto__']);
  });

  it.each(
    [
      ['{', 'Invalid JSON literal: {'],
      ['', 'Invalid JSON literal: '],
      ["{'a':1}", "Invalid JSON literal: {'a':1}"],
      ['1e400', 'Invalid JSON literal: number out of range'],
      ['[{"a":[-1e999]}]', 'Invalid JSON literal: number out of range'],
      ['0.10000000000000000000001', 'Invalid JSON literal: number out of range: 0.10000000000000000000001'],
      ['['.repeat(100_000), `Invalid JSON literal: nested deeper than ${JSON_LEVELS_MAX} levels`],
      ['{"a":'.repeat(100_000), `Invalid JSON literal: nested deeper than ${JSON_LEVELS_MAX} levels`],
      [`[${'1,'.repeat(200_000)}1]`, 'Invalid JSON literal: more than 200000 values'],
      [`{"k":"${'x'.repeat(1_000)}`, `Invalid JSON literal: {"k":"${'x'.repeat(74)}…`],
    ].map(([text, message]) => [text!.slice(0, 30), message!, text!] as const),
  )('%s', (_, message, text) => {
    expect(() => parseJson(text)).toThrow(message);
  });

  it('takes the deepest value', () => {
    const text = '['.repeat(JSON_LEVELS_MAX) + ']'.repeat(JSON_LEVELS_MAX);
    expect(JSON.stringify(parseJson(text))).toBe(text);
    expect(parseJsonWork(text)).toBeGreaterThan(text.length);
  });
});

describe('values that are put together', () => {
  it('measures shared parts as if they were written out', () => {
    let json: SqlValue = new Jsonb(['x'.repeat(1_000)]);
    expect(() => {
      for (let level = 0; level < 40; level += 1) json = call('JSONB_BUILD_ARRAY', json, json);
    }).toThrow('JSONB_BUILD_ARRAY result is longer than 16 MiB');
  });

  it('does not measure again what it has measured', () => {
    const large = new Jsonb(Array.from({ length: 200_000 }, () => 1));
    jsonBytes(large);
    // Each would take milliseconds otherwise, and this test would not end in time.
    for (let count = 0; count < 20_000; count += 1) boundedJsonb([large.value], 'It');
    expect(jsonBytes(boundedJsonb({ a: large.value }, 'It'))).toBe(jsonBytes(large) + 8 + 8 + 1);
  });

  it('bounds the depth', () => {
    let json: SqlValue = new Jsonb(1);
    expect(() => {
      for (let level = 0; level <= JSON_LEVELS_MAX; level += 1) json = call('JSONB_BUILD_ARRAY', json);
    }).toThrow('JSONB_BUILD_ARRAY result is nested deeper than 500 levels');
  });

  it('bounds what is set and merged', () => {
    const large = new Jsonb({ a: 'x'.repeat(9_000_000) });
    expect(() => call('JSONB_SET', large, ['b'], new Jsonb('x'.repeat(9_000_000)))).toThrow(
      'JSONB_SET result is longer than 16 MiB',
    );
    expect(() => call('JSONB_SET', new Jsonb({}), Array(501).fill('a'), new Jsonb(1))).toThrow(
      'JSONB_SET result is nested deeper than 500 levels',
    );
    expect(() => boundedJsonb({ a: large.value, b: large.value }, 'It')).toThrow('It is longer than 16 MiB');
  });

  it('estimates bytes', () => {
    expect(jsonBytes(new Jsonb('abc'))).toBe(11);
    expect(jsonBytes(new Jsonb({ key: [1, null] }))).toBe(8 + 8 + 3 + 8 + 16);
  });
});

describe('JSONB_SET', () => {
  const json = (text: string): Jsonb => new Jsonb(JSON.parse(text));

  it.each<[SqlValue[], SqlValue]>([
    [[json('{"a":1}'), '{b,c}', '"z"'], json('{"a":1,"b":{"c":"z"}}')],
    [[json('{"a":1}'), '{b,c}', '"z"', false], json('{"a":1}')],
    [[json('{"b":{"d":1}}'), '{b,c}', '"z"', false], json('{"b":{"d":1}}')],
    [[json('{}'), '{a,0,b}', '1'], json('{"a":{"0":{"b":1}}}')],
    [[json('{"a":[1]}'), '{a,1}', '2'], json('{"a":[1]}')],
    [[json('{"a":[1]}'), '{a,0}', '2', false], json('{"a":[2]}')],
    [[json('{}'), '["a","b"]', 'null'], json('{"a":{"b":null}}')],
    [[json('{}'), '{a}', 5], json('{"a":5}')],
    [[json('{}'), '{a}', true], json('{"a":true}')],
    [[json('{}'), '{a}', ['x']], json('{"a":["x"]}')],
    [[json('{}'), '{a}', null], null],
    [[null, '{a}', '1'], null],
  ])('%j is %j', (args, result) => {
    expect(call('JSONB_SET', ...args)).toEqual(result);
  });

  it.each<[SqlValue[], string]>([
    [[json('{}'), 'a', '1'], "Invalid path format: expected '{key,…}', got 'a'"],
    [[json('{"a":[1]}'), '{a,x}', '1'], "Invalid path format: 'x' is no index of an array"],
    [[json('{}'), '{a}', 'text'], 'Invalid JSON literal: text'],
    [[json('1'), '{a}', '1'], 'Cannot set path in a JSON scalar'],
  ])('%j: %s', (args, message) => {
    expect(() => call('JSONB_SET', ...args)).toThrow(message);
  });

  it('leaves its argument as it is', () => {
    const before = json('{"a":{"b":1}}');
    call('JSONB_SET', before, '{a,b}', '2');
    expect(before).toEqual(json('{"a":{"b":1}}'));
  });
});

describe('errors of JSON functions', () => {
  it.each<[string, SqlValue[], string]>([
    ['JSONB_BUILD_OBJECT', ['a'], 'JSONB_BUILD_OBJECT expects an even number of arguments'],
    ['JSONB_BUILD_OBJECT', [null, 1], 'JSONB_BUILD_OBJECT: argument 1 is a key and must not be NULL'],
    ['JSONB_ARRAY_LENGTH', [new Jsonb({})], 'Cannot get the array length of an object'],
    ['JSONB_ARRAY_LENGTH', [new Jsonb(1)], 'Cannot get the array length of a scalar'],
  ])('%s(%j): %s', (name, args, message) => {
    expect(() => call(name, ...args)).toThrow(message);
  });
});
