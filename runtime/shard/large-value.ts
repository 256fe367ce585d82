import { Buffer } from 'node:buffer';
import { crc32 } from 'node:zlib';
import { ServiceError } from '#runtime/errors/service-error.ts';

/** Longest value that a shard stores as it is, in bytes. A longer one is stored in pieces. */
export const WHOLE_BYTES_MAX: number = 256 * 1024;

/** Longer than any value: a log record is shorter. A damaged length must not take so much memory. */
const LARGE_BYTES_MAX: number = 1024 * 1024 * 1024;

/** Length of a piece: with LMDB's page header it fills 16 pages of 4 KiB. */
export const PIECE_BYTES: number = 16 * 4096 - 24;

/** Begins the row of a large value. */
const MAGIC = Buffer.from('\x8fGrvLrg\x01', 'latin1');

const NUMBER_AT: number = MAGIC.length;
const LENGTH_AT: number = NUMBER_AT + 6;
const CHECKSUM_AT: number = LENGTH_AT + 4;

/** Length of the row of a large value: the magic, the number of the value, its length, a checksum. */
export const STUB_BYTES: number = CHECKSUM_AT + 4;

/** A large value that is stored in pieces and has not been read. */
export class LargeValue {
  /** Number of the value in its shard. No other value ever had it. */
  readonly number: number;
  /** Its length in bytes. */
  readonly length: number;

  constructor(number: number, length: number) {
    this.number = number;
    this.length = length;
  }

  /** Number of its pieces. */
  get pieces(): number {
    return Math.ceil(this.length / PIECE_BYTES);
  }
}

/** A stored value: a large one is not read with its row. */
export type StoredValue = Uint8Array | LargeValue;

/** One key with its value, which is not read when it is large. */
export interface StoredRow {
  readonly key: string;
  readonly value: StoredValue;
}

/**
 * Whether a value is stored in pieces. One that looks like the row of a large value is, too: then nothing else in a
 * shard looks like one.
 */
export function isStoredInPieces(value: Uint8Array): boolean {
  return value.length > WHOLE_BYTES_MAX || (value.length === STUB_BYTES && startsAsStub(value));
}

function startsAsStub(value: Uint8Array): boolean {
  for (let at = 0; at < MAGIC.length; at += 1) if (value[at] !== MAGIC[at]) return false;
  return true;
}

/**
 * The row of a large value. Its checksum covers the place of the row as well: a damaged number must not name the pieces of
 * another value.
 */
export function encodeStub({ length, number }: LargeValue, table: number, key: string): Uint8Array {
  const bytes = Buffer.alloc(STUB_BYTES);
  MAGIC.copy(bytes);
  bytes.writeUIntBE(number, NUMBER_AT, 6);
  bytes.writeUInt32BE(length, LENGTH_AT);
  bytes.writeUInt32BE(checksum(bytes, table, key), CHECKSUM_AT);
  return bytes;
}

function checksum(stub: Buffer, table: number, key: string): number {
  return crc32(stub.subarray(NUMBER_AT, CHECKSUM_AT), crc32(Buffer.from(placeOf(table, key), 'latin1')));
}

/**
 * Decodes {@link encodeStub}.
 *
 * @param bytes they may end before their memory does
 * @returns undefined for the row of any other value
 * @throws {ServiceError} `DATA_CORRUPTED` for a damaged row, and one that is in another place than it was written to
 */
export function decodeStub(bytes: Uint8Array, table: number, key: string): LargeValue | undefined {
  if (bytes.length !== STUB_BYTES || !startsAsStub(bytes)) return undefined;
  const stub = Buffer.from(bytes.buffer, bytes.byteOffset, STUB_BYTES);
  if (stub.readUInt32BE(CHECKSUM_AT) !== checksum(stub, table, key))
    throw new ServiceError('DATA_CORRUPTED', 'The row of a large value fails its checksum');
  return new LargeValue(stub.readUIntBE(NUMBER_AT, 6), stub.readUInt32BE(LENGTH_AT));
}

/** Key of a piece of a large value. The pieces of one value are in order and next to each other. */
export function pieceKey(number: number, index: number): string {
  const bytes = Buffer.allocUnsafe(10);
  bytes.writeUIntBE(number, 0, 6);
  bytes.writeUInt32BE(index, 6);
  return bytes.latin1Slice();
}

/** Decodes {@link pieceKey}. @returns undefined for a text that is no such key */
export function decodePieceKey(key: string): { readonly number: number; readonly index: number } | undefined {
  if (key.length !== 10) return undefined;
  const bytes = Buffer.from(key, 'latin1');
  return { number: bytes.readUIntBE(0, 6), index: bytes.readUInt32BE(6) };
}

/** Key of a large value in the list of their rows. */
export function numberKey(number: number): string {
  const bytes = Buffer.allocUnsafe(6);
  bytes.writeUIntBE(number, 0, 6);
  return bytes.latin1Slice();
}

/** Decodes {@link numberKey}. @returns undefined for a text that is no such key */
export function decodeNumberKey(key: string): number | undefined {
  return key.length === 6 ? Buffer.from(key, 'latin1').readUIntBE(0, 6) : undefined;
}

/** The place of a row in a shard: its table, which is one character, and its key. */
export function placeOf(table: number, key: string): string {
  return String.fromCharCode(table) + key;
}

/** The pieces of a value, over its memory. */
export function* piecesOf(value: Uint8Array): Generator<Uint8Array, void> {
  for (let from = 0; from < value.length; from += PIECE_BYTES)
    yield value.subarray(from, Math.min(from + PIECE_BYTES, value.length));
}

/** Reads a piece; undefined when it is missing. What it returns must be valid until the next call only. */
export type ReadPiece = (key: string) => Uint8Array | undefined;

/** A large value of which some pieces have been read. */
export class PartRead {
  readonly large: LargeValue;
  /** Complete when {@link readOn} says so. */
  readonly whole: Buffer;
  #next = 0;

  /** @throws {ServiceError} `DATA_CORRUPTED` for a length that no value has */
  constructor(large: LargeValue) {
    if (large.length > LARGE_BYTES_MAX)
      throw new ServiceError(
        'DATA_CORRUPTED',
        `The large value ${large.number} claims ${large.length} bytes`,
      );
    this.large = large;
    this.whole = Buffer.allocUnsafeSlow(large.length);
  }

  /**
   * Reads further pieces.
   *
   * @param most number of them
   * @returns whether the value is complete
   * @throws {ServiceError} `DATA_CORRUPTED` when a piece is missing or has another length
   */
  readOn(read: ReadPiece, most: number): boolean {
    const { length, number, pieces } = this.large;
    const end = Math.min(this.#next + most, pieces);
    for (; this.#next < end; this.#next += 1) {
      const from = this.#next * PIECE_BYTES;
      const bytes = Math.min(PIECE_BYTES, length - from);
      const piece = read(pieceKey(number, this.#next));
      if (piece === undefined || piece.length !== bytes) throw lostPiece(number, this.#next);
      // The memory of a piece may be longer than the piece.
      this.whole.set(piece.byteLength === bytes ? piece : piece.subarray(0, bytes), from);
    }
    return end === pieces;
  }
}

/**
 * Reads a large value in one step.
 *
 * @throws {ServiceError} `DATA_CORRUPTED` when a piece is missing or has another length
 */
export function assembled(large: LargeValue, read: ReadPiece): Uint8Array {
  const reading = new PartRead(large);
  reading.readOn(read, large.pieces);
  return reading.whole;
}

function lostPiece(number: number, index: number): ServiceError {
  return new ServiceError(
    'DATA_CORRUPTED',
    `Piece ${index} of the large value ${number} is missing or damaged`,
  );
}
