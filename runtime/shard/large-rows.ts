import { Buffer } from 'node:buffer';
import { isDamage } from '#runtime/errors/service-error.ts';
import type { Write } from '#runtime/log/log-entry.ts';
import {
  assembled,
  decodeStub,
  encodeStub,
  isStoredInPieces,
  LargeValue,
  numberKey,
  pieceKey,
  piecesOf,
  placeOf,
  type ReadPiece,
  type StoredRow,
  type StoredValue,
} from './large-value.ts';
import { SMALLEST_KEY, type Table } from './lmdb-tables.ts';
import type { Row } from './shard.ts';

/** Rows of large values that are learned in a step: about a millisecond. */
const LEARNED_AT_ONCE = 500;

/**
 * The large values of an open shard: which rows have them, and what has to be written with them.
 *
 * @see docs/decisions/0056-large-values-in-pieces.md
 */
export class LargeRows {
  /** The pieces of all of them. */
  readonly pieces: Table;
  readonly #listed: Table;
  #newest: number;
  /** Places of their rows: about 100 bytes of memory for each. */
  readonly #places = new Set<string>();
  /** Key of the first one in the list that has not been learned; undefined when all are. */
  #unlearned: string | undefined;

  /** @param newest number of the newest one; 0 when there was none, and then no row is one */
  constructor(pieces: Table, listed: Table, newest: number) {
    this.pieces = pieces;
    this.#listed = listed;
    this.#newest = newest;
    this.#unlearned = newest === 0 ? undefined : SMALLEST_KEY;
  }

  /** Whether a later one than the newest is listed: then numbers would be used again. */
  get isBehind(): boolean {
    return this.#listed.getKeysCount({ start: numberKey(this.#newest + 1), limit: 1 }) > 0;
  }

  /** Number of the newest large value; 0 when there was none. */
  get newest(): number {
    return this.#newest;
  }

  /** A value as it was read, or the large one whose row this is. @throws {ServiceError} `DATA_CORRUPTED` */
  known(table: number, key: string, value: Uint8Array | undefined): StoredValue | undefined {
    if (value === undefined || this.#newest === 0) return value;
    return decodeStub(value, table, key) ?? value;
  }

  /**
   * Learns the rows of all large values, which an application has to know. Each was written as 256 KiB or more, so there
   * are few beside what is stored. Does nothing when they are known. Nothing may be written meanwhile.
   *
   * @returns yields between steps
   */
  *learn(): Generator<undefined, void> {
    while (this.#unlearned !== undefined) {
      let last: string | undefined;
      let found = 0;
      for (const { key, value } of this.#listed.getRange({
        start: this.#unlearned,
        limit: LEARNED_AT_ONCE,
      })) {
        this.#places.add(Buffer.from(value.buffer, value.byteOffset, value.byteLength).latin1Slice());
        last = key;
        found += 1;
      }
      this.#unlearned = last === undefined || found < LEARNED_AT_ONCE ? undefined : `${last}\0`;
      yield;
    }
  }

  /** Whether a row is known to have a large value. */
  isLarge(table: number, key: string): boolean {
    return this.#places.size > 0 && this.#places.has(placeOf(table, key));
  }

  /** Rows as they were read; those of large values say so. @throws {ServiceError} `DATA_CORRUPTED` */
  knownRows(table: number, rows: Iterable<Row>): Iterable<StoredRow> {
    return this.#newest === 0 ? rows : knownRows(table, rows);
  }

  /** Rows as they were read, with the large values among them read as well. @throws {ServiceError} `DATA_CORRUPTED` */
  wholeRows(table: number, rows: Iterable<Row>, readPiece: ReadPiece): Iterable<Row> {
    return this.#newest === 0 ? rows : wholeRows(table, rows, readPiece);
  }

  /**
   * The large values that rows to be written have, by place. Called before a batch is begun: lmdb-js commits what a batch
   * has written when an error ends it.
   *
   * @param read reads the value of a row; what it returns must be valid until the next call only
   */
  among(
    writes: readonly Write[],
    read: (table: number, key: string) => Uint8Array | undefined,
  ): Map<string, LargeValue> {
    const found = new Map<string, LargeValue>();
    for (const _ of this.learn());
    for (const { table, key } of writes) {
      if (!this.isLarge(table, key)) continue;
      const large = this.#replaced(table, key, read(table, key));
      if (large !== undefined) found.set(placeOf(table, key), large);
    }
    return found;
  }

  /** A damaged row names no pieces that may be removed: they may be those of another one. */
  #replaced(table: number, key: string, value: Uint8Array | undefined): LargeValue | undefined {
    try {
      const known = this.known(table, key, value);
      return known instanceof LargeValue ? known : undefined;
    } catch (error) {
      if (!isDamage(error)) throw error;
      return undefined;
    }
  }

  /**
   * Writes a row in a batch.
   *
   * @param stored the table
   * @param large what {@link among} returned for the batch; kept up to date, because the batch may write the row again
   */
  write(stored: Table, { table, key, value }: Write, large: Map<string, LargeValue>): void {
    if (large.size > 0) this.#remove(placeOf(table, key), large);
    if (value === null) void stored.remove(key);
    else if (!isStoredInPieces(value)) void stored.put(key, value);
    else {
      const added = this.#add(placeOf(table, key), value, large);
      void stored.put(key, encodeStub(added, table, key));
    }
  }

  #remove(place: string, large: Map<string, LargeValue>): void {
    const found = large.get(place);
    if (found === undefined) return;
    for (let index = 0; index < found.pieces; index += 1)
      void this.pieces.remove(pieceKey(found.number, index));
    void this.#listed.remove(numberKey(found.number));
    large.delete(place);
    this.#places.delete(place);
  }

  #add(place: string, value: Uint8Array, large: Map<string, LargeValue>): LargeValue {
    this.#newest += 1;
    const added = new LargeValue(this.#newest, value.length);
    let index = 0;
    for (const piece of piecesOf(value)) {
      void this.pieces.put(pieceKey(added.number, index), piece);
      index += 1;
    }
    void this.#listed.put(numberKey(added.number), Buffer.from(place, 'latin1'));
    large.set(place, added);
    this.#places.add(place);
    return added;
  }
}

function* knownRows(table: number, rows: Iterable<Row>): Generator<StoredRow, void> {
  for (const row of rows) {
    const large = decodeStub(row.value, table, row.key);
    yield large === undefined ? row : { key: row.key, value: large };
  }
}

function* wholeRows(table: number, rows: Iterable<Row>, readPiece: ReadPiece): Generator<Row, void> {
  for (const row of rows) {
    const large = decodeStub(row.value, table, row.key);
    yield large === undefined ? row : { key: row.key, value: assembled(large, readPiece) };
  }
}
