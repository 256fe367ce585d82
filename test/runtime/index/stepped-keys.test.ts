import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonValue } from '#runtime/content/values/json-value.ts';
import { indexKey, indexKeyInSteps, olderIndexKey, olderIndexKeyInSteps } from '#runtime/index/index-key.ts';
import { uniqueValue, uniqueValueInSteps } from '#runtime/index/unique-value.ts';

/** Characters from which a value is worked on in steps. */
const LONG = 1 << 16;

function stepped<T>(steps: Generator<undefined, T>): { readonly value: T; readonly rests: number } {
  for (let rests = 0; ; rests += 1) {
    const step = steps.next();
    if (step.done === true) return { value: step.value, rests };
  }
}

/** What may be cut in the wrong place, or stands otherwise in an index. */
const piece = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 8 }),
  fc.constantFrom('\0', '\0\0', '\u0001', '🌳', '\ud83c', '\udf33', 'ä', '"', '\\', '\u2028'),
);

const longText = fc.tuple(fc.array(piece, { minLength: 1, maxLength: 8 }), piece).map(
  ([pieces, start]) =>
    start +
    pieces
      .join('')
      .padEnd(1, 'x')
      .repeat(LONG)
      .slice(0, 3 * LONG),
);

const longValue = fc.oneof(
  longText,
  fc.array(piece, { maxLength: 4 }).map((texts) => Array.from({ length: LONG / 8 }, () => texts)),
  fc.tuple(piece, longText).map(([key, text]) => ({ [key]: text, b: [1, null, text], a: { c: true } })),
  fc
    .array(fc.tuple(piece, fc.jsonValue()), { maxLength: 6 })
    .map((members) => [...Array.from({ length: LONG / 8 }, () => 1), Object.fromEntries(members)]),
);

describe('a large value in an index', () => {
  it('has the same form as when it is computed in one step', () => {
    fc.assert(
      fc.property(longValue, (value) => {
        const json = value as JsonValue;
        expect(stepped(indexKeyInSteps(json)).value).toBe(indexKey(json));
        expect(stepped(olderIndexKeyInSteps(json)).value).toBe(olderIndexKey(json));
        expect(stepped(uniqueValueInSteps(json)).value).toBe(uniqueValue(json));
      }),
      { numRuns: 40 },
    );
  });

  it('is cut and hashed in pieces', () => {
    const text = 'ab\0🌳'.repeat(400_000);
    expect(stepped(indexKeyInSteps(text)).rests).toBeGreaterThan(20);
    expect(stepped(uniqueValueInSteps(text)).rests).toBeGreaterThan(20);
    const list = Array.from({ length: 100_000 }, (_, index) => ({ index, text: 'some text' }));
    expect(stepped(uniqueValueInSteps(list)).rests).toBeGreaterThan(20);
    const keys = Object.fromEntries(list.map(({ index }) => [`key ${index}`, index]));
    expect(stepped(uniqueValueInSteps(keys)).rests).toBeGreaterThan(100);
    expect(stepped(indexKeyInSteps(list)).rests).toBe(0);
  });

  it('is worked out at once when it is short', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const json = value as JsonValue;
        expect(stepped(indexKeyInSteps(json))).toEqual({ value: indexKey(json), rests: 0 });
        expect(stepped(olderIndexKeyInSteps(json))).toEqual({ value: olderIndexKey(json), rests: 0 });
        expect(stepped(uniqueValueInSteps(json))).toEqual({ value: uniqueValue(json), rests: 0 });
      }),
    );
  });
});
