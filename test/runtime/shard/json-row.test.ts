import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { decodeJsonRow, encodeJsonRow } from '#runtime/shard/json-row.ts';

describe('a JSON row', () => {
  it('gives back every JSON value, also from the middle of a larger buffer', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.nat(40), (value, offset) => {
        const bytes = encodeJsonRow(value);
        const larger = Buffer.alloc(offset + bytes.length + 7, 0xaa);
        larger.set(bytes, offset);
        const expected: unknown = JSON.parse(JSON.stringify(value));
        expect(decodeJsonRow(larger.subarray(offset, offset + bytes.length))).toEqual(expected);
      }),
    );
  });

  it('never gives back anything from bytes with one bit turned over, or cut short', () => {
    const bytes = encodeJsonRow({ name: 'blog', branches: ['main'], text: 'ä€😀' });
    const refused = (damaged: Uint8Array): boolean => {
      try {
        decodeJsonRow(damaged);
        return false;
      } catch (error) {
        return error instanceof ServiceError && error.code === 'DATA_CORRUPTED';
      }
    };
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const damaged = Buffer.from(bytes);
      damaged[bit >> 3] = (damaged[bit >> 3] as number) ^ (1 << (bit & 7));
      expect([bit, refused(damaged)]).toEqual([bit, true]);
    }
    for (let length = 0; length < bytes.length; length++) {
      expect([length, refused(bytes.subarray(0, length))]).toEqual([length, true]);
    }
  });
});
