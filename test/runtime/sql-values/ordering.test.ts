import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonValue } from '#runtime/content/values/json-value.ts';
import { comparatorOf } from '#runtime/sql-values/ordering/comparator.ts';
import { rowKey, rowKeyOf } from '#runtime/sql-values/ordering/hash-key.ts';
import { valueBytes } from '#runtime/sql-values/ordering/value-bytes.ts';
import type { SqlType } from '#runtime/sql-values/sql-type.ts';
import { Jsonb, type SqlValue, StoredJson } from '#runtime/sql-values/sql-value.ts';
import { arrayOf, doubleType, intType, jsonbType, textType } from '#runtime/sql-values/types/basic-types.ts';

const double = fc.oneof(fc.double(), fc.constantFrom(0, -0, Number.NaN, Number.POSITIVE_INFINITY));
const text = fc.oneof(
  fc.string({ maxLength: 4 }),
  fc
    .array(fc.constantFrom('a', '\ud83d', '\ude00', '\ufffd', '\uffee'), { maxLength: 3 })
    .map((all) => all.join('')),
);
const json = fc.jsonValue({ maxDepth: 2 }).map((value) => new Jsonb(value as JsonValue));
const array = fc.array(fc.option(double), { maxLength: 3 });

const kinds: readonly (readonly [string, SqlType, fc.Arbitrary<SqlValue>])[] = [
  ['int', intType, fc.integer({ min: -3, max: 3 })],
  ['bigint', { name: 'bigint' }, fc.bigInt({ min: -3n, max: 3n })],
  ['double', doubleType, double],
  ['boolean', { name: 'boolean' }, fc.boolean()],
  ['text', textType, text],
  ['jsonb', jsonbType, json],
  ['array', arrayOf(doubleType), array],
  ['array of texts', arrayOf(textType), fc.array(fc.option(text), { maxLength: 3 })],
];

describe.each(kinds)('the order of %s', (_name, type, values) => {
  const compare = comparatorOf(type);

  it('is total', () => {
    fc.assert(
      fc.property(values, values, values, (a, b, c) => {
        expect(Math.sign(compare(a, b))).toBe(-Math.sign(compare(b, a)) + 0);
        expect(compare(a, a)).toBe(0);
        if (compare(a, b) <= 0 && compare(b, c) <= 0) expect(compare(a, c)).toBeLessThanOrEqual(0);
      }),
      { numRuns: 200 },
    );
  });

  it('agrees with the keys of hash tables', () => {
    fc.assert(
      fc.property(values, values, (a, b) => {
        expect(rowKey([a], [type]) === rowKey([b], [type])).toBe(compare(a, b) === 0);
      }),
      { numRuns: 200 },
    );
  });
});

describe('the order of values', () => {
  it('has texts by code point', () => {
    const sorted = ['é', '\u{1f600}', 'b', 'B', '\uffee', 'a'].sort(comparatorOf(textType));
    expect(sorted).toEqual(['B', 'a', 'b', 'é', '\uffee', '\u{1f600}']);
  });

  it('has JSON by type, then by size, then by what differs first', () => {
    const ordered: readonly JsonValue[] = [
      null,
      '',
      '10',
      'a',
      'ab',
      -1,
      0,
      2,
      10,
      2n ** 64n,
      false,
      true,
      [],
      [1],
      [2],
      [true],
      [1, 1],
      [1, 2],
      {},
      { a: 1 },
      { a: 2 },
      { aa: 0 },
      { b: 0 },
      { a: 1, b: 1 },
      { a: 1, b: 2 },
      { a: 1, c: 0 },
    ];
    const compare = comparatorOf(jsonbType);
    for (const [index, value] of ordered.entries()) {
      for (const [other, than] of ordered.entries()) {
        expect(Math.sign(compare(new Jsonb(value), new Jsonb(than)))).toBe(Math.sign(index - other));
      }
    }
    expect(compare(new Jsonb({ a: 1, b: [0] }), new Jsonb({ b: [-0], a: 1 }))).toBe(0);
  });

  it('has JSON as equal exactly where its keys are equal', () => {
    const compare = comparatorOf(jsonbType);
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (a, b) => {
        const [x, y] = [new Jsonb(a as JsonValue), new Jsonb(b as JsonValue)];
        expect(compare(x, y) === 0).toBe(rowKey([x], [jsonbType]) === rowKey([y], [jsonbType]));
        expect(Math.sign(compare(x, y)) + Math.sign(compare(y, x))).toBe(0);
      }),
      { numRuns: 300 },
    );
  });
});

describe('keys of rows', () => {
  const types = [textType, textType];

  it('count NULLs as equal, and tell them from texts', () => {
    expect(rowKey([null, 'a'], types)).toBe(rowKey([null, 'a'], types));
    expect(rowKey([null, 'a'], types)).not.toBe(rowKey(['', 'a'], types));
    expect(rowKey(['-', null], types)).not.toBe(rowKey([null, '-'], types));
  });

  it('tell where a value ends', () => {
    const keyOf = rowKeyOf(types);
    fc.assert(
      fc.property(fc.string(), fc.string(), fc.string(), fc.string(), (a, b, c, d) => {
        expect(keyOf([a, b]) === keyOf([c, d])).toBe(a === c && b === d);
      }),
      { numRuns: 200 },
    );
    expect(keyOf(['1:a', ''])).not.toBe(keyOf(['1', 'a']));
    expect(keyOf([':', ''])).not.toBe(keyOf(['', ':']));
  });

  it('are short, as V8 hashes a text of more than 16,383 units by its length alone', () => {
    const [one, other] = [`${'a'.repeat(20_000)}b`, `${'a'.repeat(20_000)}c`];
    const keyOf = rowKeyOf(types);
    expect(keyOf([one, 'x']).length).toBeLessThan(16_383);
    expect(keyOf([one, 'x'])).toBe(keyOf([one.slice(), 'x']));
    expect(keyOf([one, 'x'])).not.toBe(keyOf([other, 'x']));
    expect(keyOf([one, 'x'])).not.toBe(keyOf([one, 'y']));
  });

  it('begin with a letter, so that their hashes have a seed', () => {
    expect(rowKey([1], [intType])).toMatch(/^[a-z]/);
    expect(rowKey([], [])).toMatch(/^[a-z]/);
  });
});

describe('bytes of values', () => {
  it('grow with what they hold', () => {
    expect(valueBytes('x'.repeat(1_000))).toBeGreaterThanOrEqual(1_000);
    expect(valueBytes(new Jsonb(['x'.repeat(1_000)]))).toBeGreaterThanOrEqual(1_000);
    expect(valueBytes(new Array<number>(1_000).fill(1))).toBeGreaterThanOrEqual(8_000);
    for (const value of [null, 1, true, 1n, '']) expect(valueBytes(value)).toBeGreaterThan(0);
  });

  const budget = { spend: () => {} };

  it('of stored JSON are the same before and after it is read', () => {
    const value = new Jsonb(new StoredJson('[{},{},{"a":[1,"b"]}]', budget));
    const before = valueBytes(value);
    expect(value.value).toEqual([{}, {}, { a: [1, 'b'] }]);
    expect(value.storedText).toBeUndefined();
    expect(valueBytes(value)).toBe(before);
  });

  it('of stored JSON are those of its value, or a little more', () => {
    const quoted = fc.constantFrom('"', '\\', '\\"', '[,{:', '"{"', '\u{1f600}');
    const part = fc.oneof(fc.jsonValue({ maxDepth: 3 }), fc.array(quoted), fc.dictionary(quoted, quoted));
    fc.assert(
      fc.property(fc.array(part), (parts) => {
        const text = JSON.stringify(parts);
        const value = JSON.parse(text) as JsonValue;
        const stored = valueBytes(new Jsonb(new StoredJson(text, budget)));
        const read = valueBytes(new Jsonb(value));
        expect(stored).toBeGreaterThanOrEqual(read);
        // The text of a value has two characters at least, besides what is written in two for one.
        expect(stored).toBeLessThanOrEqual(
          read + 16 * (text.match(/\[\]|\{\}/g)?.length ?? 0) + 2 * text.length,
        );
      }),
    );
  });
});

describe('stored JSON', () => {
  it('is parsed once, when its value is read, and the work is counted', () => {
    const spent: number[] = [];
    const text = JSON.stringify(Array.from({ length: 100 }, () => ({})));
    const value = new Jsonb(new StoredJson(text, { spend: (work) => spent.push(work) }));
    expect([value.storedText, valueBytes(value) > 0, spent]).toEqual([text, true, []]);
    expect(value.value).toBe(value.value);
    expect(spent).toEqual([text.length * 10]);
  });

  it('is not parsed where the work is refused', () => {
    const spend = (): never => {
      throw new Error('refused');
    };
    const value = new Jsonb(new StoredJson('{"a":1}', { spend }));
    expect(() => value.value).toThrow('refused');
    expect(value.storedText).toBe('{"a":1}');
  });
});
