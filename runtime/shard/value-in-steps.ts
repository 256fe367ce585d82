import { assert } from '#runtime/base/assert.ts';
import { LargeValue, PartRead, type StoredRow, type StoredValue } from './large-value.ts';
import type { Range, TableReader } from './shard.ts';

/** Pieces that are read in one step. From a slow disk each of their 4 KiB pages is a read of its own. */
const PIECES_PER_STEP = 2;

/** The value of a key; a large one is not read where the reader can avoid that. */
export function storedValue(reader: TableReader, table: number, key: string): StoredValue | undefined {
  return reader.stored === undefined ? reader.get(table, key) : reader.stored(table, key);
}

/**
 * As {@link storedValue}, over bytes that are valid only until the next read where the reader can avoid a copy; see
 * `TableReader.peek`.
 */
export function peekedValue(reader: TableReader, table: number, key: string): StoredValue | undefined {
  return reader.peek === undefined ? storedValue(reader, table, key) : reader.peek(table, key);
}

/**
 * The value of a key, in steps: yields after a few pieces of a large one. The reader must show one state meanwhile.
 *
 * @throws {ServiceError} `DATA_CORRUPTED`
 */
export function* valueInSteps(
  reader: TableReader,
  table: number,
  key: string,
): Generator<undefined, Uint8Array | undefined> {
  const found = storedValue(reader, table, key);
  return found instanceof LargeValue ? yield* readInSteps(reader, found) : found;
}

/** As {@link valueInSteps}, for a value that was found already. */
export function* wholeInSteps(reader: TableReader, found: StoredValue): Generator<undefined, Uint8Array> {
  return found instanceof LargeValue ? yield* readInSteps(reader, found) : found;
}

function* readInSteps(reader: TableReader, large: LargeValue): Generator<undefined, Uint8Array> {
  const reading = new PartRead(large);
  while (!readFurther(reader, reading)) yield;
  return reading.whole;
}

/**
 * Reads as much of a large value as one step may.
 *
 * @returns whether it is complete
 * @throws {ServiceError} `DATA_CORRUPTED`
 */
export function readFurther(reader: TableReader, reading: PartRead): boolean {
  return reading.readOn((key) => {
    assert(reader.piece !== undefined, 'a reader that does not read large values can read their pieces');
    return reader.piece(key);
  }, PIECES_PER_STEP);
}

/** The rows of a range; large values are not read where the reader can avoid that. */
export function storedRows(reader: TableReader, table: number, range: Range): Iterable<StoredRow> {
  return reader.storedRange === undefined ? reader.range(table, range) : reader.storedRange(table, range);
}

/**
 * The value of a key, which must be decoded before the next read: without a copy where the reader can avoid that. A large
 * one is read at once.
 */
export function peekWhole(reader: TableReader, table: number, key: string): Uint8Array | undefined {
  const found = peekedValue(reader, table, key);
  return found instanceof LargeValue ? reader.get(table, key) : found;
}
