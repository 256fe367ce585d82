import { crc32 } from 'node:zlib';
import { assert } from '#runtime/base/assert.ts';
import { type Voters, votersOf } from './voters.ts';

/*
 * The bytes of a flush journal. Little endian; offsets in brackets.
 *
 * A segment is a file `<first sequence, 16 digits>.flushed`: a header, then messages of consecutive sequences.
 *
 *   segment   magic [0] 8   length of the facts [8] 4   CRC32 of the facts [12] 4   the facts, JSON
 *
 *   message   magic [0] 4   length of the bytes [4] 4   sequence [8] 6   epoch [14] 6   flushed sequence [20] 6
 *             counts [26] 1   zero [27] 1   salted CRC32 of 0..28 and of the bytes [28] 4   then the bytes
 *
 * - The bytes are those of the stream, void messages too: a reseed must give every message its old sequence.
 * - *epoch* is that of the log up to and including the message, and *counts* whether the message itself is valid.
 * - *flushed sequence* is the sequence on the disk when this message was written. It distinguishes an unfinished
 *   write at the end, which was never confirmed, from damage.
 * - The checksum is *salted* with a number of the segment: old blocks of another file do not verify in this one.
 */

/** Format that this version writes. 1: the first. */
const FLUSH_FORMAT = 1;

/** Length of the prefix of a segment's facts. */
export const SEGMENT_PREFIX_BYTES = 16;

/** Length of the prefix of a message. */
export const MESSAGE_PREFIX_BYTES = 32;

/** Maximum length of a segment's facts, in bytes. */
export const FACTS_BYTES_MAX = 64 * 1024;

const segmentMagic = Buffer.from('GROVEFLJ', 'latin1');

/** First bytes of a message. */
export const messageMagic: Buffer = Buffer.from('FMSG', 'latin1');

const segmentName = /^(\d{16})\.flushed$/;

/** Returns the name of the segment that begins with a sequence. */
export function segmentFileName(firstSequence: number): string {
  return `${String(firstSequence).padStart(16, '0')}.flushed`;
}

/** Parses {@link segmentFileName}. @returns undefined for another name */
export function parseSegmentFileName(name: string): number | undefined {
  const match = segmentName.exec(name);
  return match === null ? undefined : Number(match[1]);
}

/** Header facts of a segment. */
export interface SegmentFacts {
  /** Of the stream. */
  readonly identity: string;
  readonly firstSequence: number;
  /** Time of its creation, in milliseconds since the Unix epoch by this machine's clock. */
  readonly createdMs: number;
  /** Part of every checksum. */
  readonly salt: number;
  /** Whether it continues the previous segment; otherwise that one and all older ones are remains. */
  readonly continues: boolean;
  /** Voters as of the message before the first; undefined when unknown. */
  readonly voters: Voters | undefined;
}

/** Encodes the header of a segment. The key of the voters is `keepers` in format 1. */
export function encodeSegmentFacts({ voters, ...facts }: SegmentFacts): Buffer {
  const json = Buffer.from(JSON.stringify({ format: FLUSH_FORMAT, ...facts, keepers: voters }), 'utf8');
  assert(json.length <= FACTS_BYTES_MAX, `facts of ${json.length} bytes`);
  const prefix = Buffer.alloc(SEGMENT_PREFIX_BYTES);
  segmentMagic.copy(prefix, 0);
  prefix.writeUInt32LE(json.length, 8);
  prefix.writeUInt32LE(crc32(json), 12);
  return Buffer.concat([prefix, json]);
}

/** Decodes {@link encodeSegmentFacts}. @returns undefined when they do not verify */
export function decodeSegmentFacts(
  bytes: Buffer,
): { readonly facts: SegmentFacts; readonly end: number } | undefined {
  if (bytes.length < SEGMENT_PREFIX_BYTES || !bytes.subarray(0, 8).equals(segmentMagic)) return undefined;
  const end = SEGMENT_PREFIX_BYTES + bytes.readUInt32LE(8);
  const json = bytes.subarray(SEGMENT_PREFIX_BYTES, end);
  if (bytes.length < end || crc32(json) !== bytes.readUInt32LE(12)) return undefined;
  const { format, keepers, ...facts } = JSON.parse(json.toString('utf8')) as Omit<SegmentFacts, 'voters'> & {
    format: number;
    keepers: unknown;
  };
  if (format !== FLUSH_FORMAT) return undefined;
  return { facts: { ...facts, voters: votersOf(keepers) }, end };
}

/** A message of the stream, and the state of the log up to it. */
export interface FlushedMessage {
  readonly sequence: number;
  readonly bytes: Buffer;
  /** Epoch of the log up to and including the message. */
  readonly epoch: number;
  /** Whether the message counts. */
  readonly isValid: boolean;
}

/** @param flushedSequence sequence that is on the disk already */
export function encodeMessage(message: FlushedMessage, flushedSequence: number, salt: number): Buffer {
  const { bytes, epoch, isValid, sequence } = message;
  const prefix = Buffer.alloc(MESSAGE_PREFIX_BYTES);
  messageMagic.copy(prefix, 0);
  prefix.writeUInt32LE(bytes.length, 4);
  prefix.writeUIntLE(sequence, 8, 6);
  prefix.writeUIntLE(epoch, 14, 6);
  prefix.writeUIntLE(flushedSequence, 20, 6);
  prefix[26] = isValid ? 1 : 0;
  prefix.writeUInt32LE(checksum(prefix, bytes, salt), 28);
  return Buffer.concat([prefix, bytes]);
}

/** A message as it was read from a segment. */
export interface DecodedMessage extends FlushedMessage {
  readonly flushedSequence: number;
  /** Offset after it. */
  readonly end: number;
}

/** Decodes the message at an offset. @returns undefined when none verifies there */
export function decodeMessage(segment: Buffer, offset: number, salt: number): DecodedMessage | undefined {
  const prefix = segment.subarray(offset, offset + MESSAGE_PREFIX_BYTES);
  if (prefix.length < MESSAGE_PREFIX_BYTES || !prefix.subarray(0, 4).equals(messageMagic)) return undefined;
  const end = offset + MESSAGE_PREFIX_BYTES + prefix.readUInt32LE(4);
  if (end > segment.length) return undefined;
  const bytes = segment.subarray(offset + MESSAGE_PREFIX_BYTES, end);
  if (checksum(prefix, bytes, salt) !== prefix.readUInt32LE(28)) return undefined;
  return {
    sequence: prefix.readUIntLE(8, 6),
    epoch: prefix.readUIntLE(14, 6),
    flushedSequence: prefix.readUIntLE(20, 6),
    isValid: prefix[26] === 1,
    bytes,
    end,
  };
}

function checksum(prefix: Buffer, bytes: Buffer, salt: number): number {
  const place = Buffer.allocUnsafe(4);
  place.writeUInt32LE(salt, 0);
  return crc32(bytes, crc32(prefix.subarray(0, 28), crc32(place)));
}
