import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkJsonWork, NEW_SHAPE_VALUES, stringEnd } from '#runtime/base/text/json-work.ts';
import { atOnce } from '#runtime/base/event-loop/at-once.ts';

const bounds = { depthMax: 128, valuesMax: 10_000 };

const kindOf = (text: string, limits = bounds): string => atOnce(checkJsonWork(text, limits)).kind;

/** An array of so many items, each made of its index. */
function list(length: number, item: (index: number) => string): string {
  return `[${Array.from({ length }, (_, index) => item(index)).join(',')}]`;
}

const depthOf = (value: unknown): number => {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
};

describe('stringEnd', () => {
  it('finds the end of a string with any escapes', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('"', '\\', 'a', '\n') }), fc.string(), (value, rest) => {
        const text = JSON.stringify(value);
        expect(atOnce(stringEnd(`${text}${rest}`, 0))).toBe(text.length - 1);
      }),
    );
  });

  it('reports that the text ends first', () => {
    for (const text of ['"', '"a', '"\\"', '"\\']) expect(atOnce(stringEnd(text, 0))).toBe(-1);
  });
});

describe('checkJsonWork', () => {
  it('agrees with the depth of the value that is read', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 8 }), fc.integer({ min: 1, max: 8 }), (text, depthMax) => {
        const isTooDeep = kindOf(text, { ...bounds, depthMax }) === 'too-deep';
        expect(isTooDeep).toBe(depthOf(JSON.parse(text)) > depthMax);
      }),
    );
  });

  it('counts the values of arrays, of any type', () => {
    for (const item of ['1', '"a"', '{}', '[]', 'null']) {
      expect(kindOf(list(4_000, () => item))).toBe('fits');
      expect(kindOf(list(12_000, () => item))).toBe('too-much');
    }
  });

  it('counts nothing inside strings', () => {
    expect(kindOf(JSON.stringify('{"a":[1,2,3]},'.repeat(10_000)))).toBe('fits');
    expect(kindOf(JSON.stringify({ a: '\\"'.repeat(100_000) }))).toBe('fits');
  });

  it('lets a list of like objects be ten times as long as one of different objects', () => {
    const like = (length: number): string => list(length, (index) => `{"id":${index}}`);
    const unlike = (length: number): string => list(length, (index) => `{"k${index}":1}`);
    expect(kindOf(like(3_000))).toBe('fits');
    expect(kindOf(unlike(700))).toBe('fits');
    expect(kindOf(unlike(1_500))).toBe('too-much');
    const wide = `{${Array.from({ length: 1_500 }, (_, index) => `"k${index}":1`).join(',')}}`;
    expect(kindOf(wide)).toBe('too-much');
  });

  it('takes keys in another order for another shape', () => {
    const keys = Array.from({ length: 8 }, (_, index) => `"k${index}":1`);
    const turned = (by: number): string => `{${[...keys.slice(by), ...keys.slice(0, by)].join(',')}}`;
    const nested = (length: number, by: (index: number) => number): string =>
      list(length, (index) => turned(by(index)));
    const limits = { ...bounds, valuesMax: 64 * 3 + 8 * NEW_SHAPE_VALUES };
    expect(
      kindOf(
        nested(8, () => 0),
        limits,
      ),
    ).toBe('fits');
    expect(
      kindOf(
        nested(8, (index) => index),
        limits,
      ),
    ).toBe('too-much');
  });

  it('counts keys below arrays and objects for the object they are in', () => {
    const text = list(100, () => '{"a":[{"x":1},{"x":2}],"b":{"x":3,"y":4}}');
    expect(kindOf(text, { ...bounds, valuesMax: 1_600 })).toBe('fits');
  });

  it('rests within long texts, of many keys and of escapes as well', () => {
    const keys = `[${list(20_000, () => '{"id":1}')}]`;
    const limits = { ...bounds, valuesMax: 100_000 };
    for (const text of [keys, ' '.repeat(1 << 20), `"${'\\"'.repeat(1 << 19)}"`]) {
      expect([...checkJsonWork(text, limits)].length).toBeGreaterThanOrEqual((text.length >> 16) - 1);
    }
    // Keys are counted, and then the shapes they make.
    expect([...checkJsonWork(keys, limits)].length).toBeGreaterThanOrEqual(2 * (keys.length >> 16));
  });

  it('accepts any text that is no JSON', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'{}[]:,"\\a1 ') }), (text) => {
        expect(['fits', 'too-deep', 'too-much']).toContain(kindOf(text, { depthMax: 3, valuesMax: 10 }));
      }),
    );
  });
});
