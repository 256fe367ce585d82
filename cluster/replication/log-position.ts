import { type Clock, sleep } from '#runtime/base/time/clock.ts';
import { logCorrupted, logRegressed, logTooNew, logTruncated } from './log-errors.ts';
import { type FoldState, foldStart } from './log-fold.ts';
import type { LogStream, StoredMessage } from './log-stream.ts';
import { decodeOpening, decodeRecord, RecordKind } from './record-format.ts';
import { REGRESSION_CONFIRM_MS, REGRESSION_POLL_MS, stateReaching } from './stream-checks.ts';

/**
 * The part of a log that a member has in its shards. It is stored on its disk, to continue from there and to detect a
 * stream that is not the same any more.
 *
 * @see docs/partition-log.md#shards-follow-the-log
 */
export interface LogPosition {
  /** Identity of the stream. */
  readonly identity: string;
  /** The newest valid record whose effects, and those of all before it, are in the shards. */
  readonly sequence: number;
  /** Epoch of that record. */
  readonly epoch: number;
  /** Chain of that record. */
  readonly chain: Buffer;
}

/** A {@link LogPosition} for which this process may know how long no later record has arrived. */
export interface ReceivedPosition extends LogPosition {
  /**
   * When this process received that record, by the monotonic clock: a follower that opens the partition need not wait
   * again for time it has waited already. Absent when other members may have received later records since.
   */
  readonly receivedMs?: number;
}

/** Returns the part of a position that remains valid across processes and interruptions of following. */
export function keptOf(position: ReceivedPosition | undefined): LogPosition | undefined {
  if (position === undefined) return undefined;
  const { chain, epoch, identity, sequence } = position;
  return { identity, sequence, epoch, chain };
}

/**
 * Returns the state from which to read on after a position, after a check that the stream still has exactly that
 * record.
 *
 * @param position undefined: from the beginning
 * @returns `isAtOnce` as {@link stateReaching} returns it
 * @throws {ServiceError} `DATA_CORRUPTED` when the stream is another one or shorter, or its record differs;
 *   `NOT_FOUND` when the log begins after the position; `LOG_UNAVAILABLE`
 */
export async function stateAt(
  stream: LogStream,
  partition: number,
  position: LogPosition | undefined,
  clock: Clock,
): Promise<{ readonly fold: FoldState; readonly identity: string; readonly isAtOnce: boolean }> {
  if (position === undefined || position.sequence === 0) {
    const known = position ?? { identity: '', sequence: 0 };
    const { firstSequence, ...reached } = await stateReaching(stream, partition, known, clock);
    if (firstSequence > 1) throw logTruncated(partition, 1, firstSequence);
    return { fold: foldStart, identity: reached.identity, isAtOnce: reached.isAtOnce };
  }
  const { identity, isAtOnce, message } = await messageAt(stream, partition, position, clock);
  const record = decodeRecord(message.bytes);
  if ('fault' in record)
    throw record.isNewer === true
      ? logTooNew(partition, position.sequence, record.fault)
      : logCorrupted(partition, position.sequence, record.fault);
  if (record.epoch !== position.epoch || !record.chain.equals(position.chain))
    throw logRegressed(
      partition,
      'other-record',
      `record ${position.sequence} differs from that of this member`,
    );
  const fold: FoldState = {
    sequence: position.sequence,
    validSequence: position.sequence,
    epoch: record.epoch,
    chain: Buffer.from(record.chain),
    clock: record.clock,
    owner: record.kind === RecordKind.open ? decodeOpening(Buffer.from(record.body)) : undefined,
    isClosed: record.kind === RecordKind.close,
    firstChunk: undefined,
  };
  return { fold, identity, isAtOnce };
}

/**
 * Returns the message at a position. A missing one is searched for repeatedly: the state may be from a server that
 * leads no more, and the current leader has less. If that persists the state shows it.
 */
async function messageAt(
  stream: LogStream,
  partition: number,
  position: LogPosition,
  clock: Clock,
): Promise<{ readonly identity: string; readonly isAtOnce: boolean; readonly message: StoredMessage }> {
  const { sequence } = position;
  const startedMs = clock.monotonicMs();
  for (let isFirst = true; ; isFirst = false) {
    const { identity, isAtOnce, firstSequence } = await stateReaching(stream, partition, position, clock);
    // The record itself stays after a truncation: without it chains could not be compared.
    if (sequence < firstSequence) throw logTruncated(partition, sequence, firstSequence);
    const message = await stream.fetch(sequence);
    if (message !== undefined) return { identity, isAtOnce: isFirst && isAtOnce, message };
    if (clock.monotonicMs() - startedMs >= REGRESSION_CONFIRM_MS)
      throw logCorrupted(partition, sequence, 'it is missing in the stream');
    await sleep(clock, REGRESSION_POLL_MS);
  }
}

/** Returns the position of a state between two batches. */
export function positionOf(identity: string, state: FoldState): LogPosition {
  return { identity, sequence: state.validSequence, epoch: state.epoch, chain: state.chain };
}
