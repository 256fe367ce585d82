import { Buffer } from 'node:buffer';
import { expect, it } from 'vitest';
import { decodeProjectionValue, encodeProjectionValue } from '#runtime/projection/projection-value.ts';

it('a value of a projection is that of its key, and of no other one', () => {
  const key = 'statistics\0content\0t:Doc\0days\x002026-11-27';
  const value = Buffer.from('value');
  const stored = encodeProjectionValue(key, value);
  expect(Buffer.from(decodeProjectionValue(key, stored))).toEqual(value);
  for (let at = 0; at < key.length; at += 1) {
    const flipped = Buffer.from(key, 'latin1');
    flipped[at] = (flipped[at] as number) ^ 2;
    expect(() => decodeProjectionValue(flipped.toString('latin1'), stored)).toThrow(
      expect.objectContaining({ code: 'DATA_CORRUPTED' }),
    );
  }
  expect(() => decodeProjectionValue(key, stored.subarray(0, 3))).toThrow('checksum');
});
