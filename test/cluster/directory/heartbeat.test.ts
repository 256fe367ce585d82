import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeHeartbeat, encodeHeartbeat, type Heartbeat } from '#cluster/directory/heartbeat.ts';

const PARTITIONS = 32;
const partition = fc.nat({ max: PARTITIONS - 1 });
const text = fc.string({ minLength: 1, maxLength: 40 });
const heartbeat: fc.Arbitrary<Heartbeat> = fc.record({
  format: fc.nat({ max: 5 }),
  member: text,
  incarnation: text,
  beat: fc.nat(),
  url: fc.string(),
  version: fc.string(),
  formats: fc.record({ records: fc.nat(), calls: fc.nat() }),
  load: fc.record({ requestsInFlight: fc.nat(), openActors: fc.nat(), pendingBytes: fc.nat() }),
  owned: fc.array(fc.tuple(partition, fc.nat()), { maxLength: PARTITIONS }),
  handovers: fc.array(fc.tuple(partition, text), { maxLength: PARTITIONS }),
  warm: fc.array(partition, { maxLength: PARTITIONS }),
  resting: fc.array(partition, { maxLength: PARTITIONS }),
  isDraining: fc.boolean(),
  isLeaving: fc.boolean(),
});

describe('a heartbeat', () => {
  it('may name a key, which older members do not', () => {
    const [sent] = fc.sample(heartbeat, 1) as [Heartbeat];
    expect(decodeHeartbeat(encodeHeartbeat({ ...sent, key: 'ab' }), PARTITIONS)).toEqual({
      ...sent,
      key: 'ab',
    });
    for (const key of ['', 7, null, 'x'.repeat(201)])
      expect(decodeHeartbeat(Buffer.from(JSON.stringify({ ...sent, key })), PARTITIONS)).toBeUndefined();
  });

  it('arrives as it was sent', () => {
    fc.assert(
      fc.property(heartbeat, (sent) => {
        expect(decodeHeartbeat(encodeHeartbeat(sent), PARTITIONS)).toEqual(sent);
      }),
    );
  });

  it('is nothing when a field is missing or of another kind', () => {
    fc.assert(
      fc.property(heartbeat, fc.nat(), fc.constantFrom(undefined, null, {}, -1), (sent, pick, other) => {
        const names = Object.keys(sent);
        const broken = { ...sent, [names[pick % names.length] as string]: other };
        expect(decodeHeartbeat(Buffer.from(JSON.stringify(broken)), PARTITIONS)).toBeUndefined();
      }),
    );
  });

  it('is nothing when it names a partition the cluster does not have', () => {
    fc.assert(
      fc.property(heartbeat, (sent) => {
        for (const wrong of [
          { ...sent, owned: [[PARTITIONS, 1] as const] },
          { ...sent, warm: [PARTITIONS] },
          { ...sent, handovers: [[PARTITIONS, 'a'] as const] },
        ])
          expect(decodeHeartbeat(encodeHeartbeat(wrong), PARTITIONS)).toBeUndefined();
      }),
    );
  });

  it('is nothing when the bytes are anything else', () => {
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        expect(decodeHeartbeat(bytes, PARTITIONS)).toBeUndefined();
      }),
    );
    expect(decodeHeartbeat(Buffer.from('null'), PARTITIONS)).toBeUndefined();
  });
});
