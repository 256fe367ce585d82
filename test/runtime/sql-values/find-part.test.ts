import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findPart, PartFinder, splitAt } from '#runtime/sql-values/text/find-part.ts';
import {
  characterCount,
  offsetAfter,
  offsetBeforeLast,
  reversed,
} from '#runtime/sql-values/text/characters.ts';

const few = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 200 });
const part = fc.string({ unit: fc.constantFrom('a', 'b'), minLength: 1, maxLength: 40 });

describe('search for a part', () => {
  it('finds what the built-in search finds', () => {
    fc.assert(
      fc.property(few, part, (text, wanted) => {
        expect(findPart(text, wanted)).toBe(text.indexOf(wanted));
        expect(splitAt(text, wanted)).toEqual(text.split(wanted));
      }),
      { numRuns: 500 },
    );
  });

  it('finds a long part that is repeated', () => {
    const wanted = `${'ab'.repeat(20)}a`;
    const finder = new PartFinder(wanted);
    const text = `${'ab'.repeat(100)}c${wanted}`;
    expect(finder.next(text, 162)).toBe(201);
    expect(finder.next(text, 202)).toBe(-1);
  });

  it('takes time proportional to the lengths', () => {
    // The built-in search compares about 6 * 10^10 characters here, so this test would not end in time.
    const text = 'a'.repeat(500_000);
    const wanted = `${'a'.repeat(250_000)}b`;
    expect(findPart(text, wanted)).toBe(-1);
    expect(findPart(`${text}b`, `${text.slice(1)}b`)).toBe(1);
    expect(splitAt(text, wanted)).toEqual([text]);
  });
});

describe('characters', () => {
  it('counts and cuts as code points', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('a', '😀', '\ud800', '\udc00') }),
        fc.nat(12),
        (text, count) => {
          const characters = [...text];
          expect(characterCount(text)).toBe(characters.length);
          expect(text.slice(0, offsetAfter(text, count))).toBe(characters.slice(0, count).join(''));
          const last = count === 0 ? [] : characters.slice(-count);
          expect(text.slice(offsetBeforeLast(text, count))).toBe(last.join(''));
          expect(reversed(text)).toBe(characters.reverse().join(''));
        },
      ),
      { numRuns: 500 },
    );
  });
});
