import { mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type Database, open, type RootDatabase, type Transaction } from 'lmdb';
import { assert } from '#runtime/base/assert.ts';
import { decodeRevision, encodeRevision, revisionZero } from '#runtime/content/revision.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { Write } from '#runtime/log/log-entry.ts';
import type { Applied, Range, Row, Shard, ShardPosition, ShardSnapshot } from './shard.ts';

/** Number of the format of everything in a shard; raised with a migration when a layout changes. */
export const SHARD_FORMAT = 1;

/** Readers that may be open at once in one environment; a pinned snapshot takes one. */
const READERS_MAX = 1024;

/** Named databases one environment may hold. */
const DATABASES_MAX = 32;

/** Name of the database that holds the format number and the log position. */
const SYSTEM = '_shard';
const FORMAT_KEY = 'format';
const POSITION_KEY = 'position';

type Table = Database<Uint8Array, string>;

/** Keys travel as binary strings, so that the overlay and LMDB share one form without copying. */
const binaryStringKeys = {
  writeKey: (key: string, target: Buffer, start: number): number => start + target.latin1Write(key, start),
  readKey: (source: Buffer, start: number, end: number): string => source.latin1Slice(start, end),
};

const tableOptions = { encoding: 'binary', keyEncoder: binaryStringKeys } as const;

function storageError(cause: unknown): ServiceError {
  const text = cause instanceof Error ? cause.message : String(cause);
  if (/ENOSPC|No space left|MDB_MAP_FULL/.test(text))
    return new ServiceError('STORAGE_FULL', undefined, { cause });
  return new ServiceError('WRITES_STOPPED', undefined, { cause });
}

function encodePosition(position: ShardPosition): Uint8Array {
  const bytes = Buffer.alloc(18);
  bytes.writeDoubleBE(position.sequence, 0);
  bytes.latin1Write(encodeRevision(position.clock), 8);
  return bytes;
}

function decodePosition(bytes: Uint8Array | undefined): ShardPosition {
  if (bytes === undefined) return { sequence: 0, clock: revisionZero };
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  assert(buffer.length === 18, 'a shard position has 18 bytes');
  return { sequence: buffer.readDoubleBE(0), clock: decodeRevision(buffer.latin1Slice(8), 0) };
}

/**
 * A shard in an LMDB environment of its own: one named database per table.
 *
 * Durability lives in the log, so applications are large and late. With overlapping sync a commit is visible
 * before it is on disk, which is why `committed` and `flushed` are two promises; `safeRestore` makes a restart
 * trust only flushed roots. After a failed commit lmdb-js keeps showing the rejected write, so the owner must
 * close this shard and open it again.
 */
export class LmdbShard implements Shard {
  readonly #env: RootDatabase<Uint8Array, string>;
  readonly #system: Table;
  readonly #tables: readonly Table[];
  readonly #file: string;
  #position: ShardPosition;
  #failed: ServiceError | undefined;

  /**
   * Opens or creates the environment in a folder.
   *
   * @param folder made when missing
   * @param tableNames the names of the tables, in the order of their numbers; a hole stays unused
   * @throws {ServiceError} `DATA_CORRUPTED` when the shard was written by a newer format
   */
  constructor(folder: string, tableNames: readonly string[]) {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    this.#file = join(folder, 'data.mdb');
    this.#env = open<Uint8Array, string>({
      path: folder,
      noSubdir: false,
      maxDbs: DATABASES_MAX,
      maxReaders: READERS_MAX,
      ...tableOptions,
      ...{ safeRestore: true },
    });
    // Databases created one by one would cost a flush each.
    [this.#system, ...this.#tables] = this.#env.transactionSync(() =>
      [SYSTEM, ...tableNames].map((name) => this.#env.openDB({ name, ...tableOptions })),
    ) as [Table, ...Table[]];
    const format = this.#system.get(FORMAT_KEY);
    if (format === undefined) this.#system.putSync(FORMAT_KEY, Uint8Array.of(SHARD_FORMAT));
    else if ((format[0] as number) > SHARD_FORMAT) {
      throw new ServiceError(
        'DATA_CORRUPTED',
        `the shard in ${folder} has format ${format[0]}, this build reads up to ${SHARD_FORMAT}; start a newer build`,
      );
    }
    this.#position = decodePosition(this.#system.get(POSITION_KEY));
  }

  get position(): ShardPosition {
    return this.#position;
  }

  get(table: number, key: string): Uint8Array | undefined {
    return this.#table(table).get(key);
  }

  range(table: number, range: Range): Iterable<Row> {
    return rowsOf(this.#table(table), range, undefined);
  }

  apply(writes: readonly Write[], position: ShardPosition): Applied {
    if (this.#failed !== undefined) {
      const rejected = Promise.reject(this.#failed);
      rejected.catch(() => {});
      return { committed: rejected, flushed: rejected };
    }
    assert(position.sequence >= this.#position.sequence, 'a shard never goes back in the log');
    const written = this.#env.batch(() => {
      for (const { table, key, value } of writes) {
        if (value === null) void this.#table(table).remove(key);
        else void this.#table(table).put(key, value);
      }
      void this.#system.put(POSITION_KEY, encodePosition(position));
    });
    const fail = (cause: unknown): never => {
      this.#failed ??= storageError(cause);
      throw this.#failed;
    };
    const flushed = Promise.resolve(written).then(() => undefined, fail);
    // `committed` alone does not reject after a failed commit, hence the race with the write itself.
    const committed = Promise.race([Promise.resolve(this.#env.committed), flushed]).then(() => {
      this.#env.resetReadTxn();
      this.#position = position;
    });
    flushed.catch(() => {});
    committed.catch(() => {});
    return { committed, flushed };
  }

  snapshot(): ShardSnapshot {
    this.#env.resetReadTxn();
    const transaction = this.#env.useReadTransaction();
    let open = true;
    return {
      get: (table, key) => this.#table(table).get(key, { transaction }),
      range: (table, range) => rowsOf(this.#table(table), range, transaction),
      close: () => {
        if (open) transaction.done();
        open = false;
      },
    };
  }

  sizeBytes(): number {
    return statSync(this.#file).size;
  }

  async close(): Promise<void> {
    await this.#env.close();
  }

  #table(number: number): Table {
    const table = this.#tables[number];
    assert(table !== undefined, `no table ${number}`);
    return table;
  }
}

function* rowsOf(
  table: Table,
  range: Range,
  transaction: Transaction | undefined,
): Generator<Row, undefined> {
  const options = transaction === undefined ? {} : { transaction };
  if (range.reverse !== true) {
    yield* table.getRange({ start: range.start, end: range.end, ...options });
    return;
  }
  // lmdb-js walks backwards from `start` inclusive to `end` exclusive; ours is [start, end).
  for (const row of table.getRange({ start: range.end, reverse: true, ...options })) {
    if (row.key < range.start) return;
    if (row.key < range.end) yield row;
  }
}
