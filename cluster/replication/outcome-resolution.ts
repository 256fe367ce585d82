import { assert } from '#runtime/base/assert.ts';
import { Retries } from '#runtime/base/time/backoff.ts';
import { type Clock, sleep } from '#runtime/base/time/clock.ts';
import type { Random } from '#runtime/base/random.ts';
import { isAhead, type ReplicaPosition } from './durability-gate.ts';
import { isUnavailable, logCorrupted, logRegressed, ownedBy } from './log-errors.ts';
import type { LogReport } from './log-events.ts';
import type { JudgedRecord, LogFold } from './log-fold.ts';
import type { AppendOutcome, LogStream } from './log-stream.ts';
import type { Moment } from './read-lease.ts';
import { leaveRefusingLeader } from './refusing-leader.ts';
import {
  decodeRecord,
  encodeOpening,
  encodeRecord,
  type Opening,
  type RecordFields,
  RecordKind,
} from './record-format.ts';
import { messagesUpTo, REGRESSION_CONFIRM_MS, REGRESSION_POLL_MS, stateReaching } from './stream-checks.ts';

/** Delays between attempts. Every partition of a member retries while the servers elect a leader. */
const RETRY = { firstMs: 100, factor: 1.5, mostMs: 500 };

/** A record that was sent. */
export interface SentRecord {
  readonly record: JudgedRecord;
  readonly bytes: Buffer;
  /** Sequence of the message before it. */
  readonly expected: number;
}

/** A replica has more records; and the time since which this is known. */
interface Ahead {
  readonly sinceMs: number;
}

/** The writer whose appends have an unknown outcome. It sends nothing meanwhile. */
export interface UnresolvedWriter {
  readonly stream: LogStream;
  readonly partition: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly report: LogReport;
  /** Opening of the partition by this writer. */
  readonly opening: Opening;
  /** Identity of the stream. */
  readonly identity: string;
  /** State before the oldest append without an outcome. */
  readonly fold: LogFold;
  /** The oldest append without an outcome. */
  oldest(): SentRecord | undefined;
  /**
   * Whether other members may have records on their disks that the servers lost, as with a gate. Then a lost record is
   * appended again, and no other one in its place.
   */
  readonly isKeptByOthers: boolean;
  /** The oldest one counts, and the fold is after it. @param firstSequence of the first record of its batch */
  counts(firstSequence: number): void;
  /** The stream has a message, and the fold is after it. */
  stored(sequence: number, bytes: Buffer): void;
  /** Returns a new number for a record. */
  nextBatch(): number;
  /** An append that was sent at that moment counts. */
  renew(sent: Moment): void;
  /** Returns the current moment. */
  moment(): Moment;
  /**
   * Returns whether the leader refused an append for its own lack of space since the last call: another server must
   * lead before anything more is appended.
   */
  takeRefusal(): boolean;
  /** Returns the highest sequence that can exist with all pending appends. */
  newestSent(): number;
  /** Asks the other replicas whether they have more records; undefined when no other member has a log of its own. */
  askReplicas(): Promise<readonly ReplicaPosition[]> | undefined;
  /** Throws when no caller waits for the outcome any more. */
  requireWanted(): void;
}

/** Returns whether the leader refused an append for its own lack of space. */
export function isRefusedByLeader(outcome: AppendOutcome | undefined): boolean {
  return outcome?.kind === 'unknown' && outcome.isRefused === true;
}

/**
 * Determines the outcome of appends: opens a further epoch of this writer after the last known message. When
 * that counts, no pending append can count any more, however late it arrives. When another message is there,
 * it shows the outcome.
 *
 * It never concludes anything from a missing message, because the message may arrive at any later time.
 *
 * Where followers keep the log on their disks, pending appends are first sent again, with the same bytes at the same
 * place. The servers may have stored them, delivered them to followers, and lost them before they replied. A further
 * epoch in their place would be another record than the one in the journals of all voters, and none of them could
 * continue. The voters are asked first, as at an opening: when another member took over and the servers lost its
 * opening record, the stream does not show this.
 *
 * @returns whether a further epoch was opened: then appends that are still without an outcome never count
 * @throws {ServiceError} `NOT_OWNER`: another member opened the partition, and appends that are still without an
 *   outcome never count; `DATA_CORRUPTED`
 * @see docs/partition-log.md#unknown-outcomes-of-appends
 */
export async function resolveOutcomes(writer: UnresolvedWriter): Promise<boolean> {
  let reopening: SentRecord | undefined;
  let isRefused = false;
  let ahead: Ahead | undefined;
  const retries = new Retries(writer.clock, writer.random, RETRY);
  const startEpoch = writer.fold.state.epoch;
  for (;;) {
    writer.requireWanted();
    if (isRefused) await leaveRefusingLeader(writer.stream, writer.clock, writer.requireWanted);
    isRefused = false;
    const { sequence } = writer.fold.state;
    if (!(await isStillEnd(writer))) {
      await retries.wait();
      continue;
    }
    writer.requireWanted();
    isRefused = writer.takeRefusal();
    if (isRefused) continue;
    ahead = await positionAhead(writer, ahead);
    if (ahead !== undefined) continue;
    writer.requireWanted();
    const again = sentBehind(writer);
    if (again === undefined && reopening?.expected !== sequence) reopening = seal(writer);
    const { bytes, record } = again ?? (reopening as SentRecord);
    const sent = writer.moment();
    const outcome = await writer.stream.append(sequence, bytes);
    writer.requireWanted();
    if (outcome.kind === 'stored') {
      assert(outcome.sequence === sequence + 1, `stored at ${outcome.sequence}, expected ${sequence + 1}`);
      if (again !== undefined) {
        const firstSequence = writer.fold.state.firstChunk ?? outcome.sequence;
        writer.fold.own(outcome.sequence, record);
        writer.stored(outcome.sequence, bytes);
        writer.counts(firstSequence);
        if (writer.oldest() === undefined) return false;
        continue;
      }
      writer.fold.own(outcome.sequence, record, writer.opening);
      writer.stored(outcome.sequence, bytes);
      writer.renew(sent);
      return true;
    }
    isRefused = isRefusedByLeader(outcome);
    if (outcome.kind === 'wrong-sequence') {
      await readForward(writer).catch(requireUnavailable);
      // An earlier attempt counted, only its reply was lost.
      if (writer.fold.state.epoch > startEpoch) return true;
      // Every pending append was found: none is left that could arrive late.
      if (writer.oldest() === undefined) return false;
      if (writer.fold.state.sequence > sequence) continue;
    }
    await retries.wait();
  }
}

/**
 * Returns whether the stream has exactly the record that the next one is to follow. A stream that lost its end and was
 * written by others has a record with the same sequence too, and would accept one that belongs to another log.
 *
 * @returns false when no server answers at present
 * @throws {ServiceError} `DATA_CORRUPTED`
 * @see docs/partition-log.md#a-log-that-lost-its-end
 */
async function isStillEnd({ clock, fold, identity, partition, stream }: UnresolvedWriter): Promise<boolean> {
  const { chain, sequence, validSequence } = fold.state;
  // A record that does not count has no chain to compare.
  if (validSequence !== sequence) return true;
  try {
    const { firstSequence } = await stateReaching(stream, partition, { identity, sequence }, clock);
    // Others wrote more and truncated it: reading on shows this.
    if (firstSequence > sequence) return true;
    const message = await stream.fetch(sequence);
    if (message === undefined) return false;
    const record = decodeRecord(message.bytes);
    if ('fault' in record) throw logCorrupted(partition, sequence, record.fault);
    if (record.chain.equals(chain)) return true;
    const what = `record ${sequence} differs from the one this member wrote`;
    throw logRegressed(partition, 'other-record', what);
  } catch (error) {
    requireUnavailable(error);
    return false;
  }
}

/**
 * Checks whether a replica has more than this writer with all its pending appends: the stream lost it, or is about to
 * show it.
 *
 * @param before result of the previous call
 * @returns undefined when none has more; otherwise after a delay, to be checked again
 * @throws {ServiceError} `DATA_CORRUPTED` when that persists
 * @see docs/partition-log.md#a-log-that-lost-its-end
 */
async function positionAhead(
  writer: UnresolvedWriter,
  before: Ahead | undefined,
): Promise<Ahead | undefined> {
  const { clock, fold, identity, partition } = writer;
  const told = (await writer.askReplicas()) ?? [];
  writer.requireWanted();
  const { epoch } = fold.state;
  const sent = { epoch, sequence: Math.max(fold.state.sequence, writer.newestSent()) };
  const position = told.find((each) => each.identity === identity && isAhead(each, sent));
  if (position === undefined) return undefined;
  const nowMs = clock.monotonicMs();
  const sinceMs = before?.sinceMs ?? nowMs;
  if (nowMs - sinceMs >= REGRESSION_CONFIRM_MS) {
    const what = `it ends at record ${fold.state.sequence}, and ${position.member} has ${position.sequence} of epoch ${position.epoch}`;
    throw logRegressed(partition, 'shorter', what);
  }
  await sleep(clock, REGRESSION_POLL_MS);
  // A record that was only late has arrived by now: pending appends are searched for up to it.
  await readForward(writer).catch(requireUnavailable);
  return { sinceMs };
}

/**
 * @returns the pending record to send again: the oldest one, if it directly follows the last known record. Its expected
 *   sequence shows this, because the writer knew the record there, or sent it itself and has found it since
 */
function sentBehind({ fold, isKeptByOthers, oldest }: UnresolvedWriter): SentRecord | undefined {
  const sent = isKeptByOthers ? oldest() : undefined;
  return sent?.expected === fold.state.sequence ? sent : undefined;
}

function seal(writer: UnresolvedWriter): SentRecord {
  const { sequence, epoch, chain, clock } = writer.fold.state;
  const fields: RecordFields = {
    kind: RecordKind.open,
    partition: writer.partition,
    entries: 0,
    epoch: epoch + 1,
    batch: writer.nextBatch(),
    clock,
    previousChain: chain,
  };
  const record = encodeRecord(fields, encodeOpening(writer.opening));
  return { expected: sequence, bytes: record.bytes, record: { ...fields, chain: record.chain } };
}

/** Processes the messages after the last known one. */
async function readForward(writer: UnresolvedWriter): Promise<void> {
  const { stream, partition, clock, fold, identity } = writer;
  const from = fold.state.sequence;
  const { lastSequence } = await stateReaching(stream, partition, { identity, sequence: from }, clock);
  const known = { identity, sequence: lastSequence };
  for await (const message of messagesUpTo(stream, partition, from + 1, known, clock)) {
    writer.requireWanted();
    const step = fold.take(message);
    writer.stored(message.sequence, message.bytes);
    if (step.kind === 'void') writer.report({ ...step, kind: 'void-record' });
    else if (step.opening !== undefined) requireOwn(writer, step.opening);
    else countOldest(writer, step.sequence, step.firstSequence);
  }
}

function requireOwn(writer: UnresolvedWriter, opening: Opening): void {
  if (!opening.nonce.equals(writer.opening.nonce)) throw ownedBy(opening.member, writer.fold.state.epoch);
}

/** A record that counts and opens nothing must be the oldest pending one: no other member writes in this epoch. */
function countOldest(writer: UnresolvedWriter, sequence: number, firstSequence: number): void {
  const oldest = writer.oldest();
  if (oldest === undefined || !oldest.record.chain.equals(writer.fold.state.chain))
    throw logCorrupted(
      writer.partition,
      sequence,
      'it counts in the epoch of this member, who did not write it',
    );
  writer.counts(firstSequence);
}

/** Accepts that the stream cannot be read at present: the caller retries. Throws any other error. */
function requireUnavailable(error: unknown): void {
  if (!isUnavailable(error)) throw error;
}
