import { CommonTable, FIRST_OWN_TABLE, type Turn } from '#runtime/commit/behaviour.ts';
import { bytesText, textBytes } from '#runtime/shard/binary-key.ts';
import { decodeJsonRow, encodeJsonRow } from '#runtime/shard/json-row.ts';
import type { Row, TableReader } from '#runtime/shard/shard.ts';

/** Own tables of the locks of a branch. Keys are the names as UTF-8, values JSON with a checksum. */
export const LocksTable = {
  /** key of a lock → {@link LeaseRow}, while it is held */
  leases: FIRST_OWN_TABLE,
  /** name of a pool → {@link PoolRow}, from its first claim on */
  pools: FIRST_OWN_TABLE + 1,
} as const;

/** Names of the tables, in the order of their numbers. */
export const locksTableNames: readonly string[] = Object.freeze(Object.keys(LocksTable));

/** Key in `meta` of the newest fence token. */
const TOKEN_KEY = 'token';

/** A lease as stored. Its deadline on the monotonic clock is in memory only. */
export interface LeaseRow {
  readonly token: number;
  readonly ttlMs: number;
  /** Wall clock. */
  readonly acquiredAtMs: number;
  /** Wall clock, as answered to the holder. */
  readonly expiresAtMs: number;
  readonly owner: string | null;
}

/** A pool as stored. */
export interface PoolRow {
  readonly capacity: number;
  readonly remaining: number;
}

/** The newest token granted by this actor; 0 before the first. @throws {ServiceError} `DATA_CORRUPTED` */
export function readToken(reader: TableReader): number {
  const bytes = reader.get(CommonTable.meta, TOKEN_KEY);
  return bytes === undefined ? 0 : (decodeJsonRow(bytes) as number);
}

/** Stores the newest token. */
export function writeToken(turn: Turn, token: number): void {
  turn.put(CommonTable.meta, TOKEN_KEY, encodeJsonRow(token));
}

/** Stores the lease of a free lock. */
export function insertLease(turn: Turn, key: string, lease: LeaseRow): void {
  turn.insert(LocksTable.leases, textBytes(key), encodeJsonRow(lease));
}

/** Replaces a stored lease. */
export function replaceLease(turn: Turn, key: string, lease: LeaseRow): void {
  turn.put(LocksTable.leases, textBytes(key), encodeJsonRow(lease));
}

/** Removes a lease. */
export function removeLease(turn: Turn, key: string): void {
  turn.remove(LocksTable.leases, textBytes(key));
}

/** Stores a pool. */
export function writePool(turn: Turn, name: string, pool: PoolRow): void {
  turn.put(LocksTable.pools, textBytes(name), encodeJsonRow(pool));
}

/** A lease by the key of its lock. @throws {ServiceError} `DATA_CORRUPTED` */
export function readLease(reader: TableReader, key: string): LeaseRow | undefined {
  return readRow<LeaseRow>(reader, LocksTable.leases, key);
}

/** A pool by name. @throws {ServiceError} `DATA_CORRUPTED` */
export function readPool(reader: TableReader, name: string): PoolRow | undefined {
  return readRow<PoolRow>(reader, LocksTable.pools, name);
}

function readRow<T>(reader: TableReader, table: number, name: string): T | undefined {
  const bytes = reader.get(table, textBytes(name));
  return bytes === undefined ? undefined : (decodeJsonRow(bytes) as T);
}

/** A name with its row. */
export interface NamedRow<T> {
  readonly name: string;
  readonly row: T;
}

/** Sorts after every key: no UTF-8 text has this byte. */
const END_OF_TABLE = '\u00ff';

/** Sorts before every key: no key is empty or begins with a zero byte. */
const START_OF_TABLE = '\u0000';

/** Leases after a key, in byte order. @throws {ServiceError} `DATA_CORRUPTED` */
export function leasesAfter(reader: TableReader, after?: string): Iterable<NamedRow<LeaseRow>> {
  return rowsAfter<LeaseRow>(reader, LocksTable.leases, after);
}

/** Pools after a name, in byte order. @throws {ServiceError} `DATA_CORRUPTED` */
export function poolsAfter(reader: TableReader, after?: string): Iterable<NamedRow<PoolRow>> {
  return rowsAfter<PoolRow>(reader, LocksTable.pools, after);
}

function* rowsAfter<T>(
  reader: TableReader,
  table: number,
  after: string | undefined,
): Generator<NamedRow<T>, void> {
  const start = after === undefined ? START_OF_TABLE : textBytes(after) + START_OF_TABLE;
  for (const row of reader.range(table, { start, end: END_OF_TABLE })) yield named<T>(row);
}

function named<T>({ key, value }: Row): NamedRow<T> {
  return { name: bytesText(key), row: decodeJsonRow(value) as T };
}
