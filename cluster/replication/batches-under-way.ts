import type { RecordMark } from '#runtime/log/log-entry.ts';
import type { BatchPart, EntryBatch } from './entry-batch.ts';
import type { JudgedRecord } from './log-fold.ts';
import type { AppendOutcome } from './log-stream.ts';
import type { Moment } from './read-lease.ts';

/** An append under way. */
export interface Flight {
  readonly batch: EntryBatch;
  /** Whether the batch is complete with it. */
  readonly isLast: boolean;
  readonly record: JudgedRecord;
  readonly bytes: Buffer;
  /** Sequence of the message it goes behind. */
  readonly expected: number;
  readonly sent: Moment;
  /** Resolves when the outcome is known, never rejects. */
  arrival: Promise<void>;
  outcome: AppendOutcome | undefined;
}

/** A batch that the stream has, and that is not durable in the class yet. */
export interface Unconfirmed {
  readonly batch: EntryBatch;
  readonly firstSequence: number;
  readonly sequence: number;
  /** Of the record of that sequence. */
  readonly mark: RecordMark;
}

/** A batch some of whose records are still to go out. */
export interface Sending {
  readonly batch: EntryBatch;
  readonly parts: Iterator<BatchPart, void, void>;
}
