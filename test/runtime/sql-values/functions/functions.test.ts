import { describe, expect, it } from 'vitest';
import { functionNames, resolveFunction } from '#runtime/sql-values/functions/function-catalog.ts';
import type { SqlValue } from '#runtime/sql-values/sql-value.ts';
import {
  arrayOf,
  bigintType,
  booleanType,
  doubleType,
  intType,
  pathType,
  textType,
  timestamptzType,
  unknownType,
  uuidType,
} from '#runtime/sql-values/types/basic-types.ts';
import { call, workOf } from './call.ts';
import { type FunctionCase, jsonCases, numberCases, textCases } from './function-cases.ts';

function text([name, args]: FunctionCase): string {
  return `${name}(${args.map((value) => JSON.stringify(value)).join(', ')})`;
}

describe('functions, as in PostgreSQL', () => {
  for (const example of [...textCases, ...jsonCases])
    it(text(example), () => expect(call(example[0], ...example[1])).toEqual(example[2]));
  for (const example of numberCases)
    it(text(example), () => {
      const result = call(example[0], ...example[1]);
      if (typeof example[2] === 'number') expect(result).toBeCloseTo(example[2], 12);
      else expect(result).toEqual(example[2]);
      // Minus zero would be written as -0.
      expect(Object.is(result, -0)).toBe(false);
    });
});

describe('functions that differ from PostgreSQL', () => {
  const cases: readonly FunctionCase[] = [
    // A half is rounded away from zero, and on the decimal text.
    ['ROUND', [-2.5], -3],
    ['ROUND', [2.5], 3],
    ['ROUND', [1.23456, 2], 1.23],
    ['ROUND', [1.005, 2], 1.01],
    ['ROUND', [2.675, 2], 2.68],
    ['ROUND', [0.49999999999999994], 0],
    ['ROUND', [1234, -2], 1200],
    ['ROUND', [1e300, 2], 1e300],
    ['ROUND', [1.5e-7, 7], 2e-7],
    ['ROUND', [5, -1], 10],
    ['ROUND', [0.1, 2_000_000_000], 0.1],
    ['ROUND', [7, -2_000_000_000], 0],
    ['TRUNC', [1.239, 2], 1.23],
    ['TRUNC', [-1.239, 2], -1.23],
    // TRIM takes the characters as BTRIM does.
    ['TRIM', ['xax', 'x'], 'a'],
    ['TRIM', ['  a '], 'a'],
    ['POSITION', ['ig', 'high'], 2],
    ['CONCAT', [true, 1.5], 'true1.5'],
    ['CONCAT', [1e21, 10n], '1e+2110'],
    // Whole results of arithmetic, which are DOUBLE, are accepted where a number of characters is expected.
    ['LEFT', ['abc', 2], 'ab'],
    ['LEFT', ['abc', 2n], 'ab'],
  ];
  for (const example of cases)
    it(text(example), () => expect(call(example[0], ...example[1])).toEqual(example[2]));
});

describe('types', () => {
  it('takes whole doubles for INT and refuses others', () => {
    const left = resolveFunction('left', [textType, doubleType]);
    expect(left.parameters).toEqual([textType, doubleType]);
    expect(left.evaluate('abc', 2)).toBe('ab');
    expect(() => left.evaluate('abc', 1.5)).toThrow('LEFT expects a whole number, got 1.5');
  });

  it('takes paths and identifiers for TEXT without a cast, and texts for PATH with one', () => {
    expect(resolveFunction('LOWER', [pathType]).parameters).toEqual([pathType]);
    expect(resolveFunction('LOWER', [uuidType]).parameters).toEqual([uuidType]);
    expect(resolveFunction('DEPTH', [textType]).parameters).toEqual([pathType]);
  });

  it('gives results of the type of the argument', () => {
    for (const type of [intType, bigintType, doubleType])
      expect(resolveFunction('ABS', [type]).result).toEqual(type);
    expect(resolveFunction('MOD', [intType, bigintType]).parameters).toEqual([bigintType, bigintType]);
    expect(resolveFunction('GREATEST', [intType, doubleType, unknownType]).result).toEqual(doubleType);
    expect(resolveFunction('ROUND', [intType]).result).toEqual(doubleType);
    expect(resolveFunction('ARRAY_POSITION', [arrayOf(intType), bigintType]).parameters).toEqual([
      arrayOf(bigintType),
      bigintType,
    ]);
  });

  it('takes literals as what the first overload wants', () => {
    expect(resolveFunction('UPPER', [unknownType]).parameters).toEqual([textType]);
    expect(resolveFunction('DATE', [unknownType]).parameters).toEqual([timestamptzType]);
    expect(
      resolveFunction('JSON_VALUE', [unknownType, unknownType]).parameters.map(({ name }) => name),
    ).toEqual(['jsonb', 'text']);
  });

  it.each([
    ['FROB', [intType], 'Function not found: FROB(INT)'],
    ['frob', [], 'Function not found: FROB()'],
    ['LOWER', [intType], 'Function not found: LOWER(INT)'],
    ['LOWER', [textType, intType], 'Invalid argument count for LOWER: expected 1, got 2'],
    ['SUBSTRING', [textType], 'Invalid argument count for SUBSTRING: expected 2 to 3, got 1'],
    ['CONCAT', [], 'Invalid argument count for CONCAT: expected at least 1, got 0'],
    ['ARRAY_LENGTH', [textType, intType], 'Function not found: ARRAY_LENGTH(TEXT, INT)'],
    ['JSONB_SET', [textType, textType, textType], 'Function not found: JSONB_SET(TEXT, TEXT, TEXT)'],
    ['GREATEST', [textType, intType], 'Type mismatch: expected TEXT, got INT'],
  ])('%s of %j: %s', (name, types, message) => {
    expect(() => resolveFunction(name, types)).toThrow(message);
  });

  it('lists every name once, in upper case', () => {
    const names = functionNames();
    expect(new Set(names).size).toBe(names.length);
    expect(names.every((name) => name === name.toUpperCase())).toBe(true);
    expect(names).toContain('JSONB_SET');
  });
});

describe('NULL', () => {
  const notStrict = [
    'CONCAT',
    'CONCAT_WS',
    'GREATEST',
    'LEAST',
    'JSON_EXISTS',
    'STRING_TO_ARRAY',
    'DESCENDANT_OF',
  ];

  it.each(['LOWER', 'SUBSTRING', 'REPLACE', 'ROUND', 'ABS', 'JSONB_SET', 'DEPTH', 'TO_JSONB'])(
    '%s is strict',
    (name) => {
      const count = { SUBSTRING: 2, REPLACE: 3, JSONB_SET: 3 }[name] ?? 1;
      expect(resolveFunction(name, Array(count).fill(unknownType)).isStrict).toBe(true);
    },
  );

  it.each(notStrict)('%s is not', (name) => {
    const count = { CONCAT: 1, GREATEST: 1, LEAST: 1, DESCENDANT_OF: 3 }[name] ?? 2;
    expect(resolveFunction(name, Array(count).fill(unknownType)).isStrict).toBe(false);
  });
});

describe('errors of values', () => {
  const cases: readonly (readonly [name: string, args: readonly SqlValue[], message: string])[] = [
    ['SUBSTRING', ['a', 1, -1], 'SUBSTRING: the length is negative'],
    ['SPLIT_PART', ['a', ',', 0], 'SPLIT_PART: the number of a field must not be zero'],
    ['CHR', [0], 'CHR: the null character is not permitted'],
    ['CHR', [-1], 'CHR: the number of a character is positive'],
    ['CHR', [0xd800], 'CHR: there is no character 55296'],
    ['CHR', [0x11_0000], 'CHR: there is no character 1114112'],
    ['SQRT', [-1], 'Cannot take square root of a negative number'],
    ['LN', [0], 'Cannot take logarithm of zero'],
    ['LOG', [-1], 'Cannot take logarithm of a negative number'],
    ['LOG', [1, 5], 'Division by zero'],
    ['POWER', [0, -1], 'Zero raised to a negative power is undefined'],
    ['POWER', [-8, 0.5], 'A negative number raised to a non-integer power yields a complex result'],
    ['POWER', [10, 400], 'Value out of range: overflow'],
    ['EXP', [1000], 'Value out of range: overflow'],
    ['MOD', [1, 0], 'Division by zero'],
    ['MOD', [1n, 0n], 'Division by zero'],
    ['DIV', [1, 0], 'Division by zero'],
    ['DIV', [-(2n ** 63n), -1n], 'bigint out of range'],
    ['ABS', [-(2 ** 31)], 'integer out of range'],
    ['ABS', [-(2n ** 63n)], 'bigint out of range'],
    ['ASIN', [1.5], 'Input is out of range'],
    ['SIN', [Number.POSITIVE_INFINITY], 'Input is out of range'],
  ];
  it.each(cases)('%s(%j): %s', (name, args, message) => {
    expect(() => call(name, ...args)).toThrow(message);
  });
});

describe('results that grow', () => {
  const million = 'a'.repeat(1_000_000);

  it.each<[string, SqlValue[]]>([
    ['REPEAT', ['ab', 8_388_609]],
    ['REPEAT', [million, 2_147_483_647]],
    ['LPAD', ['', 16_777_217]],
    ['RPAD', ['', 8_388_609, '😀']],
    ['REPLACE', [million, 'a', 'x'.repeat(17)]],
    ['CONCAT', Array(17).fill(million)],
    ['CONCAT_WS', [million, ...Array(18).fill('')]],
    ['ARRAY_TO_STRING', [Array(18).fill(''), million]],
  ])('%s is refused above 16 MiB', (name, args) => {
    expect(() => call(name, ...args)).toThrow(`${name} result is longer than 16 MiB`);
  });

  it('gives a result of 16 MiB', () => {
    expect((call('REPEAT', 'ab', 8_388_608) as string).length).toBe(16_777_216);
  });

  it.each<[string, SqlValue[], number]>([
    ['REPEAT', ['ab', 1_000_000], 2_000_000],
    ['LPAD', ['', 1_000_000], 1_000_000],
    ['LOWER', [million], 1_000_000],
    ['LENGTH', [million], 1_000_000],
    ['REPLACE', [million, 'a', 'b'], 1_000_000],
    ['SPLIT_PART', [million, 'a', 1], 1_000_000],
    ['STRPOS', [million, 'b'], 1_000_000],
    ['STRING_TO_ARRAY', [million, null], 1_000_000],
    ['CONCAT', [million, 'a'], 1_000_000],
    // What takes longest of each, measured: a step must not become longer than it says.
    ['LOWER', ['İ'.repeat(1_000_000)], 60_000_000],
    ['UPPER', ['ﬃ'.repeat(1_000_000)], 60_000_000],
    ['REVERSE', ['😀'.repeat(500_000)], 14_000_000],
    ['MD5', ['ა'.repeat(1_000_000)], 11_000_000],
    ['DEPTH', ['/a'.repeat(5_000)], 200_000],
    ['PARENT', ['/a'.repeat(5_000)], 200_000],
    ['ANCESTOR', ['/a'.repeat(5_000), 5], 200_000],
  ])('%s announces its work', (name, args, least) => {
    expect(workOf(name, ...args)).toBeGreaterThanOrEqual(least);
  });

  it('announces work of a refused call that does not exceed that of the largest result', () => {
    expect(workOf('REPEAT', million, 2_147_483_647)).toBeLessThan(50e6);
  });
});

it('types results of arrays and tests', () => {
  expect(resolveFunction('STRING_TO_ARRAY', [textType, textType]).result).toEqual(arrayOf(textType));
  expect(resolveFunction('STARTS_WITH', [textType, textType]).result).toEqual(booleanType);
});
