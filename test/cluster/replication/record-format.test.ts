import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { InvariantError } from '#runtime/base/assert.ts';
import {
  BODY_BYTES_MAX,
  CHAIN_BYTES,
  decodeManifest,
  decodeOpening,
  decodeRecord,
  encodeManifest,
  encodeOpening,
  encodeRecord,
  RECORD_BYTES_MAX,
  RECORD_FORMAT,
  type RecordFields,
  RecordKind,
} from '#cluster/replication/record-format.ts';

const uint48 = fc.integer({ min: 0, max: 2 ** 48 - 1 });
const uint32 = fc.integer({ min: 0, max: 2 ** 32 - 1 });

const fieldsOf: fc.Arbitrary<RecordFields> = fc.record({
  kind: fc.constantFrom(...Object.values(RecordKind)),
  partition: uint32,
  entries: uint32,
  epoch: uint48,
  batch: uint48,
  clock: fc.record({ ms: uint48, counter: uint32 }),
  previousChain: fc
    .uint8Array({ minLength: CHAIN_BYTES, maxLength: CHAIN_BYTES })
    .map((bytes) => Buffer.from(bytes)),
});

const simple: RecordFields = {
  kind: RecordKind.entries,
  partition: 3,
  entries: 1,
  epoch: 7,
  batch: 9,
  clock: { ms: 1000, counter: 1 },
  previousChain: Buffer.alloc(CHAIN_BYTES, 1),
};

describe('a record of the replicated log', () => {
  it('is read back as it was written', () => {
    fc.assert(
      fc.property(fieldsOf, fc.uint8Array({ maxLength: 300 }), (fields, body) => {
        const { bytes, chain } = encodeRecord(fields, body);
        expect(decodeRecord(bytes)).toEqual({ ...fields, chain, body: Buffer.from(body) });
      }),
    );
  });

  it('of an unknown format or a newer version is refused, the newer one with its own error [CLU-043]', () => {
    const { bytes } = encodeRecord(simple, Buffer.from('the entries'));
    const of = (format: number) => decodeRecord(Buffer.from(bytes).fill(format, 4, 5));
    expect(of(RECORD_FORMAT)).toHaveProperty('body');
    for (let format = RECORD_FORMAT + 1; format < 256; format++)
      expect(of(format)).toMatchObject({ isNewer: true, fault: expect.stringContaining(`format ${format}`) });
    expect(of(0)).toEqual({ fault: expect.stringContaining('no version wrote') });
  });

  it('is found damaged with any bit turned over, and cut at any byte', () => {
    const { bytes } = encodeRecord(simple, Buffer.from('the entries'));
    for (let bit = 0; bit < bytes.length * 8; bit += 1) {
      const damaged = Buffer.from(bytes);
      damaged[bit >> 3] = (damaged[bit >> 3] as number) ^ (1 << (bit & 7));
      expect(decodeRecord(damaged)).toHaveProperty('fault');
    }
    for (let length = 0; length < bytes.length; length += 1)
      expect(decodeRecord(bytes.subarray(0, length))).toHaveProperty('fault');
  });

  it('has another chain when anything about it is another, the number of its batch too', () => {
    const chains = [
      encodeRecord(simple, Buffer.from('a')).chain,
      encodeRecord(simple, Buffer.from('b')).chain,
      encodeRecord({ ...simple, batch: 10 }, Buffer.from('a')).chain,
      encodeRecord({ ...simple, epoch: 8 }, Buffer.from('a')).chain,
      encodeRecord({ ...simple, previousChain: Buffer.alloc(CHAIN_BYTES, 2) }, Buffer.from('a')).chain,
    ];
    expect(new Set(chains.map((chain) => chain.toString('hex'))).size).toBe(chains.length);
  });

  it('is as long as its bound at most', () => {
    expect(encodeRecord(simple, Buffer.alloc(BODY_BYTES_MAX)).bytes).toHaveLength(RECORD_BYTES_MAX);
    expect(() => encodeRecord(simple, Buffer.alloc(BODY_BYTES_MAX + 1))).toThrow(InvariantError);
  });

  it('preserves the opener of an epoch, and the content of a manifest', () => {
    const opening = { member: 'höst:8080', nonce: Buffer.alloc(16, 5) };
    expect(decodeOpening(encodeOpening(opening))).toEqual(opening);
    expect(decodeManifest(encodeManifest({ bytes: 1_000_000, crc: 0xffffffff }))).toEqual({
      bytes: 1_000_000,
      crc: 0xffffffff,
    });
    expect(() => encodeOpening({ ...opening, member: '' })).toThrow(InvariantError);
    expect(() => encodeOpening({ ...opening, member: 'm'.repeat(256) })).toThrow(InvariantError);
  });
});
