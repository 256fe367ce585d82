import type { Revision } from '#runtime/content/revision.ts';

/**
 * One effect: what a key holds afterwards. Effects, never commands, so that applying a write anywhere, any
 * number of times, gives the same bytes.
 */
export interface Write {
  /** Number of the table among the tables of the actor's kind, at most {@link TABLE_MAX}. */
  readonly table: number;
  /** A binary string: each char code 0..255 is one byte; at most {@link KEY_BYTES_MAX} of them. */
  readonly key: string;
  /** The new value; null removes the key. An empty value is a value, not a removal. */
  readonly value: Uint8Array | null;
}

/** The effects of one batch of one actor. They become durable together or not at all. */
export interface LogEntry {
  /** Id of the actor, `{tenant}/{repo}/{branch}/{kind}`; at most {@link ACTOR_BYTES_MAX} bytes of UTF-8. */
  readonly actor: string;
  /** In the order they apply; a later write of a key wins. */
  readonly writes: readonly Write[];
  /** The highest revision used in the batch: the log remembers it, so that revisions never run backwards. */
  readonly clock: Revision;
  /**
   * All of it as `encodeEntry` writes it, where that was done before; then a log need not look at the writes. The {@link ENCODED_ROOM_BYTES}
   * on either side are the log's from `append` on; the entry itself stays as it is.
   */
  readonly encoded?: Uint8Array;
}

/** Bytes around an entry that was encoded before, for what a log puts around it: copying 70 MB takes 80 ms. */
export const ENCODED_ROOM_BYTES = 4096;

/**
 * What tells a record from every other one that may have been written with its sequence: of logs that several members
 * read, and whose end may be lost.
 */
export interface RecordMark {
  readonly epoch: number;
  /** Hash over the record and all before it. */
  readonly chain: Uint8Array;
}

/** Whether two marks are of one record. */
export function isSameRecord(a: RecordMark, b: RecordMark): boolean {
  return a.epoch === b.epoch && Buffer.compare(a.chain, b.chain) === 0;
}

/** The entries that became durable together, at one position of the log. */
export interface LogRecord {
  /** Position in the log: above 0, higher for each record, below 2^53. */
  readonly sequence: number;
  /** Left out by a log that only this process writes and reads. */
  readonly mark?: RecordMark;
  /** In the order they were appended; never empty. */
  readonly entries: readonly LogEntry[];
}

/** Largest table number. */
export const TABLE_MAX = 0xffff;

/** Longest key in bytes: what the length field holds. LMDB takes less, the shard says so. */
export const KEY_BYTES_MAX = 0xffff;

/** Longest actor id in bytes of UTF-8. */
export const ACTOR_BYTES_MAX = 1024;

/** Largest encoded entry in bytes. A command is bounded far below it; this bounds the memory of a reader. */
export const ENTRY_BYTES_MAX = 512 * 1024 * 1024;
