import type { RecordMark } from '#runtime/log/log-entry.ts';
import type { BatchPart, EntryBatch } from './entry-batch.ts';
import type { JudgedRecord } from './log-fold.ts';
import type { AppendOutcome } from './log-stream.ts';
import type { Moment } from './read-lease.ts';

/** An append under way. */
export interface Flight {
  readonly batch: EntryBatch;
  /** Whether it completes the batch. */
  readonly isLast: boolean;
  readonly record: JudgedRecord;
  readonly bytes: Buffer;
  /** Sequence of the message before it. */
  readonly expected: number;
  readonly sent: Moment;
  /** Resolves when the outcome is known, never rejects. */
  arrival: Promise<void>;
  outcome: AppendOutcome | undefined;
}

/** A batch that the stream has, and that is not yet durable in the class. */
export interface Unconfirmed {
  readonly batch: EntryBatch;
  readonly firstSequence: number;
  readonly sequence: number;
  /** Mark of the record with that sequence. */
  readonly mark: RecordMark;
}

/** A batch with records that are not sent yet. */
export interface Sending {
  readonly batch: EntryBatch;
  readonly parts: Iterator<BatchPart, void, void>;
}
