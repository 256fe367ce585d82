import type { Revision } from '#runtime/content/revision.ts';

/**
 * One effect: the value of a key after the commit. The log holds effects, never commands, so applying a write anywhere,
 * any number of times, gives the same bytes.
 */
export interface Write {
  /** Number of the table among the tables of the actor's kind, at most {@link TABLE_MAX}. */
  readonly table: number;
  /** A binary string: each char code 0..255 is one byte; at most {@link KEY_BYTES_MAX} of them. */
  readonly key: string;
  /** The new value; null removes the key. An empty value is a value, not a removal. */
  readonly value: Uint8Array | null;
}

/** The effects of one batch of one actor. They become durable atomically. */
export interface LogEntry {
  /** Id of the actor, `{tenant}/{repo}/{branch}/{kind}`; at most {@link ACTOR_BYTES_MAX} bytes of UTF-8. */
  readonly actor: string;
  /** In the order of application; a later write of a key wins. */
  readonly writes: readonly Write[];
  /** The highest revision used in the batch. The log keeps it, so that revisions never go backwards. */
  readonly clock: Revision;
  /**
   * The whole entry as written by `encodeEntry`, when it was encoded before; the log then does not read the writes. The
   * log owns the {@link ENCODED_ROOM_BYTES} on either side from `append` on; the entry itself is not changed.
   */
  readonly encoded?: Uint8Array;
}

/** Bytes reserved around an encoded entry for the framing of the log. It avoids a copy: copying 70 MB takes 80 ms. */
export const ENCODED_ROOM_BYTES = 4096;

/**
 * Identifies a record among all records that may have been written with its sequence. Used by logs that several
 * members read, and whose end may be lost.
 */
export interface RecordMark {
  readonly epoch: number;
  /** Hash over the record and all records before it. */
  readonly chain: Uint8Array;
}

/** Whether two marks identify the same record. */
export function isSameRecord(a: RecordMark, b: RecordMark): boolean {
  return a.epoch === b.epoch && Buffer.compare(a.chain, b.chain) === 0;
}

/** The entries that became durable together, at one position of the log. */
export interface LogRecord {
  /** Position in the log: above 0, increasing with each record, below 2^53. */
  readonly sequence: number;
  /** Absent in a log that only this process writes and reads. */
  readonly mark?: RecordMark;
  /** In the order they were appended. Never empty. */
  readonly entries: readonly LogEntry[];
}

/** Largest table number. */
export const TABLE_MAX = 0xffff;

/** Longest key in bytes: the maximum of the length field. The limit of LMDB is lower; the shard enforces it. */
export const KEY_BYTES_MAX = 0xffff;

/** Longest actor id in bytes of UTF-8. */
export const ACTOR_BYTES_MAX = 1024;

/** Largest encoded entry in bytes. Commands have a much lower limit; this one bounds the memory of a reader. */
export const ENTRY_BYTES_MAX = 512 * 1024 * 1024;
