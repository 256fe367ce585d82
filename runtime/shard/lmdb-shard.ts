import { mkdirSync, statfsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type Database, open, type RootDatabase, type Transaction } from 'lmdb';
import { assert } from '#runtime/base/assert.ts';
import { decodeRevision, encodeRevision, revisionZero } from '#runtime/content/revision.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { Write } from '#runtime/log/log-entry.ts';
import { KEY_BYTES_MAX } from './binary-key.ts';
import { copyFileDurably } from './file-copy.ts';
import type { Applied, Range, Row, Shard, ShardPosition, ShardSnapshot } from './shard.ts';
import { goBackToFlushed, requireSound } from './unflushed-file.ts';

/** Number of the format of everything in a shard; raised with a migration when a layout changes. */
export const SHARD_FORMAT = 1;

/** Name LMDB gives the file of an environment. */
const DATA_FILE = 'data.mdb';

/** Readers that may be open at once in one environment; a pinned snapshot takes one. */
const READERS_MAX = 1024;

/** Named databases one environment may hold. */
const DATABASES_MAX = 32;

/** Name of the database that holds the format number and the log position. */
const SYSTEM = '_shard';
const FORMAT_KEY = 'format';
const POSITION_KEY = 'position';

const SMALLEST_KEY = '\u0000';

type Table = Database<Uint8Array, string>;

/** Keys travel as binary strings, so that the overlay and LMDB share one form without copying. */
const binaryStringKeys = {
  writeKey: (key: string, target: Buffer, start: number): number => start + target.latin1Write(key, start),
  readKey: (source: Buffer, start: number, end: number): string => source.latin1Slice(start, end),
};

const tableOptions = { encoding: 'binary', keyEncoder: binaryStringKeys } as const;

/**
 * What the type declarations of lmdb-js leave out. Without reading ahead a look-up that meets the disk gets the page
 * it wants, not those around it: they are of other tables and keys, and where the system reads 8 MB ahead the event
 * loop stands still for as many milliseconds.
 */
const untypedOptions = { safeRestore: true, noReadAhead: true };

/** Free bytes on a volume below which a failed write is put down to want of space. */
const FULL_BELOW_BYTES = 1024 * 1024;

/** LMDB tells a full disk from a broken one only when not one byte fitted, so the volume is asked as well. */
function storageError(folder: string, cause: unknown): ServiceError {
  const text = cause instanceof Error ? cause.message : String(cause);
  const isFull = /ENOSPC|No space left|MDB_MAP_FULL/.test(text) || freeBytes(folder) < FULL_BELOW_BYTES;
  return new ServiceError(isFull ? 'STORAGE_FULL' : 'WRITES_STOPPED', undefined, { cause });
}

function freeBytes(folder: string): number {
  try {
    const { bsize, bavail } = statfsSync(folder);
    return bsize * bavail;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

/** What really happened to a commit: lmdb-js puts it into a second promise, which it settles a little later. */
function commitError(error: unknown): unknown {
  return error instanceof Error && 'commitError' in error
    ? (error.commitError as Promise<never>).catch((cause: unknown) => cause)
    : error;
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
 * Durability lives in the log, so applications are large and late. lmdb-js settles a write with its flush, so
 * `committed` and `flushed` are one promise here; readers may see the write a little before. `safeRestore` makes
 * a restart trust only flushed roots.
 *
 * After a failed commit or flush lmdb-js goes on showing the rejected write and its own `close` never ends,
 * because it waits for that flush. So the shard refuses every further application, and closing does without
 * the waiting: the owner closes it and opens it again, both in the same turn. After a failed flush the file is
 * replaced before the failure is told, see unflushed-file.ts.
 */
export class LmdbShard implements Shard {
  readonly #folder: string;
  readonly #env: RootDatabase<Uint8Array, string>;
  readonly #system: Table;
  readonly #tables: readonly Table[];
  /** Snapshots that are open: closing the environment under one of them would pull the memory away. */
  readonly #snapshots = new Set<ShardSnapshot>();
  #position: ShardPosition;
  /** The application under way; it never rejects. */
  #running: Promise<void> | undefined;
  #failed: ServiceError | undefined;
  #isClosed = false;

  /**
   * Opens or creates the environment in a folder.
   *
   * @param folder made when missing
   * @param tableNames the names of the tables, in the order of their numbers; a hole stays unused
   * @throws {ServiceError} `DATA_CORRUPTED` when the shard was written by a newer format, which is left as it
   *   is, or when a flush failed for good; `STORAGE_FULL`, `WRITES_STOPPED` when it cannot be made or opened
   */
  constructor(folder: string, tableNames: readonly string[]) {
    this.#folder = folder;
    requireSound(folder);
    try {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      this.#env = open<Uint8Array, string>({
        path: folder,
        noSubdir: false,
        maxDbs: DATABASES_MAX,
        maxReaders: READERS_MAX,
        // Otherwise every batch gets a second promise, which nobody holds and which rejects as well.
        eventTurnBatching: false,
        ...tableOptions,
        ...untypedOptions,
      });
    } catch (cause) {
      throw storageError(folder, cause);
    }
    try {
      // In one transaction: databases created one by one would cost a flush each, and a newer format stays untouched.
      [this.#system, ...this.#tables] = this.#env.transactionSync(() => this.#openTables(tableNames)) as [
        Table,
        ...Table[],
      ];
      this.#position = decodePosition(this.#system.get(POSITION_KEY));
    } catch (error) {
      this.#closeNow();
      throw error instanceof ServiceError ? error : storageError(folder, error);
    }
  }

  #openTables(tableNames: readonly string[]): Table[] {
    const system = this.#env.openDB({ name: SYSTEM, ...tableOptions });
    const format = system.get(FORMAT_KEY);
    if (format === undefined) void system.put(FORMAT_KEY, Uint8Array.of(SHARD_FORMAT));
    else if ((format[0] as number) > SHARD_FORMAT) {
      throw new ServiceError(
        'DATA_CORRUPTED',
        `the shard in ${this.#folder} has format ${format[0]}, this build reads up to ${SHARD_FORMAT}; start a newer build`,
      );
    }
    return [system, ...tableNames.map((name) => this.#env.openDB({ name, ...tableOptions }))];
  }

  get position(): ShardPosition {
    return this.#position;
  }

  get(table: number, key: string): Uint8Array | undefined {
    this.#requireOpen();
    return canBeStored(key) ? this.#table(table).get(key) : undefined;
  }

  peek(table: number, key: string): Uint8Array | undefined {
    this.#requireOpen();
    return canBeStored(key) ? this.#table(table).getBinaryFast(key) : undefined;
  }

  range(table: number, range: Range): Iterable<Row> {
    this.#requireOpen();
    return rowsOf(this.#table(table), range, undefined, () => this.#requireOpen());
  }

  apply(writes: readonly Write[], position: ShardPosition): Applied {
    const refusal = this.#failed ?? (this.#isClosed ? closedError() : undefined);
    if (refusal !== undefined) {
      const rejected = Promise.reject(refusal);
      rejected.catch(() => {});
      return { committed: rejected, flushed: rejected };
    }
    assert(this.#running === undefined, 'applications of a shard do not overlap');
    assert(position.sequence >= this.#position.sequence, 'a shard never goes back in the log');
    for (const { table, key } of writes) {
      // Found out half-way, lmdb-js would commit the first half.
      assert(canBeStored(key), `a key of ${key.length} bytes`);
      this.#table(table);
    }
    const transaction = this.#transaction;
    const done = Promise.resolve(this.#enqueue(writes, position)).then(
      () => {
        this.#running = undefined;
        this.#env.resetReadTxn();
        this.#position = position;
      },
      async (error: unknown) => {
        this.#failed = storageError(this.#folder, await commitError(error));
        // It can be seen, so the commit worked and the flush did not.
        if (this.#transaction !== transaction) await this.#goBack();
        this.#running = undefined;
        throw this.#failed;
      },
    );
    this.#running = done.catch(() => {});
    return { committed: done, flushed: done };
  }

  snapshot(): ShardSnapshot {
    this.#requireOpen();
    this.#env.resetReadTxn();
    const transaction = this.#env.useReadTransaction();
    let isOpen = true;
    const requireOpen = (): void => {
      if (!isOpen) throw closedError();
    };
    const snapshot: ShardSnapshot = {
      get: (table, key) => {
        requireOpen();
        return canBeStored(key) ? this.#table(table).get(key, { transaction }) : undefined;
      },
      range: (table, range) => {
        requireOpen();
        return rowsOf(this.#table(table), range, transaction, requireOpen);
      },
      close: () => {
        if (!isOpen) return;
        isOpen = false;
        this.#snapshots.delete(snapshot);
        transaction.done();
      },
    };
    this.#snapshots.add(snapshot);
    return snapshot;
  }

  async copyTo(folder: string): Promise<void> {
    this.#requireOpen();
    assert(this.#running === undefined, 'nothing is applied while a shard is copied');
    // Everything applied is in the file and flushed, and nobody writes to it until the copy is done.
    const copied = this.#copyFile(folder);
    this.#running = copied.catch(() => {});
    await copied.finally(() => {
      this.#running = undefined;
    });
  }

  async #copyFile(folder: string): Promise<void> {
    try {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      await copyFileDurably(join(this.#folder, DATA_FILE), join(folder, DATA_FILE));
    } catch (cause) {
      throw storageError(folder, cause);
    }
  }

  sizeBytes(): number {
    return statSync(join(this.#folder, DATA_FILE)).size;
  }

  close(): Promise<void> {
    if (this.#isClosed) return this.#running ?? Promise.resolve();
    this.#isClosed = true;
    if (this.#running !== undefined) return this.#running.then(() => this.#closeNow());
    this.#closeNow();
    return Promise.resolve();
  }

  /** Number of the newest transaction readers can see. */
  get #transaction(): number {
    this.#env.resetReadTxn();
    return (this.#env.getStats() as { readonly lastTxnId: number }).lastTxnId;
  }

  async #goBack(): Promise<void> {
    try {
      await goBackToFlushed(this.#folder, DATA_FILE);
    } catch (failedAgain) {
      this.#failed = failedAgain as ServiceError;
    }
  }

  #enqueue(writes: readonly Write[], position: ShardPosition): Promise<unknown> {
    return this.#env.batch(() => {
      for (const { table, key, value } of writes) {
        if (value === null) void this.#table(table).remove(key);
        else void this.#table(table).put(key, value);
      }
      void this.#system.put(POSITION_KEY, encodePosition(position));
    });
  }

  /** Nothing of ours is under way any more, so lmdb-js need not look for it; without this it would never end. */
  #closeNow(): void {
    this.#isClosed = true;
    for (const snapshot of [...this.#snapshots]) snapshot.close();
    Object.assign(this.#env, { _endWrites: () => undefined });
    void this.#env.close();
  }

  #requireOpen(): void {
    if (this.#isClosed) throw closedError();
  }

  #table(number: number): Table {
    const table = this.#tables[number];
    assert(table !== undefined, `no table ${number}`);
    return table;
  }
}

function canBeStored(key: string): boolean {
  return key !== '' && key.length <= KEY_BYTES_MAX;
}

function closedError(): ServiceError {
  return new ServiceError('SHUTTING_DOWN', 'What was being read is closed; read it again');
}

/** One end of a stretch as LMDB takes it. */
interface Bound {
  readonly key: string;
  /** Whether `key` itself belongs to what lies above the bound. */
  readonly isAbove: boolean;
}

/** LMDB takes no empty key and no long one. No stored key is longer than the cut, so those equal to it are below. */
function boundOf(key: string): Bound {
  if (key === '') return { key: SMALLEST_KEY, isAbove: true };
  return key.length <= KEY_BYTES_MAX
    ? { key, isAbove: true }
    : { key: key.slice(0, KEY_BYTES_MAX), isAbove: false };
}

/** @param requireOpen throws when the memory that is read is gone */
function* rowsOf(
  table: Table,
  range: Range,
  transaction: Transaction | undefined,
  requireOpen: () => void,
): Generator<Row, undefined> {
  if (range.start >= range.end) return;
  const from = boundOf(range.start);
  const to = boundOf(range.end);
  const shared = transaction === undefined ? {} : { transaction };
  // lmdb-js walks backwards from `start` to `end`; ours is [start, end) in both directions.
  const stretch =
    range.reverse === true
      ? {
          start: to.key,
          exclusiveStart: to.isAbove,
          end: from.key,
          inclusiveEnd: from.isAbove,
          reverse: true,
        }
      : { start: from.key, exclusiveStart: !from.isAbove, end: to.key, inclusiveEnd: !to.isAbove };
  for (const row of table.getRange({ ...stretch, ...shared })) {
    yield row;
    requireOpen();
  }
}
