import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TextCache } from '#runtime/sql-syntax/text-cache.ts';

interface Made {
  readonly text: string;
}

const bounds = { textLengthMax: 4, lengthMax: 10, entriesMax: 3, weakMax: 2 };

function cacheOf(values: readonly string[]): TextCache<Made> {
  const cache = new TextCache<Made>(bounds, ({ text }) => text);
  for (const text of values) cache.keep(text, { text });
  return cache;
}

function known(cache: TextCache<Made>, texts: readonly string[]): readonly string[] {
  return texts.filter((text) => cache.find(text)?.text === text);
}

describe('what was made of texts', () => {
  it('is found again by the same text', () => {
    const cache = new TextCache<Made>(bounds, ({ text }) => text);
    const value = { text: 'a' };
    cache.keep('a', value);
    expect(cache.find('a')).toBe(value);
    expect(cache.find('b')).toBeUndefined();
  });

  it('goes when there are too many texts, the one first that was not used for longest', () => {
    const cache = cacheOf(['a', 'b', 'c']);
    cache.find('a');
    cache.keep('d', { text: 'd' });
    expect(known(cache, ['a', 'b', 'c', 'd'])).toEqual(['a', 'c', 'd']);
  });

  it('goes when the texts are too long together', () => {
    expect(known(cacheOf(['aaaa', 'bbbb', 'cccc']), ['aaaa', 'bbbb', 'cccc'])).toEqual(['bbbb', 'cccc']);
  });

  it('is found for a long text only while somebody holds it, and only for the last ones', () => {
    const cache = new TextCache<Made>(bounds, ({ text }) => text);
    const held = ['first', 'second', 'third'].map((text) => ({ text }));
    for (const value of held) cache.keep(value.text, value);
    expect(cache.size).toBe(0);
    expect(cache.find('first')).toBeUndefined();
    expect(cache.find('second')).toBe(held[1]);
    expect(cache.find('third')).toBe(held[2]);
    expect(cache.find('other')).toBeUndefined();
  });

  it('keeps to its bounds, and never gives the value of another text', () => {
    const text = fc.string({ maxLength: 6, unit: fc.constantFrom('a', 'b') });
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.boolean(), text)), (steps) => {
        const cache = cacheOf([]);
        for (const [isKept, each] of steps) {
          if (isKept) cache.keep(each, { text: each });
          else expect(cache.find(each)?.text ?? each).toBe(each);
          expect(cache.size).toBeLessThanOrEqual(bounds.entriesMax);
          expect(cache.length).toBeLessThanOrEqual(bounds.lengthMax);
        }
        const left = new Set(steps.map(([, each]) => each).filter((each) => each.length <= 4));
        const lengths = known(cache, [...left]).map((each) => each.length);
        expect(cache.length).toBe(lengths.reduce((sum, length) => sum + length, 0));
      }),
    );
  });
});
