import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  decodeManifest,
  decodeRecords,
  encodeManifest,
  encodeRecords,
} from '#cluster/snapshot/snapshot-manifest.ts';

const hash = fc
  .uint8Array({ minLength: 32, maxLength: 32 })
  .map((bytes) => Buffer.from(bytes).toString('hex'));
const file = fc.record({ hash, size: fc.nat() });
const position = fc.record({
  identity: fc.string(),
  sequence: fc.nat(),
  epoch: fc.nat(),
  chain: fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => Buffer.from(bytes)),
});
const actor = fc
  .tuple(
    file,
    fc.nat(),
    fc.array(fc.stringMatching(/^[a-z0-9%~][a-zA-Z0-9%~._-]{0,8}$/), { minLength: 2, maxLength: 4 }),
  )
  .map(([{ hash, size }, sequence, parts]) => ({ id: parts.join('/'), sequence, hash, size }));
const common = { partition: fc.nat(255), position, takenAtMs: fc.nat(), member: fc.string() };

describe('a manifest of a snapshot', () => {
  it('is unchanged after encoding and decoding', () => {
    fc.assert(
      fc.property(fc.record({ ...common, actors: fc.array(actor) }), (manifest) => {
        expect(decodeManifest(encodeManifest(manifest))).toEqual(manifest);
      }),
    );
  });

  it('is refused when it was cut or is of something else', () => {
    const bytes = encodeManifest({
      partition: 3,
      position: { identity: 'x', sequence: 7, epoch: 1, chain: Buffer.alloc(32) },
      takenAtMs: 1,
      member: 'm',
      actors: [],
    });
    for (let end = 0; end < bytes.length; end += 1)
      expect(() => decodeManifest(bytes.subarray(0, end))).toThrow('cannot be read');
    expect(() => decodeManifest(Buffer.from('{"format":1}'))).toThrow('cannot be read');
    expect(() => decodeManifest(Buffer.from('{"format":2}'))).toThrow('newer build');
  });

  it('names no actor whose folder would be elsewhere', () => {
    const text = (id: string): Uint8Array =>
      encodeManifest({
        partition: 3,
        position: { identity: 'x', sequence: 7, epoch: 1, chain: Buffer.alloc(32) },
        takenAtMs: 1,
        member: 'm',
        actors: [{ id, sequence: 1, hash: '0'.repeat(64), size: 1 }],
      });
    expect(decodeManifest(text('acme/site~1/branch')).actors).toHaveLength(1);
    for (const id of ['../x/branch', 'a//branch', '/etc/branch', 'a/./branch'])
      expect(() => decodeManifest(text(id))).toThrow('cannot be read');
  });
});

describe('the records of the index', () => {
  it('come back as they were', () => {
    const record = fc.record({ ...common, actors: fc.nat(), bytes: fc.nat(), manifest: file });
    fc.assert(
      fc.property(fc.array(record, { maxLength: 2 }), (records) => {
        expect(decodeRecords(encodeRecords(records))).toEqual(records);
      }),
    );
  });
});
