import { type Clock, sleep } from '#runtime/base/clock.ts';
import { logCorrupted, logRegressed, logTooNew, logTruncated } from './log-errors.ts';
import { type FoldState, foldStart } from './log-fold.ts';
import type { LogStream, StoredMessage } from './log-stream.ts';
import { decodeOpening, decodeRecord, RecordKind } from './record-format.ts';
import { REGRESSION_CONFIRM_MS, REGRESSION_POLL_MS, stateReaching } from './stream-checks.ts';

/**
 * How much of a log a member has in its shards: what it keeps on its disk, to go on there and to notice when the
 * stream is not what it was.
 *
 * @see Reliability: R2, R9
 */
export interface LogPosition {
  /** Of the stream. */
  readonly identity: string;
  /** The newest valid record whose effects, and those of all before it, are in the shards. */
  readonly sequence: number;
  /** Of that record. */
  readonly epoch: number;
  /** Of that record. */
  readonly chain: Buffer;
}

/** A {@link LogPosition} of which this process may know how long nothing has come behind it. */
export interface ReceivedPosition extends LogPosition {
  /**
   * When this process received that record, by the monotonic clock: a follower that opens the partition need not wait
   * again for what it has waited already. Absent where that says nothing of what others may have been told since.
   */
  readonly receivedMs?: number;
}

/** Of a position what outlives the process, and breaks of following. */
export function keptOf(position: ReceivedPosition | undefined): LogPosition | undefined {
  if (position === undefined) return undefined;
  const { chain, epoch, identity, sequence } = position;
  return { identity, sequence, epoch, chain };
}

/**
 * The state to read on from behind a position, after a look whether the stream still has that very record.
 *
 * @param position undefined: from the beginning
 * @returns `isAtOnce` as {@link stateReaching} tells it
 * @throws {ServiceError} `DATA_CORRUPTED` when the stream is another or shorter than it was, or its record differs;
 *   `NOT_FOUND` when the log begins behind the position; `LOG_UNAVAILABLE`
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
      `record ${position.sequence} is another than this member has`,
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
 * The message at a position. One that is not there is looked for again: the state may have been told by a server that
 * leads no more, and the one that leads has less. When that lasts the state says so.
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
    // The record itself stays behind a truncation: without it nobody could tell one chain from another.
    if (sequence < firstSequence) throw logTruncated(partition, sequence, firstSequence);
    const message = await stream.fetch(sequence);
    if (message !== undefined) return { identity, isAtOnce: isFirst && isAtOnce, message };
    if (clock.monotonicMs() - startedMs >= REGRESSION_CONFIRM_MS)
      throw logCorrupted(partition, sequence, 'it is missing in the stream');
    await sleep(clock, REGRESSION_POLL_MS);
  }
}

/** The position a state between two batches stands for. */
export function positionOf(identity: string, state: FoldState): LogPosition {
  return { identity, sequence: state.validSequence, epoch: state.epoch, chain: state.chain };
}
