import { expect, it } from 'vitest';
import { encodeMessage, encodeSegmentFacts } from '#cluster/replica-durability/flush-format.ts';
import { scanSegment } from '#cluster/replica-durability/segment-scan.ts';

const SALT = 7;

/** A segment with messages of some sequences, each whole. */
function segment(...sequences: number[]): Buffer {
  const [firstSequence = 0] = sequences;
  const facts = { identity: 'memory', firstSequence, createdMs: 0, salt: SALT, continues: false };
  const message = (sequence: number): Buffer =>
    encodeMessage({ sequence, bytes: Buffer.from('text'), epoch: 1, isValid: true }, 0, SALT);
  return Buffer.concat([encodeSegmentFacts({ ...facts, voters: undefined }), ...sequences.map(message)]);
}

it('reads messages in order', () => {
  expect(scanSegment(segment(4, 5, 6), 'segment').messages.map(({ sequence }) => sequence)).toEqual([
    4, 5, 6,
  ]);
});

it.each([
  ['a gap', segment(4, 6)],
  ['one message twice', segment(4, 4)],
])('refuses %s, where each message is whole', (_, bytes) => {
  expect(() => scanSegment(bytes, 'segment')).toThrow(/segment: message \d is in the place of 5/);
});
