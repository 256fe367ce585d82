import type { Revision } from '#runtime/content/revision.ts';
import type { LogEntry, LogRecord, RecordMark } from './log-entry.ts';

/** Sequences of the oldest and the newest entry of an actor that are not released. */
export interface PendingRange {
  /** No entry that is not released lies before it; the entry itself may be later than this. */
  readonly first: number;
  /** Sequence of the actor's newest entry. */
  readonly last: number;
}

/** Records of a log that are damaged, so that what they said is not known any more. */
export interface LostRecords {
  readonly first: number;
  readonly last: number;
  /** Whether there may have been fewer: `last` is what there was room for. */
  readonly isAtMost?: boolean;
  /** Marks of the actors whose entries are lost (see `actor-mark.ts`); undefined where it may be any actor. */
  readonly actors: ReadonlySet<string> | undefined;
  /** File and offset, for people. */
  readonly where: string;
  /** What is wrong there, for people. */
  readonly what: string;
}

/** The damage a log was opened with. All that is not named in it verifies and can be read. */
export interface LogDamage {
  /** What was found at this opening and nobody has decided about. */
  readonly lost: readonly LostRecords[];
  /** The actors that an earlier opening found to depend on what is lost still, with why. */
  readonly refused: ReadonlyMap<string, string>;
  /**
   * Remembers which actors depend on what is lost, on the disk when it resolves: what the log has of them is kept, and
   * later openings name them in {@link refused}. An actor that is gone is left out; without any the damage is over.
   */
  decide(refused: ReadonlyMap<string, string>): Promise<void>;
}

/** Where a log begins, and what tells it from every other one. */
export interface LogBeginning {
  readonly firstSequence: number;
  /** Check value of everything before it, in hexadecimal digits. */
  readonly chain: string;
}

/** What is about to leave a log. */
export interface LeavingRecords {
  /** Newest record of each actor that leaves. */
  readonly newest: ReadonlyMap<string, number>;
  readonly lastSequence: number;
  /** Where the log begins without them. */
  readonly beginning: LogBeginning;
}

/** What a log that is the only one of its process knows of what it still has. */
export interface LogRetention {
  /** Undefined while there never was a record. */
  readonly beginning: LogBeginning | undefined;
  /** Check value of everything before a record, where the log has a mark before that record; empty when it is damaged. */
  chainBefore(sequence: number): string | undefined;
  /** Newest record of an actor that is still there, released or not; of an owner, of its removal. */
  newestOf(actor: string): number | undefined;
  /** @param before has to resolve before records leave; when it rejects they stay, and it is asked again later */
  beforeLeaving(before: (records: LeavingRecords) => Promise<void>): void;
}

/**
 * Where effects become durable before they are applied. Embedded it is a journal of the process, in a cluster
 * a JetStream stream. Every implementation passes `test/runtime/log/log-conformance.ts`.
 *
 * Promises:
 * 1. Entries become durable in the order `append` was called, over all actors; what is durable never leaves
 *    a hole before it. A crash may keep entries whose `append` never resolved, only at the end: a phantom.
 * 2. `append` resolves only when the entry is durable in the configured class, in call order.
 * 3. Sequences rise with every record, not always by one, and never restart, nor does `lastClock` fall, across
 *    restarts too.
 * 4. Every record is verified whenever it is read; damage is an error, never another content or a gap.
 */
export interface Log {
  /**
   * Appends one entry. It is encoded before the call returns, so values may be reused afterwards.
   *
   * How it can fail, and what that says about the entry:
   * - `STORAGE_FULL`: it is certainly not in the log. Everything queued behind it fails alike. The log goes
   *   on by itself: an append called after the rejection was delivered is tried anew.
   * - `COMMIT_TOO_LARGE`, `OVERLOADED` and invariant errors: it was not taken, nothing else is affected.
   * - `LOG_UNAVAILABLE`: as `STORAGE_FULL`; a log over the network cannot be reached at present.
   * - `NOT_OWNER`: another member owns this log now. The entry is certainly not in it, and never will be.
   * - `WRITES_STOPPED`: it was taken away again as far as the failed storage allowed; only a log reopened after
   *   a crash may still hold it. Every later append fails too (fail stop), unless the log {@link Log.heals}: then
   *   it goes on by itself, and the entry is certainly not in it from then on.
   *
   * @returns the sequence of the record that holds it
   * @throws {ServiceError} `STORAGE_FULL`, `LOG_UNAVAILABLE`, `NOT_OWNER`, `WRITES_STOPPED`, `COMMIT_TOO_LARGE`
   *   above `ENTRY_BYTES_MAX`, `OVERLOADED` when too many bytes wait, `SHUTTING_DOWN` after `close`
   */
  append(entry: LogEntry): Promise<number>;
  /** Whether it may take entries again by itself after it has refused one with `WRITES_STOPPED`. Absent: it never does. */
  readonly heals?: boolean;
  /**
   * The durable records after a sequence, in order, up to the newest one when the iteration starts. Records
   * already removed are left out; what a running iteration still needs is not removed. Values are views of
   * one buffer per record.
   *
   * @throws {ServiceError} `DATA_CORRUPTED` when a stored record does not verify
   */
  read(afterSequence: number): AsyncIterable<LogRecord>;
  /**
   * The actor's shard has flushed everything up to and including `sequence`: what no shard needs any more is
   * removed. A lower sequence than before changes nothing. Of an actor that is gone, release `lastSequence`.
   */
  released(actor: string, sequence: number): void;
  /** The actors with entries not released. After opening: every actor the log still names. */
  pending(): ReadonlyMap<string, PendingRange>;
  /** What of it is lost; undefined while nothing is. */
  readonly damage?: LogDamage | undefined;
  /** Sequence of the newest acknowledged record with entries, 0 before the first. */
  readonly lastSequence: number;
  /** Highest clock of all entries there ever were. */
  readonly lastClock: Revision;
  /**
   * Brings everything acknowledged to the disk, whatever the durability class acknowledges at. A shard waits
   * for it before it commits, so that no shard is ever ahead of the log. A log that other members have as well notes
   * besides whose shard may be ahead of what the member knows to have.
   *
   * @param actor whose shard is to be given something; left out: something else on the disk follows the log
   * @returns the sequence up to which all is on the disk
   * @throws {ServiceError} `WRITES_STOPPED`
   */
  flush(actor?: string): Promise<number>;
  /**
   * The shard of an actor has everything up to a record on the disk. {@link Log.released} follows, and is called for more
   * than that. Left out by a log that need not know.
   */
  applied?(actor: string, sequence: number, mark: RecordMark | undefined): void;
  /**
   * The mark of a record, as long as it is the newest one of the actor and not released. Left out by a log that has no
   * marks.
   */
  markOf?(actor: string, sequence: number): RecordMark | undefined;
  /**
   * Makes sure that nobody else has written to this log up to now, so that what an answer says of the durable state
   * is true when it is given, also where nothing is appended.
   *
   * @returns undefined when that is certain already
   * @throws {ServiceError} as a promise: `NOT_OWNER`, `LOG_UNAVAILABLE`, `WRITES_STOPPED`, `SHUTTING_DOWN`
   */
  confirm(): Promise<void> | undefined;
  /**
   * Changes what an opening has to change, before anything is written. Left out by a log that is open for writing at once.
   * Until then nothing was changed, so that whoever compares the log with what else there is can still refuse it.
   */
  begin?(): Promise<void>;
  /** Left out by a log that does not decide itself what leaves it. */
  readonly retention?: LogRetention;
  /** Makes durable what was appended, then lets go of everything. Idempotent. */
  close(): Promise<void>;
}
