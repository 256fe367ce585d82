import { assert } from '#runtime/base/assert.ts';
import { formatRevision } from '#runtime/content/revision.ts';
import { AFTER_END, END, textBytes } from '#runtime/shard/binary-key.ts';
import { decodeJsonRow, encodeJsonRow } from '#runtime/shard/json-row.ts';
import type { Range, TableReader } from '#runtime/shard/shard.ts';
import { CommonTable, type Turn } from './behaviour.ts';

/** Longest name of a record, all parts together, in bytes of UTF-8: the limit of an LMDB key with a margin. */
const NAME_BYTES_MAX = 1_900;

/**
 * Meta row that identifies one state of an actor's records: every write of a record changes it. A JSON row with the
 * revision of that write; earlier versions stored the bytes of the revision, without a checksum.
 */
export const STAMP_KEY = 'stamp';

/** Length of a stamp of earlier versions, in bytes; current stamps are longer. */
const OLD_STAMP_BYTES = 10;

/** A record by the parts of its name, or undefined. @throws {ServiceError} `DATA_CORRUPTED` */
export function readRecord<T>(reader: TableReader, table: number, ...name: readonly string[]): T | undefined {
  const key = keyOf(name);
  // No record can have such a name, but a client can request one.
  if (key.length > NAME_BYTES_MAX) return undefined;
  const bytes = reader.get(table, key);
  return bytes === undefined ? undefined : (decodeJsonRow(bytes) as T);
}

/** The records whose name starts with the given parts, sorted by name bytes. @throws {ServiceError} `DATA_CORRUPTED` */
export function listRecords<T>(reader: TableReader, table: number, ...name: readonly string[]): T[] {
  const records: T[] = [];
  for (const { value } of reader.range(table, rangeOf(name))) records.push(decodeJsonRow(value) as T);
  return records;
}

/** Number and bytes of all records of a table, which are not decoded. */
export function sizeOfRecords(
  reader: TableReader,
  table: number,
): { readonly count: number; readonly bytes: number } {
  let count = 0;
  let bytes = 0;
  for (const { value } of reader.range(table, rangeOf([]))) {
    count += 1;
    bytes += value.length;
  }
  return { count, bytes };
}

/** Stores a record under the parts of its name. */
export function writeRecord(turn: Turn, table: number, record: unknown, ...name: readonly string[]): void {
  const key = keyOf(name);
  assert(key.length <= NAME_BYTES_MAX, `a record's name has ${key.length} bytes`);
  turn.put(table, key, encodeJsonRow(record));
  writeStamp(turn);
}

/** Removes a record; no error when it does not exist. */
export function removeRecord(turn: Turn, table: number, ...name: readonly string[]): void {
  turn.remove(table, keyOf(name));
  writeStamp(turn);
}

function writeStamp(turn: Turn): void {
  turn.put(CommonTable.meta, STAMP_KEY, encodeJsonRow(formatRevision(turn.revision)));
}

/**
 * Reads a stamp.
 *
 * @returns undefined for a stamp of an earlier version, which has no checksum
 * @throws {ServiceError} `DATA_CORRUPTED`
 */
export function readStamp(stored: Uint8Array): string | undefined {
  return stored.length === OLD_STAMP_BYTES ? undefined : (decodeJsonRow(stored) as string);
}

/** The key a record is stored under. */
export function recordKey(...name: readonly string[]): string {
  return keyOf(name);
}

/** Every part ends with a zero byte, so that no name is a prefix of another one. */
function keyOf(name: readonly string[]): string {
  return name.map((part) => textBytes(part) + END).join('');
}

function rangeOf(name: readonly string[]): Range {
  // LMDB takes no empty key. No part is empty, and none begins with a byte above 0xf4, the last lead byte of UTF-8.
  if (name.length === 0) return { start: AFTER_END, end: '\u00ff' };
  const prefix = keyOf(name);
  return { start: prefix, end: prefix.slice(0, -1) + AFTER_END };
}

/**
 * A cache of the durable records of an actor, decoded once per state. Only for queries: a command reads through its
 * turn. Invariant: it returns what {@link readRecord} would return for the same reader.
 */
export class RecordCache {
  #stamp = '';
  #generation = Number.NaN;
  #kept = new Map<string, unknown>();
  /** Records by table and name, for names of one part, so that a look-up does not build a new string. */
  #records: (Map<string, unknown> | undefined)[] = [];
  #reader: TableReader | undefined;

  /** Selects the state of a reader, and drops the records of any other state. */
  at(reader: TableReader): this {
    if (reader === this.#reader && reader.generation === this.#generation) return this;
    const bytes = reader.get(CommonTable.meta, STAMP_KEY);
    const stamp = bytes === undefined ? '' : readStamp(bytes);
    // The stamp of an earlier version is undefined here and never equal, so its records are not reused.
    if (stamp !== this.#stamp) {
      this.#stamp = stamp ?? '';
      this.#kept = new Map();
      this.#records = [];
    }
    this.#reader = reader;
    this.#generation = reader.generation ?? Number.NaN;
    return this;
  }

  /**
   * A record by its name of one part; the same object until the state changes. Missing names are not cached.
   */
  record<T>(table: number, name: string): T | undefined {
    const kept = this.#records[table]?.get(name);
    if (kept !== undefined) return kept as T;
    const record = readRecord<T>(this.#reader as TableReader, table, name);
    if (record === undefined) return undefined;
    const records = this.#records[table] ?? new Map<string, unknown>();
    this.#records[table] = records;
    records.set(name, record);
    return record;
  }

  /**
   * A value derived from the records; the same object until the state changes.
   *
   * @param name of the value; a bounded set of names, each always with the same `make`
   */
  derived<T>(name: string, make: (reader: TableReader) => T): T {
    const kept = this.#kept.get(name);
    if (kept !== undefined) return kept as T;
    const made = make(this.#reader as TableReader);
    this.#kept.set(name, made);
    return made;
  }
}
