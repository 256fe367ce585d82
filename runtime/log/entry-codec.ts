import { assert, InvariantError } from '#runtime/base/assert.ts';
import type { Revision } from '#runtime/content/revision.ts';
import {
  ACTOR_BYTES_MAX,
  ENCODED_ROOM_BYTES,
  KEY_BYTES_MAX,
  type LogEntry,
  TABLE_MAX,
  type Write,
} from './log-entry.ts';

/*
 * The bytes of an entry, little endian:
 *
 *   u32  length of the rest of the entry
 *   u16  length of the actor id   u48 clock milliseconds   u32 clock counter   u32 number of writes
 *        actor id, UTF-8
 *   for every write:
 *   u16  table   u16 key length   u32 value length, REMOVED for a removal
 *        key, value
 *
 * The length prefix lets a reader skip entries without decoding them. Entries have no checksum of their own; the
 * enclosing record has one. Encoding does not allocate: at 70 MB/s allocation would dominate the cost.
 */
const ENTRY_HEADER_BYTES = 20;
const WRITE_HEADER_BYTES = 8;
const REMOVED = 0xffffffff;

/** Keys from this length on are written by a native call. Measured: the loop costs 1.5 ns a byte, the call 35 ns. */
const NATIVE_KEY_BYTES = 24;

/** Char codes that do not fit in a byte. */
const notBinary = /[^\x00-\xff]/;

/** @returns the exact number of bytes that {@link encodeEntry} writes for an entry */
export function entrySize(entry: LogEntry): number {
  if (entry.encoded !== undefined) return entry.encoded.length;
  let size = ENTRY_HEADER_BYTES + Buffer.byteLength(entry.actor, 'utf8');
  for (const { key, value } of entry.writes) {
    size += WRITE_HEADER_BYTES + key.length + (value === null ? 0 : value.length);
  }
  return size;
}

/**
 * Writes one entry.
 *
 * @param target has {@link entrySize} bytes free at `offset`
 * @returns the offset after the entry
 * @throws {InvariantError} for a key that is not binary, or anything above its limit; bytes already written at
 *   `offset` must then be ignored
 */
export function encodeEntry(entry: LogEntry, target: Buffer, offset: number): number {
  if (entry.encoded !== undefined) {
    target.set(entry.encoded, offset);
    return offset + entry.encoded.length;
  }
  const { writes } = entry;
  let position = encodeHead(entry, writes.length, target, offset);
  for (const write of writes) position = encodeWrite(write, target, position);
  target.writeUInt32LE(position - offset - 4, offset);
  return position;
}

/** The input for encoding a large entry. */
export interface LargeEntry {
  readonly actor: string;
  /** Number of writes. */
  readonly count: number;
  /** Bytes of their keys and values. */
  readonly bytes: number;
  readonly writes: Iterable<Write>;
}

/** Writes encoded in one step. */
const WRITES_PER_STEP = 128;

/** Bytes of values encoded in one step. */
const BYTES_PER_STEP = 512 * 1024;

/**
 * Encodes an entry in steps, because it would block the event loop: 700,000 writes take half a second.
 *
 * @param clock called at the end, because time passes meanwhile
 * @returns the bytes of {@link encodeEntry}, with {@link ENCODED_ROOM_BYTES} around them; yields where the work may be
 *   suspended; the entry must not change meanwhile
 */
export function* encodeLargeEntry(large: LargeEntry, clock: () => Revision): Generator<undefined, Buffer> {
  const { actor, bytes, count, writes } = large;
  const headBytes = ENTRY_HEADER_BYTES + Buffer.byteLength(actor, 'utf8');
  const length = headBytes + count * WRITE_HEADER_BYTES + bytes;
  const target = Buffer.allocUnsafeSlow(length + 2 * ENCODED_ROOM_BYTES).subarray(
    ENCODED_ROOM_BYTES,
    ENCODED_ROOM_BYTES + length,
  );
  let position = headBytes;
  let written = 0;
  for (const write of writes) {
    const { value } = write;
    if (value === null || value.length <= BYTES_PER_STEP) position = encodeWrite(write, target, position);
    else {
      position = encodeWriteHead(write, target, position);
      for (let from = 0; from < value.length; from += BYTES_PER_STEP) {
        target.set(value.subarray(from, from + BYTES_PER_STEP), position + from);
        yield;
      }
      position += value.length;
    }
    written += 1;
    if (written % WRITES_PER_STEP === 0) yield;
  }
  assert(position === target.length && written === count, 'a large entry is as large as it says');
  encodeHead({ actor, clock: clock() }, count, target, 0);
  target.writeUInt32LE(position - 4, 0);
  return target;
}

/** @returns the offset after the head of an entry, whose length is filled in later */
function encodeHead(
  { actor, clock }: Pick<LogEntry, 'actor' | 'clock'>,
  count: number,
  target: Buffer,
  offset: number,
): number {
  const actorLength = target.write(actor, offset + ENTRY_HEADER_BYTES, 'utf8');
  assert(actorLength > 0 && actorLength <= ACTOR_BYTES_MAX, `actor id of ${actorLength} bytes`);
  target.writeUInt16LE(actorLength, offset + 4);
  target.writeUIntLE(clock.ms, offset + 6, 6);
  target.writeUInt32LE(clock.counter, offset + 12);
  target.writeUInt32LE(count, offset + 16);
  return offset + ENTRY_HEADER_BYTES + actorLength;
}

function encodeWrite(write: Write, target: Buffer, offset: number): number {
  const position = encodeWriteHead(write, target, offset);
  if (write.value === null) return position;
  target.set(write.value, position);
  return position + write.value.length;
}

/** Encodes everything before the value. @returns the offset after it */
function encodeWriteHead({ table, key, value }: Write, target: Buffer, offset: number): number {
  const keyLength = key.length;
  // Not an assertion call, because it would build its message for every write.
  if (!Number.isInteger(table) || table < 0 || table > TABLE_MAX) {
    throw new InvariantError(`table number ${table}`);
  }
  if (keyLength > KEY_BYTES_MAX) throw new InvariantError(`key of ${keyLength} bytes`);
  const valueLength = value === null ? REMOVED : value.length;
  target[offset] = table;
  target[offset + 1] = table >>> 8;
  target[offset + 2] = keyLength;
  target[offset + 3] = keyLength >>> 8;
  target[offset + 4] = valueLength;
  target[offset + 5] = valueLength >>> 8;
  target[offset + 6] = valueLength >>> 16;
  target[offset + 7] = valueLength >>> 24;
  const position = offset + WRITE_HEADER_BYTES;
  writeKey(key, target, position);
  return position + keyLength;
}

/** Writes and checks a key: a char code above 255 would silently become a different key. */
function writeKey(key: string, target: Buffer, offset: number): void {
  if (key.length >= NATIVE_KEY_BYTES) {
    assert(!notBinary.test(key), 'key with a char code above 255');
    target.latin1Write(key, offset, key.length);
    return;
  }
  let all = 0;
  for (let index = 0; index < key.length; index += 1) {
    const code = key.charCodeAt(index);
    all |= code;
    target[offset + index] = code;
  }
  assert(all <= 0xff, 'key with a char code above 255');
}

/** An entry read without its writes. */
export interface EntryOutline {
  readonly actor: string;
  /** Offset after the entry. */
  readonly end: number;
}

/**
 * Reads the actor of an entry and its end.
 *
 * @throws {InvariantError} when the bytes are not an entry
 */
export function outlineEntry(source: Buffer, offset: number): EntryOutline {
  need(source, offset, ENTRY_HEADER_BYTES);
  const end = offset + 4 + source.readUInt32LE(offset);
  const actorEnd = offset + ENTRY_HEADER_BYTES + source.readUInt16LE(offset + 4);
  if (actorEnd > end || end > source.length) throw new InvariantError('log entry longer than its record');
  return { actor: source.toString('utf8', offset + ENTRY_HEADER_BYTES, actorEnd), end };
}

/**
 * Reads one entry. Its values are views of `source`.
 *
 * @throws {InvariantError} when the bytes are not an entry
 */
export function decodeEntry(
  source: Buffer,
  offset: number,
): { readonly entry: LogEntry; readonly end: number } {
  const { actor, end } = outlineEntry(source, offset);
  const clock = { ms: source.readUIntLE(offset + 6, 6), counter: source.readUInt32LE(offset + 12) };
  const count = source.readUInt32LE(offset + 16);
  const writes: Write[] = [];
  let position = offset + ENTRY_HEADER_BYTES + source.readUInt16LE(offset + 4);
  while (writes.length < count) {
    need(source, position, WRITE_HEADER_BYTES);
    const table = source.readUInt16LE(position);
    const keyStart = position + WRITE_HEADER_BYTES;
    const keyEnd = keyStart + source.readUInt16LE(position + 2);
    const valueLength = source.readUInt32LE(position + 4);
    position = keyEnd + (valueLength === REMOVED ? 0 : valueLength);
    if (position > end) throw new InvariantError('write longer than its log entry');
    const key = source.latin1Slice(keyStart, keyEnd);
    writes.push({ table, key, value: valueLength === REMOVED ? null : source.subarray(keyEnd, position) });
  }
  if (position !== end) throw new InvariantError('log entry with bytes left over');
  return { entry: { actor, writes, clock }, end };
}

/**
 * Reads entries that fill `source` exactly.
 *
 * @throws {InvariantError} when the bytes are not `count` entries
 */
export function decodeEntries(source: Buffer, count: number): LogEntry[] {
  const entries: LogEntry[] = [];
  let offset = 0;
  while (entries.length < count) {
    const { entry, end } = decodeEntry(source, offset);
    entries.push(entry);
    offset = end;
  }
  if (offset !== source.length) throw new InvariantError('log record with bytes left over');
  return entries;
}

function need(source: Buffer, offset: number, bytes: number): void {
  if (offset + bytes > source.length) throw new InvariantError('log entry cut short');
}
