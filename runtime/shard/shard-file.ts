import { existsSync, unlinkSync } from 'node:fs';
import { open, type RootDatabase, type Transaction } from 'lmdb';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { KEY_BYTES_MAX } from './binary-key.ts';
import { assembled, decodeStub } from './large-value.ts';
import { inspectHead } from './lmdb-head.ts';
import {
  canBeStored,
  DATABASES_MAX,
  decodePosition,
  FORMAT_KEY,
  LARGE_ROWS,
  PIECES,
  POSITION_KEY,
  rowsOf,
  SHARD_FORMAT,
  SMALLEST_KEY,
  SYSTEM,
  type Table,
  tableOptions,
  untypedOptions,
} from './lmdb-tables.ts';
import { requireOpenable } from './openable.ts';
import type { Range, Row, ShardPosition, TableReader } from './shard.ts';

/** Suffix of the lock file LMDB creates beside an open file. */
const LOCK_SUFFIX = '-lock';

/** Bounds less and greater than every key LMDB accepts. */
const wholeTable: Range = { start: '', end: '\u00ff'.repeat(KEY_BYTES_MAX + 1) };

/**
 * Read-only access to the file of a shard that is not open elsewhere, as made by a copy. The file is never changed.
 *
 * A truncated or damaged file may crash the process: verify its checksum first.
 *
 * All reads use one snapshot, so a range may be consumed over several turns of the event loop.
 */
export class ShardFile implements TableReader {
  /** Position of the shard when it was copied. */
  readonly position: ShardPosition;
  readonly #path: string;
  readonly #env: RootDatabase<Uint8Array, string>;
  /** Undefined for a table that an older build did not have. */
  readonly #tables: readonly (Table | undefined)[];
  /** Undefined in a file that an older build made. */
  readonly #pieces: Table | undefined;
  readonly #transaction: Transaction;
  #isClosed = false;

  /**
   * @param path of the file
   * @param tableNames the names of the tables, in the order of their numbers
   * @throws {ServiceError} `DATA_CORRUPTED` when it is not a shard, or has the format of a newer build
   */
  constructor(path: string, tableNames: readonly string[]) {
    this.#path = path;
    requireEnvironment(path);
    requireOpenable(path, `${path}${LOCK_SUFFIX}`);
    try {
      this.#env = open<Uint8Array, string>({
        path,
        noSubdir: true,
        readOnly: true,
        maxDbs: DATABASES_MAX,
        ...tableOptions,
        ...untypedOptions,
      });
    } catch (cause) {
      throw unreadable(path, cause);
    }
    try {
      const system = this.#open(SYSTEM);
      if (system === undefined) throw unreadable(path, undefined);
      requireKnown(path, system.get(FORMAT_KEY)?.[0], this.#names(), tableNames);
      this.#tables = tableNames.map((name) => this.#open(name));
      this.#pieces = this.#open(PIECES);
      this.#transaction = this.#env.useReadTransaction();
      this.position = decodePosition(system.get(POSITION_KEY));
    } catch (cause) {
      this.#closeFile();
      throw cause instanceof ServiceError ? cause : unreadable(path, cause);
    }
  }

  get(table: number, key: string): Uint8Array | undefined {
    if (!canBeStored(key)) return undefined;
    return this.#whole(table, key, this.#tables[table]?.get(key, { transaction: this.#transaction }));
  }

  *range(table: number, range: Range): Generator<Row, void> {
    const found = this.#tables[table];
    if (found === undefined) return;
    for (const { key, value } of rowsOf(found, range, this.#transaction, () => {}))
      yield { key, value: this.#whole(table, key, value) as Uint8Array };
  }

  /** Every row of a table, in order. */
  rows(table: number): Iterable<Row> {
    return this.range(table, wholeTable);
  }

  /** Closes the file. Idempotent. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#transaction.done();
    this.#closeFile();
  }

  /** Reads a large value whose row this is. */
  #whole(table: number, key: string, value: Uint8Array | undefined): Uint8Array | undefined {
    // A file of an older build has no rows of large values.
    const found =
      value === undefined || this.#pieces === undefined ? undefined : decodeStub(value, table, key);
    if (found === undefined) return value;
    return assembled(found, (piece) => this.#pieces?.get(piece, { transaction: this.#transaction }));
  }

  #open(name: string): Table | undefined {
    return this.#env.openDB({ name, ...tableOptions }) as Table | undefined;
  }

  /** Names of the tables in the file. */
  #names(): readonly string[] {
    const names = this.#env.getKeys({ start: SMALLEST_KEY });
    // Names may be stored with a terminating zero byte.
    return [...names].map((name) => (name.endsWith(SMALLEST_KEY) ? name.slice(0, -1) : name));
  }

  #closeFile(): void {
    void this.#env.close();
    const lock = `${this.#path}${LOCK_SUFFIX}`;
    if (existsSync(lock)) unlinkSync(lock);
  }
}

function requireEnvironment(path: string): void {
  if (!existsSync(path)) throw unreadable(path, undefined);
  if (!inspectHead(path).isSound) throw unreadable(path, undefined);
}

/** Databases of every shard. */
const ownNames: ReadonlySet<string> = new Set([LARGE_ROWS, PIECES, SYSTEM]);

/** Refuses tables of a newer build, which must not be ignored silently. */
function requireKnown(
  path: string,
  format: number | undefined,
  found: readonly string[],
  tableNames: readonly string[],
): void {
  const unknown = found.find((name) => !ownNames.has(name) && !tableNames.includes(name));
  const isNewer = format === undefined || format > SHARD_FORMAT || unknown !== undefined;
  if (!isNewer) return;
  const what = unknown === undefined ? `format ${format}` : `a table '${unknown}'`;
  throw new ServiceError(
    'DATA_CORRUPTED',
    `${path} has ${what}, which this build does not know; start a newer build`,
  );
}

function unreadable(path: string, cause: unknown): ServiceError {
  const message = `${path} is missing or is not the file of a shard`;
  return new ServiceError('DATA_CORRUPTED', message, cause === undefined ? {} : { cause });
}
