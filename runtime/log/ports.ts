import type { Revision } from '#runtime/content/revision.ts';
import type { LogEntry, LogRecord, RecordMark } from './log-entry.ts';

/** Sequences of the oldest and the newest unreleased entry of an actor. */
export interface PendingRange {
  /** Lower bound: no unreleased entry has a lower sequence. The oldest one may have a higher sequence. */
  readonly first: number;
  /** Sequence of the actor's newest entry. */
  readonly last: number;
}

/** Damaged log records, whose content is lost. */
export interface LostRecords {
  readonly first: number;
  readonly last: number;
  /** Whether fewer records may be lost: `last` is then an upper bound, derived from the size of the damaged range. */
  readonly isAtMost?: boolean;
  /** Marks of the actors whose entries are lost (see `actor-mark.ts`); undefined when it may be any actor. */
  readonly actors: ReadonlySet<string> | undefined;
  /** File and offset, for the operator. */
  readonly where: string;
  /** Description of the damage, for the operator. */
  readonly what: string;
}

/** The damage found when a log was opened. Everything else in the log verifies and can be read. */
export interface LogDamage {
  /** Damage found by this opening that is not decided yet. */
  readonly lost: readonly LostRecords[];
  /** Actors that an earlier opening found to depend on records that are still lost, each with the reason. */
  readonly refused: ReadonlyMap<string, string>;
  /**
   * Sequence up to which records are kept only because of the damage, while later ones have been removed since: what
   * they did is on disk, and what undid it may not be in the log any more. 0: there are none.
   */
  readonly appliedThrough: number;
  /**
   * Stores the actors that depend on lost records. The decision is on disk when the promise resolves. The log keeps the
   * entries of these actors, and later openings list them in {@link refused}. Removed actors are left out; an empty map
   * ends the damage.
   */
  decide(refused: ReadonlyMap<string, string>): Promise<void>;
}

/** First position of a log, with a check value that distinguishes it from every other log. */
export interface LogBeginning {
  readonly firstSequence: number;
  /** Check value of everything before it, in hexadecimal. */
  readonly chain: string;
}

/** Records that are about to be removed from a log. */
export interface LeavingRecords {
  /** Sequence of the newest removed record of each actor. */
  readonly newest: ReadonlyMap<string, number>;
  readonly lastSequence: number;
  /** Beginning of the log after the removal. */
  readonly beginning: LogBeginning;
}

/** Retention of a log that is the only one of its process. */
export interface LogRetention {
  /** Undefined before the first record. */
  readonly beginning: LogBeginning | undefined;
  /**
   * Check value of everything before a record, when the log has a mark before that record; empty when it is damaged.
   */
  chainBefore(sequence: number): string | undefined;
  /** Newest record of an actor that is still in the log, released or not. For an owner: the record of its removal. */
  newestOf(actor: string): number | undefined;
  /**
   * @param before must resolve before records are removed; when it rejects they stay and the removal is retried later
   */
  beforeLeaving(before: (records: LeavingRecords) => Promise<void>): void;
}

/**
 * Makes effects durable before they are applied. Embedded, it is a journal of the process; in a cluster, a JetStream
 * stream. Every implementation passes `test/runtime/log/log-conformance.ts`.
 *
 * Promises:
 * 1. Entries become durable in the order of the `append` calls, over all actors. There is never a hole before a
 *    durable entry. A crash may keep entries whose `append` never resolved, but only at the end (a phantom).
 * 2. `append` resolves only when the entry is durable in the configured class, in call order.
 * 3. Sequences increase with every record, not always by one. Neither sequences nor `lastClock` ever decrease, also
 *    across restarts.
 * 4. Every record is verified whenever it is read. Damage is an error, never different content or a gap.
 */
export interface Log {
  /**
   * Appends one entry. The entry is encoded before the call returns, so values may be reused afterwards.
   *
   * Errors, and the state of the entry after each:
   * - `STORAGE_FULL`: the entry is not in the log. All queued entries behind it fail with the same error. The log
   *   recovers by itself: an append called after the rejection was delivered is tried again.
   * - `COMMIT_TOO_LARGE`, `OVERLOADED` and invariant errors: the entry was not accepted; other entries are unaffected.
   * - `LOG_UNAVAILABLE`: as `STORAGE_FULL`; a log over the network cannot be reached at present.
   * - `NOT_OWNER`: another member owns this log now. The entry is not in the log and never will be.
   * - `WRITES_STOPPED`: the entry was removed again as far as the failed storage allowed. Only a log reopened after a
   *   crash may still hold it. Every later append fails too (fail stop), unless the log {@link Log.heals}: then it
   *   recovers by itself, and from then on the entry is certainly not in it.
   *
   * @returns the sequence of the record that holds it
   * @throws {ServiceError} `STORAGE_FULL`, `LOG_UNAVAILABLE`, `NOT_OWNER`, `WRITES_STOPPED`, `COMMIT_TOO_LARGE`
   *   above `ENTRY_BYTES_MAX`, `OVERLOADED` when too many bytes wait, `SHUTTING_DOWN` after `close`
   */
  append(entry: LogEntry): Promise<number>;
  /** Whether the log may accept entries again by itself after `WRITES_STOPPED`. Absent: it never does. */
  readonly heals?: boolean;
  /**
   * The durable records after a sequence, in order, up to the newest one at the start of the iteration. Removed records
   * are skipped, but records that a running iteration still needs are not removed. Values are views of one buffer per
   * record.
   *
   * @throws {ServiceError} `DATA_CORRUPTED` when a stored record does not verify
   */
  read(afterSequence: number): AsyncIterable<LogRecord>;
  /**
   * Reports that the actor's shard has flushed everything up to and including `sequence`. Records that no shard needs
   * any more are removed. A lower sequence than before has no effect. For a removed actor, release `lastSequence`.
   */
  released(actor: string, sequence: number): void;
  /** The actors with unreleased entries. After opening: every actor the log still names. */
  pending(): ReadonlyMap<string, PendingRange>;
  /** Damage found at opening; undefined when there is none. */
  readonly damage?: LogDamage | undefined;
  /** Sequence of the newest acknowledged record with entries, 0 before the first. */
  readonly lastSequence: number;
  /** Highest clock of all entries ever appended. */
  readonly lastClock: Revision;
  /**
   * Flushes all acknowledged entries to disk, whatever the durability class of acknowledgements. A shard waits for it
   * before it commits, so no shard is ever ahead of the log. A log that other members also store additionally records
   * the actor whose shard may be ahead of the log position recorded for this member.
   *
   * @param actor whose shard is about to be written; absent: something else on disk follows the log
   * @returns the sequence up to which everything is on disk
   * @throws {ServiceError} `WRITES_STOPPED`
   */
  flush(actor?: string): Promise<number>;
  /**
   * Reports that the shard of an actor has everything up to a record on disk. {@link Log.released} follows, and has
   * stronger conditions. Absent in a log that does not need it.
   */
  applied?(actor: string, sequence: number, mark: RecordMark | undefined): void;
  /**
   * The mark of a record, as long as it is the newest one of the actor and not released. Absent in a log without marks.
   */
  markOf?(actor: string, sequence: number): RecordMark | undefined;
  /**
   * Confirms that nobody else has written to this log so far, so that an answer about the durable state is correct when
   * it is given, even if nothing is appended.
   *
   * @returns undefined when this is already certain
   * @throws {ServiceError} as a promise: `NOT_OWNER`, `LOG_UNAVAILABLE`, `WRITES_STOPPED`, `SHUTTING_DOWN`
   */
  confirm(): Promise<void> | undefined;
  /**
   * Applies the changes that opening requires, before anything is written. Until then nothing is changed, so a caller
   * that compares the log with other state can still refuse it. Absent in a log that is writable once opened.
   */
  begin?(): Promise<void>;
  /** Absent in a log that does not decide itself which records are removed. */
  readonly retention?: LogRetention;
  /** Makes appended entries durable, then releases all resources. Idempotent. */
  close(): Promise<void>;
}
