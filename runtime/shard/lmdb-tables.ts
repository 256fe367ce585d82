import { Buffer } from 'node:buffer';
import type { Database, RangeOptions, Transaction } from 'lmdb';
import { assert } from '#runtime/base/assert.ts';
import { decodeRevision, encodeRevision, revisionZero } from '#runtime/content/revision.ts';
import type { RecordMark } from '#runtime/log/log-entry.ts';
import { KEY_BYTES_MAX } from './binary-key.ts';
import type { Range, Row, ShardPosition } from './shard.ts';

/** Newest shard format: large values are stored in pieces. A shard has it from its first large value on. */
export const SHARD_FORMAT = 2;

/** Format of a shard without large values in pieces. One written by an earlier build may contain large values whole. */
export const WHOLE_VALUES_FORMAT = 1;

/** Maximum number of named databases in one environment. */
export const DATABASES_MAX = 32;

/** Name of the database that holds the format number and the log position. */
export const SYSTEM = '_shard';

/** Name of the database that holds the pieces of large values. */
export const PIECES = '_pieces';

/** Name of the database that lists the rows of large values: number of the value to table and key of the row. */
export const LARGE_ROWS = '_large';

/** Key of the number of the newest large value in {@link SYSTEM}. */
export const LARGE_KEY = 'large';

/** Key of the format number in {@link SYSTEM}. */
export const FORMAT_KEY = 'format';

/** Key of the log position in {@link SYSTEM}. */
export const POSITION_KEY = 'position';

/** Key of the mark of the record at the log position in {@link SYSTEM}. */
export const MARK_KEY = 'mark';

/** Key of the identity in {@link SYSTEM}. */
export const IDENTITY_KEY = 'identity';

/** Less than every key LMDB accepts. */
export const SMALLEST_KEY = '\u0000';

/** A named database of a shard. */
export type Table = Database<Uint8Array, string>;

/** Keys are binary strings everywhere, so that memtables and LMDB share one form without copying. */
const binaryStringKeys = {
  writeKey: (key: string, target: Buffer, start: number): number => start + target.latin1Write(key, start),
  readKey: (source: Buffer, start: number, end: number): string => source.latin1Slice(start, end),
};

/** Options of every named database of a shard. */
export const tableOptions = { encoding: 'binary', keyEncoder: binaryStringKeys } as const;

/**
 * Options missing in the type declarations of lmdb-js. Without read-ahead, a look-up that reads from disk loads only
 * its page. The neighbouring pages belong to other tables and keys, and where the system reads 8 MB ahead, the event
 * loop is blocked for as many milliseconds.
 */
export const untypedOptions = { safeRestore: true, noReadAhead: true };

/** The stored form of a position. */
export function encodePosition(position: ShardPosition): Uint8Array {
  const bytes = Buffer.alloc(18);
  bytes.writeDoubleBE(position.sequence, 0);
  bytes.latin1Write(encodeRevision(position.clock), 8);
  return bytes;
}

/** Decodes {@link encodePosition}; without bytes, the initial position. */
export function decodePosition(bytes: Uint8Array | undefined): ShardPosition {
  if (bytes === undefined) return { sequence: 0, clock: revisionZero };
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  assert(buffer.length === 18, 'a shard position has 18 bytes');
  return { sequence: buffer.readDoubleBE(0), clock: decodeRevision(buffer.latin1Slice(8), 0) };
}

/** Bytes of a mark before its chain: its sequence and the epoch. */
const MARK_HEAD_BYTES = 16;

/**
 * The stored form of the mark of a position. It is stored beside the position and contains its sequence. A version
 * without marks can therefore continue the shard: the mark it leaves behind has another sequence and is ignored.
 */
export function encodeMark(sequence: number, { chain, epoch }: RecordMark): Uint8Array {
  const head = Buffer.alloc(MARK_HEAD_BYTES);
  head.writeDoubleBE(sequence, 0);
  head.writeDoubleBE(epoch, 8);
  return Buffer.concat([head, chain]);
}

/** Decodes {@link encodeMark}. @returns undefined when it has another sequence or does not exist */
export function decodeMark(bytes: Uint8Array | undefined, sequence: number): RecordMark | undefined {
  if (bytes === undefined || bytes.length < MARK_HEAD_BYTES) return undefined;
  const buffer = Buffer.from(bytes);
  if (buffer.readDoubleBE(0) !== sequence) return undefined;
  return { epoch: buffer.readDoubleBE(8), chain: buffer.subarray(MARK_HEAD_BYTES) };
}

/** Decodes a position and its mark. */
export function decodeMarkedPosition(
  position: Uint8Array | undefined,
  mark: Uint8Array | undefined,
): ShardPosition {
  const decoded = decodePosition(position);
  const found = decodeMark(mark, decoded.sequence);
  return found === undefined ? decoded : { ...decoded, mark: found };
}

/** The stored form of the number of the newest large value. */
export function encodeLarge(newest: number): Uint8Array {
  const bytes = Buffer.alloc(6);
  bytes.writeUIntBE(newest, 0, 6);
  return bytes;
}

/** Decodes {@link encodeLarge}; 0 without such bytes. */
export function decodeLarge(bytes: Uint8Array | undefined): number {
  if (bytes?.length !== 6) return 0;
  return Buffer.from(bytes.buffer, bytes.byteOffset, 6).readUIntBE(0, 6);
}

/** Whether LMDB accepts a key. */
export function canBeStored(key: string): boolean {
  return key !== '' && key.length <= KEY_BYTES_MAX;
}

/**
 * Whether a key has a value, which lmdb-js copies when it is asked for the key alone.
 *
 * @param transaction default: the newest state
 */
export function hasKey(table: Table, key: string, transaction?: Transaction): boolean {
  if (!canBeStored(key)) return false;
  const shared = transaction === undefined ? {} : { transaction };
  return table.getKeysCount({ start: key, end: key, inclusiveEnd: true, limit: 1, ...shared }) > 0;
}

/** A bound of a range in the form LMDB accepts. */
interface Bound {
  readonly key: string;
  /** Whether `key` itself is above the bound. */
  readonly isAbove: boolean;
}

/** LMDB accepts no empty and no long key. No stored key is longer than the cut, so keys equal to it are below. */
function boundOf(key: string): Bound {
  if (key === '') return { key: SMALLEST_KEY, isAbove: true };
  return key.length <= KEY_BYTES_MAX
    ? { key, isAbove: true }
    : { key: key.slice(0, KEY_BYTES_MAX), isAbove: false };
}

/**
 * The options with which lmdb-js walks a range: it walks backwards from `start` to `end`, and our range is [start, end) in
 * both directions.
 */
export function walkOf(range: Range): RangeOptions {
  const from = boundOf(range.start);
  const to = boundOf(range.end);
  return range.reverse === true
    ? { start: to.key, exclusiveStart: to.isAbove, end: from.key, inclusiveEnd: from.isAbove, reverse: true }
    : { start: from.key, exclusiveStart: !from.isAbove, end: to.key, inclusiveEnd: !to.isAbove };
}

/**
 * The rows of a range, in order.
 *
 * @param transaction default: the newest state
 * @param requireOpen throws when the memory to be read is unmapped
 * @param explain converts an error of LMDB
 */
export function* rowsOf(
  table: Table,
  range: Range,
  transaction: Transaction | undefined,
  requireOpen: () => void,
  explain: (cause: unknown) => unknown = (cause) => cause,
): Generator<Row, undefined> {
  if (range.start >= range.end) return;
  const shared = transaction === undefined ? {} : { transaction };
  try {
    for (const row of table.getRange({ ...walkOf(range), ...shared })) {
      yield row;
      requireOpen();
    }
  } catch (cause) {
    throw explain(cause);
  }
}
