import { existsSync, mkdirSync, type Stats, statfsSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { open, type RootDatabase, type Transaction } from 'lmdb';
import { assert, InvariantError } from '#runtime/base/assert.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import { runInTurns } from '#runtime/base/event-loop/run-in-slices.ts';
import { refusedFile } from '#runtime/errors/refused-file.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { Write } from '#runtime/log/log-entry.ts';
import { copyFileDurably } from './file-copy.ts';
import { inspectHead } from './lmdb-head.ts';
import { LargeRows } from './large-rows.ts';
import {
  assembled,
  isStoredInPieces,
  LargeValue,
  PIECE_BYTES,
  type StoredRow,
  type StoredValue,
} from './large-value.ts';
import {
  canBeStored,
  DATABASES_MAX,
  decodeLarge,
  decodeMarkedPosition,
  encodeLarge,
  encodeMark,
  encodePosition,
  FORMAT_KEY,
  hasKey,
  IDENTITY_KEY,
  LARGE_KEY,
  LARGE_ROWS,
  MARK_KEY,
  PIECES,
  POSITION_KEY,
  rowsOf,
  SHARD_FORMAT,
  SYSTEM,
  type Table,
  tableOptions,
  untypedOptions,
  WHOLE_VALUES_FORMAT,
} from './lmdb-tables.ts';
import { requireOpenable } from './openable.ts';
import { encodeIdentity, requireIdentity, type ShardIdentity } from './shard-identity.ts';
import type { Applied, Range, Row, RowVisitor, Shard, ShardPosition, ShardSnapshot } from './shard.ts';
import { goBackToFlushed, requireSound } from './unflushed-file.ts';
import { verifyShard } from './verify-shard.ts';
import { VisitedTable } from './visited-table.ts';
import { WriterThread } from './writer-thread.ts';

/** Name of the data file of an LMDB environment. */
const DATA_FILE = 'data.mdb';

/** Name of LMDB's reader table. */
const LOCK_FILE = 'lock.mdb';

/** Concurrent readers of one environment; a pinned snapshot takes one. */
const READERS_MAX = 1024;

/** Free bytes on a volume below which a failed write is attributed to lack of space. */
const FULL_BELOW_BYTES = 1024 * 1024;

/** Size of an LMDB page in bytes. A value of more than about half of that gets its own pages. */
const PAGE_BYTES = 4096;

/** LMDB error texts for a file that is not an LMDB file, or is damaged. */
const damageText = /MDB_INVALID|MDB_CORRUPTED|MDB_PAGE_NOTFOUND|MDB_VERSION_MISMATCH/;

/** LMDB error text where each of {@link READERS_MAX} readers is taken. */
const allTakenText = /MDB_READERS_FULL/;

/** LMDB error text for a write that failed in part, for an unstated reason: damage, or no space to grow the file. */
const brokenOffText = /MDB_BAD_TXN/;

/** LMDB reports a full disk as such only when not a single byte fitted, so the free space is checked as well. */
function storageError(folder: string, cause: unknown): ServiceError {
  const text = cause instanceof Error ? cause.message : String(cause);
  if (damageText.test(text)) return damaged(folder, text, cause);
  const isFull = /ENOSPC|No space left|MDB_MAP_FULL/.test(text) || freeBytes(folder) < FULL_BELOW_BYTES;
  if (isFull) return new ServiceError('STORAGE_FULL', undefined, { cause });
  const path = join(folder, DATA_FILE);
  return refusedFile(path, cause) ?? new ServiceError('WRITES_STOPPED', `${path}: ${text}`, { cause });
}

/**
 * Converts the error of an application. If LMDB states no reason, the file is verified, because damage would make every
 * retry fail.
 */
async function applicationError(folder: string, cause: unknown): Promise<ServiceError> {
  const told = storageError(folder, cause);
  if (told.code !== 'WRITES_STOPPED' || !brokenOffText.test(told.message)) return told;
  try {
    const found = await runInTurns(systemClock, verifyShard(join(folder, DATA_FILE)));
    return found === undefined ? told : damaged(folder, found, cause);
  } catch {
    return told;
  }
}

function damaged(folder: string, text: string, cause?: unknown): ServiceError {
  const what = `the shard ${join(folder, DATA_FILE)} is damaged (${text}); bring its files back, or restore a backup`;
  return new ServiceError('DATA_CORRUPTED', what, cause === undefined ? {} : { cause });
}

/**
 * Prevents LMDB from opening a file that would crash the process. A file may be shorter than its last page if that page
 * is free. A truncated file is extended to its full length: the missing pages are then read as zeros and detected as
 * damage, instead of an access to unmapped memory.
 */
function prepareFile(folder: string): void {
  const path = join(folder, DATA_FILE);
  // An empty file is being created.
  if (!existsSync(path) || statSync(path).size === 0) return;
  const found = inspectHead(path);
  if (!found.isSound) throw damaged(folder, found.reason);
  if (found.missingBytes > 0) truncateSync(path, statSync(path).size + found.missingBytes);
}

/**
 * Size of the values that get their own pages. When the system refuses to write such pages, the error message of LMDB
 * overflows its buffer, which crashes the process or corrupts memory. With small pages it does not.
 */
function largeBytes(writes: readonly Write[]): number {
  let bytes = 0;
  for (const { value } of writes)
    if (value !== null && value.length > PAGE_BYTES / 2)
      // Each piece of a large value has its own.
      bytes += value.length + PAGE_BYTES * Math.ceil(value.length / PIECE_BYTES);
  return bytes;
}

function freeBytes(folder: string): number {
  try {
    const { bsize, bavail } = statfsSync(folder);
    return bsize * bavail;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

/** The actual error of a commit: lmdb-js puts it into a second promise, which settles a little later. */
function commitError(error: unknown): unknown {
  return error instanceof Error && 'commitError' in error
    ? (error.commitError as Promise<never>).catch((cause: unknown) => cause)
    : error;
}

/**
 * A shard in an LMDB environment of its own: one named database per table.
 *
 * Durability is provided by the log, so applications are large and late. lmdb-js settles a write with its flush, so
 * `committed` and `flushed` are one promise here; readers may see the write a little earlier. With `safeRestore` a
 * restart trusts only flushed roots.
 *
 * After a failed commit or flush lmdb-js still shows the rejected write, and its own `close` never ends, because it
 * waits for that flush. Therefore the shard refuses further applications, and closing does not wait: the owner closes
 * and reopens the shard in the same turn. After a failed flush the file is replaced before the failure is reported,
 * see unflushed-file.ts.
 */
export class LmdbShard implements Shard {
  readonly #folder: string;
  readonly #env: RootDatabase<Uint8Array, string>;
  readonly #writer: WriterThread;
  readonly #system: Table;
  readonly #tables: readonly Table[];
  readonly #large: LargeRows;
  /** Tables of which rows were looked at in place. */
  readonly #visited: (VisitedTable | undefined)[] = [];
  /** Open snapshots: closing the environment would unmap their memory. */
  readonly #snapshots = new Set<ShardSnapshot>();
  #position: ShardPosition;
  /** Identity in the file; undefined when it has none. */
  #identity: Uint8Array | undefined;
  /** The file that LMDB has mapped, and its minimum size: it never shrinks by itself. */
  #file: Pick<Stats, 'ino' | 'size'>;
  /** The running application; it never rejects. */
  #running: Promise<void> | undefined;
  #failed: ServiceError | undefined;
  /** Set when its file has the content of another one, see {@link requireUntouched}. */
  #overwritten: ServiceError | undefined;
  #isClosed = false;
  readonly #explain = (cause: unknown): unknown => this.#readError(cause);
  readonly #readPiece = (key: string): Uint8Array | undefined => {
    this.#requireOpen();
    try {
      return this.#large.pieces.getBinaryFast(key);
    } catch (cause) {
      throw this.#readError(cause);
    }
  };
  readonly #onClosed: (() => void) | undefined;
  readonly #freeBytes: (folder: string) => number;

  /**
   * Opens or creates the environment in a folder.
   *
   * @param folder created when missing
   * @param tableNames the names of the tables, in the order of their numbers; a hole stays unused
   * @param identity identity of the shard; stored in a new file, required in an existing one
   * @param onClosed called when LMDB has released the file, if it was opened
   * @param free returns the free bytes on the volume of a folder; default: asks the system
   * @param openFile opens the file; default: lmdb-js does
   * @throws {ServiceError} `DATA_CORRUPTED` when the shard has a newer format or another identity (the file is left
   *   unchanged), or when an earlier flush failed for good; `STORAGE_FULL`, `WRITES_STOPPED` when it cannot be created
   *   or opened
   */
  constructor(
    folder: string,
    tableNames: readonly string[],
    identity?: ShardIdentity,
    onClosed?: () => void,
    free: (folder: string) => number = freeBytes,
    openFile: typeof open = open,
  ) {
    this.#folder = folder;
    this.#freeBytes = free;
    this.#onClosed = onClosed;
    requireSound(folder);
    try {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      requireOpenable(join(folder, DATA_FILE), join(folder, LOCK_FILE));
      prepareFile(folder);
      this.#env = openFile<Uint8Array, string>({
        path: folder,
        noSubdir: false,
        maxDbs: DATABASES_MAX,
        maxReaders: READERS_MAX,
        // Otherwise every batch gets a second promise, which nobody awaits and which also rejects.
        eventTurnBatching: false,
        ...tableOptions,
        ...untypedOptions,
      });
    } catch (cause) {
      throw cause instanceof ServiceError ? cause : storageError(folder, cause);
    }
    this.#writer = new WriterThread(this.#env);
    try {
      // One transaction: creating databases separately would cost a flush each. Also leaves a newer format unchanged.
      const [system, pieces, largeRows, ...tables] = this.#env.transactionSync(() =>
        this.#openTables(tableNames, identity),
      ) as [Table, Table, Table, ...Table[]];
      this.#system = system;
      this.#tables = tables;
      this.#large = new LargeRows(pieces, largeRows, decodeLarge(system.get(LARGE_KEY)));
      if (this.#large.isBehind)
        throw damaged(folder, `its newest large value is ${this.#large.newest}, but it has later ones`);
      this.#position = decodeMarkedPosition(this.#system.get(POSITION_KEY), this.#system.get(MARK_KEY));
      this.#identity = this.#system.get(IDENTITY_KEY);
      this.#file = statSync(join(folder, DATA_FILE));
    } catch (error) {
      this.#closeNow();
      throw error instanceof ServiceError ? error : storageError(folder, error);
    }
  }

  #openTables(tableNames: readonly string[], identity: ShardIdentity | undefined): Table[] {
    const system = this.#env.openDB({ name: SYSTEM, ...tableOptions });
    const format = system.get(FORMAT_KEY);
    if (format === undefined) void system.put(FORMAT_KEY, Uint8Array.of(WHOLE_VALUES_FORMAT));
    else if ((format[0] as number) > SHARD_FORMAT) {
      throw new ServiceError(
        'DATA_CORRUPTED',
        `the shard in ${this.#folder} has format ${format[0]}, this build reads up to ${SHARD_FORMAT}; start a newer build`,
      );
    }
    if (identity !== undefined) {
      const found = system.get(IDENTITY_KEY);
      const missing = requireIdentity(join(this.#folder, DATA_FILE), identity, found, format === undefined);
      if (missing !== undefined) void system.put(IDENTITY_KEY, missing);
    }
    return [
      system,
      ...[PIECES, LARGE_ROWS, ...tableNames].map((name) => this.#env.openDB({ name, ...tableOptions })),
    ];
  }

  get position(): ShardPosition {
    return this.#position;
  }

  get(table: number, key: string): Uint8Array | undefined {
    const found = this.stored(table, key);
    return found instanceof LargeValue ? assembled(found, this.#readPiece) : found;
  }

  stored(table: number, key: string): StoredValue | undefined {
    this.#requireOpen();
    try {
      return canBeStored(key) ? this.#large.known(table, key, this.#table(table).get(key)) : undefined;
    } catch (cause) {
      throw this.#readError(cause);
    }
  }

  peek(table: number, key: string): StoredValue | undefined {
    this.#requireOpen();
    try {
      return canBeStored(key)
        ? this.#large.known(table, key, this.#table(table).getBinaryFast(key))
        : undefined;
    } catch (cause) {
      throw this.#readError(cause);
    }
  }

  piece(key: string): Uint8Array | undefined {
    return this.#readPiece(key);
  }

  has(table: number, key: string): boolean {
    this.#requireOpen();
    try {
      return hasKey(this.#table(table), key);
    } catch (cause) {
      throw this.#readError(cause);
    }
  }

  range(table: number, range: Range): Iterable<Row> {
    return this.#large.wholeRows(table, this.#rows(table, range), this.#readPiece);
  }

  storedRange(table: number, range: Range): Iterable<StoredRow> {
    return this.#large.knownRows(table, this.#rows(table, range));
  }

  visit(table: number, range: Range, visitor: RowVisitor): void {
    this.#requireOpen();
    this.#visit(table, range, undefined, visitor);
  }

  #visit(table: number, range: Range, transaction: Transaction | undefined, visitor: RowVisitor): void {
    this.#visited[table] ??= new VisitedTable(table, this.#table(table), this.#large);
    try {
      this.#visited[table].visit(range, transaction, visitor);
    } catch (cause) {
      throw this.#readError(cause);
    }
  }

  #rows(table: number, range: Range): Iterable<Row> {
    this.#requireOpen();
    return rowsOf(this.#table(table), range, undefined, () => this.#requireOpen(), this.#explain);
  }

  *learnLargeRows(): Generator<undefined, void> {
    const steps = this.#large.learn();
    while (true) {
      this.#requireOpen();
      try {
        if (steps.next().done === true) return;
      } catch (cause) {
        throw this.#readError(cause);
      }
      yield;
    }
  }

  isLarge(table: number, key: string): boolean {
    return this.#large.isLarge(table, key);
  }

  apply(writes: readonly Write[], position: ShardPosition): Applied {
    if (!this.#isClosed) this.#failed ??= this.#tampered() ?? this.#wasOverwritten() ?? this.#tooFull(writes);
    const refusal = this.#failed ?? (this.#isClosed ? closedError() : undefined);
    if (refusal !== undefined) return refused(refusal);
    assert(this.#running === undefined, 'applications of a shard do not overlap');
    assert(position.sequence >= this.#position.sequence, 'a shard never goes back in the log');
    for (const { table, key } of writes) {
      // Checked before writing: if lmdb-js detected it half-way, it would commit the first half.
      if (!canBeStored(key)) throw new InvariantError(`a key of ${key.length} bytes`);
      this.#table(table);
    }
    const transaction = this.#transaction;
    let replaced: Map<string, LargeValue>;
    try {
      replaced = this.#large.among(writes, (table, key) => this.#table(table).getBinaryFast(key));
    } catch (cause) {
      this.#failed = storageError(this.#folder, cause);
      return refused(this.#failed);
    }
    const done = this.#written(() => this.#enqueue(writes, position, replaced)).then(
      () => {
        this.#running = undefined;
        this.#env.resetReadTxn();
        this.#position = position;
        this.#noteFile();
      },
      async (error: unknown) => {
        this.#failed = await applicationError(this.#folder, await commitError(error));
        // The write is visible, so the commit succeeded and the flush failed.
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
    const transaction = this.#pinned();
    let isOpen = true;
    const requireOpen = (): void => {
      this.#requireSame();
      if (!isOpen) throw closedError();
    };
    const read = <T>(from: () => T): T => {
      requireOpen();
      try {
        return from();
      } catch (cause) {
        throw this.#readError(cause);
      }
    };
    const piece = (key: string): Uint8Array | undefined =>
      read(() => readAtOnce(this.#large.pieces, key, transaction));
    const stored = (table: number, key: string): StoredValue | undefined =>
      read(() =>
        canBeStored(key)
          ? this.#large.known(table, key, this.#table(table).get(key, { transaction }))
          : undefined,
      );
    const peek = (table: number, key: string): StoredValue | undefined =>
      read(() =>
        canBeStored(key)
          ? this.#large.known(table, key, readAtOnce(this.#table(table), key, transaction))
          : undefined,
      );
    const rowsIn = (table: number, range: Range): Iterable<Row> => {
      requireOpen();
      return rowsOf(this.#table(table), range, transaction, requireOpen, this.#explain);
    };
    const snapshot: ShardSnapshot = {
      get: (table, key) => {
        const found = stored(table, key);
        return found instanceof LargeValue ? assembled(found, piece) : found;
      },
      peek,
      stored,
      piece,
      has: (table, key) => read(() => hasKey(this.#table(table), key, transaction)),
      range: (table, range) => this.#large.wholeRows(table, rowsIn(table, range), piece),
      storedRange: (table, range) => this.#large.knownRows(table, rowsIn(table, range)),
      visit: (table, range, visitor) => {
        requireOpen();
        this.#visit(table, range, transaction, visitor);
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

  /**
   * Turns a copy of another shard into this one. It is on disk when the promise resolves. The LMDB thread waits for it.
   *
   * @throws {ServiceError} `STORAGE_FULL`, `WRITES_STOPPED`; the copy is then unusable
   */
  async claim(identity: ShardIdentity): Promise<void> {
    this.#requireOpen();
    assert(this.#running === undefined, 'nothing else is done with a copy');
    const encoded = encodeIdentity(identity);
    const claimed = this.#written(() => void this.#system.put(IDENTITY_KEY, encoded));
    this.#running = claimed.then(
      () => {},
      () => {},
    );
    try {
      await claimed;
      this.#identity = encoded;
    } catch (error) {
      this.#failed = storageError(this.#folder, await commitError(error));
      throw this.#failed;
    } finally {
      this.#running = undefined;
    }
  }

  async copyTo(folder: string, signal?: AbortSignal): Promise<void> {
    this.#requireOpen();
    assert(this.#running === undefined, 'nothing is applied while a shard is copied');
    // All applied changes are in the file and flushed, and nobody writes to it until the copy is done.
    const copied = this.#copyFile(folder, signal);
    this.#running = copied.catch(() => {});
    await copied.finally(() => {
      this.#running = undefined;
    });
  }

  async #copyFile(folder: string, signal: AbortSignal | undefined): Promise<void> {
    try {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      await copyFileDurably(join(this.#folder, DATA_FILE), join(folder, DATA_FILE), signal);
    } catch (cause) {
      if (cause instanceof ServiceError) throw cause;
      throw storageError(folder, cause);
    }
  }

  requireUntouched(): void {
    const overwritten = this.#wasOverwritten();
    if (overwritten !== undefined) throw overwritten;
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

  /**
   * The error if the file was removed, replaced or truncated. A truncated file is extended with zeros, which are
   * detected as damage: reading past its end would crash the process.
   */
  #tampered(): ServiceError | undefined {
    const path = join(this.#folder, DATA_FILE);
    const found = statSync(path, { throwIfNoEntry: false });
    if (found === undefined) return damaged(this.#folder, 'it was removed under the running server');
    if (found.ino !== this.#file.ino)
      return damaged(this.#folder, 'it was replaced under the running server');
    if (found.size >= this.#file.size) return undefined;
    truncateSync(path, this.#file.size);
    return damaged(this.#folder, `it was cut to ${found.size} bytes under the running server`);
  }

  /** The error if another file was copied over this one. An application would give that the position of this one. */
  #wasOverwritten(): ServiceError | undefined {
    // While something is applied, readers may see either position.
    const isKnown = this.#overwritten !== undefined || this.#failed !== undefined;
    if (isKnown || this.#isClosed || this.#running !== undefined) return this.#overwritten;
    const { sequence } = this.#position;
    try {
      const found = decodeMarkedPosition(this.#system.get(POSITION_KEY), undefined);
      // One record has changes of several actors.
      if (found.sequence === sequence && areSame(this.#system.get(IDENTITY_KEY), this.#identity))
        return undefined;
    } catch {
      // A look that fails tells nothing of the content. A damaged page stops whoever reads or writes it.
      return undefined;
    }
    this.#overwritten = damaged(
      this.#folder,
      `it no longer has its state of log record ${sequence}: another file was copied over it under the running server`,
    );
    this.#failed = this.#overwritten;
    return this.#overwritten;
  }

  /** The error if large values would not fit on the disk. LMDB must not try to write them, see {@link largeBytes}. */
  #tooFull(writes: readonly Write[]): ServiceError | undefined {
    const bytes = largeBytes(writes);
    if (bytes === 0 || this.#freeBytes(this.#folder) >= bytes + FULL_BELOW_BYTES) return undefined;
    return new ServiceError('STORAGE_FULL');
  }

  #noteFile(): void {
    const found = statSync(join(this.#folder, DATA_FILE), { throwIfNoEntry: false });
    // Any other change is detected by the next application.
    if (found?.ino === this.#file.ino && found.size > this.#file.size) this.#file = found;
  }

  /** Converts the error of a read. After the first damage LMDB only reports that its transaction is invalid. */
  #readError(cause: unknown): unknown {
    if (cause instanceof ServiceError) return cause;
    const text = cause instanceof Error ? cause.message : String(cause);
    if (allTakenText.test(text))
      return new ServiceError('OVERLOADED', 'Too many long reads of the same data are running; try again.', {
        cause,
      });
    if (damageText.test(text)) this.#failed ??= damaged(this.#folder, text, cause);
    return this.#failed ?? cause;
  }

  #pinned(): ReturnType<RootDatabase['useReadTransaction']> {
    try {
      this.#env.resetReadTxn();
      return this.#env.useReadTransaction();
    } catch (cause) {
      throw this.#readError(cause);
    }
  }

  /** Number of the newest transaction that readers can see. */
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

  /** @param large what `LargeRows.among` returned */
  #enqueue(writes: readonly Write[], position: ShardPosition, large: Map<string, LargeValue>): void {
    const { newest } = this.#large;
    const added = writes.filter(({ value }) => value !== null && isStoredInPieces(value)).length;
    if (added > 0) {
      // First: where only the beginning were committed, no number would be used again.
      void this.#system.put(LARGE_KEY, encodeLarge(newest + added));
      if (newest === 0) void this.#system.put(FORMAT_KEY, Uint8Array.of(SHARD_FORMAT));
    }
    for (const write of writes) this.#large.write(this.#table(write.table), write, large);
    void this.#system.put(POSITION_KEY, encodePosition(position));
    const { mark, sequence } = position;
    if (mark !== undefined) void this.#system.put(MARK_KEY, encodeMark(sequence, mark));
  }

  /** Writes in one transaction. Settles when it is flushed, or has failed, and LMDB's thread has let go of the file. */
  async #written(work: () => void): Promise<void> {
    try {
      await this.#env.batch(work);
    } finally {
      await this.#writer.finished();
    }
  }

  /**
   * Closes the environment without lmdb-js waiting for pending writes: there are none, and the wait would never end.
   */
  #closeNow(): void {
    this.#isClosed = true;
    for (const snapshot of [...this.#snapshots]) snapshot.close();
    Object.assign(this.#env, { _endWrites: () => undefined });
    void this.#env.close();
    this.#onClosed?.();
  }

  #requireSame(): void {
    if (this.#overwritten !== undefined) throw this.#overwritten;
  }

  #requireOpen(): void {
    this.#requireSame();
    if (this.#isClosed) throw closedError();
  }

  #table(number: number): Table {
    const table = this.#tables[number];
    if (table === undefined) throw new InvariantError(`no table ${number}`);
    return table;
  }
}

function areSame(one: Uint8Array | undefined, other: Uint8Array | undefined): boolean {
  return one === undefined || other === undefined ? one === other : Buffer.compare(one, other) === 0;
}

/** A value that is valid only until the next read. The type declarations of lmdb-js lack the options. */
function readAtOnce(table: Table, key: string, transaction: Transaction): Uint8Array | undefined {
  return (table.getBinaryFast as (key: string, options: object) => Uint8Array | undefined).call(table, key, {
    transaction,
  });
}

/** An application that is refused. */
function refused(refusal: ServiceError): Applied {
  const rejected = Promise.reject(refusal);
  rejected.catch(() => {});
  return { committed: rejected, flushed: rejected };
}

function closedError(): ServiceError {
  return new ServiceError('SHUTTING_DOWN', 'What was being read is closed; read it again');
}
