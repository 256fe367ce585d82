import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  decodeMessage,
  decodeMessageInSteps,
  encodeMessage,
  messagePieces,
} from '#cluster/router/message-codec.ts';
import { atOnce } from '#runtime/base/event-loop/at-once.ts';
import { JsonText } from '#runtime/content/values/json-text.ts';

const keys = fc.oneof(
  fc.string({ maxLength: 4 }),
  fc.constantFrom('__proto__', 'toJSON', '\u0000text', '\u0000bytes', '\u0000entries', '\u0000', '\ud800'),
);
const values = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.constant(null),
    fc.boolean(),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => number + 0),
    fc.string({ unit: 'binary' }),
    fc.constantFrom('\ud800', '\u0000text', '\\u0000'),
    fc.uint8Array({ maxLength: 8 }).map((bytes) => new Uint8Array(bytes)),
    fc.string().map((text) => new JsonText(JSON.stringify(text))),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.array(fc.tuple(keys, tie('value')), { maxLength: 4 }).map(objectOf),
  ),
})).value;

function objectOf(entries: readonly (readonly [string, unknown])[]): object {
  const object = {};
  for (const [key, value] of entries)
    Object.defineProperty(object, key, { value, enumerable: true, writable: true, configurable: true });
  return object;
}

describe('a message between members', () => {
  it('arrives as it was sent', () => {
    fc.assert(
      fc.property(values, (value) => {
        const arrived = decodeMessage(encodeMessage(value));
        expect(arrived).toEqual(value);
        expect(JSON.stringify(arrived)).toBe(JSON.stringify(value));
      }),
    );
  });

  it('is the same in pieces of any size', () => {
    fc.assert(
      fc.property(values, fc.constantFrom(1, 5, 20, 100), (value, step) => {
        const text = [...messagePieces(value, step)].join('');
        expect(text).toBe(encodeMessage(value));
        const arrived = atOnce(decodeMessageInSteps(Buffer.from(text)));
        expect(arrived).toEqual(value);
        expect(JSON.stringify(arrived)).toBe(JSON.stringify(value));
      }),
    );
  });

  it('of many megabytes is encoded and decoded in steps', () => {
    const long = 'ä'.repeat(1 << 20);
    const message = {
      text: new JsonText(`{"n":12345678901234567890,"long":"${long}"}`),
      list: Array.from({ length: 50_000 }, (_, index) => [index, { toJSON: index }]),
      bytes: new Uint8Array(1 << 20).fill(7),
      tagged: { '\u0000text': { '\u0000bytes': long, n: 9007199254740993n } },
      long,
    };
    const pieces = [...messagePieces(message)];
    expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThan(3 << 16);
    const text = pieces.join('');
    expect(text === encodeMessage(message)).toBe(true);
    const steps = decodeMessageInSteps(Buffer.from(text));
    for (let rests = 0; ; rests += 1) {
      const step = steps.next();
      if (step.done !== true) continue;
      expect(step.value).toEqual(message);
      expect(rests).toBeGreaterThan(text.length >> 16);
      break;
    }
  });

  it('may be nothing, and keeps dangerous keys as keys', () => {
    expect(decodeMessage(encodeMessage(undefined))).toBeUndefined();
    const arrived = decodeMessage(
      encodeMessage(JSON.parse('{"__proto__":{"polluted":1},"\\u0000text":"x"}')),
    );
    expect(Object.keys(arrived as object)).toEqual(['__proto__', '\u0000text']);
    expect((arrived as { polluted?: number }).polluted).toBeUndefined();
  });
});

it('keeps whole numbers of any size, beside tags too [NUM-002]', () => {
  for (const value of [
    12345678901234567890n,
    { n: [9007199254740993n, 1.5, { x: -12345678901234567890n }] },
    {
      bytes: new Uint8Array([1, 2]),
      n: 9007199254740993n,
      m: 0.1,
      text: new JsonText('{"a":12345678901234567890}'),
    },
  ])
    expect(decodeMessage(encodeMessage(value))).toEqual(value);
});
