import { assert } from '#runtime/base/assert.ts';
import { Retries } from '#runtime/base/backoff.ts';
import { type Clock, sleep } from '#runtime/base/clock.ts';
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

/** Waits between attempts. Every partition of a member retries while the servers elect a leader. */
const RETRY = { firstMs: 100, factor: 1.5, mostMs: 500 };

/** A record that was sent. */
export interface SentRecord {
  readonly record: JudgedRecord;
  readonly bytes: Buffer;
  /** Sequence of the message it goes behind. */
  readonly expected: number;
}

/** That a replica has more, and since when that is known. */
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
  /** How this writer opened the partition. */
  readonly opening: Opening;
  /** Of the stream. */
  readonly identity: string;
  /** Everything before the oldest append without an outcome. */
  readonly fold: LogFold;
  /** The oldest append without an outcome. */
  oldest(): SentRecord | undefined;
  /**
   * Whether other members may have on their disks what the servers lost of it, so that the same record is appended
   * again, not another one in its place: with a gate.
   */
  readonly isKeptByOthers: boolean;
  /** The oldest one counts, and the fold is behind it. @param firstSequence of the first record of its batch */
  counts(firstSequence: number): void;
  /** The stream holds a message, and the fold is behind it. */
  stored(sequence: number, bytes: Buffer): void;
  /** A number for a record. */
  nextBatch(): number;
  /** An append sent at that moment counts. */
  renew(sent: Moment): void;
  /** Now. */
  moment(): Moment;
  /**
   * Whether the server that leads refused an append for its own want of space since the last call: another one is to
   * lead before anything more is appended.
   */
  takeRefusal(): boolean;
  /** The newest message there can be with everything under way. */
  newestSent(): number;
  /** Asks the other replicas whether they have more; undefined where nobody else has a log of its own. */
  askReplicas(): Promise<readonly ReplicaPosition[]> | undefined;
  /** Throws when nobody waits for the outcome any more. */
  requireWanted(): void;
}

/** Whether the server that leads refused an append for its own want of space. */
export function isRefusedByLeader(outcome: AppendOutcome | undefined): boolean {
  return outcome?.kind === 'unknown' && outcome.isRefused === true;
}

/**
 * Finds out what became of appends: opens a further epoch of one's own behind the last message that is known. When
 * that counts, nothing that is under way can count any more, however late it lands. When something else is there,
 * that tells.
 *
 * Never does it look and conclude from an absence: a message may land at any time later.
 *
 * Where followers keep the log on their disks, what is under way is appended again first, the same bytes at the same
 * place. The servers may have stored it, given it to followers, and lost it before anybody was answered: a further epoch
 * in its place would be another record than the one in the journals of all keepers, and none of them could go on. They
 * are asked before, as at an opening: who lost the partition to another member, whose record the servers lost, does not
 * find that in the stream.
 *
 * @returns whether a further epoch was opened: then what is still without an outcome does not count and never will
 * @throws {ServiceError} `NOT_OWNER`: another member opened the partition, and what is still without an outcome does
 *   not count and never will; `DATA_CORRUPTED`
 * @see Reliability: R6
 */
export async function resolveOutcomes(writer: UnresolvedWriter): Promise<boolean> {
  const isReopened = await findOutcomes(writer);
  // What was refused may have been answered last of all.
  if (writer.takeRefusal()) await leaveRefusingLeader(writer.stream, writer.clock, writer.requireWanted);
  return isReopened;
}

async function findOutcomes(writer: UnresolvedWriter): Promise<boolean> {
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
      // An earlier attempt counted, only its answer was lost.
      if (writer.fold.state.epoch > startEpoch) return true;
      // Everything that was under way is found: nothing is left that could land late.
      if (writer.oldest() === undefined) return false;
      if (writer.fold.state.sequence > sequence) continue;
    }
    await retries.wait();
  }
}

/**
 * Whether the stream has the very record that the next one is to follow. A stream that lost its end and was written by
 * others has a record of the same sequence too, and would take one that belongs to another log.
 *
 * @returns false when nobody tells at present
 * @throws {ServiceError} `DATA_CORRUPTED`
 * @see Reliability: R9
 */
async function isStillEnd({ clock, fold, identity, partition, stream }: UnresolvedWriter): Promise<boolean> {
  const { chain, sequence, validSequence } = fold.state;
  // One that does not count has no chain to be told by.
  if (validSequence !== sequence) return true;
  try {
    const { firstSequence } = await stateReaching(stream, partition, { identity, sequence }, clock);
    // Others went on and cut it off: reading on tells.
    if (firstSequence > sequence) return true;
    const message = await stream.fetch(sequence);
    if (message === undefined) return false;
    const record = decodeRecord(message.bytes);
    if ('fault' in record) throw logCorrupted(partition, sequence, record.fault);
    if (record.chain.equals(chain)) return true;
    const what = `record ${sequence} is another than this member wrote`;
    throw logRegressed(partition, 'other-record', what);
  } catch (error) {
    requireUnavailable(error);
    return false;
  }
}

/**
 * Whether a replica has more than this writer and all it has under way: the stream lost it, or is about to show it.
 *
 * @param before what this said last
 * @returns undefined when none has; else after a while, to be looked at again
 * @throws {ServiceError} `DATA_CORRUPTED` when that lasts
 * @see Reliability: R9
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
  // When it was only late it is there now: what was under way is looked for there.
  await readForward(writer).catch(requireUnavailable);
  return { sinceMs };
}

/**
 * @returns what was sent behind the very record that is known, where that is to be sent again. The sequence tells: the
 *   writer knew the record there when it sent the oldest one, or sent that record itself and found it since
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

/** Takes what stands behind the last known message. */
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

/** A record that counts and opens nothing has to be the oldest one under way: nobody else writes in this epoch. */
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

/** The stream cannot be read at present: it is tried again. Anything else is for the caller. */
function requireUnavailable(error: unknown): void {
  if (!isUnavailable(error)) throw error;
}
