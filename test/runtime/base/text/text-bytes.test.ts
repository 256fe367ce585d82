import fc from 'fast-check';
import { expect, it } from 'vitest';
import { TextBytes } from '#runtime/base/text/text-bytes.ts';

const wholeText = fc.string({ unit: 'binary', maxLength: 3_000 });

it('has what was added and copied, in that order, as UTF-8', () => {
  fc.assert(
    fc.property(
      fc.array(fc.record({ text: wholeText, isCopied: fc.boolean(), isTaken: fc.boolean() })),
      fc.nat(10_000),
      (parts, bytesExpected) => {
        const bytes = new TextBytes(bytesExpected);
        let expected = '';
        for (const { isCopied, isTaken, text } of parts) {
          if (isCopied) {
            const around = Buffer.from(`<${text}>`);
            bytes.copy(around, 1, around.length - 1);
          } else bytes.add(text);
          expected += text;
          expect(bytes.length).toBe(Buffer.byteLength(expected));
          if (!isTaken) continue;
          expect(Buffer.from(bytes.take()).equals(Buffer.from(expected))).toBe(true);
          expected = '';
        }
        expect(Buffer.from(bytes.take()).equals(Buffer.from(expected))).toBe(true);
        expect(bytes.length).toBe(0);
      },
    ),
  );
});

it('keeps what it returned when more is added', () => {
  const bytes = new TextBytes();
  bytes.add('first');
  const first = bytes.take();
  bytes.add('other');
  expect(new TextDecoder().decode(first)).toBe('first');
  expect(new TextDecoder().decode(bytes.take())).toBe('other');
});

it('refuses to copy a stretch that is not there', () => {
  expect(() => new TextBytes().copy(Buffer.from('abc'), 1, 5)).toThrow('a stretch that is copied is there');
});

it.each([10, 3_000, 9_000])('ends with the whole text, and keeps little more memory: %i bytes', (length) => {
  const bytes = new TextBytes(10_000);
  bytes.add('a'.repeat(length));
  const whole = bytes.end();
  expect(new TextDecoder().decode(whole)).toBe('a'.repeat(length));
  expect(whole.buffer.byteLength).toBeLessThanOrEqual(2 * length);
});
