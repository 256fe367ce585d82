import { hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { assert } from '#runtime/base/assert.ts';
import type { Revision } from '#runtime/content/revision.ts';

/*
 * The bytes of one message of a partition's stream: a header, then a body. Little endian; offsets in brackets.
 *
 *   magic [0] 4   format [4] 1   kind [5] 1   zero [6] 2   partition [8] 4   entries [12] 4
 *   epoch [16] 6   batch [22] 6   clock: ms [28] 6, zero [34] 2, counter [36] 4
 *   body length [40] 4   CRC32 of the body [44] 4   previous chain [48] 16   chain [64] 16
 *   CRC32 of 0..80 [80] 4   then the body
 *
 * - The *chain* is a hash over all the fields before it, including the previous chain, so a record proves
 *   every valid record before it.
 * - *batch* is a number that its writer never uses twice, so no two records have the same chain, also when the same
 *   entries are appended again.
 * - A NOOP with a body makes a statement about the log itself (`replica-durability/voters.ts`); readers that do not
 *   know it skip it.
 * - The body of ENTRIES is encoded entries; of CHUNK a part of the encoded entries of a larger batch; of MANIFEST
 *   their total length [0] 4 and their CRC32 [4] 4, and it completes the chunks directly before it; of OPEN the
 *   nonce [0] 16, then the member's name in UTF-8; of CLOSE it is empty.
 */

/**
 * The newest format that this version reads and writes. 1: the first.
 *
 * A version that adds a format reads all earlier ones, and writes the newest that all members read, see
 * `commonFormats`.
 */
export const RECORD_FORMAT = 1;

/** Length of the header of a record. */
export const RECORD_HEADER_BYTES = 84;

/**
 * Maximum length of a record in bytes. NATS accepts messages of 1 MiB by default, and slows down above it.
 *
 * @see docs/partition-log.md#bounds
 */
export const RECORD_BYTES_MAX = 768 * 1024;

/** Maximum length of a record's body in bytes. */
export const BODY_BYTES_MAX: number = RECORD_BYTES_MAX - RECORD_HEADER_BYTES;

/** Length of the running hash. */
export const CHAIN_BYTES = 16;

/** Length of the number that distinguishes two openings by one member. */
export const NONCE_BYTES = 16;

/** Maximum length of a member's name, in bytes of UTF-8. */
export const MEMBER_BYTES_MAX = 255;

/** Upper bound of epochs and batch numbers. */
const UINT48_MAX = 2 ** 48 - 1;

/** The chain before the first record of a log. */
export const chainStart: Buffer = Buffer.alloc(CHAIN_BYTES);

/** Kinds of records. */
export const RecordKind = {
  /** Entries of one batch. */
  entries: 1,
  /** A part of a batch that is too large for one record; without the manifest after it, it has no meaning. */
  chunk: 2,
  /** Combines the chunks before it into one batch. */
  manifest: 3,
  /** A new owner, or the old one under a new epoch. */
  open: 4,
  /** The owner released the partition: no member must wait for its lease. */
  close: 5,
  /** No content; proves that its writer was the owner when it was stored. */
  noop: 6,
} as const;
export type RecordKind = (typeof RecordKind)[keyof typeof RecordKind];

const kinds: ReadonlySet<number> = new Set(Object.values(RecordKind));

const magic = Buffer.from('GLOG', 'latin1');

/** The fields of a record, without its body and computed fields. */
export interface RecordFields {
  readonly kind: RecordKind;
  readonly partition: number;
  /** Entries in the batch, for `entries` and `manifest`; else 0. */
  readonly entries: number;
  readonly epoch: number;
  /** Never used twice by one opening. */
  readonly batch: number;
  /** Highest clock of all entries up to and including this record. */
  readonly clock: Revision;
  readonly previousChain: Buffer;
}

/** A decoded record whose checksums are valid. Its buffers are views of the message. */
export interface LogMessageRecord extends RecordFields {
  readonly chain: Buffer;
  readonly body: Buffer;
}

/** Bytes that are not a record of this format. */
export interface RecordFault {
  readonly fault: string;
  /** It may be intact: a newer version wrote it. */
  readonly isNewer?: boolean;
}

/** @returns the record's bytes, and its chain */
export function encodeRecord(
  fields: RecordFields,
  body: Uint8Array,
): { readonly bytes: Buffer; readonly chain: Buffer } {
  assert(body.length <= BODY_BYTES_MAX, `record body of ${body.length} bytes`);
  assert(fields.epoch <= UINT48_MAX && fields.batch <= UINT48_MAX, 'epoch or batch above 2^48');
  const bytes = Buffer.allocUnsafe(RECORD_HEADER_BYTES + body.length);
  magic.copy(bytes, 0);
  bytes[4] = RECORD_FORMAT;
  bytes[5] = fields.kind;
  bytes.writeUInt16LE(0, 6);
  bytes.writeUInt32LE(fields.partition, 8);
  bytes.writeUInt32LE(fields.entries, 12);
  bytes.writeUIntLE(fields.epoch, 16, 6);
  bytes.writeUIntLE(fields.batch, 22, 6);
  bytes.writeUIntLE(fields.clock.ms, 28, 6);
  bytes.writeUInt16LE(0, 34);
  bytes.writeUInt32LE(fields.clock.counter, 36);
  bytes.writeUInt32LE(body.length, 40);
  bytes.writeUInt32LE(crc32(body), 44);
  assert(fields.previousChain.length === CHAIN_BYTES, 'a chain of another length');
  bytes.set(fields.previousChain, 48);
  const chain = chainOf(bytes);
  bytes.set(chain, 64);
  bytes.writeUInt32LE(crc32(bytes.subarray(0, 80)), 80);
  bytes.set(body, RECORD_HEADER_BYTES);
  return { bytes, chain };
}

/** Decodes a record and verifies all of it. */
export function decodeRecord(bytes: Buffer): LogMessageRecord | RecordFault {
  if (bytes.length < RECORD_HEADER_BYTES)
    return { fault: `${bytes.length} bytes are too short for a record` };
  if (!bytes.subarray(0, 4).equals(magic)) return { fault: 'it does not begin like a record' };
  const format = bytes[4] as number;
  // A newer header may have another layout, so its checksum cannot be verified here.
  if (format > RECORD_FORMAT)
    return { fault: `it has format ${format}, and this version reads ${RECORD_FORMAT}`, isNewer: true };
  if (format === 0) return { fault: 'it has format 0, which no version wrote' };
  if (crc32(bytes.subarray(0, 80)) !== bytes.readUInt32LE(80))
    return { fault: "its header's checksum fails" };
  const kind = bytes[5] as number;
  if (!kinds.has(kind)) return { fault: `it is of unknown kind ${kind}` };
  const body = bytes.subarray(RECORD_HEADER_BYTES);
  if (body.length !== bytes.readUInt32LE(40)) return { fault: 'it is truncated' };
  if (crc32(body) !== bytes.readUInt32LE(44)) return { fault: "its body's checksum fails" };
  const chain = bytes.subarray(64, 80);
  if (!chainOf(bytes).equals(chain)) return { fault: 'its chain is not that of its fields' };
  return {
    kind: kind as RecordKind,
    partition: bytes.readUInt32LE(8),
    entries: bytes.readUInt32LE(12),
    epoch: bytes.readUIntLE(16, 6),
    batch: bytes.readUIntLE(22, 6),
    clock: { ms: bytes.readUIntLE(28, 6), counter: bytes.readUInt32LE(36) },
    previousChain: bytes.subarray(48, 64),
    chain,
    body,
  };
}

function chainOf(bytes: Buffer): Buffer {
  return hash('sha256', bytes.subarray(0, 64), 'buffer').subarray(0, CHAIN_BYTES);
}

/** Content of an `open` record. */
export interface Opening {
  /** The owner of the partition from here on. */
  readonly member: string;
  /** Distinguishes this opening from any other; {@link NONCE_BYTES} random bytes. */
  readonly nonce: Buffer;
}

/** Encodes the body of an `open` record. */
export function encodeOpening({ member, nonce }: Opening): Buffer {
  const name = Buffer.from(member, 'utf8');
  assert(name.length > 0 && name.length <= MEMBER_BYTES_MAX, `member name of ${name.length} bytes`);
  assert(nonce.length === NONCE_BYTES, 'a nonce of another length');
  return Buffer.concat([nonce, name]);
}

/** Decodes {@link encodeOpening}. */
export function decodeOpening(body: Buffer): Opening {
  assert(body.length > NONCE_BYTES, 'an opening without a member');
  return { nonce: body.subarray(0, NONCE_BYTES), member: body.toString('utf8', NONCE_BYTES) };
}

/** Description of the chunks before a `manifest`. */
export interface Manifest {
  /** Length of all chunks together, in bytes. */
  readonly bytes: number;
  /** CRC32 of them all. */
  readonly crc: number;
}

/** Encodes the body of a `manifest` record. */
export function encodeManifest({ bytes, crc }: Manifest): Buffer {
  const body = Buffer.allocUnsafe(8);
  body.writeUInt32LE(bytes, 0);
  body.writeUInt32LE(crc, 4);
  return body;
}

/** Decodes {@link encodeManifest}. */
export function decodeManifest(body: Buffer): Manifest {
  assert(body.length === 8, 'a manifest of another length');
  return { bytes: body.readUInt32LE(0), crc: body.readUInt32LE(4) };
}
