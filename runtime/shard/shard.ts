import type { RecordMark, Write } from '#runtime/log/log-entry.ts';
import type { Revision } from '#runtime/content/revision.ts';
import type { Buffer } from 'node:buffer';
import type { LargeValue, StoredRow, StoredValue } from './large-value.ts';

/** One key with its value. */
export interface Row {
  readonly key: string;
  readonly value: Uint8Array;
}

/**
 * A row where it is stored, without a copy. It is valid until the function returns that it was passed to, and only while
 * nothing else is read.
 */
export interface RowInPlace {
  /** Begin with the value. The memory is longer: always pass the end. */
  readonly bytes: Buffer;
  /** Length of the value in bytes. */
  readonly length: number;
  /** The value when it is a large one, which is not read: then there are no bytes. */
  readonly large: LargeValue | undefined;
  /** Decodes the key. */
  key(): string;
}

/** Looks at a row, and must not read anything else. @returns whether to go on with the next row */
export type RowVisitor = (row: RowInPlace) => boolean;

/** A range of keys in one table. */
export interface Range {
  /** First key of the range. */
  readonly start: string;
  /** First key after the range. */
  readonly end: string;
  /** Iterate from the last key to the first. */
  readonly reverse?: boolean;
}

/**
 * Reads over the tables of one actor. Keys are binary strings (each char code is one byte) and rows are in byte
 * order. The visible state of a reader does not change within one turn of the event loop.
 */
export interface TableReader {
  /** The value of `key`, or undefined. The bytes must not be modified. */
  get(table: number, key: string): Uint8Array | undefined;
  /**
   * As {@link get}, but the bytes are valid only until the next read: for values that are decoded at once, without a
   * copy. They end at their `length`; the underlying memory may be longer, so pass the end explicitly
   * (`latin1Slice(from, bytes.length)`, `subarray(from, bytes.length)`). A large value is not read. Absent in readers
   * that cannot avoid the copy.
   */
  peek?(table: number, key: string): StoredValue | undefined;
  /**
   * As {@link get}, but a large value is not read, which takes long; see `valueInSteps`. Absent in readers that have all
   * values in memory.
   */
  stored?(table: number, key: string): StoredValue | undefined;
  /** A piece of a large value that the reader returned; undefined when it is missing. Present where {@link stored} is. */
  piece?(key: string): Uint8Array | undefined;
  /**
   * Whether `key` has a value, without reading it: that of a large node has megabytes. Absent in readers that cannot avoid
   * that; see `hasRow`.
   */
  has?(table: number, key: string): boolean;
  /**
   * Increases whenever the visible state may have changed, so that a caller can tell whether a decoded value is still
   * current. Absent in readers that do not count changes.
   */
  readonly generation?: number;
  /** The rows of a range, in order. Must be consumed within the same turn of the event loop. */
  range(table: number, range: Range): Iterable<Row>;
  /** As {@link range}, but large values are not read. Present where {@link stored} is. */
  storedRange?(table: number, range: Range): Iterable<StoredRow>;
  /**
   * Passes the rows of a range to a function, in order, where they are stored: for scans that look at many rows and keep
   * few. Absent in readers that have no such rows; see `visitRows`.
   */
  visit?(table: number, range: Range, visitor: RowVisitor): void;
}

/** The log position of a shard's content. */
export interface ShardPosition {
  /** Sequence of the newest log record that is in the shard; 0 before the first. */
  readonly sequence: number;
  /** The highest revision clock seen by the actor. */
  readonly clock: Revision;
  /**
   * Mark of that record. Absent when the log has no marks (see `RecordMark`), before the first record, and in a shard
   * that was last written by a version without marks.
   */
  readonly mark?: RecordMark | undefined;
}

/** The progress of one application of writes. */
export interface Applied {
  /** Settles when the writes are visible to readers of the shard. */
  readonly committed: Promise<void>;
  /** Settles when the writes are also on disk. */
  readonly flushed: Promise<void>;
}

/**
 * Reads pinned to one state, for work that spans several turns of the event loop. Must be closed. Closing the shard
 * closes it too; later reads throw `SHUTTING_DOWN`, so do not hold an open range across a turn.
 */
export interface ShardSnapshot extends TableReader {
  close(): void;
}

/**
 * The stored state of one actor: a view of the log, applied in order. Each transaction also contains its log position.
 * A shard never holds a record that the log did not acknowledge.
 *
 * Isolation: `get` and `range` see the newest committed application, and no part of an unfinished one.
 *
 * @see docs/decisions/0002-log-first.md
 */
export interface Shard extends TableReader {
  /** Position of the last committed application. */
  readonly position: ShardPosition;
  /**
   * Learns in steps which rows have large values. Done once after the opening, before the first application, which would do
   * it in one step. Nothing may be applied meanwhile. Absent in shards that store every value as a whole.
   *
   * @throws {ServiceError} the errors of a read
   */
  learnLargeRows?(): Generator<undefined, void>;
  /**
   * Whether a row has a large value, once they have been learned. Writing such a row removes hundreds of others. Absent
   * where {@link learnLargeRows} is.
   */
  isLarge?(table: number, key: string): boolean;
  /**
   * Applies writes and their log position atomically. Calls must not overlap: wait for `committed`. After a failure
   * nothing more is applied, and the rejected writes may be visible: close the shard and reopen it.
   *
   * @throws {ServiceError} through the promises: `STORAGE_FULL`, `WRITES_STOPPED`, `DATA_CORRUPTED`
   * @throws {InvariantError} for a key that is empty or longer than `KEY_BYTES_MAX`; nothing is applied
   */
  apply(writes: readonly Write[], position: ShardPosition): Applied;
  /**
   * Pins the present state. A snapshot prevents the reuse of pages, so the file grows with every write while it is
   * held. Therefore reads end at their deadline, checked in every slice, and clients that stop reading are
   * disconnected.
   */
  snapshot(): ShardSnapshot;
  /**
   * Copies the stored state, including its position, into a new folder and flushes it to disk. Nothing may be applied
   * meanwhile. Absent in shards that are not files.
   *
   * @param signal cancels the copy: `REQUEST_CANCELLED`, and the folder is then unusable
   */
  copyTo?(folder: string, signal?: AbortSignal): Promise<void>;
  /**
   * Checks that the file still has its identity and the position that was applied last: somebody may have copied an earlier
   * or another one over it. Costs two look-ups. Absent in shards that are not files.
   *
   * @throws {ServiceError} `DATA_CORRUPTED`; then nothing more is applied, and every read throws it, also once it is closed
   */
  requireUntouched?(): void;
  /** Size of the shard on disk in bytes. */
  sizeBytes(): number;
  /**
   * Waits for unfinished applications, then closes the shard; synchronously when there are none. Later reads throw
   * `SHUTTING_DOWN`. A shard with a failed application is closed in the same way.
   */
  close(): Promise<void>;
}
