import { Buffer } from 'node:buffer';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compareTexts } from '#runtime/base/text/text-order.ts';

/** Units at the borders of the ranges that UTF-16 and UTF-8 order differently. */
const unit = fc.constantFrom(
  '',
  'a',
  'b',
  '\0',
  'ü',
  '\ud7ff',
  '\ud83c',
  '\udf33',
  '\ue000',
  '\ufffd',
  '\uffff',
  '🌳',
  '𐀀',
);
const text = fc.array(unit, { maxLength: 6 }).map((units) => units.join(''));

describe('the order of texts', () => {
  it('is that of their UTF-8 bytes, with lone surrogates as the replacement character', () => {
    fc.assert(
      fc.property(text, text, (a, b) => {
        expect(Math.sign(compareTexts(a, b))).toBe(Buffer.compare(Buffer.from(a), Buffer.from(b)));
      }),
      { numRuns: 3000 },
    );
  });

  it('is found behind a long common start', () => {
    fc.assert(
      fc.property(fc.integer({ min: 4_000, max: 9_000 }), text, text, (length, a, b) => {
        const start = 'x'.repeat(length);
        expect(compareTexts(start + a, start + b)).toBe(compareTexts(a, b));
      }),
    );
  });

  it('differs from that of UTF-16 units above the surrogates', () => {
    expect(compareTexts('\uffff', '🌳')).toBeLessThan(0);
    expect('\uffff' < '🌳').toBe(false);
  });
});
