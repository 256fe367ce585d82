import type { RecordMark, Write } from '#runtime/log/log-entry.ts';
import type { Revision } from '#runtime/content/revision.ts';

/** One key with its value. */
export interface Row {
  readonly key: string;
  readonly value: Uint8Array;
}

/** A stretch of keys of one table. */
export interface Range {
  /** First key that belongs to the stretch. */
  readonly start: string;
  /** First key behind the stretch. */
  readonly end: string;
  /** Walk from the last key to the first. */
  readonly reverse?: boolean;
}

/**
 * Reads over the tables of one actor. Keys are binary strings (each char code is one byte) and rows come in
 * byte order. What a reader shows does not change within one turn of the event loop.
 */
export interface TableReader {
  /** The value under `key`, or undefined. The bytes must not be written to. */
  get(table: number, key: string): Uint8Array | undefined;
  /**
   * As {@link get}, but the bytes are good only until the next read: for what is decoded on the spot, without a
   * copy. They end at their `length`; the memory behind may go on, so pass it to whatever reads to an end
   * (`latin1Slice(from, bytes.length)`, `subarray(from, bytes.length)`). Readers that cannot do better leave it out.
   */
  peek?(table: number, key: string): Uint8Array | undefined;
  /**
   * Rises whenever what the reader shows may have changed, so that whoever decoded something can tell that it
   * is still right. Readers that do not keep count leave it out.
   */
  readonly generation?: number;
  /** The rows of a stretch, in order. Must be consumed within the same turn of the event loop. */
  range(table: number, range: Range): Iterable<Row>;
}

/** How far into the log a shard's content reaches. */
export interface ShardPosition {
  /** Sequence of the newest log record that is in the shard; 0 before the first. */
  readonly sequence: number;
  /** The highest revision clock seen by the actor. */
  readonly clock: Revision;
  /**
   * Of that record. Absent where the log has none (see `RecordMark`), before the first record, and in a shard that was
   * last written by a version without it.
   */
  readonly mark?: RecordMark | undefined;
}

/** What became of one application of writes. */
export interface Applied {
  /** Settles when readers of the shard see the writes. */
  readonly committed: Promise<void>;
  /** Settles when they are on disk as well. */
  readonly flushed: Promise<void>;
}

/**
 * Reads pinned to one moment, for work that spans several turns of the event loop. Must be closed. Closing the
 * shard closes it too; from then on a read throws `SHUTTING_DOWN`, so hold no open range over a turn.
 */
export interface ShardSnapshot extends TableReader {
  close(): void;
}

/**
 * The stored state of one actor: a view of the log, applied in order and in one transaction together with the
 * log position it reaches. It never holds a record the log did not acknowledge.
 *
 * Isolation: `get` and `range` see the newest committed application and nothing of an unfinished one.
 *
 * @see docs/decisions/0002-log-first.md
 */
export interface Shard extends TableReader {
  /** What the last committed application reached. */
  readonly position: ShardPosition;
  /**
   * Applies writes and the position they lead to, all or nothing. Calls must not overlap: wait for `committed`.
   * After a failure nothing more is applied and what is shown may include the rejected writes: close the shard
   * and open it again.
   *
   * @throws {ServiceError} through the promises: `STORAGE_FULL`, `WRITES_STOPPED`
   * @throws {InvariantError} for a key that is empty or longer than `KEY_BYTES_MAX`; nothing is applied
   */
  apply(writes: readonly Write[], position: ShardPosition): Applied;
  /**
   * Pins the present state. A snapshot stops page reuse, so the file grows with what is written while it is held: reads
   * end with their deadline, looked at with every slice, and who stops reading an answer is disconnected.
   */
  snapshot(): ShardSnapshot;
  /**
   * Copies the stored state, position included, into a new folder and brings it to the disk. Nothing may be
   * applied meanwhile. Shards that are not files leave it out.
   *
   * @param signal gives it up: `REQUEST_CANCELLED`, and what is in the folder is of no use
   */
  copyTo?(folder: string, signal?: AbortSignal): Promise<void>;
  /** Bytes the shard takes on disk. */
  sizeBytes(): number;
  /**
   * Waits for unfinished applications, then closes; when there are none, at once, before it returns. From then
   * on reads throw `SHUTTING_DOWN`. A shard whose application failed is closed like any other.
   */
  close(): Promise<void>;
}
